"""Finds libconvop, loads it, and calls it: the only place that knows where it lies.

It is the one that CONVOP_LIBRARY names; else the one in this package, as in a wheel; else, in a
checkout, the one that `make build` makes; else the system's."""
import ctypes as c
import os

from . import _errors

_SONAME = "libconvop.so.0"
_HERE = os.path.dirname(os.path.abspath(__file__))


def _find():
    named = os.environ.get("CONVOP_LIBRARY")
    if named:
        return named
    checkout = os.path.dirname(os.path.dirname(_HERE))
    for folder in (_HERE, os.path.join(checkout, "build", "src")):
        path = os.path.join(folder, _SONAME)
        if os.path.exists(path):
            return path
    return _SONAME


path = _find()
try:
    # Not RTLD_GLOBAL: names of ours must not meet those of other libraries.
    _handle = c.CDLL(path)
except OSError as error:
    raise ImportError(f"convop: {error}; `make build` makes the library, CONVOP_LIBRARY names "
                      "another one") from error

_handle.convop_last_error.restype = c.c_char_p
_handle.convop_version_string.restype = c.c_char_p


def extension_folder():
    """Where a build folder keeps the extension that was built with the library."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(path))), "python")


def function(name, result=c.c_int):
    """A function of the library. Numbers that it is given must carry their C type."""
    found = getattr(_handle, name)
    found.restype = result
    return found


def check(status):
    """Raises what a status says. Call it in the thread that got it."""
    if status:
        raise _errors.of_status(status, _handle.convop_last_error().decode(errors="replace"))


def call(name, *arguments):
    """Calls a function that answers with a status. The GIL is released meanwhile."""
    check(getattr(_handle, name)(*arguments))


def text(value, what):
    """A text for the library, whose texts end at a NUL: what it cannot hold is escaped."""
    if not isinstance(value, str):
        raise _errors.ArgumentError(f"{what} is of type {type(value).__name__}, want a text")
    return value.encode(errors="backslashreplace").replace(b"\0", b"\\x00")


def file_name(path):
    """The same for a path."""
    return os.fsencode(path).replace(b"\0", b"\\x00")


def version():
    return _handle.convop_version_string().decode()
