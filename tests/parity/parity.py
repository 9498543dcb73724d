#!/usr/bin/env python3
"""Trains MobileNet v1 in MXNet and in convop (tests/parity/step.c) from the same numbers, compares.

    parity.py STEP           77, skipped, without STEP or without MXNet (scripts/peers.sh mxnet)

Files go both ways, so it is also shown that each program reads the other's. The seed comes from
CONVOP_SEED.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "peers"))
SEED = int(os.environ.get("CONVOP_SEED", "0"))
STEPS_64, STEPS_32 = 5, 20


def restart():
    """Goes on in MXNet's environment; returns only if there is none."""
    from run import folder, interpreter
    python = interpreter("mxnet")
    if python is None:
        print(f"MXNet is not installed in {folder()}; scripts/peers.sh mxnet does that")
        return
    os.environ.update(CONVOP_PARITY="1", MXNET_SUBGRAPH_BACKEND="NONE")
    sys.stdout.flush()
    os.execv(python, [python, "-B", os.path.abspath(__file__), *sys.argv[1:]])


class Convop:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def step(self, state, data, label, dtype):
        given, found = (os.path.join(self.folder, name) for name in ("in.params", "out.params"))
        arrays = {**state, "data": data, "label": label}
        mx.nd.save(given, {k: mx.nd.array(v, dtype=v.dtype) for k, v in arrays.items()})
        # MXNet holds an update's rates in float32, whatever the dtype of the weights.
        rates = [repr(float(np.float32(rate))) for rate in (net.LR, net.MOMENTUM, net.WD)]
        values = (net.BATCH, net.SIDE, net.MULTIPLIER, net.CLASSES, *rates)
        subprocess.run([self.program, given, found, dtype, *map(str, values)], check=True)
        arrays = {name: array.asnumpy() for name, array in mx.nd.load(found).items()}
        os.remove(found)
        arrays["loss"] = float(arrays["loss"][0])
        return arrays


class Table:
    """Figures with their limits."""

    def __init__(self):
        self.wrong = 0

    def row(self, what, figure, limit, note=""):
        good = figure <= limit  # NaN is not
        self.wrong += not good
        print(f"{what:<58} {figure:10.2e} {limit:10.2e}  {'ok' if good else 'WRONG'}  {note}")


def distance(found, wanted):
    """Norm of the difference, relative to that of what is wanted, unless that is 0."""
    norm = np.linalg.norm(wanted.ravel())
    off = np.linalg.norm((found.astype(np.float64) - wanted).ravel())
    return off / norm if norm > 0 else off


def worst(found, wanted, kind):
    keys = [key for key in wanted if key.startswith(kind)]
    assert keys and all(found[k].shape == wanted[k].shape for k in keys)
    figures = [distance(found[key], wanted[key]) for key in keys]
    return max(figures), keys[int(np.argmax(figures))]


def gradient(found):
    """Of all parameters together."""
    return np.concatenate([found[key].astype(np.float64).ravel() for key in sorted(found)
                           if key.startswith("grad:")])


def float64(convop, table):
    rng = np.random.RandomState(SEED)
    mxnet = net.Network("float64")
    theirs = ours = mxnet.first_state(rng)
    off = []
    for i in range(STEPS_64):
        images = net.batch(rng, "float64")
        t, o = mxnet.step(theirs, *images), convop.step(ours, *images, "float64")
        assert t.keys() == o.keys(), t.keys() ^ o.keys()
        off.append(abs(t["loss"] - o["loss"]))
        if i == 0:
            table.row("float64, first step: loss", off[0], 1e-10, f"loss {t['loss']:.6f}")
            for what, kind, limit in (("a parameter's gradient", "grad:", 1e-8),
                                      ("a running statistic", "aux:", 1e-7)):
                figure, name = worst(o, t, kind)
                table.row(f"float64, first step: {what}, the worst", figure, limit, name)
        theirs, ours = net.state_of(t), net.state_of(o)
    table.row(f"float64, {STEPS_64} steps apart: loss, the worst", max(off), 1e-7,
              f"loss {t['loss']:.6f}")
    figure, name = worst(o, t, "arg:")
    table.row(f"float64, {STEPS_64} steps apart: a parameter, the worst", figure, 1e-7, name)


def float32(convop, table):
    rng = np.random.RandomState(SEED + 1)
    mxnet, exact = net.Network("float32"), net.Network("float64")
    state = mxnet.first_state(rng)
    losses, ratios = [], []
    print("step        loss   off by    gradient off by: convop      MXNet")
    for i in range(STEPS_32):
        images = net.batch(rng, "float32")
        t, o = mxnet.step(state, *images), convop.step(state, *images, "float32")
        true = gradient(exact.step(state, *images))
        their, our = distance(gradient(t), true), distance(gradient(o), true)
        losses.append(abs(t["loss"] - o["loss"]))
        ratios.append(our / their)
        print(f"{i:4} {t['loss']:11.6f} {losses[-1]:8.1e} {our:27.2e} {their:10.2e}")
        state = net.state_of(t)
    table.row(f"float32, {STEPS_32} steps: loss, the worst", max(losses), 1e-5)
    table.row("float32: gradient's error over MXNet's, the worst", max(ratios), 2,
              f"median {np.median(ratios):.2f}")


def main():
    if len(sys.argv) < 2:
        print("convop was built without the training example")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        convop, table = Convop(os.path.abspath(sys.argv[1]), folder), Table()
        print(f"mxnet {mx.__version__}, numpy {np.__version__}, seed {SEED}; {net.BATCH} images "
              f"{net.COLORS}x{net.SIDE}x{net.SIDE}, multiplier {net.MULTIPLIER}")
        print(f"{'':<58} {'found':>10} {'at most':>10}")
        float64(convop, table)
        float32(convop, table)
    print(f"{table.wrong} wrong")
    return 1 if table.wrong else 0


if __name__ == "__main__":
    if "CONVOP_PARITY" not in os.environ:
        restart()
        sys.exit(77)
    import mxnet as mx
    import numpy as np

    import network as net
    sys.exit(main())
