"""The calls of convop, on plain tensors: no autograd, no autocast, a batch axis is there."""
import convop
from convop.torch.errors import as_runtime_error
from convop.torch.memory_format import LAYOUT, computes_channels_last, to_first, to_last


def forward(input, weight, bias, geometry):
    """A new tensor, in the memory format that PyTorch's result would have."""
    stride, begin, end, dilation, groups = geometry
    pad = begin if begin is end else geometry.pad  # a call less where it is the same in any case
    try:
        if not computes_channels_last(input, weight):
            return convop.conv_forward(input, weight, bias, stride=stride, pad=pad, dilate=dilation,
                                       num_group=groups)
        return to_first(convop.conv_forward(
            to_last(input), to_last(weight), bias, stride=stride, pad=pad, dilate=dilation,
            num_group=groups, layout=LAYOUT[input.dim()]))
    except convop.Error as error:
        raise as_runtime_error(error) from None


def backward(grad, input, weight, wanted, geometry):
    """The gradients by input, weight and bias, each None unless wanted."""
    stride, _, _, dilation, groups = geometry
    # Of the bias its shape alone counts, and it may be another one by now.
    bias = grad.new_empty(weight.shape[0]) if wanted[2] else None
    parameters = {"stride": stride, "pad": geometry.pad, "dilate": dilation, "num_group": groups,
                  "grad_req": tuple("write" if w else "null" for w in wanted)}
    try:
        if not computes_channels_last(input, weight):
            return convop.conv_backward(grad, input, weight, bias, **parameters)
        found = convop.conv_backward(to_last(grad), to_last(input), to_last(weight),
                                     bias, layout=LAYOUT[input.dim()], **parameters)
    except convop.Error as error:
        raise as_runtime_error(error) from None
    by_input, by_weight, by_bias = found
    return (by_input if by_input is None else to_first(by_input),
            by_weight if by_weight is None else to_first(by_weight), by_bias)
