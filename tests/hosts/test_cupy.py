"""Arrays on a GPU by CuPy's protocol, with the stand-in for CuPy (standin/cupy.py). Where no GPU is, convop
refuses them in a sentence, having touched nothing. With the argument "fallback", through ctypes."""
import os
import sys
import unittest

FALLBACK = sys.argv[1:] == ["fallback"]
if FALLBACK:
    sys.argv.pop()
    os.environ["CONVOP_PYTHON_FALLBACK"] = "1"

import cupy
import numpy as np

import convop


class Old(cupy.ndarray):
    """As of CuPy 12: it knows stream alone."""

    def __dlpack__(self, stream=None):
        return self.export(stream, False)


class OldManaged(Old):
    """In memory of cudaMallocManaged."""
    device_type = 13


class Cupy(unittest.TestCase):
    def test_the_backend_is_the_one_that_is_meant(self):
        self.assertEqual(convop.backend != "extension", FALLBACK)

    def test_the_stream_is_named_and_the_device_refused(self):
        for kind, struct in ((cupy.ndarray, "versioned"), (Old, "legacy"), (OldManaged, "legacy")):
            with self.subTest(kind.__name__):
                x, w, y = kind((1, 3, 8, 8)), kind((4, 3, 3, 3)), kind((1, 4, 6, 6))
                with self.assertRaisesRegex(convop.DeviceError, "Convolution: .*(cuda|CUDA|GPU)"):
                    convop.conv_forward(x, w, out=y)
                for array in (x, w, y):
                    # CUDA's legacy default stream, on which convop's calls are made.
                    self.assertEqual(set(array.streams), {1})
                    self.assertEqual(set(array.kinds), {struct})
                    self.assertEqual(array.deleted, len(array.streams))

    def test_without_out_it_is_refused_too(self):
        x, w = cupy.ndarray((1, 3, 8, 8)), cupy.ndarray((4, 3, 3, 3))
        with self.assertRaises(convop.DeviceError):
            convop.conv_forward(x, w)
        self.assertEqual([x.deleted, w.deleted], [len(x.streams), len(w.streams)])

    def test_one_array_on_the_gpu_among_others(self):
        x, w = np.ones((1, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)
        y = np.zeros((1, 4, 6, 6), np.float32)
        with self.assertRaisesRegex(convop.DeviceError, "weight"):
            convop.conv_forward(x, cupy.ndarray(w.shape), out=y)
        with self.assertRaisesRegex(convop.DeviceError, "bias"):
            convop.conv_forward(x, w, cupy.ndarray((4,)), out=y)
        with self.assertRaisesRegex(convop.DeviceError, "dst"):
            convop.conv_forward(x, w, out=cupy.ndarray(y.shape))
        self.assertFalse(y.any())

    def test_arrays_on_the_cpu_get_no_stream(self):
        class OnCpu(cupy.ndarray):
            device_type = 1
        memory = np.ones((1, 1, 4, 4), np.float32)
        x, y = OnCpu(memory.shape, memory.ctypes.data), np.empty((1, 1, 3, 3), np.float32)
        convop.conv_forward(x, np.ones((1, 1, 2, 2), np.float32), out=y)
        self.assertEqual((set(x.streams), x.deleted), ({None}, len(x.streams)))
        np.testing.assert_array_equal(y, np.full(y.shape, 4))


if __name__ == "__main__":
    unittest.main()
