"""The exceptions. Each kind of failure of the library has its class, which is also the class that
Python's own functions raise for such a thing; all of them are Error."""


class Error(Exception):
    """A call failed, and its outputs are as they were. The text is the library's sentence: operator
    or function, argument, value, limit. `status` is the number of convop_status."""

    status = 9


class InvalidError(Error, ValueError):
    """An argument that does not fit: a shape, a parameter, a dtype."""

    status = 1


class ArgumentError(InvalidError, TypeError):
    """An argument of the wrong kind: no array, or a keyword that the operator does not have."""


class ExchangeError(InvalidError, BufferError):
    """An array that does not let itself be used so: read-only as an output, part of a gradient."""


class UnsupportedError(Error, ValueError):
    """Valid, but nothing here computes it."""

    status = 2


class NoMemoryError(Error, MemoryError):
    """Memory was refused."""

    status = 3


class DeviceError(Error, BufferError):
    """The device of an array is not here, or failed."""

    status = 4


class FileError(Error, OSError):
    """A file could not be read or written."""

    status = 5


class NotFoundError(Error, LookupError):
    """There is no operator, setting or file of that name."""

    status = 6


class StateError(Error, RuntimeError):
    """Not allowed now: a name that is taken, a plug-in that is loaded already."""

    status = 7


class CancelledError(Error, RuntimeError):
    """The work was given up before it ran."""

    status = 8


class InternalError(Error, RuntimeError):
    """A defect of convop."""

    status = 9


_BY_STATUS = {kind.status: kind for kind in (
    InvalidError, UnsupportedError, NoMemoryError, DeviceError, FileError, NotFoundError,
    StateError, CancelledError, InternalError)}


def of_status(status, text):
    """The exception for a status of the library."""
    return _BY_STATUS.get(status, InternalError)(text)


def refused(name, array, cause):
    """The exception for an array that did not let itself be taken, and why."""
    if isinstance(cause, (Error, MemoryError)) or not isinstance(cause, Exception):
        return cause
    if isinstance(cause, AttributeError) and not hasattr(type(array), "__dlpack__"):
        error = ArgumentError(f"{name} is of type {type(array).__name__}, which is no array: it has "
                              "no __dlpack__")
    else:
        # PyTorch's texts go on with a C++ stack.
        error = ExchangeError(f"{name}: {str(cause).partition(chr(10))[0]}")
    error.__cause__ = cause
    return error
