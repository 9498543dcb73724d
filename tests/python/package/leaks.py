"""Calls that must leave nothing behind: no reference, no memory."""
import gc
import sys
import tracemalloc


def leaves_nothing(many_calls, *counted):
    """many_calls() refers to each of these as often afterwards as before, and takes no more memory
    the second time."""
    many_calls()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in counted]
    tracemalloc.start()
    try:
        many_calls()
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        many_calls()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - first < 20000
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(thing) for thing in counted] == before
