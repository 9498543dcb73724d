"""Prepared operators: plans and when they are shared, threads, what is refused, what is left behind."""
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from leaks import leaves_nothing
from producer import Producer

import convop

X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
W, B = np.ones((2, 1, 3, 3), np.float32), np.float32([1, 2])


@pytest.fixture
def op():
    return convop.prepare("Convolution", W, B)


def wanted(x=X):
    return convop.conv_forward(x, W, B)


def num_plans(op):
    return int(repr(op).split()[-2])


def test_one_plan_serves_all_of_one_layout(op):
    out = np.zeros_like(wanted())
    for _ in range(2):
        assert np.array_equal(op(X), wanted())
        assert op(X, out=out) is out and np.array_equal(out, wanted())
        answer = op(X, out=(out,))
        assert type(answer) is tuple and answer[0] is out
        list_of_one = [out]
        assert op(X, out=list_of_one) is list_of_one
        assert np.array_equal(op(Producer(X), out=out), wanted())
    assert num_plans(op) == 1
    assert np.array_equal(op(X, out=None), wanted())


def test_each_layout_has_its_plan(op):
    wide = np.zeros((1, 1, 4, 8), np.float32)
    wide[..., ::2] = X
    out = np.zeros((1, 2, 2, 4), np.float32)
    for _ in range(2):
        assert np.array_equal(op(X), wanted())
        assert np.array_equal(op(wide[..., ::2]), wanted())
        assert np.array_equal(op(X.transpose(0, 1, 3, 2)), wanted(X.transpose(0, 1, 3, 2)))
        op(X, out=out[..., ::2])
        assert np.array_equal(out[..., ::2], wanted()) and not out[..., 1::2].any()
    assert num_plans(op) == 4
    for n in range(4, 30):
        op(np.ones((n, 1, 3, 3), np.float32))
    assert num_plans(op) == 16


def test_no_memory_is_kept_from_before(op):
    """A plan has no address of the arrays that it was made for."""
    for factor in range(1, 5):
        x = np.array(X * factor)
        assert np.array_equal(op(x), wanted(x))


def test_axes_of_size_one_may_have_any_stride():
    op = convop.prepare("Convolution", W)
    x = np.ones((1, 1, 4, 4), np.float32)
    odd = np.lib.stride_tricks.as_strided(x, x.shape, (4 * 77, 4 * 99, 16, 4))
    assert np.array_equal(op(x), op(odd)) and num_plans(op) == 1


@pytest.mark.parametrize("call, error, text", [
    (lambda op: op(), convop.ArgumentError, "Convolution: the first input is missing"),
    (lambda op: op(X, pad=1), convop.ArgumentError, "only keyword, not pad"),
    (lambda op: op(None), convop.ArgumentError, "input 0 is of type NoneType"),
    (lambda op: op(X, out=3), convop.ArgumentError, r"out\[0\] is of type int"),
    (lambda op: op(X, out=(None,)), convop.ArgumentError, r"out\[0\] is of type NoneType"),
    (lambda op: op(X, out=()), convop.InvalidError, "out has 0 entries, there are 1 outputs"),
    (lambda op: op(X, out=[wanted()] * 2), convop.InvalidError, "out has 2 entries"),
    (lambda op: op(X, out=X), convop.InvalidError, "shape"),
    (lambda op: op(X, out=wanted().astype("f8")), convop.InvalidError, "float64"),
    (lambda op: op(X, X), convop.InvalidError, "dst .output. has shape"),  # X as a residual
    (lambda op: op(X, X, X), convop.InvalidError, "inputs"),
    (lambda op: op(*[X] * 20), convop.InvalidError, "inputs"),
    (lambda op: op(X.astype("f8")), convop.InvalidError, "float64"),
    (lambda op: op(X[0]), convop.InvalidError, "shape|dim"),
    (lambda op: op(np.zeros((1, 1, 2, 2), np.float32)), convop.InvalidError, "src|kernel|window")])
def test_refused(op, call, error, text):
    assert np.array_equal(op(X), wanted())
    for _ in range(2):
        with pytest.raises(error, match=text):
            call(op)
        with pytest.raises(error, match=text):
            call(convop.prepare("Convolution", W, B))
    assert np.array_equal(op(X), wanted()) and num_plans(op) == 1


def test_prepare_refuses():
    with pytest.raises(convop.NotFoundError):
        convop.prepare("Convolutoin", W)
    with pytest.raises(convop.ArgumentError):
        convop.prepare("Convolution", 3)
    with pytest.raises(convop.Error):
        convop.prepare("Convolution")(X)
    with pytest.raises(convop.ArgumentError):
        convop.prepare("Pooling", kernels=2)(X)


