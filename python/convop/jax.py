"""Convolution for JAX, through the XLA FFI: under jit, grad and vmap, on the CPU, without copies.

    import convop.jax
    y = convop.jax.conv(x, w, b, stride=2, pad=1)

The work is done by the shared object adapters/jax, which JAX loads with `import convop.jax`. Nothing
else of convop imports JAX.
"""
import ctypes
import functools
from typing import Optional, Sequence, Tuple as _Pair, Union

import jax
import numpy as np

from convop import _adapters, _infer
from convop._params import conv_params
from convop._registry import Operator
from convop._structs import ConvParams, Tuple

__all__ = ["conv"]

_LIBRARY = ctypes.CDLL(_adapters.path("jax"))
for _name in ("conv_forward", "conv_backward_data", "conv_backward_weights"):
    jax.ffi.register_ffi_target(
        f"convop_{_name}", jax.ffi.pycapsule(getattr(_LIBRARY, f"convop_jax_{_name}")),
        platform="cpu")


def conv(x: jax.typing.ArrayLike, w: jax.typing.ArrayLike, b: Optional[jax.typing.ArrayLike] = None, *,
         stride: Union[int, Sequence[int]] = 1,
         pad: Union[int, Sequence[int], Sequence[_Pair[int, int]]] = 0,
         dilate: Union[int, Sequence[int]] = 1, num_group: int = 1,
         layout: Optional[str] = None) -> jax.Array:
    """Convolves x with w and adds b.

    x is {mb, ic, spatial...}, w is {oc, ic / num_group, spatial...}, b is {oc}; with a layout that
    ends in C, {mb, spatial..., ic} and {oc, spatial..., ic / num_group}. One to three spatial axes.
    stride, pad and dilate are a number or one number an axis; an entry of pad may be a pair, of the
    begin and the end. dilate 1 is dense. layout None is NCW, NCHW or NCDHW.

    Differentiable once by x, w and b in reverse mode; float16, bfloat16, float32 and float64.
    """
    x, w = jax.numpy.asarray(x), jax.numpy.asarray(w)
    params = ConvParams.from_buffer_copy(conv_params(
        w.ndim, stride=_tuples(stride), pad=_tuples(pad), dilate=_tuples(dilate),
        num_group=num_group, layout=layout))
    attributes = (("layout", layout or ""), ("num_group", params.num_group)) + tuple(
        (name, tuple(getattr(params, name).at[:w.ndim - 2]))
        for name in ("stride", "dilate", "pad_begin", "pad_end"))
    params.kernel = _kernel(w.shape, layout)
    params.num_filter, params.no_bias = w.shape[0], b is None
    shapes = [x.shape, w.shape] if b is None else [x.shape, w.shape, jax.numpy.shape(b)]
    _, (dst_shape,) = _infer.shapes(Operator("Convolution"), ctypes.byref(params), shapes)
    return _conv(attributes, dst_shape[1:], x, w, None if b is None else jax.numpy.asarray(b))


def _tuples(value):
    """With tuples for lists, all the way down: what can be the key of a cache."""
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


def _kernel(shape, layout):
    kernel = shape[1:-1] if (layout or "").endswith("C") else shape[2:]
    return Tuple(len(kernel), kernel)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _conv(attributes, dst_shape, x, w, b):
    inputs = (x, w) if b is None else (x, w, b)
    return _forward(attributes, dst_shape)(*inputs)


def _conv_fwd(attributes, dst_shape, x, w, b):
    return _conv(attributes, dst_shape, x, w, b), (x, w, b)


def _conv_bwd(attributes, dst_shape, kept, dy):
    x, w, b = kept
    dx = _backward_data(attributes, x.shape[1:])(dy, w)
    dw, *db = _backward_weights(attributes, w.shape, b is not None)(dy, x)
    return dx, dw, db[0] if db else None


_conv.defvjp(_conv_fwd, _conv_bwd)


# Each call is made once for its attributes: JAX knows functions by their identity. Shapes are those of
# one image: vmap changes how many there are.


@functools.lru_cache(maxsize=None)
def _forward(attributes, dst_shape):
    def compute(x, w, *b):
        return _call("conv_forward", attributes, _result(x, (x.shape[0], *dst_shape)), x, w, *b)
    return _vmappable(compute, merges=True)


@functools.lru_cache(maxsize=None)
def _backward_data(attributes, src_shape):
    def compute(dy, w):
        return _call("conv_backward_data", attributes, _result(dy, (dy.shape[0], *src_shape)), dy, w)
    return _vmappable(compute, merges=True)


@functools.lru_cache(maxsize=None)
def _backward_weights(attributes, w_shape, has_bias):
    def compute(dy, x):
        results = [_result(dy, w_shape)] + [_result(dy, w_shape[:1])] * has_bias
        return _call("conv_backward_weights", attributes, results, dy, x)
    # The sum over the images is what it computes: those of different samples may not be merged.
    return _vmappable(compute, merges=False)


def _result(like, shape):
    return jax.ShapeDtypeStruct(shape, like.dtype)


def _call(name, attributes, results, *inputs):
    values = {key: value if isinstance(value, str) else np.asarray(value, np.int64)[()]
              for key, value in attributes}
    return jax.ffi.ffi_call(f"convop_{name}", results)(*inputs, **values)


def _vmappable(compute, merges):
    """compute with a rule for vmap. Where its first input alone is mapped, the mapped axis may be merged
    with that of the images, which makes one call; everything else is a loop."""
    function = jax.custom_batching.custom_vmap(compute)

    @function.def_vmap
    def rule(size, mapped, *inputs):
        if merges and mapped[0] and not any(mapped[1:]):
            first = inputs[0]
            merged = function(first.reshape(size * first.shape[1], *first.shape[2:]), *inputs[1:])
            return merged.reshape(size, first.shape[1], *merged.shape[1:]), True

        def one(of_mapped):
            rest = iter(of_mapped)
            return function(*(next(rest) if m else i for m, i in zip(mapped, inputs)))
        outputs = jax.lax.map(one, [i for m, i in zip(mapped, inputs) if m])
        return outputs, jax.tree.map(lambda _: True, outputs)

    return function
