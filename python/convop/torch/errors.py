"""convop's errors as PyTorch's users catch them: each is a RuntimeError as well, and keeps its class
of convop, as which it is a ValueError, for example."""
import functools

import convop


@functools.lru_cache(maxsize=None)
def _with_runtime_error(kind):
    if issubclass(kind, RuntimeError):
        return kind
    return type(kind.__name__, (kind, RuntimeError), {"__doc__": kind.__doc__,
                                                      "__module__": __name__})


InvalidError = _with_runtime_error(convop.InvalidError)
UnsupportedError = _with_runtime_error(convop.UnsupportedError)


def as_runtime_error(error):
    return _with_runtime_error(type(error))(*error.args)
