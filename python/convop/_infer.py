"""Shapes that follow from other shapes, as the library says: for frameworks that ask before they call."""
from . import _library
from ._structs import Shape


def shapes(operator, params, inputs):
    """Completes what is known. inputs: a tuple for each input, None where nothing is known.

    Returns the shapes of all inputs and of all outputs; None where they stay unknown.
    """
    num_inputs, num_outputs = operator.counts(params)
    ins = (Shape * num_inputs)(*map(_shape, inputs))
    outs = (Shape * num_outputs)(*[_shape(None)] * num_outputs)
    _library.call("convop_infer", operator.pointer, params, num_inputs, ins, num_outputs, outs, None,
                  None)
    return [*map(_tuple, ins)], [*map(_tuple, outs)]


def _shape(known):
    return Shape(-1) if known is None else Shape(len(known), tuple(known))


def _tuple(shape):
    sizes = tuple(shape.dim[:max(shape.ndim, 0)])
    return None if shape.ndim < 0 or -1 in sizes else sizes