def test_outputs_as_they_were(op):
    for x, error in ((X[:, :, :2], convop.InvalidError), (Producer(X, device_type=2), convop.DeviceError)):
        out = Producer(np.full((1, 2, 2, 2), 7))
        with pytest.raises(error):
            op(x, out=out)
        assert np.all(out.values == 7) and out.balanced and getattr(x, "balanced", True)
    read_only = Producer(np.full((1, 2, 2, 2), 7), flags=1)
    with pytest.raises(convop.ExchangeError, match="read-only"):
        op(X, out=read_only)
    assert read_only.balanced and np.all(read_only.values == 7)
    memory = np.zeros(40, np.float32)
    memory[:16] = X.ravel()
    with pytest.raises(convop.InvalidError, match="overlap"):
        op(memory[:16].reshape(1, 1, 4, 4), out=memory[12:20].reshape(1, 2, 2, 2))


def test_the_kind_of_what_comes_out(op):
    x = Producer(X)
    y = op(x)
    assert type(y) is convop.Array and np.array_equal(np.from_dlpack(y), wanted()) and x.balanced


def test_other_operators():
    gamma, beta = np.ones(1, np.float32), np.zeros(1, np.float32)
    mean, variance = np.zeros(1, np.float32), np.ones(1, np.float32)
    y = convop.prepare("BatchNorm", gamma, beta, mean, variance, fix_gamma=False, eps=1e-3)(X)
    np.testing.assert_allclose(y, X / np.sqrt(1.001), rtol=1e-6)
    lhs, rhs = convop.prepare("_backward_elemwise_add")(X)
    assert np.array_equal(lhs, X) and np.array_equal(rhs, X)
    out = np.zeros_like(X), np.zeros_like(X)
    assert convop.prepare("_backward_elemwise_add")(X, out=out) is out
    assert np.array_equal(out[0], X) and np.array_equal(out[1], X)
    assert convop.prepare("Pooling", kernel=2, stride=2, pool_type="max")(X).tolist() == [
        [[[5, 7], [13, 15]]]]


def test_an_input_that_is_written_to():
    weight, grad, momentum = (np.full(4, n, np.float32) for n in (1, 2, 3))
    op = convop.prepare("sgd_mom_update", lr=0.5, momentum=0.5)
    wanted = convop.invoke("sgd_mom_update", [weight, grad, momentum.copy()], lr=0.5, momentum=0.5)
    kept = momentum.copy()
    assert np.array_equal(op(weight, grad, momentum), wanted) and not np.array_equal(momentum, kept)
    momentum = Producer(kept, flags=1)
    with pytest.raises(convop.ExchangeError, match="input 2: the array is read-only"):
        op(weight, grad, momentum)
    assert momentum.balanced and np.array_equal(momentum.values, kept)


@pytest.mark.parametrize("size", [1, 24])
def test_threads_with_changing_shapes(size):
    """More sets of shapes than there are plans, so that plans come and go while others run."""
    w = np.ones((size, 1, 3, 3), np.float32)
    op = convop.prepare("Convolution", w, pad=1)
    inputs = [np.full((1, 1, n, size + n), n, np.float32) for n in range(3, 30)]
    results = [convop.conv_forward(x, w, pad=1) for x in inputs]
    wrong = []

    def work(seed):
        try:
            for i in range(150):
                at = (7 * seed + i * (seed + 1)) % len(inputs)
                out = np.empty_like(results[at]) if i % 3 == 0 else None
                if not np.array_equal(op(inputs[at], out=out), results[at]):
                    wrong.append(at)
                if i % 10 == 0:
                    with pytest.raises(convop.InvalidError):
                        op(inputs[at], out=results[at - 1])
        except BaseException as error:
            wrong.append(error)

    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(old)
    assert not wrong and num_plans(op) == 16


def test_a_call_within_a_call(op):
    """An array that uses the same operator while it is taken, and drives out all plans."""
    class Nested(Producer):
        def __dlpack__(self, **keywords):
            for n in range(1, 20):
                op(np.ones((n, 1, 5, 5), np.float32))
            return super().__dlpack__(**keywords)

    assert np.array_equal(np.from_dlpack(op(Nested(X))), wanted())
    out = Nested(np.zeros_like(wanted()))
    assert op(X, out=out) is out and np.array_equal(out.values, wanted())


class Kind(np.ndarray):
    """Arrays that can be told apart and that know who uses them."""


def test_its_constants_go_with_it():
    w = W.copy().view(Kind)
    gone = weakref.ref(w)
    op = convop.prepare("Convolution", w)
    del w
    gc.collect()
    assert np.array_equal(op(X), convop.conv_forward(X, W))
    del op
    gc.collect()
    assert gone() is None


def many_calls(op, out):
    for _ in range(200):
        op(X)
        op(X, out=out)
        op(X, out=(out,))
        for arrays, keywords in (((X,), {"out": X}), ((X[0],), {}), ((), {}), ((X,), {"pad": 1}),
                                 ((X, X), {}), ((X,), {"out": (out, out)})):
            with pytest.raises(convop.Error):
                op(*arrays, **keywords)
    for n in range(1, 40):
        op(np.ones((n, 1, 3, 3), np.float32))


def test_no_references_are_left(op):
    out = np.zeros_like(wanted())
    leaves_nothing(lambda: many_calls(op, out), X, W, B, out, op, X.dtype)
