"""convop.jax against jax.lax.conv_general_dilated: values, gradients, vmap, errors, and no copies."""
import ctypes
import functools
import os
import random
import sys
import unittest

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

# spy.c, the argument: in the global scope before the adapter binds its names.
SPY = ctypes.CDLL(sys.argv.pop(1), ctypes.RTLD_GLOBAL)

import jax
import jax.numpy as jnp
import numpy as np

import convop
from convop.jax import conv

SEED = int(os.environ.get("CONVOP_SEED") or random.SystemRandom().randrange(1 << 32))
# Of the largest value of a result: sums in another order, and for the 16-bit types, which are
# compared with float32, one rounding at the end.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 2 ** -10, "bfloat16": 2 ** -7}
LAYOUTS = ("NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC")


class Problem:
    """A random convolution: tensors, convop's arguments, and JAX's own function for it."""

    def __init__(self, rng, layout, dtype):
        self.layout, axes = layout, len(layout) - 2
        group = rng.choice((1, 1, 2, 3))
        ic, oc = group * rng.randint(1, 3), group * rng.randint(1, 3)
        kernel = [rng.randint(1, 3) for _ in range(axes)]
        self.options = {
            "stride": tuple(rng.randint(1, 2) for _ in range(axes)),
            "dilate": tuple(rng.randint(1, 2) for _ in range(axes)),
            "pad": tuple((rng.randint(0, 2), rng.randint(0, 2)) for _ in range(axes)),
            "num_group": group, "layout": layout}
        size = [rng.randint(5, 8) for _ in range(axes)]
        values = np.random.default_rng(rng.randrange(1 << 32))

        def tensor(outer, inner, spatial):
            shape = (outer, *spatial, inner) if self.layout[-1] == "C" else (outer, inner, *spatial)
            return jnp.asarray(values.normal(size=shape), dtype)
        self.x = tensor(rng.randint(1, 3), ic, size)
        self.w = tensor(oc, ic // group, kernel)
        self.b = jnp.asarray(values.normal(size=oc), dtype)

    def convop(self, x, w, b):
        return conv(x, w, b, **self.options)

    def jax(self, x, w, b):
        weights = self.layout.replace("N", "O").replace("C", "I")
        y = jax.lax.conv_general_dilated(
            x, w, self.options["stride"], self.options["pad"], rhs_dilation=self.options["dilate"],
            feature_group_count=self.options["num_group"],
            dimension_numbers=(self.layout, weights, self.layout), precision="highest")
        return y + (b if self.layout[-1] == "C" else b.reshape(-1, *[1] * (y.ndim - 2)))


class Jax(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(SEED)

    def close(self, got, want):
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        self.assertEqual(got.shape, want.shape)
        scale = max(1.0, np.abs(want).max())
        self.assertLessEqual(np.abs(got - want).max() / scale, self.tolerance)

    def problem(self, layout, dtype):
        self.tolerance = TOLERANCE[dtype]
        return Problem(self.rng, layout, dtype)

    def test_values_and_gradients_under_jit(self):
        # The handlers know nothing of layout and dtype together.
        for layout, dtype in [(layout, "float32") for layout in LAYOUTS] + [
                (self.rng.choice(LAYOUTS), dtype) for dtype in TOLERANCE]:
            with self.subTest(layout=layout, dtype=dtype, repeat=f"CONVOP_SEED={SEED}"):
                p = self.problem(layout, dtype)
                inputs = (p.x, p.w, p.b)
                dy = jnp.cos(p.jax(*inputs)).astype(dtype)

                def both(function, dy, *inputs):
                    y, pull_back = jax.vjp(function, *inputs)
                    return y, *pull_back(dy)
                got = jax.jit(lambda *t: both(p.convop, *t))(dy, *inputs)
                exact = jnp.promote_types(dtype, "float32")
                want = jax.jit(lambda *t: both(p.jax, *t))(*(t.astype(exact) for t in (dy, *inputs)))
                for g, w in zip(got, want):
                    self.assertEqual(g.dtype, dtype)
                    self.close(g, w)

    def test_without_jit_and_without_bias(self):
        p = self.problem("NHWC", "float32")
        self.close(conv(p.x, p.w, **p.options), p.jax(p.x, p.w, 0 * p.b))
        dw = jax.grad(lambda w: conv(p.x, w, **p.options).sum())(p.w)
        self.close(dw, jax.grad(lambda w: p.jax(p.x, w, p.b).sum())(p.w))

    def test_vmap_over_each_input(self):
        for layout in ("NCHW", "NWC"):
            p = self.problem(layout, "float64")
            many = [jnp.stack([t, 2 * t + 1, -t]) for t in (p.x, p.w, p.b)]
            single = (p.x, p.w, p.b)
            for mapped in ((1, 0, 0), (0, 1, 0), (1, 1, 1)):
                inputs = [m if on else s for on, m, s in zip(mapped, many, single)]
                in_axes = [0 if on else None for on in mapped]

                def gradients(function):
                    one = jax.grad(lambda *t: jnp.sin(function(*t)).sum(), (0, 1, 2))
                    return jax.vmap(one, in_axes)(*inputs)
                self.close(jax.vmap(p.convop, in_axes)(*inputs), jax.vmap(p.jax, in_axes)(*inputs))
                for g, w in zip(gradients(p.convop), gradients(p.jax)):
                    self.close(g, w)

    def test_vmap_over_images_is_one_call(self):
        x, w = jnp.ones((5, 2, 3, 8, 8)), jnp.ones((4, 3, 3, 3))
        text = str(jax.make_jaxpr(jax.vmap(lambda x: conv(x, w)))(x))
        self.assertIn("10,3,8,8", text)
        self.assertNotIn("scan", text)

    def test_what_does_not_fit_is_an_error_when_it_is_traced(self):
        x, w = jnp.ones((1, 4, 5, 5)), jnp.ones((2, 4, 3, 3))
        for text, inputs, options in (("num_group=3", (x, w), {"num_group": 3}),
                                      ("layout=.?NHCW", (x, w), {"layout": "NHCW"}),
                                      ("dilate", (x, w), {"dilate": 3}),
                                      ("stride", (x, w), {"stride": (1, 1, 1)}),
                                      ("src", (x[0], w), {}),
                                      ("bias", (x, w, jnp.ones(3)), {})):
            with self.subTest(text), self.assertRaisesRegex(convop.InvalidError, text):
                jax.jit(functools.partial(conv, **options)).lower(*inputs)

    def test_what_the_call_refuses_is_an_error_of_jax_with_convops_sentence(self):
        x, w = jnp.ones((1, 4, 5, 5)), jnp.ones((2, 4, 3, 3))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError,
                                    "INVALID_ARGUMENT: .*argument 0 has XLA's dtype"):
            conv(x.astype(int), w).block_until_ready()
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "INVALID_ARGUMENT: Convolution: "):
            jax.jit(conv)(x, w.astype("float16")).block_until_ready()
        convop.set(impl="depthwise")
        try:
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "UNIMPLEMENTED: Convolution: "):
                jax.jit(conv)(x, w).block_until_ready()
        finally:
            convop.set(impl=None)

    def test_second_derivative_is_refused(self):
        x, w = jnp.ones((1, 1, 5)), jnp.ones((1, 1, 3))
        first = jax.grad(lambda x: (conv(x, w) ** 2).sum())
        with self.assertRaisesRegex(Exception, "differentiat"):
            jax.grad(lambda x: first(x).sum())(x)

    def test_arrays_are_not_copied(self):
        x, w = jnp.ones((2, 3, 32, 32), "float32"), jnp.ones((8, 3, 3, 3), "float32")
        for function in (conv, jax.jit(conv)):
            function(x, w).block_until_ready()
            for name, array in (("spy_src", x), ("spy_weights", w)):
                self.assertEqual(ctypes.c_void_p.in_dll(SPY, name).value,
                                 array.unsafe_buffer_pointer())


if __name__ == "__main__":
    unittest.main()
