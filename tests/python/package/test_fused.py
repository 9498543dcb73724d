"""activation(convolution + residual) in one call: the bits of NumPy's operations one after the
other."""
import numpy as np
import pytest

import convop

ACTIVATIONS = {"none": lambda y: y, "relu": lambda y: np.maximum(y, 0),
               "relu6": lambda y: np.clip(y, 0, 6)}


@pytest.fixture(params=ACTIVATIONS)
def activation(request):
    return request.param


@pytest.fixture(params=("float32", "float64"))
def arrays(request):
    rng = np.random.default_rng(4)
    return [rng.normal(size=size).astype(request.param) * 2
            for size in ((2, 8, 9, 7), (12, 8, 3, 3), (12,), (2, 12, 9, 7))]


def test_one_call(arrays, activation):
    x, w, b, z = arrays
    y, finish = convop.conv_forward(x, w, b, pad=1), ACTIVATIONS[activation]
    options = {"pad": 1, "activation": activation}
    assert np.array_equal(convop.conv_forward(x, w, b, **options), finish(y))
    assert np.array_equal(convop.conv_forward(x, w, b, residual=z, **options), finish(y + z))
    plain = convop.conv_forward(x, w, pad=1)
    assert np.array_equal(convop.conv_forward(x, w, residual=z, **options), finish(plain + z))


def test_over_the_residual(arrays, activation):
    x, w, b, z = arrays
    wanted = ACTIVATIONS[activation](convop.conv_forward(x, w, b, pad=1) + z)
    assert convop.conv_forward(x, w, b, residual=z, out=z, pad=1, activation=activation) is z
    np.testing.assert_allclose(z, wanted, rtol=1e-4, atol=1e-4)


def test_prepared(arrays, activation):
    x, w, b, z = arrays
    y, finish = convop.conv_forward(x, w, b, pad=1), ACTIVATIONS[activation]
    op = convop.prepare("Convolution", w, b, pad=1, activation=activation)
    for _ in range(2):
        assert np.array_equal(op(x), finish(y))
        assert np.array_equal(op(x, z), finish(y + z))
    plain = convop.prepare("Convolution", w, pad=1)
    assert np.array_equal(plain(x, z), convop.conv_forward(x, w, pad=1) + z)


def test_by_name(arrays, activation):
    x, w, b, z = arrays
    y, finish = convop.conv_forward(x, w, b, pad=1), ACTIVATIONS[activation]
    options = {"kernel": (3, 3), "num_filter": 12, "pad": 1, "activation": activation}
    assert np.array_equal(convop.ops.FusedConvolution(x, w, b, **options), finish(y))
    assert np.array_equal(convop.ops.FusedConvolutionAdd(x, z, w, b, **options), finish(y + z))


def test_refused(arrays):
    x, w, b, z = arrays
    for text, call in {
            "activation": lambda: convop.conv_forward(x, w, activation="gelu"),
            "activation is relu": lambda: convop.conv_backward(z, x, w, pad=1, activation="relu"),
            "residual has shape": lambda: convop.conv_forward(x, w, residual=z),
            "residual has dtype": lambda: convop.conv_forward(x, w, residual=z.astype("f2"), pad=1),
            "request add": lambda: convop.conv_forward(x, w, pad=1, out=z, request="add",
                                                       activation="relu"),
    }.items():
        with pytest.raises(convop.InvalidError, match=text):
            call()
