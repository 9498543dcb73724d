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
# An error of a gradient, relative, that is no roundoff of float32.
JUMP = 1e-4


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
    """Figures with their limits. Without a limit one is only shown."""

    def __init__(self):
        self.wrong = 0
        print(f"{'':<58} {'found':>9} {'at most':>9}")

    def row(self, what, figure, limit=None, note=""):
        good = limit is None or figure <= limit  # NaN is not
        self.wrong += not good
        shown = "" if limit is None else f"{limit:9.1e}  {'ok   ' if good else 'WRONG'}"
        print(f"{what:<58} {figure:9.1e} {shown:16}  {note}")


def distance(found, wanted):
    """Norm of the difference, relative to that of what is wanted, unless that is 0."""
    norm = np.linalg.norm(wanted.ravel())
    off = np.linalg.norm((found.astype(np.float64) - wanted).ravel())
    return off / norm if norm > 0 else off


def worst(found, wanted, kind):
    """Of the arrays of that kind. MXNet sets a fixed gamma to 1 in every forward; convop reads 1 and
    leaves what is there, which the decay of weights takes a little below. It is no input of either."""
    keys = [key for key in wanted if key.startswith(kind)
            and (kind == "grad:" or not key.endswith("_gamma"))]
    assert keys and all(found[key].shape == wanted[key].shape for key in keys)
    figures = [distance(found[key], wanted[key]) for key in keys]
    return max(figures), keys[int(np.argmax(figures))]


def gradient(found, names):
    """Of those parameters together."""
    return np.concatenate([found[f"grad:{name}"].astype(np.float64).ravel() for name in names])


def first_kink(found, exact, names):
    """Roundoff can take an input of a ReLU across 0. The gradient jumps there: one element of it comes
    or goes, in one channel, and everything nearer to the images changes with it. Returns where
    this happened nearest to the loss, as an index into names (-1: nowhere), and the share of three
    channels in the error there: near 1 for a jump, not for a wrong sum."""
    for i in reversed(range(len(names))):
        if names[i].endswith("_beta"):
            true = exact[f"grad:{names[i]}"]
            square = np.sort((found[f"grad:{names[i]}"].astype(np.float64) - true) ** 2)
            if np.sqrt(square.sum()) > JUMP * np.linalg.norm(true):
                return i, square[-3:].sum() / square.sum()
    return -1, 1.0


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
            table.row("float64, first step: loss", off[0], 1e-10, f"{t['loss']:.6f}")
            for what, kind in (("a parameter's gradient", "grad:"), ("a parameter after", "arg:"),
                               ("a momentum after", "mom:"), ("a running statistic", "aux:")):
                figure, name = worst(o, t, kind)
                table.row(f"float64, first step: {what}, the worst", figure, 1e-8, name)
        theirs, ours = net.state_of(t), net.state_of(o)
    table.row(f"float64, {STEPS_64} steps on its own: loss, the worst", max(off), 1e-7,
              f"{t['loss']:.6f} at the end")


def float32(convop, table):
    rng = np.random.RandomState(SEED + 1)
    mxnet, exact = net.Network("float32"), net.Network("float64")
    state, names = mxnet.first_state(rng), mxnet.parameters
    rows = []
    for _ in range(STEPS_32):
        images = net.batch(rng, "float32")
        found = mxnet.step(state, *images), convop.step(state, *images, "float32")
        true = exact.step(state, *images)
        kinks = [first_kink(f, true, names) for f in found]
        same = names[max(kink[0] for kink in kinks) + 1:]
        # For MXNet, then for convop.
        rows.append([abs(found[0]["loss"] - found[1]["loss"])] + [figure for f, kink in zip(found, kinks) for figure in (
            abs(f["loss"] - true["loss"]), distance(gradient(f, names), gradient(true, names)),
            distance(gradient(f, same), gradient(true, same)), kink[0] >= 0, kink[1])])
        state = net.state_of(found[0])
    (apart, their_loss, their_all, their_same, their_kinks, _,
     our_loss, our_all, our_same, our_kinks, our_share) = np.array(rows).T
    about = f"float32, {STEPS_32} steps: "
    table.row(about + "convop's loss off float64's, the worst", our_loss.max(), 1e-5)
    table.row(about + "MXNet's loss off float64's", their_loss.max())
    table.row(about + "convop's loss off MXNet's", apart.max())
    for who, off in ("convop's", our_all), ("MXNet's", their_all):
        table.row(about + f"{who} gradient off, median", np.median(off), None,
                  f"worst {off.max():.1e}")
    table.row(about + "convop's over MXNet's, together",
              np.linalg.norm(our_all) / np.linalg.norm(their_all), 2)
    table.row(about + "convop's over MXNet's in a step, median", np.median(our_all / their_all), 2,
              f"{int((our_all / their_all > 2).sum())} steps beyond 2")
    table.row(about + "worst, back to the first ReLU jump",
              (our_same / their_same).max(), 2,
              f"jumps in {int(our_kinks.sum())} steps, MXNet {int(their_kinks.sum())}")
    table.row(about + "share of a jump outside 3 channels", (1 - our_share).max(), 1e-2)


def main():
    if len(sys.argv) < 2:
        print("convop was built without the training example")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        convop = Convop(os.path.abspath(sys.argv[1]), folder)
        print(f"mxnet {mx.__version__}, numpy {np.__version__}, seed {SEED}; {net.BATCH} images "
              f"{net.COLORS}x{net.SIDE}x{net.SIDE}, multiplier {net.MULTIPLIER}")
        table = Table()
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
