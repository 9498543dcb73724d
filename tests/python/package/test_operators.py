"""Operators by their names: invoke, ops, prepare, and what the registry says."""
import inspect
import threading

import numpy as np
import pytest

import convop

X = np.arange(-8, 8, dtype=np.float32).reshape(1, 1, 4, 4)
W = np.ones((2, 1, 3, 3), np.float32)


def test_registry():
    names = convop.list_ops()
    assert names == sorted(names) and {"Convolution", "BatchNorm", "Pooling"} <= {*names}
    info = convop.op_info("Convolution")
    assert [arg["name"] for arg in info["inputs"]] == ["src", "weights", "bias"]
    layout = next(p for p in info["parameters"] if p["name"] == "layout")
    assert layout["kind"] == "enum" and "NHWC" in layout["values"] and not layout["required"]
    assert dir(convop.ops) == names


def test_every_operator_is_documented():
    for name in convop.list_ops():
        function, info = getattr(convop.ops, name), convop.op_info(name)
        assert function.__name__ == name and info["doc"] in function.__doc__
        wanted = [arg["name"] for arg in info["inputs"]]
        assert [*inspect.signature(function).parameters][:len(wanted)] == wanted
        for parameter in info["parameters"]:
            assert parameter["name"] in inspect.signature(function).parameters
            assert parameter["doc"] in function.__doc__


def test_invoke_and_ops():
    relu = np.maximum(X, 0)
    assert np.array_equal(convop.invoke("Activation", [X], act_type="relu"), relu)
    assert np.array_equal(convop.ops.Activation(X, act_type="relu"), relu)
    assert np.array_equal(convop.ops.Activation(src=X, act_type="relu"), relu)
    out = np.ones_like(X)
    assert convop.ops.elemwise_add(X, X, out=out, request="add") is out
    assert np.array_equal(out, 2 * X + 1)
    pooled = convop.ops.Pooling(X, kernel=2, stride=2, pool_type="max")
    assert pooled.tolist() == [[[[-3, -1], [5, 7]]]]


def test_convolution_as_an_operator():
    wanted = convop.conv_forward(X, W, pad=((0, 1), (1, 0)))
    for y in (convop.ops.Convolution(X, W, pad=((0, 1), (1, 0))),
              convop.invoke("Convolution", [X, W, None], pad=((0, 1), (1, 0))),
              convop.prepare("Convolution", W, pad=((0, 1), (1, 0)))(X)):
        assert np.array_equal(y, wanted)


def test_fully_connected_takes_sizes_from_the_weights():
    x, w = np.ones((2, 3), np.float32), np.ones((5, 3), np.float32)
    assert np.array_equal(convop.ops.FullyConnected(x, w), np.full((2, 5), 3))
    b = np.ones(5, np.float32)
    assert np.array_equal(convop.ops.FullyConnected(x, w, b), np.full((2, 5), 4))
    assert np.array_equal(convop.prepare("FullyConnected", w, b)(x), np.full((2, 5), 4))


def test_batch_norm_trains():
    gamma, beta = np.ones(1, np.float32), np.zeros(1, np.float32)
    mean, variance = np.zeros(1, np.float32), np.ones(1, np.float32)
    still = convop.ops.BatchNorm(X, gamma, beta, mean, variance, fix_gamma=False, eps=1e-3)
    np.testing.assert_allclose(still, X / np.sqrt(1.001), rtol=1e-6)
    assert not mean.any()
    y = convop.ops.BatchNorm(X, gamma, beta, mean, variance, fix_gamma=False, is_train=True)
    assert abs(y.mean()) < 1e-6 and abs(y.std() - 1) < 1e-3 and mean[0] != 0
    mean.flags.writeable = False
    with pytest.raises(BufferError):
        convop.ops.BatchNorm(X, gamma, beta, mean, variance, is_train=True)


def test_prepared_for_many_shapes():
    op = convop.prepare("Convolution", W, pad=1)
    for size in range(3, 40):
        x = np.ones((1, 1, size, 3), np.float32)
        assert np.array_equal(op(x), convop.conv_forward(x, W, pad=1))
    assert "16 plans" in repr(op)
    out = np.zeros((1, 2, 4, 4), np.float32)
    assert op(X, out=out) is out and np.array_equal(out, convop.conv_forward(X, W, pad=1))
    wide = np.zeros((1, 2, 4, 8), np.float32)
    op(X, out=wide[..., ::2])
    assert np.array_equal(wide[..., ::2], out) and not wide[..., 1::2].any()


