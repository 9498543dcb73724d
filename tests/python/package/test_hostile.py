"""Producers that do not keep to the rules: nothing crashes, and what was handed over is given back."""
import ctypes as c

import numpy as np
import pytest
from producer import Producer, _new_capsule

import convop

X, W = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
DY, B = np.ones((1, 1, 2, 2), np.float32), np.ones(1, np.float32)


def as_c(value):
    """Shapes and strides as DLPack has them."""
    if isinstance(value, tuple):
        return c.cast((c.c_int64 * len(value))(*value), c.POINTER(c.c_int64))
    return c.POINTER(c.c_int64)() if value is None else value


CALLS = {
    "forward": lambda of: convop.conv_forward(of(X), of(W), of(B)),
    "weights": lambda of: convop.conv_forward(X, of(W)),
    "out": lambda of: convop.conv_forward(X, W, out=of(DY)),
    "backward": lambda of: convop.conv_backward(of(DY), of(X), of(W), of(B)),
    "by x": lambda of: convop.conv_backward(DY, of(X), W),
    "by b": lambda of: convop.conv_backward(DY, X, W, of(B)),
    "into": lambda of: convop.conv_backward(DY, X, W, B, out=(of(X), of(W), of(B))),
    "prepare": lambda of: convop.prepare("Convolution", of(W))(of(X)),
    "Pooling": lambda of: convop.ops.Pooling(of(X), kernel=2),
    "FullyConnected": lambda of: convop.ops.FullyConnected(of(X), of(X)),
    "explain": lambda of: convop.explain(of(X), of(W)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("fields", [
    {"shape": None}, {"ndim": -1}, {"ndim": -1 << 31}, {"ndim": 9, "shape": (1,) * 9},
    {"ndim": 64, "shape": (1,) * 64}, {"shape": (1, 1, -4, 4)},
    {"shape": (1 << 62, 1 << 62, 1 << 62, 4)}, {"shape": (1, 1, 0, 3)}, {"shape": (1, 1, 3, 0)},
    {"strides": (-16, -16, -4, -1)}, {"strides": (1 << 62,) * 4}, {"byte_offset": (1 << 64) - 4},
    {"bits": 3}, {"lanes": 0}, {"device_type": 99}], ids=str)
def test_fields(call, versioned, fields):
    made = []

    def of(values):
        made.append(Producer(values, versioned, **{k: as_c(v) for k, v in fields.items()}))
        return made[-1]

    try:
        CALLS[call](of)  # strides of what has one element mean nothing
    except convop.Error:
        pass
    assert made and all(producer.balanced for producer in made)


@pytest.mark.parametrize("dims", [9, 32])
def test_more_dimensions_than_the_library_has(dims):
    wrong = np.ones((1,) * dims, np.float32)
    for call in (lambda: convop.conv_forward(wrong, W), lambda: convop.conv_backward(DY, wrong, W),
                 lambda: convop.conv_backward(DY, X, W, wrong), lambda: convop.ops.Flatten(wrong)):
        with pytest.raises(convop.InvalidError, match=f"ndim {dims}"):
            call()


def test_kernel_of_size_0():
    with pytest.raises(convop.InvalidError, match="kernel"):
        convop.conv_forward(X, W[:, :, :0])


def test_number_of_filters_that_the_weights_do_not_have():
    """Refused before the output is made."""
    with pytest.raises(convop.InvalidError, match="num_filter"):
        convop.conv_forward(X, W, num_filter=1 << 40)


class Table(c.Structure):
    """DLPackExchangeAPI."""
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32)] + [(name, c.c_void_p) for name in (
        "previous", "allocate", "from_object", "to_object", "view_of_object", "current_stream")]


ANSWERS = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_void_p))


@ANSWERS
def fails(_, out):
    return -1


@ANSWERS
def nothing(_, out):
    out[0] = None
    return 0


def kind(**members):
    """A type with a table like that of Array but for these members."""
    get = c.PYFUNCTYPE(c.c_void_p, c.py_object, c.c_char_p)(
        ("PyCapsule_GetPointer", c.pythonapi))
    address = get(convop.Array.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    table = Table.from_buffer_copy(Table.from_address(address))
    for name, value in members.items():
        setattr(table, name, c.cast(value, c.c_void_p) if callable(value) else value)
    if members.get("previous"):
        table.previous = address
    kept.append(table)

    class Kind(convop.Array):
        __dlpack_c_exchange_api__ = _new_capsule(c.addressof(table), b"dlpack_exchange_api", None)

    return Kind


kept = []  # a table lives as long as the process


@pytest.mark.skipif(convop.backend != "extension", reason="a table of C functions")
class TestTables:
    @pytest.mark.parametrize("members", [
        {}, {"minor": 99}, {"major": 2}, {"major": 0}, {"major": 2, "previous": True},
        {"view_of_object": None}, {"current_stream": None}, {"allocate": None},
        {"from_object": None}, {"to_object": None}], ids=str)
    def test_usable(self, members):
        """By the table, by that of an older version, or by __dlpack__."""
        made = kind(**members)
        x, w, out = made(X.shape), made(W.shape), made(DY.shape)
        y = convop.conv_forward(x, w)
        assert isinstance(y, convop.Array) and y.shape == DY.shape
        assert convop.conv_forward(x, w, out=out) is out
        assert convop.conv_backward(out, x, w)[0].shape == X.shape

    @pytest.mark.parametrize("answer", [fails, nothing], ids=["fails", "nothing"])
    @pytest.mark.parametrize("member", ["from_object", "to_object"])
    def test_without_a_reason(self, member, answer):
        if member == "to_object" and answer is nothing:
            pytest.skip("an object cannot be told from another")
        made = kind(**{member: answer, "view_of_object": None})
        with pytest.raises(convop.ExchangeError):
            convop.conv_forward(made(X.shape), made(W.shape))

    @pytest.mark.parametrize("answer", [fails, nothing], ids=["fails", "nothing"])
    def test_memory_of_the_cpu_is_convops(self, answer):
        """Its table is not asked for it, but by others (test_stream.py)."""
        made = kind(allocate=answer)
        assert convop.conv_forward(made(X.shape), made(W.shape)).shape == DY.shape

    def test_view_without_a_reason(self):
        with pytest.raises(convop.ExchangeError, match="x: "):
            convop.conv_forward(kind(view_of_object=fails)(X.shape), W)
