"""An array for the time of a call, through ctypes: what python/ext/borrow.c does in C."""
import ctypes as c
import sys

from . import _arrays, _errors
from ._structs import MOST_DIMS, READ_ONLY, DLTensor, Managed, Versioned

_set_name = c.PYFUNCTYPE(c.c_int, c.py_object, c.c_char_p)(("PyCapsule_SetName", c.pythonapi))
_is_valid = c.PYFUNCTYPE(c.c_int, c.py_object, c.c_char_p)(("PyCapsule_IsValid", c.pythonapi))
_get_pointer = c.PYFUNCTYPE(c.c_void_p, c.py_object, c.c_char_p)(
    ("PyCapsule_GetPointer", c.pythonapi))
# A capsule keeps the address of its name.
_KINDS = ((b"dltensor_versioned", b"used_dltensor_versioned", Versioned),
          (b"dltensor", b"used_dltensor", Managed))


def _plain(array, name):
    """The array without PyTorch's marks, which DLPack cannot carry; or a refusal."""
    if getattr(array, "requires_grad", False) is True:
        if sys.modules["torch"].is_grad_enabled():
            raise _errors.ExchangeError(
                f"{name}: the tensor requires a gradient, which is lost here: use convop.torch, "
                "tensor.detach() or torch.no_grad()")
        array = array.detach()
    is_neg = getattr(array, "is_neg", None)
    if is_neg is not None and is_neg() is True:
        raise _errors.ExchangeError(
            f"{name}: the tensor's sign is still to be turned: use tensor.resolve_neg()")
    return array


def _stream(array):
    """What is on a GPU must be ready on CUDA's legacy default stream, where calls are made."""
    device = getattr(array, "__dlpack_device__", None)
    return {"stream": 1} if device and device()[0] in (2, 13) else {}


def _capsule(array, name):
    array = _plain(array, name)
    try:
        stream = _stream(array)
        try:
            return array.__dlpack__(max_version=(1, 3), **stream)
        except TypeError:
            return array.__dlpack__(**stream)
    except Exception as cause:
        raise _errors.refused(name, array, cause) from cause


class View:
    """The tensor of an array, until close()."""

    def __init__(self, array, name, writable=False):
        self._managed = None
        capsule = _capsule(array, name)
        for unused, used, kind in _KINDS:
            if _is_valid(capsule, unused):
                self._managed = c.cast(_get_pointer(capsule, unused), c.POINTER(kind))
                _set_name(capsule, used)
                break
        else:
            raise _errors.ExchangeError(
                f"{name}: __dlpack__() answered with something that is no unused DLPack capsule")
        try:
            if kind is Versioned:
                self._check_version(name, writable)
            self._check_shape(name)
        except _errors.Error:
            self.close()
            raise
        self.tensor = self._managed.contents.tensor

    def _check_version(self, name, writable):
        managed = self._managed.contents
        if managed.major != 1:
            raise _errors.ExchangeError(
                f"{name}: DLPack {managed.major}.{managed.minor}, allowed is version 1")
        if writable and managed.flags & READ_ONLY:
            raise _errors.ExchangeError(f"{name}: the array is read-only")

    def _check_shape(self, name):
        """What is read here, before the library checks all of a tensor."""
        tensor = self._managed.contents.tensor
        if not 0 <= tensor.ndim <= MOST_DIMS or tensor.ndim and not tensor.shape:
            raise _errors.InvalidError(f"{name} has ndim {tensor.ndim}"
                                       f"{'' if tensor.shape else ' and no shape'}, want 0 to "
                                       f"{MOST_DIMS}")

    def close(self):
        """Gives the tensor back, once."""
        managed, self._managed = self._managed, None
        if managed and managed.contents.deleter:
            managed.contents.deleter(managed)

    @property
    def shape(self):
        return tuple(self.tensor.shape[:self.tensor.ndim])

    @property
    def dtype(self):
        return self.tensor.code, self.tensor.bits

    def layout(self):
        """All that the tensor is but its address; strides are None if it is compact."""
        tensor = self.tensor
        return (self.shape, None if self.is_compact else tuple(tensor.strides[:tensor.ndim]),
                self.dtype, tensor.lanes, tensor.device_type, tensor.device_id)

    @property
    def is_compact(self):
        """Without gaps, in the order of its axes."""
        step, tensor = 1, self.tensor
        for i in reversed(range(tensor.ndim if tensor.strides else 0)):
            if tensor.shape[i] > 1 and tensor.strides[i] != step:
                return False
            step *= tensor.shape[i]
        return True


class Borrowed(View):
    """A tensor that somebody else has taken and gives back."""

    def __init__(self, address):
        self._managed = None
        self.tensor = DLTensor.from_address(address)


class Views:
    """Views that are closed together: `with Views() as views: views.take(array, name)`."""

    def __init__(self):
        self._taken = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for view in self._taken:
            view.close()

    def take(self, array, name, writable=False):
        """The view of an array."""
        view = View(array, name, writable)
        self._taken.append(view)
        return view

    def take_if(self, array, name, writable=False):
        """None for None."""
        return None if array is None else self.take(array, name, writable)

    def new(self, like, like_view, shape, dtype=None):
        """A new array of the kind of `like`: the array to write to, and its view."""
        code, bits = dtype or like_view.dtype
        array = _arrays.allocate(like, shape, code, bits, like_view.tensor.device_type)
        return array, self.take(array, "out", True)


def pointers(views):
    """DLTensor *const * of views, NULL where there is none."""
    return (c.POINTER(DLTensor) * len(views))(
        *(c.pointer(view.tensor) if view else None for view in views))


def pointer(view):
    return c.byref(view.tensor) if view else None
