"""invoke() and ops: what is remembered of parameters, requests, what is refused, what is left behind."""
import threading

import numpy as np
import pytest
from leaks import leaves_nothing
from producer import Producer

import convop

X = np.arange(-8, 8, dtype=np.float32).reshape(1, 1, 4, 4)
W, B = np.ones((2, 1, 3, 3), np.float32), np.float32([1, 2])
RELU = np.maximum(X, 0)


def test_what_is_remembered_depends_on_all_that_it_follows_from():
    for _ in range(3):
        for kernel in (2, (2, 1), [1, 2], np.int64(3)):
            size = (kernel, kernel) if hasattr(kernel, "__index__") else kernel
            shape = tuple(4 - k + 1 for k in size)
            assert convop.ops.Pooling(X, kernel=kernel, pool_type="avg").shape[2:] == shape
        # One number for each spatial axis: the text depends on the dimensions of the input.
        for x in (X, X.reshape(1, 1, 2, 2, 4)):
            y = convop.ops.Pooling(x, kernel=2, pool_type="max")
            assert y.shape == tuple(n - 1 if axis > 1 else n for axis, n in enumerate(x.shape))
        for n in (1, 2, 5):
            w = np.ones((n, 4), np.float32)
            assert convop.ops.FullyConnected(X[0, 0], w).shape == (4, n)
            bias = np.full(n, 100, np.float32)
            assert convop.ops.FullyConnected(X[0, 0], w, bias).shape == (4, n)
            assert np.array_equal(convop.ops.FullyConnected(X[0, 0], w, bias),
                                  convop.ops.FullyConnected(X[0, 0], w, None) + 100)
        assert np.array_equal(convop.invoke("Activation", [X], act_type="relu"), RELU)
        assert np.allclose(convop.invoke("Activation", (X,), act_type="tanh"), np.tanh(X), atol=1e-6)


def test_a_value_that_changes_is_not_remembered():
    kernel = [1, 1]
    assert convop.ops.Pooling(X, kernel=kernel, pool_type="max").shape == (1, 1, 4, 4)
    kernel[:] = 2, 3
    assert convop.ops.Pooling(X, kernel=kernel, pool_type="max").shape == (1, 1, 3, 2)


def test_requests_and_outputs():
    out = np.ones_like(X)
    assert convop.invoke("Activation", [X], act_type="relu", out=out) is out
    assert convop.invoke("Activation", [X], act_type="relu", out=(out,), request=("add",)) is out
    assert np.array_equal(out, 2 * RELU)
    assert convop.invoke("Activation", [X], act_type="relu", request="null", out=out) is None
    assert convop.invoke("Activation", [X], act_type="relu", request=None) is None
    first = np.zeros_like(X)
    answer = convop.invoke("_backward_elemwise_add", [X], out=(first, None))
    assert answer[0] is first and np.array_equal(first, X) and np.array_equal(answer[1], X)
    answer = convop.invoke("_backward_elemwise_add", [X], request=["null", "write"])
    assert answer[0] is None and np.array_equal(answer[1], X)


def test_convolution_has_them_too():
    wanted, out = convop.conv_forward(X, W, B, pad=1), np.zeros((1, 2, 4, 4), np.float32)
    assert convop.invoke("Convolution", [X, W, B, None], pad=1, out=(out,), is_train=True) is out
    assert np.array_equal(out, wanted)
    assert convop.ops.Convolution(X, W, bias=B, pad=1, out=out, request="add") is out
    assert np.array_equal(out, 2 * wanted)
    assert np.array_equal(convop.ops.Convolution(src=X, weights=W, bias=B, pad=1), wanted)


def test_an_input_that_is_written_to_must_be_writable():
    gamma, beta = np.ones(1, np.float32), np.zeros(1, np.float32)
    mean, variance = Producer(np.zeros(1)), Producer(np.ones(1), flags=1)
    with pytest.raises(convop.ExchangeError, match="moving_var: the array is read-only"):
        convop.ops.BatchNorm(X, gamma, beta, mean, variance, is_train=True)
    assert mean.balanced and variance.balanced and not mean.values.any()


