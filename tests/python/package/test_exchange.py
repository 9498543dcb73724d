"""What goes in and comes out by DLPack: both structs, flags, deleters, kinds of arrays."""
import ctypes

import numpy as np
import pytest
from producer import Producer

import convop

X, W = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), np.ones((1, 1, 3, 3), np.float32)
WANTED = np.float32([[45, 54], [81, 90]]).reshape(1, 1, 2, 2)


@pytest.mark.parametrize("form", [
    {}, {"versioned": False}, {"versioned": False, "knows_version": False}, {"version": (1, 99)},
    {"flags": 1}, {"flags": 1 << 40}])
def test_forms_that_are_taken(form):
    x, w = Producer(X, **form), Producer(W, **form)
    y = convop.conv_forward(x, w)
    assert isinstance(y, convop.Array)
    assert np.array_equal(np.from_dlpack(y), WANTED)
    assert x.exports == w.exports == 1 and x.balanced and w.balanced


@pytest.mark.parametrize("form, error", [
    ({"version": (2, 0)}, convop.ExchangeError), ({"device_type": 2}, convop.DeviceError),
    ({"code": 5}, convop.Error), ({"lanes": 4}, convop.Error), ({"bits": 24}, convop.Error),
    ({"data": None}, convop.InvalidError), ({"byte_offset": 2}, convop.InvalidError)])
def test_forms_that_are_refused(form, error):
    x, out = Producer(X, **form), Producer(np.full_like(WANTED, 7))
    with pytest.raises(error):
        convop.conv_forward(x, W, out=out)
    assert np.all(out.values == 7)
    assert x.balanced and out.balanced


def test_output_in_place():
    for versioned in (True, False):
        out = Producer(np.zeros_like(WANTED), versioned=versioned)
        assert convop.conv_forward(X, W, out=out) is out
        assert np.array_equal(out.values, WANTED) and out.exports == 1 and out.balanced


def test_read_only_is_an_input_only():
    x = X.copy()
    x.flags.writeable = False
    assert np.array_equal(convop.conv_forward(x, W), WANTED)
    out = np.zeros_like(WANTED)
    out.flags.writeable = False
    with pytest.raises(BufferError):
        convop.conv_forward(X, W, out=out)
    flagged = Producer(np.zeros_like(WANTED), flags=1)
    with pytest.raises(convop.ExchangeError, match="read-only"):
        convop.conv_forward(X, W, out=flagged)
    assert flagged.balanced and not flagged.values.any()


def test_overlapping_output():
    shared = np.zeros(20, np.float32)
    shared[:16] = X.ravel()
    with pytest.raises(convop.InvalidError, match="overlap"):
        convop.conv_forward(shared[:16].reshape(1, 1, 4, 4), W, out=shared[4:8].reshape(1, 1, 2, 2))
    with pytest.raises(convop.Error):
        convop.conv_forward(X, W, out=np.broadcast_to(np.float32(0), (1, 1, 2, 2)))


def test_no_array():
    for wrong in (3, "x", [1.0], object()):
        with pytest.raises(TypeError, match="__dlpack__"):
            convop.conv_forward(wrong, W)


def test_a_producer_that_raises():
    class Broken:
        def __dlpack__(self, **_):
            raise RuntimeError("not today")

    with pytest.raises(convop.ExchangeError, match="x: not today") as caught:
        convop.conv_forward(Broken(), W)
    assert isinstance(caught.value.__cause__, RuntimeError)

    class Interrupted:
        def __dlpack__(self, **_):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convop.conv_forward(Interrupted(), W)


def test_a_capsule_that_was_used():
    capsule = X.__dlpack__()

    class Used:
        def __dlpack__(self, **_):
            return capsule

    once = Used()
    assert isinstance(convop.conv_forward(once, W), convop.Array)
    with pytest.raises(convop.ExchangeError, match="unused"):
        convop.conv_forward(once, W)


def test_kind_with_a_library_of_its_own(monkeypatch):
    class Other:
        def __init__(self, array):
            self.array = array

        def __array_namespace__(self):
            class Namespace:
                from_dlpack = staticmethod(lambda source: Other(np.from_dlpack(source)))
            return Namespace

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

    y = convop.conv_forward(Other(X), W)
    assert type(y) is Other and np.array_equal(y.array, WANTED)


def test_array():
    array = convop.Array((2, 3), "float64")
    assert array.shape == (2, 3) and array.dtype == "float64" and "float64" in repr(array)
    seen = np.from_dlpack(array)
    seen[1, 2] = 5
    del array
    assert seen[1, 2] == 5 and seen.ctypes.data % 64 == 0
    del seen
    capsule = convop.Array((2,)).__dlpack__()
    del capsule
    with pytest.raises(convop.InvalidError):
        convop.Array((2,), "complex64")
    with pytest.raises(BufferError):
        convop.Array((2,)).__dlpack__(copy=True)


@pytest.mark.skipif(convop.backend != "extension", reason="a table of C functions")
def test_exchange_api_of_an_array():
    array = convop.Array((1, 1, 4, 4))
    np.from_dlpack(array)[:] = X
    y = convop.conv_forward(array, W)
    assert type(y) is convop.Array and np.array_equal(np.from_dlpack(y), WANTED)
    del array
    out = convop.Array(y.shape)
    assert convop.conv_forward(y, np.full((1, 1, 1, 1), 2, np.float32), out=out) is out
    assert np.array_equal(np.from_dlpack(out), 2 * WANTED)
    assert "dlpack_exchange_api" in repr(convop.Array.__dlpack_c_exchange_api__)


def test_memory_is_shared():
    """Results are written where `out` lies: no copy in between."""
    buffer = (ctypes.c_float * 4)()
    out = np.ctypeslib.as_array(buffer).reshape(1, 1, 2, 2)
    convop.conv_forward(X, W, out=out)
    assert list(buffer) == WANTED.ravel().tolist()
