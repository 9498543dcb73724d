"""Compares convop with its peers: the same random problems go to each, and each result is held to
the exact one. Run by run.py, which says how.

A peer counts as one test, and so does the comparison of the errors. Ends as cmocka programs do, so
that the suites' counter sees each, and those that are left out.
"""
import argparse
import collections
import math
import os
import shlex
import subprocess
import sys
import tempfile

import numpy as np

import problem
import reference
import tolerance

HERE = os.path.dirname(os.path.abspath(__file__))
# What a peer computes on the CPU: dtypes, unequal padding, a bias; and one in how many problems it
# gets: JAX compiles each anew, which takes longer than all else here.
Peer = collections.namedtuple("Peer", "dtypes unequal bias part", defaults=(1,))
PEERS = {
    "torch": Peer(("float32", "float64", "float16", "bfloat16"), False, True),
    "onnxruntime": Peer(("float32", "float16"), True, True),
    "mxnet": Peer(("float32", "float64"), False, True),
    "jax": Peer(("float32", "float64", "float16", "bfloat16"), True, False, 3),
}
SHARE = {"float32": 4, "float64": 2, "float16": 1, "bfloat16": 1}
# Errors are compared only where there are enough of them, and peers to be the worst of.
ENOUGH_PROBLEMS = 100
ENOUGH_PEERS = 2
MOST_TIMES_WORSE = 2.0
# A peer that breaks off has a defect of its own: the problem is left out, and it is started again.
# jaxlib 0.10.2 does on about one in 500: its compiler's AlgebraicSimplifier gives some gradients by
# the data in three dimensions, one of them of size 1, a wrong shape, sees it and ends the process.
MOST_CRASHES_PERCENT = 3
# Problems on which a peer may be off the loops by itself: PyTorch 2.15's bfloat16 forward is, on some
# processors with AMX, on about one in 20 of its bfloat16 problems.
MOST_MISSES_PERCENT = 3
FAILURES_SHOWN = 10


class Errors:
    """Largest and rms error, in units of tolerance.unit()."""

    def __init__(self):
        self.largest, self.squares, self.count = 0.0, 0.0, 0

    def add(self, errors):
        self.largest = max(self.largest, float(errors.max()))
        self.squares += float((errors ** 2).sum())
        self.count += errors.size

    def rms(self):
        return (self.squares / self.count) ** 0.5


class Child:
    """A peer's script at work on a file of problems."""

    def __init__(self, python, script, problems, folder, *arguments):
        self.name, self.crashes = script, []
        self.results = os.path.join(folder, script)
        self.log = os.path.join(folder, script + ".log")
        os.mkdir(self.results)
        self.command = [python, "-B", os.path.join(HERE, f"peer_{script}.py"), problems,
                        self.results, *arguments]
        self.start()

    def start(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stderr=log,
                                            stdout=subprocess.PIPE, text=True)

    def path(self, index):
        return os.path.join(self.results, f"{index}.npz")

    def wait(self, most_crashes):
        """Its versions; or None if it ended badly, more often than allowed or at no problem."""
        while True:
            lines = self.process.communicate()[0].split("\n")[:-1]
            if self.process.returncode == 0:
                return lines[-1]
            self.crashes.append(lines[-1] if lines else "I")
            with open(self.log, encoding="utf-8", errors="replace") as log:
                print(f"{self.name} ended with {self.process.returncode} at problem "
                      f"{self.crashes[-1]}\n{log.read().strip()[:1000]}")
            if not lines or len(self.crashes) > most_crashes:
                return None
            np.savez(self.path(lines[-1]))
            self.start()

    def found(self, index):
        """What it left of a problem; None if it crashed there or before."""
        if str(index) in self.crashes or not os.path.exists(self.path(index)):
            return None
        with np.load(self.path(index)) as file:
            return {key: file[key] for key in file.files}


