"""conv_forward and conv_backward through TVM FFI, with NumPy's arrays and TVM FFI's own tensors."""
import glob
import os
import sys
import unittest

import numpy as np
import tvm_ffi

from convop import _adapters

MODULE = tvm_ffi.load_module(_adapters.path("tvm_ffi"))


def reference(x, w, b, stride, pad, dilate, group):
    """Two axes, channels first, by the definition; float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    oc, icg, kh, kw = w.shape
    reach = [d * (k - 1) + 1 for d, k in zip(dilate, (kh, kw))]
    oh, ow = ((x.shape[2 + i] - reach[i]) // stride[i] + 1 for i in (0, 1))
    y = np.empty((x.shape[0], oc, oh, ow))
    for o, i, j in np.ndindex(oc, oh, ow):
        c, h, v = o // (oc // group) * icg, i * stride[0], j * stride[1]
        window = x[:, c:c + icg, h:h + reach[0]:dilate[0], v:v + reach[1]:dilate[1]]
        y[:, o, i, j] = (window * w[o]).sum(axis=(1, 2, 3)) + b[o]
    return y


class Tvm(unittest.TestCase):
    def setUp(self):
        values = np.random.default_rng(1)
        self.x, self.w, self.b = (values.normal(size=s).astype(np.float32)
                                  for s in ((2, 4, 9, 7), (6, 2, 3, 3), (6,)))
        self.attributes = ("stride", (2, 1), "pad", (1, 2), "dilate", (2, 1), "num_group", 2)
        self.want = reference(self.x, self.w, self.b, (2, 1), (1, 2), (2, 1), 2)
        self.y = np.zeros(self.want.shape, np.float32)

    def test_numpy(self):
        self.assertIsNone(MODULE.conv_forward(self.x, self.w, self.b, self.y, *self.attributes))
        np.testing.assert_allclose(self.y, self.want, rtol=1e-4, atol=1e-4)

    def test_tensors_of_tvm(self):
        x, w, b, y = map(tvm_ffi.from_dlpack, (self.x, self.w, self.b, self.y))
        MODULE.conv_forward(x, w, b, y, *self.attributes)
        np.testing.assert_allclose(self.y, self.want, rtol=1e-4, atol=1e-4)

    def test_tensors_of_pytorch(self):
        """Those of its environment, which has the same Python and NumPy."""
        venvs = os.environ.get("CONVOP_VENVS") or os.path.expanduser("~/.cache/convop/venvs")
        found = glob.glob(os.path.join(glob.escape(venvs), "torch", "lib", "python3*", "site-packages"))
        if not found:
            self.skipTest("PyTorch is not installed")
        sys.path.append(found[0])
        import torch
        x, w, b, y = map(torch.from_numpy, (self.x, self.w, self.b, self.y))
        MODULE.conv_forward(x, w, b, y, *self.attributes)
        np.testing.assert_allclose(self.y, self.want, rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(ValueError, "Convolution: "):
            MODULE.conv_forward(x, w.double(), b, y, *self.attributes)

    def test_texts_short_and_long_lists_and_shapes(self):
        last = [np.ascontiguousarray(np.moveaxis(t, 1, -1)) for t in (self.x, self.w, self.y)]
        for stride in ((2, 1), [2, 1], tvm_ffi.Shape((2, 1)), tvm_ffi.Array([2, 1])):
            last[2][:] = 0
            MODULE.conv_forward(last[0], last[1], self.b, last[2], "stride", stride, "pad_begin", (1, 2),
                                "pad_end", (1, 2), "dilate", (2, 1), "num_group", 2, "layout", "NHWC")
            np.testing.assert_allclose(np.moveaxis(last[2], -1, 1), self.want, rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(ValueError, "layout=a text of more than seven"):
            MODULE.conv_forward(self.x, self.w, self.b, self.y, "layout", "a text of more than seven")

    def test_gradients_are_the_directional_derivative(self):
        dy = np.random.default_rng(2).normal(size=self.y.shape).astype(np.float32)
        grads = [np.zeros_like(t) for t in (self.x, self.w, self.b)]
        MODULE.conv_backward(dy, self.x, self.w, *grads, *self.attributes)
        inputs = (self.x, self.w, self.b)
        for i, gradient in enumerate(grads):
            step = np.random.default_rng(3 + i).normal(size=gradient.shape)
            moved = [t + step if j == i else t for j, t in enumerate(inputs)]
            change = ((reference(*moved, (2, 1), (1, 2), (2, 1), 2) - self.want) * dy).sum()
            self.assertAlmostEqual((gradient * step).sum() / change, 1, places=3)
        alone = np.zeros_like(self.w)
        MODULE.conv_backward(dy, self.x, self.w, None, alone, None, *self.attributes)
        np.testing.assert_array_equal(alone, grads[1])

    def test_errors_are_exceptions_with_convops_sentence(self):
        before = self.y.copy()
        for kind, text, attributes in (
                (ValueError, "Convolution: dst .* its shape must be", ("num_group", 2)),
                (ValueError, "the attribute paddle is unknown", ("paddle", (1, 1))),
                (ValueError, "the attribute pad has no value", ("pad",)),
                (ValueError, "the attribute pad has no value", ("pad", 1.5)),
                (ValueError, "argument 0 is no text", (1, 2))):
            with self.assertRaisesRegex(kind, text):
                MODULE.conv_forward(self.x, self.w, self.b, self.y, *attributes)
        with self.assertRaisesRegex(ValueError, "weights is no tensor"):
            MODULE.conv_forward(self.x, None, self.b, self.y)
        with self.assertRaisesRegex(ValueError, "the first 4 are tensors"):
            MODULE.conv_forward(self.x, self.w)
        with self.assertRaisesRegex(ValueError, "weights has 2 dimensions"):
            MODULE.conv_forward(self.x, self.w[0, 0], self.b, self.y)
        np.testing.assert_array_equal(self.y, before)


if __name__ == "__main__":
    unittest.main()
