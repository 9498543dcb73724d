"""NumPy's own arrays are looked at without a call of Python; a class that derives from them goes by
__dlpack__. Both must see the same."""
import gc
import itertools
import warnings
import weakref

import numpy as np
import pytest

import convop
from leaks import leaves_nothing
from producer import Producer

pytestmark = pytest.mark.skipif(convop.backend != "extension", reason="ctypes goes by __dlpack__")


class Derived(np.ndarray):
    """Says when it is asked."""
    asked = 0

    def __dlpack__(self, **keywords):
        type(self).asked += 1
        return super().__dlpack__(**keywords)


def outcome(call, *arrays):
    """What a call gives, or refuses with, in a form that can be compared."""
    try:
        result = call(*arrays)
    except Exception as error:
        return type(error), str(error)
    return result.dtype, result.shape, result.tobytes()


def relu(x):
    return convop.invoke("Activation", [x], act_type="relu")


def same(x, call=relu):
    plain = outcome(call, x)
    before = Derived.asked
    assert plain == outcome(call, x.view(Derived))
    assert Derived.asked > before, (x.shape, x.strides, plain)
    return plain


@pytest.mark.parametrize("dtype", [
    "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "l", "L", "q", "Q", "f2", "f4", "f8", "g",
    "c8", "c16", "S4", "U2", "M8[s]", "O", ">f4", ">i2", "f4,f4", "V4"])
def test_types(dtype):
    same(np.zeros((1, 2, 3), dtype))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_values_of_every_layout(rng, dtype):
    data = rng.standard_normal((5, 4, 6, 3)).astype(dtype)
    layouts = [data.transpose(axes) for axes in itertools.permutations(range(4))]
    layouts += [data[::2, 1:, ::3], data[:1], data[:, :1, :1], data[2:2], data[..., 1], data[0, 0, 0],
                data[1, 2, 3, :1], data.reshape(-1), data[0, 0, 0, :1].reshape(()), data[::-1],
                np.lib.stride_tricks.sliding_window_view(data, 2, 2).copy()]
    for x in layouts:
        kind, *_ = same(x)
        if isinstance(kind, np.dtype):
            assert np.array_equal(relu(x), np.maximum(x, 0))


def test_what_is_refused_is_refused_alike(rng):
    x = rng.standard_normal((1, 1, 4, 4)).astype("f4")
    packed = np.zeros(9, np.dtype([("a", "f4"), ("b", "i1")]))
    for bad in (packed["a"], np.zeros(33, "i1")[1:].view("f4"), np.zeros((1,) * 9, "f4"),
                np.zeros((1,) * 32, "f4")):
        kind, *_ = same(bad)
        assert issubclass(kind, convop.Error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        same(np.broadcast_arrays(x, np.ones((2, 1, 1, 1), "f4"))[0])  # warns where it is written to
    for out in (np.zeros((1, 1, 2, 2), "f4"), np.zeros((1, 1, 2, 3), "f4"), np.zeros((1, 1, 2, 2))):
        w = np.ones((1, 1, 3, 3), "f4")
        same(out, lambda y: convop.conv_forward(x, w, out=y))
        out[:] = 7
        out.flags.writeable = False
        kind, *_ = same(out, lambda y: convop.conv_forward(x, w, out=y))
        assert issubclass(kind, convop.Error) and np.all(out == 7)


def test_memory_of_others_is_asked_for_its_device():
    """np.from_dlpack makes plain arrays over memory of CUDA's too; views of them lead back to it."""
    for device_type, refused in ((1, False), (13, True)):
        source = Producer(np.ones((1, 1, 4, 4), "f4"), device_type=device_type)
        x = np.from_dlpack(source)
        assert type(x) is np.ndarray and x.__dlpack_device__()[0] == device_type
        for array in (x, x[:, :, 1:], x.reshape(4, 4)[:, ::2]):
            assert (same(array)[0] is convop.DeviceError) == refused
    for owner in (bytearray(64), memoryview(bytearray(64))):
        same(np.frombuffer(owner, "f4"))


def test_the_library_is_given_the_address():
    """It names the address of an array that it refuses, here for lying between elements."""
    x, w = np.zeros(65, "i1")[1:].view("f4").reshape(1, 1, 4, 4), np.ones((1, 1, 3, 3), "f4")
    large = np.ones((1, 1, 6, 6), "f4")
    for array in (x, x.view(Derived)):
        for call in (lambda: convop.conv_forward(array, w), lambda: relu(array),
                     lambda: convop.prepare("Convolution", w)(array),
                     lambda: convop.conv_forward(large, w, out=array)):
            with pytest.raises(convop.InvalidError, match=f"data {x.ctypes.data:#x}"):
                call()


def test_new_arrays_are_plain_ones():
    x, w = np.ones((1, 1, 4, 4), "f4", order="F"), np.ones((1, 1, 3, 3), "f4")
    for y in (convop.conv_forward(x, w), convop.prepare("Convolution", w)(x), relu(x)):
        assert type(y) is np.ndarray and y.base is None
        assert y.flags.owndata and y.flags.c_contiguous and y.flags.writeable
    assert type(convop.conv_forward(x.view(Derived), w)) is np.ndarray


def test_nothing_is_left_behind():
    x, w = np.ones((1, 1, 4, 4), "f4"), np.ones((1, 1, 3, 3), "f4")
    out = convop.conv_forward(x, w)

    def calls():
        for _ in range(200):
            convop.conv_forward(x, w)
            convop.conv_forward(x, w, out=out)
            outcome(convop.conv_forward, x, out)

    leaves_nothing(calls, x, w, out, x.dtype)
    here = weakref.ref(convop.conv_forward(x, w))
    gc.collect()
    assert here() is None