class Comparison:
    def __init__(self, arguments, pythons):
        self.arguments, self.pythons = arguments, pythons
        self.errors = {}  # (who, with which peer, dtype, output): Errors
        self.versions = {}
        text = subprocess.run([sys.executable, "-B", os.path.join(HERE, "peer_convop.py"),
                               "--dtypes", arguments.library], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.dtypes = text.split()

    def draw(self, name):
        peer = PEERS[name]
        dtypes = [d for d in peer.dtypes if d in self.dtypes for _ in range(SHARE[d])]
        indices = (range(-(-self.arguments.count // peer.part)) if self.arguments.index is None
                   else [self.arguments.index])
        return {i: problem.draw(self.arguments.seed, i, dtypes, peer.unequal, peer.bias)
                for i in indices}

    def repeat(self, name, index):
        return shlex.join([os.path.join(HERE, "run.py"), self.arguments.library, "--peer", name,
                           "--seed", str(self.arguments.seed), "--index", str(index)])

    def check(self, name, who, p, expected, found):
        """Prints what is wrong with one result; the number of outputs that are."""
        wrong = 0
        for output, (value, magnitude) in expected.items():
            for prefix in ("", "text_"):
                got = found.get(prefix + output)
                if got is None:
                    if not prefix and (who == "convop" or output == "dst"):
                        print(f"{who}: {output} is missing")
                        wrong += 1
                    continue
                error = np.abs(got.astype(value.dtype) - value)
                excess = error - tolerance.bound(p, output, value, magnitude)
                if got.shape == value.shape and not prefix:
                    key = (who, name, p["dtype"], output)
                    unit = tolerance.unit(p, magnitude)
                    self.errors.setdefault(key, Errors()).add(
                        np.divide(error, unit, out=np.zeros_like(error), where=unit > 0))
                if got.shape == value.shape and (excess <= 0).all():
                    continue
                at = tuple(int(i) for i in np.unravel_index(
                    int(np.argmax(np.where(np.isnan(excess), np.inf, excess))), excess.shape))
                print(f"{who}: {prefix}{output}{list(at)} is {got[at]}, must be "
                      f"{float(value[at])}, error {float(error[at]):.3g}, allowed "
                      f"{float(error[at] - excess[at]):.3g}")
                wrong += 1
        return wrong

    def compare(self, name):
        """1 if convop and this peer agree."""
        problems = self.draw(name)
        most_crashes = math.ceil(len(problems) * MOST_CRASHES_PERCENT / 100)
        wrong = compared = missed = 0
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problems.npz")
            problem.save(path, problems)
            peer = Child(self.pythons[name], name, path, folder)
            ours = Child(sys.executable, "convop", path, folder, self.arguments.library)
            expected = {i: reference.expect(p) for i, p in problems.items()}
            for child, most in ((peer, most_crashes), (ours, 0)):
                versions = child.wait(most)
                if versions is None:
                    print("    " + self.repeat(name, child.crashes[-1]))
                    wrong += 1
                else:
                    self.versions[versions] = True
            for i, p in problems.items():
                if wrong >= FAILURES_SHOWN:
                    print("further failures are not shown")
                    break
                bad = {peer: 0, ours: 0}
                for child in bad:
                    found = child.found(i)
                    if found is not None:
                        bad[child] = self.check(name, child.name, p, expected[i], found)
                        compared += child is peer
                if any(bad.values()):
                    print(f"    {problem.describe(p)}\n    {self.repeat(name, i)}")
                # The loops judge both. What a peer alone gets wrong is its own defect, as long as
                # that is rare: else the comparison says nothing.
                wrong += bad[ours]
                missed += bad[peer] > 0
        if missed > math.ceil(len(problems) * MOST_MISSES_PERCENT / 100):
            print(f"{name} is off the float64 loops too often")
            wrong += missed
        print(f"{name}: {compared} problems, {wrong} wrong"
              + (f", {missed} that only {name} gets wrong" if missed else ""))
        return wrong == 0

    def times_worse(self, dtype, output):
        """How many times as large convop's rms error is as that of the peer that it is nearest to:
        the one that is worst on its problems."""
        ratios = []
        for (who, name, d, o), errors in self.errors.items():
            ours = self.errors.get(("convop", name, d, o))
            if who != "convop" and (d, o) == (dtype, output) and ours and errors.rms() > 0:
                ratios.append(ours.rms() / errors.rms())
        return min(ratios) if len(ratios) >= ENOUGH_PEERS else 0.0

    def table(self):
        """Prints all errors; 1 if convop is not much worse than every peer."""
        print("\nLargest and rms error, in units of roundoff times the sum of absolute values,\n"
              "of the peer and of convop on the same problems:\n")
        print("| dtype | output | peer | largest | rms | convop largest | rms |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        good = True
        for dtype in self.dtypes:
            for output in problem.OUTPUTS:
                for name in PEERS:
                    its = self.errors.get((name, name, dtype, output))
                    ours = self.errors.get(("convop", name, dtype, output))
                    if its and ours:
                        print(f"| {dtype} | {output} | {name} | {its.largest:.3g} | "
                              f"{its.rms():.3g} | {ours.largest:.3g} | {ours.rms():.3g} |")
                worse = self.times_worse(dtype, output)
                if self.arguments.count >= ENOUGH_PROBLEMS and worse > MOST_TIMES_WORSE:
                    print(f"convop's {output} in {dtype} is {worse:.2f} times worse than the worst "
                          f"peer, allowed is {MOST_TIMES_WORSE}")
                    good = False
        return good


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("peers", nargs=len(PEERS), help="NAME=PYTHON, PYTHON empty: not there")
    parser.add_argument("library")
    parser.add_argument("--peer", choices=PEERS)
    parser.add_argument("--count", type=int,
                        default=300 * int(os.environ.get("CONVOP_TEST_SCALE", "1")))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CONVOP_SEED", "0")))
    parser.add_argument("--index", type=int)
    arguments = parser.parse_args()
    arguments.library = os.path.abspath(arguments.library)
    if not arguments.seed:
        arguments.seed = int.from_bytes(os.urandom(4), "little")
    if arguments.index is not None:
        arguments.count = 1
    return arguments, dict(peer.split("=", 1) for peer in arguments.peers)


def main():
    arguments, pythons = parse()
    comparison = Comparison(arguments, pythons)
    print(f"seed {arguments.seed}, {arguments.count} problems for each peer (JAX a third)")
    print("convop takes " + ", ".join(comparison.dtypes) + "; other dtypes are left out")
    results, skipped = {}, []
    for name in [arguments.peer] if arguments.peer else PEERS:
        if pythons[name]:
            results[name] = comparison.compare(name)
            sys.stdout.flush()
        else:
            print(f"{name}: not installed; scripts/peers.sh does that")
            skipped.append(name)
    results["errors"] = comparison.table()
    print("\n" + "; ".join(comparison.versions))
    failed = [name for name, good in results.items() if not good]
    for name in failed:
        print(f"[  FAILED  ] {name}")
    for word, number in (("PASSED ", len(results) - len(failed)), ("SKIPPED", len(skipped)),
                         ("FAILED ", len(failed))):
        if number:
            print(f"[  {word} ] {number} test(s).")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
