"""When other threads run during a call: not in the time of a tiny problem, always while implementations are
measured."""
import subprocess
import sys
import threading

import numpy as np
import pytest

import convop

pytestmark = pytest.mark.skipif(convop.backend != "extension", reason="ctypes always gives it back")


@pytest.fixture
def beats(tmp_path):
    """A list that another thread makes longer whenever it may run. It is given no turn but in waiting
    and in calls that give back the GIL."""
    done, beats = threading.Event(), []

    def beat():
        while not done.is_set():
            beats.append(1)
            done.wait(0.0001)

    old = sys.getswitchinterval()
    thread = threading.Thread(target=beat)
    thread.start()
    while not beats:
        pass
    convop.set(cache_dir=str(tmp_path), tune_budget=50)
    sys.setswitchinterval(1000)
    try:
        yield beats
    finally:
        sys.setswitchinterval(old)
        done.set()
        thread.join()
        convop.tune.forget()
        convop.set(cache_dir=None, tune_budget=None, autotune=None)


def run(beats, **parameters):
    """Whether the other thread ran during any of some calls, each of a new problem."""
    w = np.ones((1, 1, 3, 3), np.float32)
    convop.conv_forward(np.ones((1, 1, 3, 3), np.float32), w, **parameters)  # parameters are read
    for i in range(20):
        x = np.ones((1, 1, 4 + i % 5, 4 + i // 5), np.float32)
        before = len(beats)
        convop.conv_forward(x, w, **parameters)
        if len(beats) > before:
            return True
    return False


@pytest.mark.parametrize("autotune, cudnn_tune, measures", [
    (None, None, False), (None, "off", False), (0, "fastest", False), ("off", "fastest", False),
    (2, None, True), ("fastest", "off", True), (1, None, True), (None, "fastest", True),
    (None, "limited_workspace", True)])
def test_it_is_given_back_where_it_may_be_long(beats, autotune, cudnn_tune, measures):
    convop.set(autotune=autotune)
    assert run(beats, cudnn_tune=cudnn_tune) == measures


@pytest.mark.parametrize("prepared", [False, True])
def test_it_is_given_back_to_a_reader_of_the_log(prepared):
    """As notebooks have one: what reads the lines is a thread of this process."""
    program = f"""
import os, threading
ends = os.pipe()
os.dup2(ends[1], 2)
threading.Thread(target=lambda: [0 for _ in iter(lambda: os.read(ends[0], 4096), b"")],
                 daemon=True).start()
import numpy as np
import convop
x, w = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
op = convop.prepare("Convolution", w) if {prepared} else lambda x: convop.conv_forward(x, w)
op(x)
convop.set(verbose=1)
for i in range(2000):
    op(x)
os._exit(0)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
