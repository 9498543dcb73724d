"""TVM FFI: convop as a module of functions, for TVM and for whatever else speaks its ABI."""
import numpy as np
import tvm_ffi

from convop._adapters import path

# A program without Python loads the same file; an installed one is libconvop_tvm_ffi.so in the folder of
# the libraries.
module = tvm_ffi.load_module(path("tvm_ffi"))

x = np.random.default_rng(0).normal(size=(1, 8, 14, 14)).astype(np.float32)
w = np.zeros((8, 1, 3, 3), np.float32)
w[:, :, 1, 1] = 2
y = np.empty_like(x)
# Tensors, outputs among them, come first; None is no bias; then pairs of a name and a value.
module.conv_forward(x, w, None, y, "pad", (1, 1), "num_group", 8)
assert np.array_equal(y, 2 * x)

try:
    module.conv_forward(x, w, None, y, "pad", (1, 1))
except ValueError as error:
    print(error)
