"""Threads, forks, what an import brings in, and what is left behind."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from leaks import leaves_nothing

import convop

X, W = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
LARGE = np.ones((4, 16, 32, 32), np.float32), np.ones((32, 16, 3, 3), np.float32)


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          timeout=120).stdout


def test_import_brings_in_nothing():
    seen = run_python("""
import sys
before = {*sys.modules}
import convop
convop.list_ops()
modules = {name.split(".")[0] for name in {*sys.modules} - before}
print(*sorted(modules & {"numpy", "torch", "jax", "mxnet", "cupy", "tvm"}))
maps = open("/proc/self/maps").read()
print(*[name for name in ("libcuda", "libcudnn", "libcudart", "libgomp", "libopenblas", "libstdc++")
        if name in maps])
print(len(__import__("os").listdir("/proc/self/task")))
""")
    assert seen == "\n\n1\n"


def test_import_runs_while_another_is_there_already():
    run_python("import numpy, convop; convop.conv_forward(numpy.ones((1,1,3,3)), "
               "numpy.ones((1,1,3,3)))")


def test_eight_threads():
    wanted = convop.conv_forward(*LARGE)
    wrong = []

    def work():
        for _ in range(10):
            if not np.array_equal(convop.conv_forward(*LARGE), wanted):
                wrong.append("large")
            for pad in (0, 1, (1, 0), ((1, 0), (0, 1))):
                if convop.conv_forward(X, W, pad=pad)[0, 0, 0, 0] not in (4, 6, 9):
                    wrong.append(pad)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_meanwhile():
    """A long call does not keep the interpreter: a thread that only waits for it sees progress."""
    done, beats = threading.Event(), []

    def beat():
        while not done.is_set():
            beats.append(1)
            done.wait(0.0001)

    thread = threading.Thread(target=beat)
    thread.start()
    x = np.ones((8, 64, 56, 56), np.float32)
    w = np.ones((64, 64, 3, 3), np.float32)
    while not beats:
        pass
    before = len(beats)
    for _ in range(20):
        convop.conv_forward(x, w)
    after = len(beats)
    done.set()
    thread.join()
    assert after > before


def test_fork():
    wanted = convop.conv_forward(*LARGE)
    child = os.fork()
    if child == 0:
        same = np.array_equal(convop.conv_forward(*LARGE), wanted)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(convop.conv_forward(*LARGE), wanted)


def many_calls():
    out = np.zeros((1, 1, 2, 2), np.float32)
    for i in range(300):
        convop.conv_forward(X, W)
        convop.conv_forward(X, W, out=out, kernel=(3, 3), stride=[1, 1])
        convop.conv_backward(out, X, W, grad_req=("write", "null", "write"))
        for wrong in ({"pad": -1}, {"out": X}, {"request": "x"}, {"pads": 1}):
            with pytest.raises(convop.Error):
                convop.conv_forward(X, W, **wrong)
        with pytest.raises(convop.Error):
            convop.conv_backward(X, X, W)


def test_no_references_are_left():
    leaves_nothing(many_calls, X, W)


def test_many_kinds_of_calls():
    """More values and places of calls than the extension remembers."""
    for i in range(2000):
        pad = (i % 40, i // 40)
        assert convop.conv_forward(X, W, pad=pad).shape == (1, 1, 2 + 2 * pad[0], 2 + 2 * pad[1])
        assert eval(f"convop.conv_forward(X, W, pad={pad}, stride=1)").shape[2] == 2 + 2 * pad[0]
    types = [type(f"Kind{i}", (np.ndarray,), {}) for i in range(100)]
    for kind in types:
        assert convop.conv_forward(X.view(kind), W)[0, 0, 0, 0] == 9


def test_end_of_the_process():
    run_python("import convop, numpy; a = convop.Array((2,)); b = a.__dlpack__(); "
               "c = numpy.from_dlpack(a); op = convop.prepare('Convolution', numpy.ones((1,1,1)))")
