"""Which way a call takes, and what autocast asks for.

All of PyTorch's names without a promise that this package uses are in this file; PyTorch's own
torch.autograd.Function and torch.utils use the same ones in Python.
"""
import torch
from torch._C import _are_functorch_transforms_active as transforms_are_active
from torch._C import _get_tracing_state as tracing_state
from torch._C import _is_any_autocast_enabled as any_autocast_is_enabled
from torch._C import _len_torch_dispatch_stack as active_modes
from torch._C._functorch import is_legacy_batchedtensor  # noqa: F401  for autograd.py
from torch.autograd import forward_ad
from torch.compiler import is_compiling
from torch.nn.modules import module as _modules

_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter, type(None)))


def must_dispatch(input, weight, bias):
    """True unless all are plain tensors and nobody is looking: neither a compiler nor a tracer nor
    a mode such as FakeTensorMode."""
    return (is_compiling() or active_modes() > 0 or tracing_state() is not None or
            type(input) not in _PLAIN or type(weight) not in _PLAIN or type(bias) not in _PLAIN)


def has_fallback(*tensors):
    """True for tensors that convop refuses and the dispatcher makes acceptable or needs not: views
    whose sign is still to be turned, and those on the device meta, which have a shape alone."""
    return any(tensor is not None and (tensor.is_meta or tensor.is_neg()) for tensor in tensors)


def has_global_hooks():
    """True if somebody watches the calls of all modules."""
    return bool(_modules._global_forward_hooks or _modules._global_forward_pre_hooks)


def is_differentiated(input, weight, bias):
    """True if a gradient may be asked for, backward or forward, or torch.func is at work."""
    if torch.is_grad_enabled() and (input.requires_grad or weight.requires_grad or
                                    bias is not None and bias.requires_grad):
        return True
    return transforms_are_active() or forward_ad._current_level >= 0


def autocast_dtype(tensor):
    """The dtype that convolutions on the tensor's device are cast to; None outside of autocast."""
    if not any_autocast_is_enabled():
        return None
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
