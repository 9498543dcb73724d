"""Any operator by its name: through ctypes, and what the extension's invoke() asks."""
import ctypes as c

from . import _arrays, _errors, _library, _params
from ._fallback import arrays_first, convolve, request_number
from ._registry import BUILTIN, Operator
from ._structs import DataType, Exec, Shape, sized
from ._views import Views, pointers


def _input_names(operator, count):
    """The names of so many inputs."""
    names = [arg.name.decode() for arg in operator.struct.inputs[:operator.struct.max_inputs]]
    if count > len(names):
        raise _errors.ArgumentError(f"{operator.name}: {count} inputs, there are at most "
                                    f"{len(names)}: {', '.join(names)}")
    return names[:count]


def recipe(name, given, num_inputs, ndim, filters):
    """What the parameters of a call mean, with inputs as for _params.operator_texts(): keys and values
    as text, the operator's struct, the number of its outputs, how many of them a user sees."""
    operator = Operator(name)
    _input_names(operator, num_inputs)
    texts = _params.operator_texts(operator, given, num_inputs, ndim, filters)
    params = operator.parse(texts)
    num_outputs = operator.counts(params)[1]
    return (tuple(key.encode() for key in texts),
            tuple(_library.text(text, key) for key, text in texts.items()),
            bytes(params), num_outputs, operator.num_visible(params, num_outputs))


def _take_inputs(operator, views, inputs):
    """Views of the inputs; those that the operator changes must be writable."""
    names = _input_names(operator, len(inputs))
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


def _per_output(name, value, count, keyword):
    """One value for the only output, or a sequence with one for each that is seen."""
    if value is None:
        return [None] * count
    if not isinstance(value, (tuple, list)):
        if count == 1:
            return [value]
        raise _errors.ArgumentError(
            f"{name}: {keyword} is no tuple with one for each of {count} outputs")
    if len(value) != count:
        raise _errors.InvalidError(
            f"{name}: {keyword} has {len(value)} entries, there are {count} outputs")
    return [*value]


def _requests(name, request, count):
    if not isinstance(request, (tuple, list)):
        request = (request,) * count
    return [request_number(one, "request")
            for one in _per_output(name, request, count, "request")]


def _take_outputs(name, views, like, like_view, out, requests, inferred):
    for i, (given, number, (shape, dtype)) in enumerate(zip(out, requests, inferred)):
        if number == 0:
            yield None, None
        elif given is not None:
            yield given, views.take(given, f"out[{i}]", True)
        elif number == 3:
            raise _errors.InvalidError(f'{name}: request "add" needs out[{i}]')
        else:
            yield views.new(like, like_view, shape, dtype)


def _inputs(name, inputs):
    """Without those at the end that are None."""
    inputs = list(inputs) if inputs is not None else []
    while inputs and inputs[-1] is None:
        inputs.pop()
    if not inputs or any(array is None for array in inputs):
        raise _errors.ArgumentError(f"{name}: an input is missing")
    return inputs


@arrays_first(2, 0, "name", "inputs")
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
    inputs = _inputs(name, inputs)
    is_builtin = operator.struct.level == BUILTIN
    if name == "Convolution" and is_builtin and 1 < len(inputs) <= operator.struct.max_inputs:
        out, = _per_output(name, out, 1, "out")
        request, = _per_output(name, request, 1, "request")
        return convolve(*inputs, *(None,) * (3 - len(inputs)), out, request, parameters)
    with Views() as views:
        taken = _take_inputs(operator, views, inputs)
        filters = taken[1].shape[:1] if len(taken) > 1 else ()
        keys, values, params, num_outputs, seen = recipe(
            name, parameters, len(taken), taken[0].tensor.ndim, *filters or (-1,))
        requests = _requests(name, request, seen)
        out = _per_output(name, out, seen, "out")
        pairs = list(_take_outputs(name, views, inputs[0], taken[0], out, requests,
                                   _infer(operator, params, taken, num_outputs)))
        hidden = num_outputs - seen
        texts = c.c_char_p * len(keys)
        _library.call("convop_invoke", operator.struct.name, c.c_size_t(len(keys)), texts(*keys),
                      texts(*values), len(taken), pointers(taken), num_outputs,
                      pointers([view for _, view in pairs] + [None] * hidden),
                      (c.c_int * num_outputs)(*requests, *(0,) * hidden),
                      c.byref(sized(Exec, is_train=int(bool(is_train)))))
    results = tuple(array if array is None or given is not None
                    else _arrays.deliver(inputs[0], array)
                    for (array, _), given in zip(pairs, out))
    return results[0] if seen == 1 else results
