"""A convolution with the BatchNorm and the ReLU or ReLU6 behind it as one, for evaluation.

torch.fx proves that nothing else sees what is between them. The modules stay as they are, with their
parameters and names. Where a convolution packs its weights (prepared.py) and those behind it are in
evaluation mode too, it computes for all of them and marks its result; the others hand on what is
marked for them, and compute everything else as ever.
"""
import collections

import torch
from torch import fx, nn

from convop.torch.dispatch import has_global_hooks, is_differentiated

_BEHIND = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}
ACTIVATIONS = {nn.ReLU: "relu", nn.ReLU6: "relu6"}


class _HandsOn:
    """Ahead of the class whose module may have been computed by the convolution before it."""

    def forward(self, input):
        done = getattr(input, "_convop_done", ())
        if not done or done[0] is not self:
            return super().forward(input)
        input._convop_done = done[1:]
        return input


_TWINS = {original: type(original.__name__, (_HandsOn, original), {"__doc__": original.__doc__,
                                                                  "__module__": __name__})
          for original in (*_BEHIND.values(), *ACTIVATIONS)}
globals().update({twin.__name__: twin for twin in _TWINS.values()})  # for pickle
ORIGINALS = {twin: original for original, twin in _TWINS.items()}


# ---- which modules --------------------------------------------------------------------------------

class _Tracer(fx.Tracer):
    def is_leaf_module(self, module, name):
        return type(module) in _BEHIND or super().is_leaf_module(module, name)


def chains(model):
    """For each convolution that is fused, by its identity: the modules behind it. {} where the
    model's flow of data cannot be traced."""
    try:
        graph = _Tracer().trace(model)
    except Exception:  # whatever the model's own code raises when it meets a stand-in for a tensor
        return {}
    modules = dict(model.named_modules(remove_duplicate=False))
    calls = collections.Counter(id(modules[node.target]) for node in graph.nodes
                                if node.op == "call_module")
    found = {}
    for node in graph.nodes:
        if node.op == "call_module":
            first = modules[node.target]
            if type(first) in _BEHIND and calls[id(first)] == 1 and not _has_hooks(first):
                chain = tuple(_behind(node, first, modules, calls))
                if chain:
                    found[id(first)] = chain
    return found


def _has_hooks(module):
    return module._forward_hooks or module._forward_pre_hooks


def _next(node, modules):
    """The node and the module that alone see the result of a node, or None."""
    user = next(iter(node.users), None)
    if (len(node.users) != 1 or user.op != "call_module" or user.args != (node,) or user.kwargs or
            _has_hooks(modules[user.target])):
        return None, None
    return user, modules[user.target]


def _behind(node, convolution, modules, calls):
    user, module = _next(node, modules)
    if (type(module) is _BEHIND[type(convolution)] and calls[id(module)] == 1 and
            module.running_mean is not None and
            module.num_features == convolution.out_channels):
        yield module
        user, module = _next(user, modules)
    if type(module) in ACTIVATIONS:
        yield module


def set_chain(convolution, chain):
    convolution.__dict__["_chain"] = chain  # no submodules of it
    for module in chain:
        if type(module) in _TWINS:
            module.__class__ = _TWINS[type(module)]


# ---- for one call ---------------------------------------------------------------------------------

def active_chain(convolution, weight):
    """What the convolution computes besides, now."""
    chain = convolution.__dict__.get("_chain", ())
    if chain and (_has_hooks(convolution) or has_global_hooks()):
        return ()
    for module in chain:
        if module.training or type(module) not in ORIGINALS or _has_hooks(module):
            return ()
    norm = norm_of(chain)
    if norm is None:
        return chain
    tensors = [t for t in tensors_of(norm) if t is not None]
    if any(t.is_inference() or t.dtype != weight.dtype or is_differentiated(t, t, None)
           for t in tensors):
        return ()
    return chain


def norm_of(chain):
    return chain[0] if chain and ORIGINALS[type(chain[0])] not in ACTIVATIONS else None


def activation_of(chain):
    return ACTIVATIONS.get(ORIGINALS[type(chain[-1])], "none") if chain else "none"


def tensors_of(norm):
    return norm.weight, norm.bias, norm.running_mean, norm.running_var


def fold(norm, weight, bias):
    """The weights and the bias of a convolution that computes BatchNorm too: in float64, rounded
    once."""
    gamma, beta, mean, variance = (t if t is None else t.detach().double()
                                   for t in tensors_of(norm))
    scale = torch.rsqrt(variance + norm.eps)
    if gamma is not None:
        scale = scale * gamma
    shift = (0 if bias is None else bias.double()) - mean
    shift = shift * scale if beta is None else shift * scale + beta
    folded = weight.double() * scale.reshape(-1, *(1,) * (weight.dim() - 1))
    return folded.to(weight.dtype), shift.to(weight.dtype)
