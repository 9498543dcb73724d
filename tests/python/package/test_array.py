"""convop.Array: what it refuses, its capsules, and its end."""
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import convop

W = np.ones((1, 1, 3, 3), np.float32)


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("arguments, error", [
    (((-1,),), ValueError), (((1 << 64,),), ValueError), (((-1 << 63,),), ValueError),
    (((1 << 62, 4),), ValueError), (((1,) * 9,), ValueError), ((5,), TypeError),
    (((1.5,),), TypeError), (("12",), TypeError), (((1,), "float5"), ValueError),
    (((1,), ["float32"]), ValueError), (((1,), np.float32), ValueError)])
def test_refused(arguments, error):
    with pytest.raises(error, match="array|Array") as caught:
        convop.Array(*arguments)
    assert isinstance(caught.value, convop.Error)


def test_is_not_copied():
    """A copy would give the same memory back once more."""
    for function in copy.copy, copy.deepcopy, pickle.dumps:
        with pytest.raises(TypeError, match="from_dlpack"):
            function(convop.Array((2,)))


def test_subclass():
    class Mine(convop.Array):
        pass

    assert type(Mine((2,))) is Mine and np.from_dlpack(Mine((2,))).shape == (2,)


def test_capsule_that_nobody_takes():
    array = convop.Array((2,))
    for version in (None, (1, 0)):
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):  # the capsule goes while it is on its way
                print(array.__dlpack__(max_version=version), 1 / 0)


@pytest.mark.skipif(convop.backend != "extension", reason="ctypes keeps the memory")
def test_memory_of_a_capsule_that_nobody_takes():
    """Its memory is at once that of the next array: nothing holds it."""
    addresses = set()
    for _ in range(20):
        array = convop.Array((1 << 20,))
        capsule = array.__dlpack__()
        addresses.add(np.from_dlpack(array).ctypes.data)
        del array, capsule
    assert len(addresses) < 5


def test_lives_longer_than_the_modules():
    run_python("""
import ctypes, sys
import convop
for module in ctypes, sys:
    array = convop.Array((2,))
    module.kept = [array, array.__dlpack__(), convop._registry.Operator("Pooling")]
""")


def test_second_import():
    """The classes of errors and arrays are those of the import that is used."""
    assert run_python("""
import sys
import convop
first = convop.Error
for name in [name for name in sys.modules if name.startswith("convop")]:
    del sys.modules[name]
import convop
x = convop.Array((1, 1, 3, 3))
try:
    convop.conv_forward(x, x, pad=-1)
except convop.Error:
    print(type(convop.conv_forward(x, x)) is convop.Array, first is convop.Error)
""") == "True False\n"


@pytest.mark.parametrize("text", ["\0", "Pooling\0", "\ud800", ""])
def test_texts_that_the_library_cannot_hold(text):
    with pytest.raises(convop.NotFoundError):
        convop.op_info(text)
    with pytest.raises(convop.InvalidError, match="num_group"):
        convop.conv_forward(W, W, num_group="1" + text + "\0")
    with pytest.raises(convop.Error):
        convop.load_plugin("there is\0none")
    for wrong in (None, 5, b"Pooling"):
        with pytest.raises(convop.ArgumentError):
            convop.op_info(wrong)