@pytest.mark.parametrize("name, inputs, keywords, error, text", [
    ("Activation", [], {}, convop.ArgumentError, "Activation: an input is missing"),
    ("Activation", None, {}, convop.ArgumentError, "Activation: an input is missing"),
    ("elemwise_add", [None, X], {}, convop.ArgumentError, "an input is missing"),
    ("Activation", [X, X], {"act_type": "relu"}, convop.ArgumentError, "2 inputs, .* at most 1: src"),
    ("Convolution", [X, W, B, X], {}, convop.ArgumentError, "4 inputs, .* src, weights, bias"),
    ("elemwise_add", [X], {}, convop.InvalidError, "inputs"),
    ("Activation", [3], {"act_type": "relu"}, convop.ArgumentError, "src is of type int"),
    ("Activation", [X], {"act_types": "relu"}, convop.ArgumentError, "no parameter act_types"),
    ("Activation", [X], {"act_type": "rely"}, convop.InvalidError, "rely"),
    ("Activation", [X], {"act_type": object()}, convop.ArgumentError, "act_type"),
    ("Activation", [X], {"act_type": "a\0b"}, convop.InvalidError, "act_type"),
    ("Activation", [X], {"act_type": "relu", "out": RELU[0].copy()}, convop.InvalidError,
     "shape|dim"),
    ("Activation", [X], {"act_type": "relu", "out": (X, X)}, convop.InvalidError, "out has 2 entries"),
    ("Activation", [X], {"act_type": "relu", "request": "add"}, convop.InvalidError, r"needs out\[0\]"),
    ("Activation", [X], {"act_type": "relu", "request": 3}, convop.ArgumentError, "request is neither"),
    ("Activation", [X], {"act_type": "relu", "request": "x"}, convop.InvalidError, "request is 'x'"),
    ("Activation", [X], {"act_type": "relu", "request": ("write",) * 2}, convop.InvalidError,
     "request has 2 entries"),
    ("_backward_elemwise_add", [X], {"out": X}, convop.ArgumentError, "out is no tuple .* 2 outputs"),
    ("Convolution", [X, W], {"out": (X, X)}, convop.InvalidError, "out has 2 entries"),
    ("Convolution", [X, W], {"request": "add"}, convop.InvalidError, "needs out"),
    ("Convolution", [X, W], {"pads": 1}, convop.ArgumentError, "no parameter pads"),
    ("Convolutoin", [X], {}, convop.NotFoundError, "Convolution"),
    ("Convolution\0", [X, W], {}, convop.NotFoundError, "Convolution"),
    ("\ud800", [X, W], {}, convop.NotFoundError, "d800"),
    (3, [X], {}, convop.ArgumentError, "name is of type int"),
    ("Activation", [X.astype("i4")], {"act_type": "relu"}, convop.Error, "int32")])
def test_refused(name, inputs, keywords, error, text):
    kept = X.copy()
    for _ in range(2):
        with pytest.raises(error, match=text):
            convop.invoke(name, inputs, **keywords)
    assert np.array_equal(X, kept)


def test_refused_forms_of_a_call():
    with pytest.raises(convop.ArgumentError, match=r"invoke\(\): missing argument inputs"):
        convop.invoke("Activation")
    with pytest.raises(convop.ArgumentError, match=r"invoke\(\): given twice: name"):
        convop.invoke("Activation", [X], name="Pooling")
    with pytest.raises(convop.ArgumentError, match="positional"):
        convop.invoke("Activation", [X], 3)
    with pytest.raises(convop.ArgumentError, match="given twice: src"):
        convop.ops.Activation(X, src=X, act_type="relu")
    assert np.array_equal(convop.invoke(name="Activation", inputs=[X], act_type="relu"), RELU)


def test_more_parameters_than_are_remembered():
    for i in range(2000):
        kernel = (1 + i % 3, 1 + i // 3 % 4)
        y = convop.ops.Pooling(X, kernel=kernel, pool_type="max")
        assert y.shape == (1, 1, 5 - kernel[0], 5 - kernel[1])


def test_eight_threads():
    wrong = []

    def work(seed):
        try:
            for i in range(200):
                k = 1 + (seed + i) % 4
                y = convop.ops.Pooling(X, kernel=(k, k), pool_type="max")
                if y.shape != (1, 1, 5 - k, 5 - k) or y[0, 0, -1, -1] != 7:
                    wrong.append(k)
                with pytest.raises(convop.InvalidError, match=f"r{k}"):
                    convop.invoke("Activation", [X], act_type=f"r{k}")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def many_calls():
    out = np.zeros_like(X)
    for _ in range(200):
        convop.invoke("Activation", [X], act_type="relu")
        convop.ops.Pooling(X, kernel=[2, 2], pool_type="max")
        convop.ops.Activation(X, act_type="relu", out=out, request="add")
        convop.ops.Convolution(X, W, B, pad=1)
        convop.invoke("_backward_elemwise_add", [X], out=[out, None], request=("write", "null"))
        for inputs, keywords in (([X], {"act_type": "x"}), ([X], {"out": X[0]}), ([None, X], {}),
                                 ([X], {"request": "x"}), ([X, X], {}), ([3], {}),
                                 ([X], {"act_type": "relu", "out": (out, out)})):
            with pytest.raises(convop.Error):
                convop.invoke("Activation", inputs, **keywords)


def test_no_references_are_left():
    leaves_nothing(many_calls, X, W, B, X.dtype)
