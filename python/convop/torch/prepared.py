"""Weights that are packed once for many runs, kept with the module that they belong to.

What was packed is used as long as memory, layouts, version counters and geometry are those of then. The
tensors are held, so that their memory cannot be another tensor's meanwhile.
"""
import convop
from convop.torch import fuse
from convop.torch.dispatch import autocast_dtype, is_differentiated, must_dispatch
from convop.torch.geometry import resolve
from convop.torch.memory_format import LAYOUT, computes_channels_last, to_first, to_last


def is_possible(module, input, weight, bias):
    """True for a batch of plain tensors and parameters of the module, which have a counter."""
    parameters = module._parameters
    return (weight is parameters.get("weight") and bias is parameters.get("bias") and
            input.dim() == weight.dim() and not must_dispatch(input, weight, bias) and
            not is_differentiated(input, weight, bias) and autocast_dtype(input) is None and
            not weight.is_inference())


def _state(tensor):
    return None if tensor is None else (tensor._version, tensor.data_ptr(), tensor.shape,
                                        tensor.stride())


def run(module, input, weight, bias, padding):
    """The module's result; packs its weights if those that it has kept are not these."""
    channels_last = computes_channels_last(input, weight)
    chain = fuse.active_chain(module, weight)
    key = (_state(weight), _state(bias), channels_last, module.stride, padding, module.dilation,
           module.groups, chain, _norm_state(fuse.norm_of(chain)))
    kept = module.__dict__.get("_prepared")
    if kept is None or kept[0] != key:
        kept = module.__dict__["_prepared"] = (key, *_prepare(module, weight, bias, channels_last,
                                                              padding, input.dim(), chain))
    operator = kept[1]
    result = to_first(operator(to_last(input))) if channels_last else operator(input)
    if chain:
        result._convop_done = chain
    return result


def _norm_state(norm):
    return norm and (norm.eps, *map(_state, fuse.tensors_of(norm)))


def _prepare(module, weight, bias, channels_last, padding, dims, chain):
    """The operator, and the tensors that it was made from."""
    geometry = resolve(dims - 2, weight, module.stride, padding, module.dilation,
                       module.groups)
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    norm = fuse.norm_of(chain)
    held = weight, bias, norm and fuse.tensors_of(norm)
    if norm is not None:
        weight, bias = fuse.fold(norm, weight, bias)
    parameters = {"activation": fuse.activation_of(chain), "stride": geometry.stride, "pad": geometry.pad, "dilate": geometry.dilation,
                  "num_group": geometry.groups}
    if channels_last:
        parameters["layout"] = LAYOUT[dims]
    operator = convop.prepare("Convolution", to_last(weight) if channels_last else weight, bias,
                              **parameters)
    return operator, held


def forget(module):
    """Drops what was kept, in a module that may not be one of ours any more."""
    module.__dict__.pop("_prepared", None)
