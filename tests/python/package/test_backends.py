"""The extension and the way through ctypes refuse alike: the same class, the same sentence."""
import numpy as np
import pytest

import convop
from convop import _fallback, _invoke, _prepare, _prepared

X, W, B = (np.ones(shape, np.float32) for shape in ((1, 2, 4, 4), (2, 2, 3, 3), 2))
DY = np.ones((1, 2, 2, 2), np.float32)
pytestmark = pytest.mark.skipif(convop.backend != "extension", reason="compares with the extension")


class Broken:
    """No array, in a way of its own."""

    def __init__(self, device=(1, 0), dlpack=BufferError("not today")):
        self.answers = {"device": device, "dlpack": dlpack}

    def _answer(self, name):
        answer = self.answers[name]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def __dlpack_device__(self):
        return self._answer("device")

    def __dlpack__(self, **_):
        return self._answer("dlpack")


def refusal(function, arrays, keywords):
    try:
        function(*arrays, **keywords)
    except BaseException as error:
        return type(error), str(error)
    raise AssertionError("it is not refused")


FORMS = [
    ((), {}), ((X,), {}), ((X, W, B, X), {}), ((X, W, B, X, X), {}), ((X, W), {"x": X}),
    ((X, W), {"w": W, "b": B}), ((), {"w": W}), ((None, W), {}), ((X, None), {}),
    ((X, W), {"pads": 1}), ((X, W), {"pad": -1}), ((X, W), {"pad": "a\0b"}), ((X, W), {"out": 3}),
    ((X, W), {"request": 3}), ((X, W), {"request": "\0"}), ((X, W), {"request": "add"}),
    ((X, 3), {}), ((Broken(), W), {}), ((X, Broken(device=ValueError("no device"))), {}),
    ((X, W, Broken(dlpack=3)), {}), ((Broken(dlpack=KeyboardInterrupt()), W), {}),
    ((Broken(device=KeyboardInterrupt()), W), {}), ((Broken(dlpack=MemoryError("all gone")), W), {}),
    ((Broken(device=(2, 0), dlpack=TypeError("no stream")), W), {}),
    ((X, W, W), {}), ((X, W), {"num_group": 3}), ((X, W[0, 0]), {}), ((X, X[0].astype(int)), {})]


@pytest.mark.parametrize("arrays, keywords", FORMS)
def test_forward(arrays, keywords):
    assert refusal(convop.conv_forward, arrays, keywords) == refusal(
        _fallback.conv_forward, arrays, keywords)


@pytest.mark.parametrize("arrays, keywords", FORMS + [
    ((DY, X, W, B), {"dy": X}), ((DY, X, W), {"grad_req": ("write",)}), ((DY, X, W), {"out": ()}),
    ((DY, X, W), {"grad_req": ("write", 3, "write")}), ((DY, None, W), {}), ((None, X, W), {}),
    ((DY, X, None), {}), ((DY, X, W), {"grad_req": "add"}), ((DY, X, W), {"out": X}),
    ((DY, X, W), {"out": 3}), ((DY, X, W), {"grad_req": 3})])
def test_backward(arrays, keywords):
    assert refusal(convop.conv_backward, arrays, {**keywords, "stride": 5}) == refusal(
        _fallback.conv_backward, arrays, {**keywords, "stride": 5})


@pytest.mark.parametrize("name", ["Convolution", "Pooling", "_backward_elemwise_add"])
@pytest.mark.parametrize("arrays, keywords", FORMS)
def test_invoke(name, arrays, keywords):
    arrays, keywords = (name, arrays), {"lr": 3, **keywords}
    assert refusal(convop.invoke, arrays, keywords) == refusal(_invoke.invoke, arrays, keywords)


@pytest.mark.parametrize("arrays, keywords", [
    ((), {}), (("Pooling",), {}), (("Pooling", [X], 1), {}), (("Pooling", [X]), {"name": "x"}),
    ((3, [X]), {}), ((None, [X]), {}), (("Pooling", 3), {}), (("Pooling", None), {}),
    (("Pool\0ing", [X]), {}), (("\udfff", [X]), {}), (("Poling", [X]), {}),
    (("elemwise_add", [X] * 20), {}), (("elemwise_add", [X]), {}),
    (("_backward_elemwise_add", [X]), {"out": X}), (("_backward_elemwise_add", [X]), {"out": [X]}),
    (("_backward_elemwise_add", [X]), {"request": ["write", "add"]})])
def test_forms_of_invoke(arrays, keywords):
    assert refusal(convop.invoke, arrays, keywords) == refusal(_invoke.invoke, arrays, keywords)


@pytest.mark.parametrize("arrays, keywords", [
    ((), {}), ((X, X), {}), ((X,), {"pad": 1}), ((X,), {"out": 3}), ((X,), {"out": ()}),
    ((X,), {"out": (DY, DY)}), ((X,), {"out": X}), ((None,), {}), ((X,), {"out": [None]}),
    ((X[0],), {}), ((Broken(),), {}), ((X,), {"out": Broken()}), ((X.astype("f2"),), {})])
def test_prepared(arrays, keywords):
    planner = _prepare.Planner("Convolution", (W,), {})
    fast, slow = convop.prepare("Convolution", W), _prepared.Prepared(planner)
    for _ in range(2):
        assert refusal(fast, arrays, keywords) == refusal(slow, arrays, keywords)
        assert np.array_equal(fast(X), slow(X))
    assert repr(fast) == repr(slow)
