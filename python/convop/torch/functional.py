"""conv1d, conv2d and conv3d with the signatures of torch.nn.functional."""
import torch

import convop
from convop.torch import compute, errors
from convop.torch.autograd import Convolution, TransformedConvolution
from convop.torch.dispatch import (any_autocast_is_enabled, autocast_dtype, has_fallback,
                                   is_differentiated, must_dispatch, transforms_are_active)
from convop.torch.geometry import resolve
from convop.torch.library import convolution


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """torch.nn.functional.conv1d, computed by convop. docs/pytorch.md says what differs."""
    return convolve(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """torch.nn.functional.conv2d, computed by convop. docs/pytorch.md says what differs."""
    return convolve(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """torch.nn.functional.conv3d, computed by convop. docs/pytorch.md says what differs."""
    return convolve(3, input, weight, bias, stride, padding, dilation, groups)


def convolve(axes, input, weight, bias, stride, padding, dilation, groups):
    """All of them: brings the arguments into one form, then takes the shortest way."""
    if any_autocast_is_enabled():
        dtype = autocast_dtype(input)
        if dtype is not None:
            input, weight, bias = (_cast(tensor, dtype) for tensor in (input, weight, bias))
    geometry = resolve(axes, weight, stride, padding, dilation, groups)
    dims = input.dim()
    if dims == axes + 1:
        return _compute(input.unsqueeze(0), weight, bias, geometry).squeeze(0)
    if dims != axes + 2:
        raise errors.InvalidError(f"conv{axes}d: input has {dims} dimensions, allowed are "
                                  f"{axes + 1} and, with a batch, {axes + 2}")
    return _compute(input, weight, bias, geometry)


def _cast(tensor, dtype):
    """Autocast leaves float64 and what is no floating-point number alone, as PyTorch's does."""
    if tensor is None or tensor.dtype == torch.float64 or not tensor.is_floating_point():
        return tensor
    return tensor.to(dtype)


def _compute(input, weight, bias, geometry):
    if must_dispatch(input, weight, bias):
        return convolution(input, weight, bias, *geometry)
    try:
        if is_differentiated(input, weight, bias):
            function = TransformedConvolution if transforms_are_active() else Convolution
            return function.apply(input, weight, bias, geometry)
        return compute.forward(input, weight, bias, geometry)
    except convop.Error:
        # Rare, and so not looked for before.
        if not has_fallback(input, weight, bias):
            raise
        return convolution(input, weight, bias, *geometry)
