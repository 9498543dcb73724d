"""conv_forward and conv_backward: those of the extension, or, where it is missing, of ctypes."""
import os

import convop

from . import _library
from ._arrays import Array

# A build folder keeps the extension apart from the sources.
convop.__path__.append(_library.extension_folder())
try:
    if os.environ.get("CONVOP_PYTHON_FALLBACK") == "1":
        raise ImportError("CONVOP_PYTHON_FALLBACK is 1")
    from ._convop import conv_backward, conv_forward, exchange_api
    Array.__dlpack_c_exchange_api__ = exchange_api
    backend = "extension"
except ImportError as error:
    from ._fallback import conv_backward, conv_forward
    backend = f"ctypes: {error}"
