"""The wheel: built as pip builds it, installed into an environment of its own, and used there."""
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
USE = """
import array, sys
import convop
assert convop.backend == "extension", convop.backend
assert convop._library.path.startswith(sys.prefix), convop._library.path
y = convop.conv_forward(convop.Array((1, 1, 4, 4)), convop.Array((2, 1, 3, 3)), pad=1)
assert y.shape == (1, 2, 4, 4)
assert "Convolution" in convop.list_ops() and convop.ops.Activation.__doc__
print("works")
"""


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    env = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable),
                                                  os.environ["PATH"]])}
    if shutil.which("ccache") and "CC" not in env:
        env["CC"] = "ccache cc"
    run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
         f"-Cbuild-dir={folder / 'build'}", "-Csetup-args=-Dcuda=disabled",
         "-Csetup-args=-Disas=", "-Csetup-args=-Doptimization=0", "-w", str(folder), ROOT], env=env)
    found = list(folder.glob("*.whl"))
    assert len(found) == 1
    return found[0]


def test_one_for_all_pythons(wheel):
    assert re.fullmatch(r"convop-[0-9.]+-cp39-abi3-linux_\w+\.whl", wheel.name)


def test_content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {*archive.namelist()}
        links = [entry.filename for entry in archive.infolist()
                 if entry.external_attr >> 28 == 0o12]
    assert {"convop/__init__.py", "convop/libconvop.so.0", "convop/_convop.abi3.so",
            "convop/py.typed", "convop/_convop.pyi", "convop/torch/__init__.py"} <= names
    assert [name for name in names if name.endswith("/LICENSE")]
    assert not links
    assert not [name for name in names if "__pycache__" in name
                or not name.startswith(("convop/", "convop-"))]


def test_use(wheel, tmp_path):
    run([sys.executable, "-m", "venv", str(tmp_path / "venv")])
    python = str(tmp_path / "venv" / "bin" / "python")
    run([python, "-m", "pip", "install", "--no-deps", "--no-index", str(wheel)])
    env = {name: value for name, value in os.environ.items()
           if name not in ("PYTHONPATH", "CONVOP_LIBRARY", "CONVOP_PYTHON_FALLBACK")}
    assert run([python, "-c", USE], env=env, cwd=tmp_path) == "works\n"
