"""The frame of a peer's script: PEER.py PROBLEMS RESULTS [ARGUMENT...], run by compare.py.

RESULTS is a folder, in which each problem leaves a file; problems that have one are passed over, so
that a script that crashed can be started again behind the crash. Prints the number of each problem
before it is run, so that one who watches knows where a crash came from, and the versions at the end.
"""
import os
import sys

import numpy as np

import problem


def serve(compute, versions, adds=()):
    """compute(p) gives a dictionary of the outputs, which it may leave out; those named in adds
    are added to what was there already, the others are added here, in the peer's dtype."""
    problems = problem.load(sys.argv[1])
    for index, p in problems.items():
        path = os.path.join(sys.argv[2], f"{index}.npz")
        if os.path.exists(path):
            continue
        results = {}
        print(index, flush=True)
        for name, found in compute(p).items():
            found = np.asarray(found)
            wide = np.float64 if p["dtype"] == "float64" else np.float32
            if p["requests"].get(name) == "add" and name not in adds:
                found = problem.rounded(found.astype(wide) + p["tensors"]["old_" + name],
                                        p["dtype"])
            results[name] = found.astype(wide)
        np.savez(path, **results)
    print(versions, flush=True)
