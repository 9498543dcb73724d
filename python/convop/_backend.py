"""conv_forward, conv_backward, invoke and Prepared: those of the extension, or, where it is missing, of
ctypes."""
import os

import convop

from . import _arrays, _errors, _library
from ._arrays import Array

# A build folder keeps the extension apart from the sources.
convop.__path__.append(_library.extension_folder())
try:
    if os.environ.get("CONVOP_PYTHON_FALLBACK") == "1":
        raise ImportError("CONVOP_PYTHON_FALLBACK is 1")
    from ._convop import Prepared, conv_backward, conv_forward, exchange_api, invoke
    from ._convop import _export, _of_status
    # It is loaded once for a process, and knows the classes of the first import.
    if _of_status is not _errors.of_status:
        raise ImportError("it serves another interpreter, or an earlier import of convop")
    Array.__dlpack_c_exchange_api__ = exchange_api
    _arrays.export = _export
    backend = "extension"
except ImportError as error:
    from ._fallback import conv_backward, conv_forward
    from ._invoke import invoke
    from ._prepared import Prepared
    backend = f"ctypes: {error}"
