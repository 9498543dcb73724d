"""Operators that are prepared once for many calls."""
import ctypes as c
import threading

from . import _arrays, _errors, _fallback, _library, _params
from ._registry import Operator
from ._structs import DataType, Shape
from ._views import Views, pointers

# Sets of shapes that a prepared operator keeps plans for; the oldest goes first.
_MOST_PLANS = 16


class _Plan:
    """An instance of the library for one set of shapes. It is not reshaped again, so that any number
    of threads may run it; who runs it holds a reference."""

    def __init__(self, operator, params, inputs, num_free, out):
        self._instance = c.c_void_p()
        fixed = pointers([None] * num_free + inputs[num_free:])
        _library.call("convop_instance_create_typed", operator.name.encode(), params, len(inputs),
                      fixed, None, c.byref(self._instance))
        _library.call("convop_instance_reshape", self._instance, pointers(inputs),
                      pointers(out) if out else None, None, c.c_size_t(-1), None)
        self.outputs = [self._output(i) for i in range(operator.counts(params)[1])]

    def __del__(self):
        if self._instance:
            _library.function("convop_instance_destroy", None)(c.byref(self._instance))

    def _output(self, index):
        shape, dtype = Shape(), DataType()
        _library.call("convop_instance_output", self._instance, index, c.byref(shape),
                      c.byref(dtype))
        return tuple(shape.dim[:shape.ndim]), (dtype.code, dtype.bits)

    def run(self, inputs, outputs):
        _library.call("convop_instance_run", self._instance, pointers(inputs), pointers(outputs),
                      None)


class Prepared:
    """An operator with its last inputs fixed; prepare() makes it.

    y = op(x, out=None). Any number of threads may call it at once. The first call with new shapes
    makes a plan for them, which packs the fixed inputs; the last 16 plans are kept.
    """

    def __init__(self, name, constants, parameters):
        self._operator = Operator(name)
        self._parameters = parameters
        self._plans, self._lock = {}, threading.Lock()
        while constants and constants[-1] is None:
            constants = constants[:-1]
        self._arrays = constants  # what the views see stays alive
        self._views = Views()
        self._fixed = [self._views.take(array, f"constant {i}")
                       for i, array in enumerate(constants)]
        if name == "Convolution" and constants:
            self._params([None, *self._fixed])

    def __del__(self):
        self._plans = None
        if hasattr(self, "_views"):
            self._views.__exit__()

    def __repr__(self):
        return f"<convop.prepare({self._operator.name!r}), {len(self._plans)} plans>"

    def _params(self, inputs):
        """The operator's typed struct for these inputs."""
        if self._operator.name == "Convolution":
            return c.byref(_fallback.complete_params(self._parameters, inputs[1], len(inputs) > 2))
        return self._operator.parse(
            _params.operator_texts(self._operator, self._parameters, inputs))

    def _plan(self, inputs, num_free, out):
        key = tuple(view.layout() for view in inputs[:num_free] + out)
        plan = self._plans.get(key)
        if plan:
            return plan
        with self._lock:
            plan = self._plans.get(key)
            if not plan:
                plan = _Plan(self._operator, self._params(inputs), inputs, num_free, out)
                if len(self._plans) == _MOST_PLANS:
                    del self._plans[next(iter(self._plans))]
                self._plans[key] = plan
        return plan

    def __call__(self, *arrays, out=None):
        """The output for these inputs: of the kind of the first, or `out`, an array or a tuple with
        one for each output. Raises as convop.invoke()."""
        if not arrays:
            raise _errors.ArgumentError(f"{self._operator.name}: the first input is missing")
        given = out if isinstance(out, (tuple, list)) else [] if out is None else [out]
        with Views() as views:
            free = [views.take(array, f"input {i}") for i, array in enumerate(arrays)]
            inputs = free + self._fixed
            into = [views.take(array, f"out[{i}]", True) for i, array in enumerate(given)]
            plan = self._plan(inputs, len(free), into)
            results = list(given)
            if not into:
                for shape, dtype in plan.outputs:
                    array, view = views.new(arrays[0], free[0], shape, dtype)
                    results.append(array)
                    into.append(view)
            plan.run(inputs, into)
        if out is not None:
            return out
        results = tuple(_arrays.deliver(arrays[0], array) for array in results)
        return results[0] if len(results) == 1 else results


def prepare(name, *constants, **parameters):
    """An operator prepared for many calls, with its last inputs given once: for Convolution the
    weights, and the bias if there is one. They are packed once and must not be changed while it is
    in use.

        op = convop.prepare("Convolution", w, b, pad=1)
        y = op(x)

    Raises NotFoundError, InvalidError, UnsupportedError, ExchangeError, NoMemoryError.
    """
    return Prepared(name, constants, parameters)
