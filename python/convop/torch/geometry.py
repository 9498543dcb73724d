"""The geometry of a convolution: what PyTorch's arguments mean, with one entry an axis.

The padding says where it begins and ends: PyTorch's 'same' pads one more at the end if the total is
odd.
"""
import functools
import operator
from typing import NamedTuple

from convop._params import is_constant
from convop.torch.dispatch import is_compiling
from convop.torch.errors import InvalidError


class Geometry(NamedTuple):
    """In the order of the operators' schema in library.py."""

    stride: tuple
    pad_begin: tuple
    pad_end: tuple
    dilation: tuple
    groups: int

    @property
    def pad(self):
        """As convop takes it: one number an axis, or pairs of begin and end."""
        if self.pad_begin == self.pad_end:
            return self.pad_begin
        return tuple(zip(self.pad_begin, self.pad_end))

    def output_sizes(self, sizes, kernel):
        """The spatial sizes of the result, from those of the input."""
        return [(i + b + e - d * (k - 1) - 1) // s + 1
                for i, k, s, b, e, d in zip(sizes, kernel, *self[:4])]


def _whole(axes, name, value):
    """A number of NumPy, or a tensor of one."""
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidError(f"conv{axes}d: {name} is {value!r}, want integers") from None


def _per_axis(axes, name, value):
    if isinstance(value, int):
        return (value,) * axes
    try:
        value = tuple(value)
    except TypeError:
        value = (_whole(axes, name, value),)
    if len(value) == 1:
        return value * axes
    if len(value) != axes:
        raise InvalidError(f"conv{axes}d: {name} has {len(value)} entries, allowed are 1 and {axes}")
    return value


def _resolve(axes, kernel, stride, padding, dilation, groups):
    stride = _per_axis(axes, "stride", stride)
    dilation = _per_axis(axes, "dilation", dilation)
    if not isinstance(padding, str):
        padding = _per_axis(axes, "padding", padding)
        return Geometry(stride, padding, padding, dilation, groups)
    if padding == "valid":
        return Geometry(stride, (0,) * axes, (0,) * axes, dilation, groups)
    if padding != "same":
        raise InvalidError(f"conv{axes}d: padding is '{padding}', known are 'same' and 'valid'")
    if any(s != 1 for s in stride):
        raise InvalidError(f"conv{axes}d: padding is 'same' and stride {stride}, it must be 1")
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    begin = tuple(t // 2 for t in total)
    return Geometry(stride, begin, tuple(t - b for t, b in zip(total, begin)), dilation, groups)


@functools.lru_cache(maxsize=1024)
def _resolve_again(*arguments):
    # What it raises is not kept: values that may change, or equal others of another type.
    if not all(map(is_constant, arguments)):
        raise TypeError
    return _resolve(*arguments)


def resolve(axes, weight, stride, padding, dilation, groups):
    """The Geometry that torch.nn.functional.conv{axes}d takes these arguments for."""
    kernel = tuple(weight.shape[2:]) if isinstance(padding, str) else None
    if is_compiling():
        return _resolve(axes, kernel, stride, padding, dilation, groups)
    try:
        return _resolve_again(axes, kernel, stride, padding, dilation, groups)
    except TypeError:  # a list has no hash either
        return _resolve(axes, kernel, stride, padding, dilation, groups)
