"""Settings of the process, and what the library found on this machine."""
import ctypes as c
import itertools

from . import _library
from ._errors import NotFoundError
from ._structs import InfoItem, SettingInfo, sized

_ORIGINS = ("default", "environment", "call")


def _items(function, kind):
    for index in itertools.count():
        item = sized(kind)
        try:
            _library.call(function, c.c_size_t(index), c.byref(item))
        except NotFoundError:
            return
        yield item


def set(**settings):
    """Sets settings by name: convop.set(math="strict", num_threads=2). None takes a call back, so
    that the environment counts again. Raises NotFoundError, InvalidError; those named before the
    refused one are then set."""
    for name, value in settings.items():
        if isinstance(value, bool):
            value = int(value)
        text = None if value is None else _library.text(str(value), name)
        _library.call("convop_set", _library.text(name, "a setting"), text)


def settings():
    """The settings: {name: {value, origin, environment, values, doc}}. origin is "default",
    "environment" or "call"."""
    return {item.name.decode(): {
        "value": item.value.decode(errors="replace"), "origin": _ORIGINS[item.origin],
        "environment": item.environment.decode(), "values": item.values.decode(),
        "doc": item.doc.decode()} for item in _items("convop_setting_at", SettingInfo)}


def info():
    """What the library found here, and why: {name: (value, why)}. It looks for what it reports on,
    so it opens libraries that are there."""
    return {item.name.decode(): (item.value.decode(errors="replace"),
                                 item.why.decode(errors="replace"))
            for item in _items("convop_info", InfoItem)}
