"""Arrays on a GPU whose type has the exchange API, by a stand-in: calls ask its library for the stream on
which it computes. There is no GPU here: the library then refuses the arrays, whose memory is nowhere."""
import ctypes as c

import numpy as np
import pytest

import convop
from convop._structs import DLTensor, Versioned

pytestmark = pytest.mark.skipif(convop.backend != "extension",
                                reason="ctypes has the legacy default stream, tests/hosts/test_cupy.py")
CUDA, NOWHERE = 2, 0x7F0000000000
FROM, VIEW = c.PYFUNCTYPE(c.c_int, c.py_object, c.c_void_p), c.PYFUNCTYPE(c.c_int, c.py_object,
                                                                          c.POINTER(DLTensor))
STREAM = c.PYFUNCTYPE(c.c_int, c.c_int32, c.c_int32, c.POINTER(c.c_void_p))
TO = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
ALLOCATE = c.PYFUNCTYPE(c.c_int, c.POINTER(DLTensor), c.POINTER(c.POINTER(Versioned)), c.c_void_p,
                        c.c_void_p)
new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(
    ("PyCapsule_New", c.pythonapi))


class Table(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32), ("previous", c.c_void_p),
                ("allocate", ALLOCATE), ("from_object", FROM), ("to_object", TO),
                ("view_of_object", VIEW), ("current_stream", STREAM)]


class Tensor:
    """On device 3 of its kind. `asked` is what its library was asked for."""

    asked, status, allocated, device_type = [], 0, -1, CUDA

    def __init__(self, shape):
        self.shape = shape
        self.sizes = (c.c_int64 * len(shape))(*shape)
        self.kept, self.deleted = [], 0

    def tensor(self):
        return DLTensor(NOWHERE, self.device_type, 3, len(self.shape), 2, 32, 1, self.sizes, None, 0)

    @property
    def balanced(self):
        return self.deleted == len(self.kept)

    def __dlpack__(self, **_):
        raise AssertionError("its type has the exchange API")


@FROM
def from_object(array, out):
    def delete(_):
        array.deleted += 1
    managed = Versioned(1, 3, None, dict(Versioned._fields_)["deleter"](delete), 0, array.tensor())
    array.kept.append(managed)
    c.cast(out, c.POINTER(c.c_void_p))[0] = c.addressof(managed)
    return 0


@VIEW
def view_of_object(array, out):
    out[0] = array.tensor()
    return 0


@STREAM
def current_stream(device_type, device_id, out):
    Tensor.asked.append((device_type, device_id))
    out[0] = 0x5712EA
    return Tensor.status


@ALLOCATE
def allocate(prototype, out, context, set_error):
    Tensor.asked.append("allocate")
    return Tensor.allocated


@TO
def to_object(tensor, out):
    return -1


table = Table(1, 3, None, allocate, from_object, to_object, view_of_object, current_stream)
NAME = b"dlpack_exchange_api"  # a capsule keeps its address
Tensor.__dlpack_c_exchange_api__ = new_capsule(c.addressof(table), NAME, None)

W = np.ones((1, 1, 3, 3), np.float32)
CALLS = {
    "conv_forward": lambda x, y: convop.conv_forward(x, W, out=y),
    "conv_backward": lambda x, y: convop.conv_backward(
        y, x, W, grad_req=("null", "write", "null")),
    "invoke": lambda x, y: convop.invoke("Activation", [x], act_type="relu", out=y),
    "ops.Convolution": lambda x, y: convop.ops.Convolution(x, W, out=y),
    "prepared": lambda x, y: convop.prepare("Convolution", W)(x, out=y)}


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    monkeypatch.setattr(Tensor, "asked", [])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_stream_is_asked_for(call):
    x, y = Tensor((1, 1, 4, 4)), Tensor((1, 1, 2, 2))
    with pytest.raises(convop.DeviceError, match="(?i)cuda|gpu"):
        call(x, y)
    assert Tensor.asked[:1] == [(CUDA, 3)] and x.balanced and y.balanced


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_library_without_one(call, monkeypatch):
    monkeypatch.setattr(Tensor, "status", -1)
    x, y = Tensor((1, 1, 4, 4)), Tensor((1, 1, 2, 2))
    with pytest.raises(convop.ExchangeError, match="stream"):
        call(x, y)
    assert x.balanced and y.balanced


def test_on_the_cpu_there_is_none(monkeypatch):
    monkeypatch.setattr(Tensor, "device_type", 1)
    memory = np.arange(16, dtype=np.float32)
    x, y = Tensor((1, 1, 4, 4)), np.zeros((1, 1, 4, 4), np.float32)
    monkeypatch.setattr(Tensor, "tensor", lambda self: DLTensor(
        memory.ctypes.data, 1, 0, 4, 2, 32, 1, self.sizes, None, 0))
    assert convop.invoke("Activation", [x], act_type="relu", out=y) is y
    assert np.array_equal(y.ravel(), memory) and not Tensor.asked


@pytest.mark.parametrize("answer", [-1, 0])  # it fails without a reason; it gives nothing
def test_a_new_output_is_made_by_its_library(answer, monkeypatch):
    monkeypatch.setattr(Tensor, "allocated", answer)
    with pytest.raises(convop.ExchangeError, match="allocator"):
        convop.conv_forward(Tensor((1, 1, 4, 4)), W)
    assert Tensor.asked == [(CUDA, 3), "allocate"]
