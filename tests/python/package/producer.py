"""An array whose every DLPack field a test can choose, and whose deleters are counted."""
import ctypes as c

import numpy as np

from convop._structs import DLTensor, Managed, Versioned

_new_capsule = c.PYFUNCTYPE(c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)(
    ("PyCapsule_New", c.pythonapi))
_is_valid = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p)(("PyCapsule_IsValid", c.pythonapi))


class Producer:
    """Exports values as the old struct or the versioned one, each time anew."""

    def __init__(self, values, versioned=True, version=(1, 3), flags=0, knows_version=True, **fields):
        self.values = np.array(values, np.float32)
        self.versioned, self.version, self.flags = versioned, version, flags
        self.knows_version, self.fields = knows_version, fields
        self.exports = self.deleted = 0
        self._kept = []

    @property
    def balanced(self):
        """Each export's deleter ran once."""
        return self.exports == self.deleted

    def __dlpack_device__(self):
        return (1, 0)

    def _tensor(self):
        shape = (c.c_int64 * self.values.ndim)(*self.values.shape)
        tensor = DLTensor(self.values.ctypes.data, 1, 0, self.values.ndim, 2, 32, 1, shape, None, 0)
        for name, value in self.fields.items():
            setattr(tensor, name, value)
        return tensor

    def _export(self):
        self.exports += 1

        def delete(_):
            self.deleted += 1

        if self.versioned:
            kind, name = Versioned, b"dltensor_versioned"
            managed = Versioned(*self.version, None, Versioned._fields_[3][1](delete), self.flags,
                                self._tensor())
        else:
            kind, name = Managed, b"dltensor"
            managed = Managed(self._tensor(), None, Managed._fields_[2][1](delete))

        @c.CFUNCTYPE(None, c.c_void_p)
        def destroy(capsule):
            if _is_valid(capsule, name):
                managed.deleter(c.pointer(managed))

        self._kept.append((managed, destroy, kind))
        return _new_capsule(c.addressof(managed), name, c.cast(destroy, c.c_void_p))

    def __dlpack__(self, **keywords):
        if keywords and not self.knows_version:
            raise TypeError("__dlpack__() takes no keyword arguments")
        return self._export()
