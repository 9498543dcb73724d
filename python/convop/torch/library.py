"""The convolution as operators of torch.library: what torch.compile, torch.export, tracers,
tensor subclasses, fake and meta tensors see. Other calls go past them (functional.py), for speed.

    torch.ops.convop.convolution            the result
    torch.ops.convop.convolution_backward   the gradients that `wanted` asks for, in their order
"""
import torch

from convop.torch import compute
from convop.torch.autograd import refuse_to_differentiate
from convop.torch.geometry import Geometry
from convop.torch.memory_format import FORMAT, computes_channels_last

_GEOMETRY = "SymInt[] stride, SymInt[] pad_begin, SymInt[] pad_end, SymInt[] dilation, SymInt groups"
_FORWARD, _BACKWARD = "convop::convolution", "convop::convolution_backward"

torch.library.define(
    _FORWARD, f"(Tensor input, Tensor weight, Tensor? bias, {_GEOMETRY}) -> Tensor")
torch.library.define(
    _BACKWARD, f"(Tensor grad, Tensor input, Tensor weight, bool[3] wanted, {_GEOMETRY}) -> Tensor[]")

convolution = torch.ops.convop.convolution.default
convolution_backward = torch.ops.convop.convolution_backward.default


def _geometry(stride, pad_begin, pad_end, dilation, groups):
    return Geometry(tuple(stride), tuple(pad_begin), tuple(pad_end), tuple(dilation), groups)


@torch.library.impl(_FORWARD, ("cpu", "cuda"))
def _forward(input, weight, bias, *geometry):
    return compute.forward(input, weight, bias, _geometry(*geometry))


@torch.library.impl(_BACKWARD, ("cpu", "cuda"))
def _backward(grad, input, weight, wanted, *geometry):
    gradients = compute.backward(grad, input, weight, tuple(wanted), _geometry(*geometry))
    return [gradient for gradient in gradients if gradient is not None]


def _empty(like, shape, channels_last):
    memory_format = FORMAT[len(shape)] if channels_last else torch.contiguous_format
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=memory_format)


@torch.library.register_fake(_FORWARD)
def _fake_forward(input, weight, bias, *geometry):
    sizes = _geometry(*geometry).output_sizes(input.shape[2:], weight.shape[2:])
    return _empty(input, (input.shape[0], weight.shape[0], *sizes),
                  computes_channels_last(input, weight))


@torch.library.register_fake(_BACKWARD)
def _fake_backward(grad, input, weight, wanted, *geometry):
    channels_last = computes_channels_last(input, weight)
    found = (_empty(input, input.shape, channels_last), _empty(weight, weight.shape, channels_last),
             grad.new_empty(weight.shape[0]))
    return [gradient for gradient, wants in zip(found, wanted) if wants]


def _setup_context(ctx, inputs, output):
    input, weight, _, *ctx.geometry = inputs
    ctx.save_for_backward(input, weight)


def _setup_nothing(ctx, inputs, output):
    """What refuses needs nothing."""


def _differentiate(ctx, grad):
    wanted = ctx.needs_input_grad[:3]
    found = iter(convolution_backward(grad, *ctx.saved_tensors, wanted, *ctx.geometry))
    return *(next(found) if wants else None for wants in wanted), *[None] * len(ctx.geometry)


torch.library.register_autograd(_FORWARD, _differentiate, setup_context=_setup_context)
torch.library.register_autograd(_BACKWARD, refuse_to_differentiate, setup_context=_setup_nothing)
