"""conv_forward and conv_backward against the sums in float64, on random problems."""
import numpy as np
import pytest
from reference import LAYOUTS, Problem, arrange, tolerance

import convop

DTYPES = ("float32", "float64", "float16")


def close(found, wanted, dtype):
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=tolerance(dtype),
                               atol=tolerance(dtype) * 10)


@pytest.fixture(params=range(24))
def case(request, rng):
    """A problem, its layout and dtype."""
    problem = Problem(rng)
    return problem, LAYOUTS[problem.axes][request.param % 2], DTYPES[request.param % 3]


def inputs(case):
    problem, layout, dtype = case
    return [None if array is None else arrange(array, layout, dtype)
            for array in (problem.x, problem.w, problem.b)]


def test_forward(case):
    problem, layout, dtype = case
    y = convop.conv_forward(*inputs(case), layout=layout, **problem.parameters())
    assert type(y) is np.ndarray and y.dtype == dtype
    close(y, arrange(problem.forward(), layout, np.float64), dtype)


def test_backward(case):
    problem, layout, dtype = case
    dy = arrange(problem.dy, layout, dtype)
    found = convop.conv_backward(dy, *inputs(case), layout=layout, **problem.parameters())
    for gradient, wanted in zip(found, problem.backward()):
        if gradient is not None:
            close(gradient, arrange(wanted, layout, np.float64), dtype)
    assert (found[2] is None) == (problem.b is None)


def test_add_into_out(case):
    problem, layout, dtype = case
    wanted = arrange(problem.forward(), layout, np.float64)
    y = np.ones(wanted.shape, dtype)
    answer = convop.conv_forward(*inputs(case), layout=layout, out=y, request="add",
                                 **problem.parameters())
    assert answer is y
    close(y, wanted + 1, dtype)


def test_prepared(case):
    problem, layout, dtype = case
    x, w, b = inputs(case)
    op = convop.prepare("Convolution", w, b, layout=layout, **problem.parameters())
    for _ in range(2):
        close(op(x), arrange(problem.forward(), layout, np.float64), dtype)


def test_gaps_and_transposed(rng):
    problem = Problem(rng, axes=2)
    wide = np.zeros((*problem.x.shape[:-1], 2 * problem.x.shape[-1]))
    wide[..., ::2] = problem.x
    turned = np.asfortranarray(problem.w)
    y = convop.conv_forward(wide[..., ::2], turned, problem.b, **problem.parameters())
    close(y, problem.forward(), "float64")


@pytest.mark.parametrize("pad", [1, (1, 1), [1, 1], ((1, 1), (1, 1)), np.int64(1), "(1,1)"])
def test_forms_of_a_tuple(pad):
    x, w = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    assert convop.conv_forward(x, w, pad=pad).sum() == 100


@pytest.mark.parametrize("groups", [2, np.int8(2), "2"])
def test_forms_of_a_number(groups):
    x, w = np.ones((1, 4, 3, 3), np.float32), np.ones((2, 2, 3, 3), np.float32)
    assert convop.conv_forward(x, w, num_group=groups).ravel().tolist() == [18, 18]


class Number:
    """One that can be hashed, and changes."""

    def __index__(self):
        return self.value


def test_parameters_that_change():
    number, x, w = Number(), np.ones((1, 1, 6, 6), np.float32), np.ones((1, 1, 2, 2), np.float32)
    for number.value in (1, 2, 3):
        sizes = ((6 - 2) // number.value + 1,) * 2
        for stride in (number, (number, number)):
            assert convop.conv_forward(x, w, stride=stride).shape[2:] == sizes
            pooled = convop.invoke("Pooling", [x], kernel=2, stride=stride, pool_type="max")
            assert pooled.shape[2:] == sizes


def test_gradients_asked_for():
    x, w = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    b, dy = np.ones(1, np.float32), np.ones((1, 1, 2, 2), np.float32)
    into = np.full_like(w, 7)
    dx, dw, db = convop.conv_backward(dy, x, w, b, grad_req=("null", "add", "write"),
                                      out=(None, into, None))
    assert dx is None and dw is into and np.all(into == 11) and db == 4
    assert convop.conv_backward(dy, x, w, grad_req="null") == (None, None, None)
    assert convop.conv_backward(dy, None, w, grad_req=("null", "null", "null"))[0] is None


def test_request_null():
    x, w = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    y = np.full((1, 1, 2, 2), 5, np.float32)
    assert convop.conv_forward(x, w, out=y, request="null") is y and np.all(y == 5)
