"""The frame of a contender: a process that prepares problems and times blocks of calls on request.

compare.py writes a request a line to its input and reads an answer a line:

    {"do": "prepare", "problem": {...}, "direction": "FWD"}    -> {"variants": ["nchw", ...], "rows": {}}
    {"do": "time", "variant": "nchw", "discard": 2, "calls": 5} -> {"ms": [...]}

FWD computes dst; BWD computes diff_src and diff_weights. A contender gives a dictionary of functions
without arguments, one for each variant, that compute once. What it cannot do it leaves out.
"""
import gc
import json
import math
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from problems import Problem  # noqa: E402


def empty(shape):
    """A float32 array that begins with a line of the caches, as what the libraries allocate does; NumPy's
    own begin anywhere, and then every vector that is stored may touch two lines."""
    import numpy as np
    n, line = math.prod(shape), 64
    room = np.empty(n + line // 4, np.float32)
    begin = -room.ctypes.data % line // 4
    return room[begin:begin + n].reshape(shape)


def tensors(problem, seed=0):
    """src, weights, diff_dst as float32 arrays of modest values, NC*."""
    import numpy as np
    r, made = np.random.default_rng(seed), [empty(shape) for shape in problem.shapes()]
    for array in made:
        r.random(dtype=np.float32, out=array)
        array -= np.float32(0.5)
    return made


def to_last(array):
    """NC* to N*C, compact."""
    import numpy as np
    last = np.moveaxis(array, 1, -1)
    copy = empty(last.shape)
    copy[...] = last
    return copy


def serve(version, variants_of, before=lambda variant: None, rows_of=lambda variants: {}):
    """variants_of(problem, direction) gives the dictionary of functions. before: is called with the
    name of a variant ahead of its calls; rows_of: {variant: what computes it}."""
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**values):
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    answer(version=version)
    variants = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "prepare":
            variants = {}
            gc.collect()
            fields = {k: tuple(v) if isinstance(v, list) else v
                      for k, v in request["problem"].items()}
            try:
                variants = variants_of(Problem(**fields), request["direction"])
                answer(variants=list(variants), rows=rows_of(variants))
            except Exception as error:  # the contender cannot do it, and says why
                answer(variants=[], why=f"{type(error).__name__}: {error}"[:300])
            continue
        run, ms = variants[request["variant"]], []
        before(request["variant"])
        gc.disable()
        for i in range(-request["discard"], request["calls"]):
            start = time.perf_counter()
            run()
            end = time.perf_counter()
            if i >= 0:
                ms.append((end - start) * 1e3)
        gc.enable()
        answer(ms=ms)


def threads():
    return int(os.environ["CONTENDER_THREADS"])
