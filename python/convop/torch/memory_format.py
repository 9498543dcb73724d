"""Which memory format a convolution computes in, and the views that convop takes then.

PyTorch's channels_last is a tensor of shape N, C, H, W whose channels lie closest together. For
convop it is the layout NHWC: the same memory, its axes permuted.
"""
import torch

LAYOUT = {4: "NHWC", 5: "NDHWC"}
FORMAT = {4: torch.channels_last, 5: torch.channels_last_3d}
_TO_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_TO_FIRST = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}


def _is_channels_last(tensor, stride):
    """PyTorch's rule (suggest_memory_format): strides grow from the channels over the last axis to
    the first, and where sizes of 1 leave both formats open the plain one counts."""
    shape, channels = tensor.shape, stride[1]
    if channels == 0 or 0 in shape:
        return False
    least = channels * shape[1]
    for axis in range(len(stride) - 1, 1, -1):
        if stride[axis] < least:
            return False
        least = stride[axis] * shape[axis]
    return least != channels and least <= stride[0]


def computes_channels_last(input, weight):
    """As PyTorch: if one of both is channels_last, the result is. In 1-D there is no such format."""
    stride = input.stride()
    # The first comparison alone settles it for plain tensors, which most are.
    if stride[1] <= stride[-1] and len(stride) > 3 and _is_channels_last(input, stride):
        return True
    stride = weight.stride()
    return stride[1] <= stride[-1] and len(stride) > 3 and _is_channels_last(weight, stride)


def to_last(tensor):
    return tensor.permute(_TO_LAST[tensor.dim()])


def to_first(tensor):
    return tensor.permute(_TO_FIRST[tensor.dim()])
