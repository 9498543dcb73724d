"""CuPy: arrays in the memory of a GPU. convop never moves an array to another device: where it cannot
compute on a GPU it says so, and the caller decides."""
import cupy

import convop

x = cupy.ones((1, 3, 8, 8), dtype="float32")
w = cupy.ones((4, 3, 3, 3), dtype="float32")
y = cupy.empty((1, 4, 6, 6), dtype="float32")
try:
    # CuPy makes x and w ready on CUDA's default stream, where convop's kernels go.
    convop.conv_forward(x, w, out=y)
    print("on the GPU")
except convop.DeviceError as error:
    print(error)
    y_on_cpu = convop.conv_forward(cupy.asnumpy(x), cupy.asnumpy(w))
    print("on the CPU", y_on_cpu.shape)