def test_prepared_refuses():
    with pytest.raises(convop.ArgumentError):
        convop.prepare("Convolution", W, pads=1)
    op = convop.prepare("Convolution", W)
    with pytest.raises(convop.InvalidError):
        op(np.ones((1, 2, 4, 4), np.float32))
    with pytest.raises(convop.ArgumentError):
        op()
    assert op(X).shape == (1, 2, 2, 2)


def test_prepared_in_threads():
    op = convop.prepare("Convolution", W, pad=1)
    wanted = {n: convop.conv_forward(np.full((1, 1, n, n), n, np.float32), W, pad=1)
              for n in range(3, 30)}
    wrong = []

    def work(first):
        for i in range(200):
            n = 3 + (first + i) % 27
            if not np.array_equal(op(np.full((1, 1, n, n), n, np.float32)), wanted[n]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(3 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_explain():
    rows = convop.explain(X, W, pad=1)
    assert sum(row["chosen"] for row in rows) == 1
    assert {row["name"] for row in rows} >= {"gemm", "depthwise", "reference"}
    assert all(row["applicable"] or row["why_not"] for row in rows)
    with pytest.raises(convop.InvalidError, match="direction"):
        convop.explain(X, W, direction="up")
    for direction in ("backward_data", "backward_weights", "backward_bias"):
        assert convop.explain(X, W, direction=direction)


def test_strict_math_takes_out_what_is_less_exact():
    x = np.ones((1, 32, 16, 16), np.float32)
    w = np.ones((32, 32, 3, 3), np.float32)

    def bounded():
        return [row for row in convop.explain(x, w, pad=1) if row["error_bound"]]

    assert any(row["applicable"] for row in bounded())
    convop.set(math="strict")
    assert bounded() and all(row["why_not"] == "math is strict" for row in bounded())
    convop.set(math=None)


def test_settings_and_info():
    assert convop.settings()["num_threads"]["origin"] in ("default", "environment")
    convop.set(num_threads=1, deterministic=True)
    assert convop.settings()["num_threads"]["value"] == "1"
    assert convop.settings()["num_threads"]["origin"] == "call"
    convop.set(num_threads=None, deterministic=None)
    assert convop.settings()["num_threads"]["origin"] != "call"
    with pytest.raises(convop.NotFoundError):
        convop.set(num_thread=1)
    with pytest.raises(convop.InvalidError):
        convop.set(num_threads="many")
    assert convop.info()["version"][0] == convop.__version__


def test_implementation_by_name():
    convop.set(impl="reference")
    try:
        assert next(row for row in convop.explain(X, W) if row["chosen"])["name"] == "reference"
    finally:
        convop.set(impl=None)


# A record whose problem is no text in UTF-8, with its checksum.
NOT_UTF_8 = (b'choice\tcpu=Test\tconvop=0\tnot \xff UTF-8\tgemm'
             b'\t1\t0.25\t0\t0\t1000000000\t\t86eb1f95496c4854\n')


def test_tuning_cache(tmp_path):
    convop.set(cache_dir=str(tmp_path))
    try:
        rows = convop.tune.measure(X, W, pad=1, budget_ms=20)
        assert any(row["ms"] for row in rows)
        records = convop.tune.records()
        assert len(records) == 1 and records[0]["impl"] in {row["name"] for row in rows}
        assert convop.tune.path()[0].startswith(str(tmp_path))
        copy = tmp_path / "copy"
        convop.tune.export_file(copy)
        assert convop.tune.forget(impl=records[0]["impl"]) == 1 and not convop.tune.records()
        assert convop.tune.import_file(copy)["records"] == 1
        assert convop.tune.records() == records
        with pytest.raises(convop.Error):
            convop.tune.import_file(tmp_path / "none")
        copy.write_bytes(NOT_UTF_8)
        assert convop.tune.import_file(copy)["records"] == 1
        assert convop.tune.records(device="cpu=Test")[0]["problem"] == "not \ufffd UTF-8"
    finally:
        convop.tune.forget()
        convop.set(cache_dir=None)
