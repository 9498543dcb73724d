"""The tuning cache: which implementation is the fastest for a problem. docs/tuning.md has its format
and rules."""
import ctypes as c
import os

from . import _library
from ._explain import measure
from ._structs import TuneCounts, TuneFilter, TuneRecord, sized

__all__ = ["path", "records", "forget", "import_file", "export_file", "measure"]


def path():
    """The path of the cache's file, "" where there is none, and why it cannot be written to, or
    ""."""
    name, why = c.create_string_buffer(4096), c.create_string_buffer(512)
    _library.function("convop_tune_path", c.c_size_t)(name, c.c_size_t(len(name)), why,
                                                     c.c_size_t(len(why)))
    return os.fsdecode(name.value), why.value.decode(errors="replace")


def _filter(device, software, problem, impl, before, foreign):
    texts = {"device": device, "software": software, "problem": problem, "impl": impl}
    return sized(TuneFilter, before=int(before), foreign=int(foreign), **{
        name: _library.text(text, name) for name, text in texts.items() if text is not None})


def records(*, device=None, software=None, problem=None, impl=None, before=0, foreign=False):
    """What is known, a list of dictionaries. Each text that is given must occur in the record's;
    before: only those older than this time (seconds since 1970); foreign: only those that no
    device of this machine uses with these versions."""
    listing = c.c_void_p()
    wanted = _filter(device, software, problem, impl, before, foreign)
    _library.call("convop_tune_list", c.byref(wanted), c.byref(listing))
    count = _library.function("convop_tune_listing_count", c.c_size_t)
    at = _library.function("convop_tune_listing_at", c.POINTER(TuneRecord))
    try:
        return [_record(at(listing, c.c_size_t(i)).contents) for i in range(count(listing))]
    finally:
        _library.function("convop_tune_listing_destroy", None)(c.byref(listing))


def _record(record):
    values = {name: getattr(record, name) for name, _ in TuneRecord._fields_[1:]}
    return {name: value.decode(errors="replace") if isinstance(value, bytes) else value
            for name, value in values.items()}


def forget(*, device=None, software=None, problem=None, impl=None, before=0, foreign=False):
    """Forgets the records that records() would list, and says how many they were."""
    count = c.c_size_t()
    wanted = _filter(device, software, problem, impl, before, foreign)
    _library.call("convop_tune_forget", c.byref(wanted), c.byref(count))
    return count.value


def import_file(file):
    """Adds the records of a file to the cache: {"records", "bad", "format"} say what was found."""
    counts = sized(TuneCounts)
    _library.call("convop_tune_import", _library.file_name(file), c.byref(counts))
    return {"records": counts.records, "bad": counts.bad, "format": counts.format}


def export_file(file):
    """Writes all that this process knows, sorted, to a file."""
    _library.call("convop_tune_export", _library.file_name(file))
