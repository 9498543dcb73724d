"""convop.Array, the array of those who bring no kind of their own, and how a new array becomes one
of another kind."""
import ctypes as c
import operator
import sys
from typing import Any, Callable, Dict, Iterable, Tuple

from . import _errors, _library
from ._structs import DataType, DLTensor

_NAMES = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8",
          (2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (4, 16): "bfloat16"}
_CODES = {name: code for code, name in _NAMES.items()}

_new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(
    ("PyCapsule_New", c.pythonapi))


def export(array, versioned):
    """The capsule of an Array. The extension has a better one: a capsule that nobody takes should give
    its tensor back, but no Python function may be called then, as an exception may be on its way. So
    here it keeps the memory of its array for ever."""
    tensor = c.c_void_p()
    _library.call("convop_to_dlpack_versioned" if versioned else "convop_to_dlpack", array._array,
                  c.byref(tensor))
    return _new_capsule(tensor, b"dltensor_versioned" if versioned else b"dltensor", None)


class Array:
    """A compact array on the CPU that does no more than hold memory: shape, dtype, and DLPack, by
    which any library takes it over without a copy."""

    __slots__ = ("_array", "__weakref__")

    def __new__(cls, shape: Iterable[int], dtype: str = "float32"):
        """Zeros of this shape."""
        if not isinstance(dtype, str) or dtype not in _CODES:
            raise _errors.InvalidError(f"Array: dtype={dtype!r}, allowed are {', '.join(_CODES)}")
        try:
            sizes = tuple(map(operator.index, shape))
        except TypeError:
            raise _errors.ArgumentError(f"Array: shape={shape!r} is no tuple of integers") from None
        if any(abs(size) >= 1 << 63 for size in sizes):
            raise _errors.InvalidError(f"Array: shape={shape!r} does not fit into 64 bits")
        address = c.c_void_p()
        _library.call("convop_array_create", None, DataType(*_CODES[dtype], 1), len(sizes),
                      (c.c_int64 * len(sizes))(*sizes), c.byref(address))
        array = object.__new__(cls)
        array._array = address
        return array

    # At the end of the process the modules may be gone before the last array.
    def __del__(self, release=_library.function("convop_array_release", None), byref=c.byref):
        release(byref(self._array))

    def __reduce__(self):
        raise TypeError("convop.Array: it cannot be copied or pickled; numpy.from_dlpack() makes an "
                        "array of it that can")

    def _tensor(self):
        view = _library.function("convop_array_view", c.POINTER(DLTensor))
        return view(self._array).contents

    @property
    def _address(self):
        return self._array.value

    @property
    def shape(self) -> Tuple[int, ...]:
        tensor = self._tensor()
        return tuple(tensor.shape[:tensor.ndim])

    @property
    def dtype(self) -> str:
        """Its name: "float32"."""
        tensor = self._tensor()
        return _NAMES[tensor.code, tensor.bits]

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise BufferError("convop.Array: stream must be None on the CPU")
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError(f"convop.Array: it is on the CPU, dl_device={dl_device} is not")
        if copy:
            raise BufferError("convop.Array: it is exported without a copy only")
        return export(self, max_version is not None and max_version[0] >= 1)

    def __repr__(self):
        return f"convop.Array(shape={self.shape}, dtype={self.dtype!r})"


def adopt(address):
    """An Array for a convop_array, whose reference it takes over."""
    array = object.__new__(Array)
    array._array = c.c_void_p(address)
    return array


def _numpy_of(kind):
    """NumPy, if its array is this type or one of its bases."""
    for base in kind.__mro__:
        if base.__name__ == "ndarray" and base.__module__ == "numpy":
            return sys.modules["numpy"]
    return None


def allocate(like, shape, code, bits, device):
    """Memory for an array of the kind of `like`, which deliver() makes one of that kind."""
    numpy = _numpy_of(type(like))
    if numpy and device == 1 and code in (0, 1, 2):
        try:
            return numpy.empty(shape, "iuf"[code] + str(bits // 8))
        except (MemoryError, ValueError) as error:  # there is none, there can be none
            raise _errors.NoMemoryError(str(error)) from None
    if device != 1:
        raise _errors.DeviceError(f"{type(like).__name__}: only its own library makes arrays on "
                                  "its device: give out=")
    if (code, bits) not in _NAMES:
        raise _errors.UnsupportedError(f"{type(like).__name__}: dtype of DLPack code {code} and "
                                       f"{bits} bits")
    return Array(shape, _NAMES[code, bits])


def _from_dlpack_of(kind):
    """from_dlpack() of the library whose type this is; None if it is not known to have one. Its
    module is loaded already, or there would be no such array."""
    for base in kind.__mro__:
        parts = base.__module__.split(".")
        for end in range(len(parts), 0, -1):
            module = sys.modules.get(".".join(parts[:end]))
            if callable(getattr(module, "from_dlpack", None)):
                return module.from_dlpack
    return None


# Type: function that makes one of an Array. For libraries without a from_dlpack() of the usual form.
makers: Dict[type, Callable[["Array"], Any]] = {}


def deliver(like, array):
    """The Array as an array of the kind of `like`; itself where that kind cannot be made."""
    if isinstance(like, Array) or not isinstance(array, Array):
        return array
    for base in type(like).__mro__:
        if base in makers:
            return makers[base](array)
    namespace = getattr(like, "__array_namespace__", None)
    from_dlpack = getattr(namespace and namespace(), "from_dlpack", None)
    from_dlpack = from_dlpack or _from_dlpack_of(type(like))
    return from_dlpack(array) if from_dlpack else array
