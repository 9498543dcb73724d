"""Neural-network operators on any arrays that speak DLPack: NumPy, PyTorch, JAX, CuPy and others in,
the same kind of array out, without a copy.

    y = convop.conv_forward(x, w, b, pad=1)
    dx, dw, db = convop.conv_backward(dy, x, w, b, pad=1)
    op = convop.prepare("Convolution", w, b, pad=1)        # weights packed once
    y = op(x)
    y = convop.ops.Activation(x, act_type="relu")

Arrays are positional, options go by keyword. No input is changed but those that an operator says it
changes, nothing moves to another device, and what is refused leaves outputs as they were. Errors
are convop.Error. The manual is docs/python.md.
"""
from . import _library
from ._arrays import Array
from ._backend import backend, conv_backward, conv_forward, invoke
from ._errors import (ArgumentError, CancelledError, DeviceError, Error, ExchangeError, FileError,
                      InternalError, InvalidError, NoMemoryError, NotFoundError, StateError,
                      UnsupportedError)
from ._explain import explain
from ._prepare import prepare
from ._registry import list_ops, load_plugin, op_info
from ._settings import info, set, settings
from . import ops, tune

__version__ = _library.version()
__all__ = [_name for _name in dir() if not _name.startswith("_")]
