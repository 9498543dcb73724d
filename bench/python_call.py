"""What a call from Python costs on a tiny problem: a 1x1x4x4 image, a 3x3 filter, in microseconds.

    python_call.py [--limit MICROSECONDS]     exit 1 if a row of convop is above the limit; the rows of
                                              invoke and ops, whose parameters are text, may take 5 times

Rows are measured in turns, many short runs each, and the least is printed, so that other work on the
machine disturbs all alike and little. torch.nn.functional.conv2d is among them where PyTorch is.
"""
import argparse
import sys
import timeit

import convop

RUNS, CALLS = 200, 50
NAMED = "convop by name"


def arguments(numpy):
    x, w = numpy.ones((1, 1, 4, 4), "float32"), numpy.ones((1, 1, 3, 3), "float32")
    return x, w, numpy.ones(1, "float32")


def convop_rows(kind, x, w, b):
    forward = convop.conv_forward
    out = forward(x, w, b)
    prepared = convop.prepare("Convolution", w, b)
    invoke, ops = convop.invoke, convop.ops
    return {f"convop, {kind}": lambda: forward(x, w, b),
            f"convop, {kind}, without bias": lambda: forward(x, w),
            f"convop, {kind}, out=": lambda: forward(x, w, b, out=out),
            f"convop, {kind}, pad=1": lambda: forward(x, w, b, pad=1),
            f"convop, {kind}, prepared": lambda: prepared(x),
            f"convop, {kind}, prepared, out=": lambda: prepared(x, out=out),
            f"{NAMED}, {kind}, invoke": lambda: invoke("Activation", [x], act_type="relu"),
            f"{NAMED}, {kind}, ops.Activation": lambda: ops.Activation(x, act_type="relu"),
            f"{NAMED}, {kind}, ops.Convolution": lambda: ops.Convolution(x, w, b, pad=1)}


def rows():
    try:
        import numpy
    except ImportError:
        sys.exit("NumPy is not here")
    found = convop_rows("NumPy", *arguments(numpy))
    try:
        import torch
    except ImportError:
        return found
    # Threads of OpenMP that wait for each other would stand in the way of all rows.
    torch.set_num_threads(1)
    x, w, b = map(torch.from_numpy, arguments(numpy))
    conv2d = torch.nn.functional.conv2d
    return {"torch.nn.functional.conv2d": lambda: conv2d(x, w, b), **found,
            **convop_rows("PyTorch", x, w, b)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=float)
    limit = parser.parse_args().limit
    timers = {name: timeit.Timer(call) for name, call in rows().items()}
    least = dict.fromkeys(timers, float("inf"))
    for _ in range(RUNS):
        for name, timer in timers.items():
            least[name] = min(least[name], timer.timeit(CALLS) / CALLS * 1e6)
    for name, time in least.items():
        print(f"{name:48} {time:7.3f} us")
    worst = max(time / 5 if name.startswith(NAMED) else time for name, time in least.items()
                if name.startswith("convop"))
    return 1 if limit and worst > limit else 0


if __name__ == "__main__":
    sys.exit(main())
