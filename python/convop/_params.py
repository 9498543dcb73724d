"""Parameters of operators: from Python's values to the text or the struct that the library takes."""
import functools
import operator as _operator

from . import _errors
from ._registry import Operator
from ._structs import ConvParams, Tuple

_TUPLE = 5


def text(value):
    """The text form of a parameter's value."""
    if value is None or isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, (tuple, list)):
        return "(" + "".join(f"{_operator.index(entry)}," for entry in value) + ")"
    try:
        return str(_operator.index(value))
    except TypeError:
        return repr(float(value))


def texts(operator, given, axes):
    """All parameters as text. A single number for a tuple holds for each of the spatial axes."""
    result = {}
    for name, value in given.items():
        field = operator.fields.get(name)
        if field is None:
            raise _errors.ArgumentError(
                f"{operator.name}: there is no parameter {name}; it has "
                f"{', '.join(operator.fields) or 'none'}")
        try:
            if field.kind == _TUPLE and hasattr(value, "__index__"):
                value = (value,) * max(axes, 1)
            result[name] = text(value)
        except (TypeError, ValueError):
            raise _errors.ArgumentError(
                f"{operator.name}: {name}={value!r} is neither number, text nor a tuple of "
                "integers") from None
    return result


def split_pad(pad):
    """Padding as two tuples, begin and end, or as given and None where both are the same."""
    try:
        pairs = [tuple(pair) for pair in pad]
    except TypeError:
        return pad, None
    if isinstance(pad, str) or not pairs:
        return pad, None
    if any(len(pair) != 2 for pair in pairs):
        raise _errors.InvalidError(f"Convolution: pad={pad!r}: pairs of begin and end, or integers")
    return tuple(zip(*pairs))


def _whole(name, value):
    """A size that goes into the struct as it is."""
    try:
        number = _operator.index(value)
    except TypeError:
        raise _errors.ArgumentError(f"Convolution: {name}={str(value)[:80]!r} is no integer") from None
    if not 0 <= number < 1 << 63:
        raise _errors.InvalidError(f"Convolution: {name}={number}, allowed is 0 to 2^63 - 1")
    return number


def _conv_struct(ndim, given):
    if not 3 <= ndim <= 5:
        raise _errors.InvalidError(
            f"Convolution: weight has {ndim} dimensions, allowed are 3 to 5")
    axes = ndim - 2
    if isinstance(given.get("num_filter"), int) and given["num_filter"] == 0:
        raise _errors.InvalidError("Convolution: num_filter=0, allowed is 1 and more")
    workspace_bytes = given.pop("workspace_bytes", None)
    begin, end = split_pad(given.pop("pad", 0))
    convolution = Operator("FusedConvolution" if "activation" in given else "Convolution")
    known = dict(given, pad=begin)
    # Both are required and may not be 0; what is left out follows from the weights.
    for name, stand_in in (("kernel", (1,) * axes), ("num_filter", None)):
        if known.get(name) is None:
            known[name] = stand_in or _lenient_filters(known)
    parsed = convolution.parse(texts(convolution, known, axes))
    params = ConvParams.from_buffer(parsed)
    if end is not None:
        params.pad_end = Tuple(len(end), tuple(_whole("pad", size) for size in end))
    if given.get("kernel") is None:
        params.kernel = Tuple()
    if given.get("num_filter") is None:
        params.num_filter = 0
    if workspace_bytes is not None:
        params.workspace_bytes = _whole("workspace_bytes", workspace_bytes)
    return params


def _lenient_filters(known):
    """A number of filters that num_group divides."""
    try:
        return max(int(known.get("num_group", 1)), 1)
    except (TypeError, ValueError, OverflowError):
        return 1  # it is refused


def is_constant(value, depth=0):
    """Whether a value cannot change and is equal to none of another meaning, so that what followed from
    it may be remembered: texts, numbers, tuples of integers and tuples of those."""
    kind = type(value)
    if kind is tuple:
        return depth < 2 and all(is_constant(entry, depth + 1) for entry in value)
    return kind in (int, bool) or depth == 0 and kind in (str, float, type(None))


@functools.lru_cache(maxsize=1024, typed=True)
def conv_params(ndim, /, **given):
    """The bytes of a convop_conv_params for weights of so many dimensions. kernel.len is 0 and
    num_filter is 0 where they follow from the weights. For values that may change: __wrapped__."""
    return bytes(_conv_struct(ndim, given))


def _from_shapes(operator, num_inputs, filters):
    """Parameters that follow from the inputs, by their names."""
    if operator.name == "FullyConnected" and filters >= 0:
        yield "num_hidden", filters
    if "no_bias" in operator.fields and not operator.name.startswith("_"):
        yield "no_bias", num_inputs < operator.struct.max_inputs


def operator_texts(operator, given, num_inputs, ndim, filters):
    """All parameters of an operator as text, with what follows from its inputs: how many there are,
    the dimensions of the first, the first size of the second (-1: there is none)."""
    return texts(operator, {**dict(_from_shapes(operator, num_inputs, filters)), **given}, ndim - 2)
