"""Any operator by its name."""
import ctypes as c

from . import _arrays, _errors, _library, _params
from ._backend import conv_forward
from ._fallback import request_number
from ._registry import Operator, text_arrays
from ._structs import DataType, Exec, Shape, sized
from ._views import Views, pointers

# The level of the operators that the library brings.
_BUILTIN = 10


def _take_inputs(operator, views, inputs):
    """Views of the inputs; those that the operator changes must be writable."""
    names = [arg.name.decode() for arg in operator.struct.inputs[:operator.struct.max_inputs]]
    if len(inputs) > len(names):
        raise _errors.ArgumentError(f"{operator.name}: {len(inputs)} inputs, there are at most "
                                    f"{len(names)}: {', '.join(names)}")
    return [views.take(array, name, bool(operator.struct.mutated_inputs >> i & 1))
            for i, (array, name) in enumerate(zip(inputs, names))]


def _infer(operator, params, inputs, num_outputs):
    """Shapes and dtypes of the outputs."""
    shapes = (Shape * len(inputs))(*(Shape(view.tensor.ndim, view.shape) for view in inputs))
    types = (DataType * len(inputs))(*(DataType(*view.dtype, 1) for view in inputs))
    out_shapes = (Shape * num_outputs)(*(Shape(-1) for _ in range(num_outputs)))
    out_types = (DataType * num_outputs)()
    _library.call("convop_infer", operator.pointer, params, len(inputs), shapes, num_outputs,
                  out_shapes, types, out_types)
    return [(tuple(shape.dim[:shape.ndim]), (dtype.code, dtype.bits))
            for shape, dtype in zip(out_shapes, out_types)]


def _per_output(value, count, keyword):
    """One value for the only output, or a sequence with one for each that is seen."""
    if count == 1 and not isinstance(value, (tuple, list)):
        return [value]
    values = [None] * count if value is None else list(value)
    if len(values) != count:
        raise _errors.InvalidError(f"{keyword} has {len(values)} entries, there are {count} outputs")
    return values


def _take_outputs(views, like, like_view, out, requests, inferred):
    for i, (given, number, (shape, dtype)) in enumerate(zip(out, requests, inferred)):
        if number == 0:
            yield None, None
        elif given is not None:
            yield given, views.take(given, f"out[{i}]", True)
        elif number == 3:
            raise _errors.InvalidError(f'request "add" needs out[{i}]')
        else:
            yield views.new(like, like_view, shape, dtype)


def invoke(name, inputs, *, out=None, request="write", is_train=False, **parameters):
    """Runs an operator by its name.

    inputs is a sequence of arrays, in the operator's order (op_info(name)["inputs"]); None, or
    nothing, for one that the parameters leave out. out: an array to write to, or a tuple with one
    for each output; None makes new ones of the kind of the first input. request is "write", "add"
    or "null", or a tuple of them. is_train=True trains (BatchNorm).

    Returns the array, or a tuple if there are several outputs; None for those with request "null".
    Raises NotFoundError, InvalidError, UnsupportedError, ExchangeError, DeviceError, NoMemoryError.
    """
    operator = Operator(name)
    inputs = list(inputs)
    while inputs and inputs[-1] is None:
        inputs.pop()
    if not inputs or any(array is None for array in inputs):
        raise _errors.ArgumentError(f"{name}: an input is missing")
    if name == "Convolution" and operator.struct.level == _BUILTIN and len(inputs) > 1:
        return conv_forward(*inputs, out=out, request=request, **parameters)
    with Views() as views:
        taken = _take_inputs(operator, views, inputs)
        texts = _params.operator_texts(operator, parameters, taken)
        params = operator.parse(texts)
        num_outputs = operator.counts(params)[1]
        seen = operator.num_visible(params, num_outputs)
        request = [request] * seen if request is None or isinstance(request, str) else request
        requests = [request_number(one, "request") for one in _per_output(request, seen, "request")]
        out = _per_output(out, seen, "out")
        pairs = list(_take_outputs(views, inputs[0], taken[0], out, requests,
                                   _infer(operator, params, taken, num_outputs)))
        hidden = num_outputs - seen
        _library.call("convop_invoke", name.encode(), c.c_size_t(len(texts)), *text_arrays(texts),
                      len(taken), pointers(taken), num_outputs,
                      pointers([view for _, view in pairs] + [None] * hidden),
                      (c.c_int * num_outputs)(*requests, *(0,) * hidden),
                      c.byref(sized(Exec, is_train=int(is_train))))
    results = tuple(array if array is None or given is not None
                    else _arrays.deliver(inputs[0], array)
                    for (array, _), given in zip(pairs, out))
    return results[0] if seen == 1 else results
