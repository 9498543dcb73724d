"""convop.Array, the array of those who bring no kind of their own, and how a new array becomes one
of another kind."""
import ctypes as c
import sys

from . import _errors, _library
from ._structs import DataType, DLTensor, Managed, Versioned

_NAMES = {(0, 8): "int8", (0, 16): "int16", (0, 32): "int32", (0, 64): "int64", (1, 8): "uint8",
          (2, 16): "float16", (2, 32): "float32", (2, 64): "float64", (4, 16): "bfloat16"}
_CODES = {name: code for code, name in _NAMES.items()}

_DESTRUCTOR = c.CFUNCTYPE(None, c.c_void_p)
_python = c.pythonapi
_new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(
    ("PyCapsule_New", _python))
_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(("PyCapsule_IsValid", _python))
_get_pointer = c.PYFUNCTYPE(c.c_void_p, c.c_void_p, c.c_char_p)(("PyCapsule_GetPointer", _python))


def _destructor(name, kind):
    """What a capsule does that nobody has used: it gives its tensor back."""
    def destroy(capsule):
        if _is_valid(capsule, name):
            tensor = c.cast(_get_pointer(capsule, name), c.POINTER(kind))
            tensor.contents.deleter(tensor)
    return _DESTRUCTOR(destroy)


_LEGACY, _VERSIONED = b"dltensor", b"dltensor_versioned"
_destroy = {_LEGACY: _destructor(_LEGACY, Managed), _VERSIONED: _destructor(_VERSIONED, Versioned)}


class Array:
    """A compact array on the CPU that does no more than hold memory: shape, dtype, and DLPack, by
    which any library takes it over without a copy."""

    __slots__ = ("_array", "__weakref__")

    def __init__(self, shape, dtype="float32"):
        """Zeros of this shape."""
        if dtype not in _CODES:
            raise _errors.InvalidError(f"Array: dtype={dtype!r}, allowed are {', '.join(_CODES)}")
        self._array = c.c_void_p()
        shape = tuple(shape)
        _library.call("convop_array_create", None, DataType(*_CODES[dtype], 1), len(shape),
                      (c.c_int64 * len(shape))(*shape), c.byref(self._array))

    def __del__(self):
        if getattr(self, "_array", None):
            _library.function("convop_array_release", None)(c.byref(self._array))

    def _tensor(self):
        view = _library.function("convop_array_view", c.POINTER(DLTensor))
        return view(self._array).contents

    @property
    def _address(self):
        return self._array.value

    @property
    def shape(self):
        tensor = self._tensor()
        return tuple(tensor.shape[:tensor.ndim])

    @property
    def dtype(self):
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
        versioned = max_version is not None and max_version[0] >= 1
        name = _VERSIONED if versioned else _LEGACY
        tensor = c.c_void_p()
        _library.call("convop_to_dlpack_versioned" if versioned else "convop_to_dlpack",
                      self._array, c.byref(tensor))
        return _new_capsule(tensor, name, c.cast(_destroy[name], c.c_void_p))

    def __repr__(self):
        return f"convop.Array(shape={self.shape}, dtype={self.dtype!r})"


def adopt(address):
    """An Array for a convop_array, whose reference it takes over."""
    array = Array.__new__(Array)
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
        return numpy.empty(shape, "iuf"[code] + str(bits // 8))
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
makers = {}


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
