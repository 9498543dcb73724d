"""Operators that are prepared once for many calls: what is known of them, and plans."""
import ctypes as c
import math

from . import _backend, _errors, _fallback, _library, _params
from ._registry import BUILTIN, Operator
from ._structs import DataType, Shape
from ._views import Borrowed, Views, pointers


class Plan:
    """An instance of the library for one set of layouts. It is not reshaped again, so that any number
    of threads may run it; who runs it holds a reference."""

    def __init__(self, operator, params, inputs, num_free, out):
        self._instance = c.c_void_p()
        self.num_inputs, self.num_all = len(inputs), operator.counts(params)[1]
        self.num_outputs = seen = operator.num_visible(params, self.num_all)
        if out is not None and len(out) != seen:
            raise _errors.InvalidError(
                f"{operator.name}: out has {len(out)} entries, there are {seen} outputs")
        fixed = pointers([None] * num_free + inputs[num_free:])
        _library.call("convop_instance_create_typed", operator.struct.name, params, len(inputs),
                      fixed, None, c.byref(self._instance))
        hidden = self.num_all - seen
        _library.call("convop_instance_reshape", self._instance, pointers(inputs),
                      pointers((out or [None] * seen) + [None] * hidden),
                      (c.c_int * self.num_all)(*(1,) * seen, *(0,) * hidden), c.c_size_t(-1), None)
        self.outputs = [self._output(i) for i in range(seen)]
        self.work = self._work(operator, inputs)

    # At the end of the process the modules may be gone before the last plan.
    def __del__(self, destroy=_library.function("convop_instance_destroy", None), byref=c.byref):
        if hasattr(self, "_instance"):
            destroy(byref(self._instance))

    @property
    def address(self):
        return self._instance.value

    def _output(self, index):
        shape, dtype = Shape(), DataType()
        _library.call("convop_instance_output", self._instance, index, c.byref(shape),
                      c.byref(dtype))
        return tuple(shape.dim[:shape.ndim]), (dtype.code, dtype.bits)

    def _work(self, operator, inputs):
        """Multiply-adds of a run at most; not known of operators that others bring."""
        if operator.struct.level != BUILTIN:
            return math.inf
        outputs = sum(math.prod(shape) for shape, _ in self.outputs)
        return float(outputs * max(math.prod(view.shape) for view in inputs))

    def run(self, free, outputs):
        """Inputs that are not fixed, and outputs that are seen: the instance knows the others."""
        _library.call("convop_instance_run", self._instance,
                      pointers(free + [None] * (self.num_inputs - len(free))),
                      pointers(outputs + [None] * (self.num_all - len(outputs))), None)


class Planner:
    """Makes the plans of a prepared operator. It holds what is fixed: parameters, the last inputs."""

    def __init__(self, name, constants, parameters):
        self._operator = Operator(name)
        self._parameters = parameters
        while constants and constants[-1] is None:
            constants = constants[:-1]
        self._arrays = constants  # what the views see stays alive
        self._views = Views()
        self._fixed = [self._views.take(array, f"constant {i}")
                       for i, array in enumerate(constants)]
        self.mutated_inputs = self._operator.struct.mutated_inputs
        self._is_conv = name == "Convolution" and self._operator.struct.level == BUILTIN
        if self._is_conv and constants:
            self._params([None, *self._fixed])

    def __del__(self):
        if hasattr(self, "_views"):
            self._views.__exit__()

    def __str__(self):
        return self._operator.name

    def _params(self, inputs):
        """The operator's typed struct for these inputs, a residual being left out."""
        if self._is_conv and len(inputs) > 1:
            return c.byref(_fallback.complete_params(self._parameters, inputs[1], len(inputs) > 2))
        filters = inputs[1].shape[:1] if len(inputs) > 1 else ()
        return self._operator.parse(_params.operator_texts(
            self._operator, self._parameters, len(inputs), inputs[0].tensor.ndim, *filters or (-1,)))

    def plan(self, free, out):
        """A plan for views of the inputs that are not fixed, and of outputs; out None: new ones."""
        inputs, operator = free + self._fixed, self._operator
        if not self._is_conv or not self._fixed:
            return Plan(operator, self._params(inputs), inputs, len(free), out)
        if len(free) == 2:
            operator = Operator("FusedConvolutionAdd")
        elif "activation" in self._parameters:
            operator = Operator("FusedConvolution")
        return Plan(operator, self._params(free[:1] + self._fixed), inputs, len(free), out)

    def plan_at(self, free, out):
        """The same for addresses of DLTensors, which the extension has taken."""
        return self.plan([*map(Borrowed, free)], None if out is None else [*map(Borrowed, out)])


def prepare(name, *constants, **parameters):
    """An operator prepared for many calls, with its last inputs given once: for Convolution the
    weights, and the bias if there is one. They are packed once and must not be changed while it is
    in use.

        op = convop.prepare("Convolution", w, b, pad=1, activation="relu")
        y = op(x)              # relu(convolution)
        y = op(x, residual)    # relu(convolution + residual), for Convolution alone

    Raises NotFoundError, InvalidError, UnsupportedError, ExchangeError, NoMemoryError.
    """
    return _backend.Prepared(Planner(name, constants, parameters))
