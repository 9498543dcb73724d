"""NumPy's arrays: any strides that a convolution can read, none copied, the result in an array of ours."""
import numpy as np

import convop

images = np.random.default_rng(0).normal(size=(8, 32, 32, 3)).astype(np.float32)
filters = np.ones((16, 3, 3, 3), np.float32) / 27

# Channels last, every second image, into memory that exists already.
result = np.empty((4, 32, 32, 16), np.float32)
returned = convop.conv_forward(images[::2], filters, pad=1, layout="NHWC", out=result)
assert returned is result

# The middle of the first image, by the definition.
assert np.allclose(result[0, 5, 5], images[0, 4:7, 4:7].sum() / 27, atol=1e-5)

# What does not fit is refused in a sentence, before anything is written.
try:
    convop.conv_forward(images, filters, pad=1, layout="NCHW")
except convop.InvalidError as error:
    print(error)
