"""What would run for a convolution, and why."""
import ctypes as c

from . import _errors, _fallback, _library
from ._structs import ConvRow, DLTensor, TuneOptions, sized
from ._views import Views, pointer

_DIRECTIONS = {"forward": 0, "backward_data": 1, "backward_weights": 2, "backward_bias": 3}
_CHOICES = ("", "forced", "cached", "estimated", "measured")
_MOST_ROWS = 64


def _rows(function, x, w, direction, parameters, *more):
    """Asks one of the functions that list rows for a problem."""
    if direction not in _DIRECTIONS:
        raise _errors.InvalidError(
            f"direction={direction!r}, allowed are {', '.join(_DIRECTIONS)}")
    rows, count = (ConvRow * _MOST_ROWS)(), c.c_size_t(_MOST_ROWS)
    with Views() as views:
        src, weights = views.take(x, "x"), views.take(w, "w")
        params = _fallback.complete_params(parameters, weights, True)
        params.no_bias = 1
        shape = _fallback.dst_shape(params, [src, weights])
        dst = DLTensor.from_buffer_copy(src.tensor)
        dst.data, dst.strides, dst.ndim = None, None, len(shape)
        dst.shape = c.cast((c.c_int64 * len(shape))(*shape), c.POINTER(c.c_int64))
        _library.call(function, c.byref(params), _DIRECTIONS[direction], pointer(src),
                      pointer(weights), c.byref(dst), None, *more, rows, c.byref(count))
    return [{"name": row.name.decode(), "version": row.version,
             "applicable": bool(row.applicable), "chosen": bool(row.chosen),
             "why_not": row.why_not.decode(), "choice": _CHOICES[row.choice],
             "workspace_bytes": row.workspace_bytes, "estimated_ms": row.estimated_ms or None,
             "ms": row.ms or None, "error_bound": row.error_bound or None} for row in rows[:min(count.value, _MOST_ROWS)]]


def explain(x, w, *, direction="forward", **parameters):
    """The implementations of a convolution in the order in which they are tried, each a dictionary:
    name, version, applicable, why_not, chosen, choice (why it was), workspace_bytes, estimated_ms
    and ms (None where not known), error_bound (None: as exact as sums are; docs/numerics.md says
    what it bounds). direction is "forward", "backward_data", "backward_weights" or
    "backward_bias"; parameters as in conv_forward(). Nothing is computed."""
    return _rows("convop_conv_explain", x, w, direction, parameters)


def measure(x, w, *, direction="forward", budget_ms=0, again=False, verify=None, keep=True,
            fastest=False, **parameters):
    """Measures the implementations of a convolution, on memory of its own, and keeps the winner in
    the tuning cache if `keep`. Rows as explain() gives them, with their times. again: also if the
    cache knows the problem; verify: leave out what computes something else (None: as the setting
    tune_verify says); fastest: without the parameter's workspace limit."""
    options = sized(TuneOptions, budget_ms=budget_ms, again=again,
                    verify=-1 if verify is None else int(verify), keep=keep, fastest=fastest)
    return _rows("convop_conv_tune", x, w, direction, parameters, c.byref(options))
