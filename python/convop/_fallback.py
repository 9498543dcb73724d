"""conv_forward and conv_backward through ctypes, for Pythons that do not load the extension (those
without a GIL, PyPy's kin) or where CONVOP_PYTHON_FALLBACK=1 asks for it. Slower, otherwise alike."""
import ctypes as c
import functools

from . import _arrays, _errors, _library, _params
from ._structs import ConvParams, Shape, Tuple
from ._views import Views, pointer

_REQUESTS = {"null": 0, None: 0, "write": 1, "add": 3}


def request_number(request, keyword):
    if request is not None and not isinstance(request, str):
        raise _errors.ArgumentError(f'{keyword} is neither "write", "add" nor "null"')
    if request not in _REQUESTS:
        raise _errors.InvalidError(
            f'{keyword} is {request!r}, allowed are "write", "add", "null"')
    return _REQUESTS[request]


def arrays_first(required, needed, *names):
    """For a function with these arrays first, some of which must be given, the first of them not as
    None: refuses calls of another form as the extension does."""
    def decorate(function):
        @functools.wraps(function)
        def call(*arrays, **keywords):
            problem = None
            if len(arrays) > len(names):
                problem = "parameters are given by keyword; positional are only arrays"
            for name in names[:len(arrays)]:
                if name in keywords:
                    problem = f"given twice: {name}"
            for name in names[len(arrays):required]:
                if not problem and name not in keywords:
                    problem = f"missing argument {name}"
            for name, array in [*zip(names, arrays), *keywords.items()]:
                if not problem and array is None and name in names[:needed]:
                    problem = f"{name} is None"
            if problem:
                raise _errors.ArgumentError(f"{function.__name__}(): {problem}")
            return function(*arrays, **keywords)
        return call
    return decorate


def complete_params(parameters, weights, has_bias):
    """convop_conv_params, with what follows from the weights."""
    tensor = weights.tensor
    read = _params.conv_params
    if not all(map(_params.is_constant, parameters.values())):
        read = read.__wrapped__
    params = ConvParams.from_buffer_copy(read(tensor.ndim, **parameters))
    if not params.kernel.len:
        first = 1 if params.layout and params.layout % 2 == 0 else 2
        params.kernel = Tuple(tensor.ndim - 2, tuple(tensor.shape[first:first + tensor.ndim - 2]))
    if not params.num_filter:
        params.num_filter = tensor.shape[0]
    if not has_bias:
        params.no_bias = 1
    return params


def dst_shape(params, views):
    """The library's answer, or its refusal."""
    operator = _params.Operator("FusedConvolution" if params.activation else "Convolution")
    given = [view for view in views if view]
    inputs = (Shape * len(given))(*(Shape(view.tensor.ndim, view.shape) for view in given))
    output = Shape(-1)
    _library.call("convop_infer", operator.pointer, c.byref(params), len(given), inputs, 1,
                  c.byref(output), None, None)
    return tuple(output.dim[:output.ndim])


@arrays_first(2, 2, "x", "w", "b")
def conv_forward(x, w, b=None, *, residual=None, out=None, request="write", **parameters):
    """activation(convolution + residual) in one, two or three dimensions: a new array of the kind
    of x, or out.

    x is (mb, ic, h, w), w is (oc, ic / num_group, kh, kw), b is (oc,) or None; or as layout says.
    residual, of the result's shape, may be out; or None. activation is "none", "relu" or "relu6".
    request is "write", "add" or "null". Parameters: kernel, stride, dilate, pad (a number, one for
    each axis, or pairs of begin and end), num_filter, num_group, layout, workspace,
    workspace_bytes, cudnn_tune, cudnn_off, depthwise_conv_off. docs/python.md says more.
    """
    return convolve(x, w, b, out, request, parameters, residual)


def convolve(x, w, b, out, request, parameters, residual=None):
    """conv_forward() once it is known who is who."""
    number = request_number(request, "request")
    if number == 3 and out is None:
        raise _errors.InvalidError('conv_forward(): request="add" needs out')
    with Views() as views:
        taken = [views.take_if(array, name) for array, name in ((x, "x"), (w, "w"), (b, "b"))]
        params = complete_params(parameters, taken[1], b is not None)
        result = dst = None
        if number == 0 and out is None:
            pass
        elif out is None:
            result, dst = views.new(x, taken[0], dst_shape(params, taken))
        else:
            result, dst = out, views.take(out, "out", True)
        tensors = [*map(pointer, taken)]
        if residual is not None:
            tensors.append(pointer(views.take(residual, "residual")))
            number = 2 if number == 1 and residual is out else number
        _library.call("convop_conv_forward" if residual is None else "convop_conv_forward_add",
                      c.byref(params), *tensors, pointer(dst), number, None)
    return _arrays.deliver(x, result) if out is None and result is not None else out


def _three(value, keyword):
    if not isinstance(value, (tuple, list, type(None))):
        raise _errors.ArgumentError(
            f"conv_backward(): {keyword} is no tuple with one for each of x, w and b")
    values = tuple(value) if value is not None else (None,) * 3
    if len(values) != 3:
        raise _errors.InvalidError(
            f"conv_backward(): {keyword} has three entries, for x, w and b")
    return values


def _gradients(views, arrays, taken, requests, out):
    """Pairs of array and view, None for what is not asked for."""
    for i, (array, view, number, given) in enumerate(zip(arrays, taken, requests, out)):
        name = "xwb"[i]
        if not number:
            yield None, None
        elif array is None:
            raise _errors.InvalidError(f"conv_backward(): the gradient by {name} is asked for, and "
                                       f"{name} is None")
        elif given is not None:
            yield given, views.take(given, f"out[{i}]", True)
        elif number == 3:
            raise _errors.InvalidError(f'conv_backward(): grad_req "add" needs out[{i}]')
        else:
            yield views.new(array, view, view.shape)


@arrays_first(3, 1, "dy", "x", "w", "b")
def conv_backward(dy, x, w, b=None, *, grad_req="write", out=None, **parameters):
    """The gradients by x, w and b, from the gradient dy by the output of conv_forward().

    A tuple of three: new arrays, or those of the tuple out; None for what is not asked for.
    grad_req is "write", "add" or "null", one for all or a tuple of three. Parameters as in
    conv_forward(). docs/python.md says more.
    """
    if grad_req is None or isinstance(grad_req, str):
        grad_req = (grad_req,) * 3
    requests = [request_number(request, "grad_req") for request in _three(grad_req, "grad_req")]
    out = _three(out, "out")
    if b is None:
        requests[2] = 0
    with Views() as views:
        taken = [views.take_if(array, name)
                 for array, name in ((dy, "dy"), (x, "x"), (w, "w"), (b, "b"))]
        params = complete_params(parameters, taken[2] or taken[0], requests[2] != 0)
        pairs = list(_gradients(views, (x, w, b), taken[1:], requests, out))
        _library.call("convop_conv_backward", c.byref(params), *map(pointer, taken[:3]),
                      *(pointer(view) for _, view in pairs), (c.c_int * 3)(*requests), None)
    return tuple(array if array is None or given is not None else _arrays.deliver(like, array)
                 for (array, _), like, given in zip(pairs, (x, w, b), out))
