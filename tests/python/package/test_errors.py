"""What is refused: the class, the sentence, and outputs as they were."""
import numpy as np
import pytest

import convop

X, W = np.ones((1, 2, 4, 4), np.float32), np.ones((2, 2, 3, 3), np.float32)
ARGUMENT, INVALID = convop.ArgumentError, convop.InvalidError


@pytest.mark.parametrize("arrays, keywords, error, text", [
    ((X,), {}, TypeError, "missing"), ((X, W, None, 1), {}, TypeError, "positional"),
    ((X, W), {"pads": 1}, ARGUMENT, "no parameter pads"), ((X, W), {"x": X}, TypeError, "x"),
    ((X, W), {"pad": "one"}, INVALID, "pad"), ((X, W), {"pad": 1.5}, INVALID, "pad"),
    ((X, W), {"pad": ((0, 1 << 70), (0, 0))}, INVALID, "pad"),
    ((X, W), {"pad": ((0, 1.5), (0, 0))}, ARGUMENT, "pad"),
    ((X, W), {"workspace_bytes": -1}, INVALID, "workspace_bytes"),
    ((X, W), {"workspace_bytes": 1 << 64}, INVALID, "workspace_bytes"),
    ((X, W), {"workspace_bytes": 1.5}, ARGUMENT, "workspace_bytes"),
    ((X, W), {"num_filter": np.array([1, 1])}, ARGUMENT, "num_filter"),
    ((X, W), {"num_group": int}, ARGUMENT, "num_group"),
    ((X, W), {"pad": object()}, ARGUMENT, "pad"), ((X, W), {"pad": (1, 1, 1)}, INVALID, "pad"),
    ((X, W), {"pad": ((1, 1, 1), (0, 0))}, INVALID, "pairs"), ((X, W), {"pad": -1}, INVALID, "pad"),
    ((X, W), {"pad": 1 << 40}, INVALID, "dst|out"), ((X, W), {"stride": 0}, INVALID, "stride"),
    ((X, W), {"kernel": (2, 2)}, INVALID, "shape"),
    ((X, W), {"num_filter": 0}, INVALID, "num_filter"),
    ((X, W), {"num_group": 3}, INVALID, "num_group"),
    ((X, W), {"layout": "NCWH"}, INVALID, "layout"), ((X, W), {"layout": "NCW"}, INVALID, "layout"),
    ((X, W), {"request": "wirte"}, INVALID, "wirte"), ((X, W), {"request": 1}, ARGUMENT, "request"),
    ((X, W[0]), {}, INVALID, "shape|dim|src"), ((X, W[0, 0]), {}, INVALID, "dimensions"),
    ((X, W.astype(np.float64)), {}, INVALID, "float64"), ((X, W, W), {}, INVALID, "bias"),
    ((X[:, :, :2], W), {}, INVALID, "kernel|window|size"),
    ((X, W), {"dilate": 1 << 62}, INVALID, "dilate"),
    ((X.astype(np.int32), W.astype(np.int32)), {}, convop.Error, "int32")])
def test_refused(arrays, keywords, error, text):
    out = np.full((1, 2, 2, 2), 7, np.float32)
    for more in ({}, {"out": out}):
        with pytest.raises(error, match=text) as caught:
            convop.conv_forward(*arrays, **keywords, **more)
        # Python's own refusals of a call have no status.
        assert getattr(caught.value, "status", 1) in (1, 2)
    assert np.all(out == 7)


@pytest.mark.parametrize("keywords, text", [
    ({"grad_req": ("write",)}, "three"), ({"out": (None,)}, "three"), ({"grad_req": "add"}, "needs"),
    ({"grad_req": ("write", "all", "write")}, "all"), ({"pads": 1}, "pads"),
    ({"grad_req": 1}, "grad_req"), ({"out": 1.5}, "out")])
def test_backward_refused(keywords, text):
    dy = np.ones((1, 2, 2, 2), np.float32)
    with pytest.raises(convop.InvalidError, match=text):
        convop.conv_backward(dy, X, W, **keywords)
    with pytest.raises(convop.InvalidError, match="x is None"):
        convop.conv_backward(dy, None, W)


def test_no_memory_for_the_result():
    x = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (1, 1, 1 << 21, 1 << 21), (0,) * 4)
    w = np.ones((1, 1, 1, 1), np.float32)
    for call in (lambda: convop.conv_forward(x, w), lambda: convop.prepare("Convolution", w)(x),
                 lambda: convop.invoke("Activation", [x], act_type="relu")):
        with pytest.raises(convop.NoMemoryError, match="2097152"):
            call()


def test_add_needs_out():
    with pytest.raises(convop.InvalidError, match="out"):
        convop.conv_forward(X, W, request="add")


def test_null_makes_nothing_and_checks():
    assert convop.conv_forward(X, W, request="null") is None
    with pytest.raises(convop.InvalidError):
        convop.conv_forward(X, W, request="null", num_group=3)


def test_wrong_out():
    for out in (np.zeros((1, 2, 2, 3), np.float32), np.zeros((1, 2, 2, 2))):
        with pytest.raises(convop.InvalidError):
            convop.conv_forward(X, W, out=out)
        assert not out.any()


@pytest.mark.parametrize("kind, base, status", [
    ("InvalidError", ValueError, 1), ("ArgumentError", TypeError, 1),
    ("ExchangeError", BufferError, 1), ("UnsupportedError", ValueError, 2),
    ("NoMemoryError", MemoryError, 3), ("DeviceError", BufferError, 4), ("FileError", OSError, 5),
    ("NotFoundError", LookupError, 6), ("StateError", RuntimeError, 7),
    ("CancelledError", RuntimeError, 8), ("InternalError", RuntimeError, 9)])
def test_classes(kind, base, status):
    kind = getattr(convop, kind)
    assert issubclass(kind, convop.Error) and issubclass(kind, base) and kind.status == status
    assert str(kind("a sentence")) == "a sentence"


def test_not_found():
    for call in (lambda: convop.op_info("Convolutoin"), lambda: convop.invoke("Convolutoin", [X])):
        with pytest.raises(convop.NotFoundError, match="Convolution"):
            call()
    with pytest.raises(convop.NotFoundError):
        convop.load_plugin("there_is_none.so")
    with pytest.raises(AttributeError):
        convop.ops.Convolutoin
