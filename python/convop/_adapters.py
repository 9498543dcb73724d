"""Finds the shared objects that make convop known to other frameworks (adapters/)."""
import os

from . import _library


def path(framework):
    """Of the adapter for "jax" or "tvm_ffi": that of the package, as in a wheel, of the build folder
    that the library is of, or beside the installed library."""
    name = f"libconvop_{framework}.so"
    beside = os.path.dirname(os.path.abspath(_library.path))
    places = [os.path.join(folder, name) for folder in (
        os.path.dirname(os.path.abspath(__file__)),
        os.path.join(os.path.dirname(beside), "adapters", framework), beside)]
    for place in places:
        if os.path.exists(place):
            return place
    raise ImportError(f"convop's adapter for {framework} is not here: looked for "
                      f"{', '.join(places)}. It is built where the headers of that framework are found")
