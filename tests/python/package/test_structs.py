"""The structs of ctypes are those of the C compiler."""
import ctypes
import os
import subprocess

import pytest

from convop import _structs


@pytest.mark.skipif("CONVOP_STRUCTS" not in os.environ, reason="meson's test names the program")
def test_structs():
    lines = subprocess.run([os.environ["CONVOP_STRUCTS"]], capture_output=True, text=True,
                           check=True).stdout.split("\n")[:-1]
    assert len(lines) > 20
    for line in lines:
        name, member, number = line.split()
        kind = getattr(_structs, name)
        found = ctypes.sizeof(kind) if member == "-" else getattr(kind, member).offset
        assert found == int(number), line
