"""Compares convop with its peers: the same random problems go to each, and each result is held to
the exact one. Run by run.py, which says how.

A peer counts as one test, and so does the comparison of the errors. Ends as cmocka programs do, so
that the suites' counter sees each, and those that are left out.
"""
import argparse
import collections
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
Peer = collections.namedtuple("Peer", "dtypes unequal")
PEERS = {
    "torch": Peer(("float32", "float64", "float16", "bfloat16"), False),
    "onnxruntime": Peer(("float32", "float16"), True),
    "mxnet": Peer(("float32", "float64"), False),
    "jax": Peer(("float32", "float64", "float16", "bfloat16"), True),
}
SHARE = {"float32": 4, "float64": 2, "float16": 1, "bfloat16": 1}
# Errors are compared only where there are enough of them.
ENOUGH_PROBLEMS = 100
MOST_TIMES_WORSE = 2.0
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
        self.name = script
        self.results = os.path.join(folder, script + ".npz")
        self.log = open(os.path.join(folder, script + ".log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [python, "-B", os.path.join(HERE, f"peer_{script}.py"), problems, self.results,
             *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
            text=True)

    def wait(self):
        """Its results and versions; or None and what went wrong."""
        lines = self.process.communicate()[0].split("\n")[:-1]
        self.log.seek(0)
        errors = self.log.read().strip()
        self.log.close()
        if self.process.returncode:
            return None, (f"{self.name} ended with {self.process.returncode} at problem "
                          f"{lines[-1] if lines else '(none)'}\n{errors[-2000:]}")
        with np.load(self.results) as file:
            return {key: file[key] for key in file.files}, lines[-1]


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
        indices = (range(self.arguments.count) if self.arguments.index is None
                   else [self.arguments.index])
        return {i: problem.draw(self.arguments.seed, i, dtypes, peer.unequal) for i in indices}

    def repeat(self, name, index):
        return shlex.join([os.path.join(HERE, "run.py"), self.arguments.library, "--peer", name,
                           "--seed", str(self.arguments.seed), "--index", str(index)])

    def check(self, name, who, index, p, expected, found):
        """Prints what is wrong with one result; the number of outputs that are."""
        wrong = 0
        for output, (value, magnitude) in expected.items():
            for prefix in ("", "text_"):
                got = found.get(f"{index}.{prefix}{output}")
                if got is None:
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
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problems.npz")
            problem.save(path, problems)
            children = [Child(self.pythons[name], name, path, folder),
                        Child(sys.executable, "convop", path, folder, self.arguments.library)]
            expected = {i: reference.expect(p) for i, p in problems.items()}
            answers = [child.wait() for child in children]
        wrong = 0
        for results, text in answers:
            if results is None:
                print(text)
                print("    problem I alone: " + self.repeat(name, "I"))
                wrong += 1
            else:
                self.versions[text] = True
        compared = 0
        for i, p in problems.items():
            if wrong >= FAILURES_SHOWN:
                print("further failures are not shown")
                break
            bad = 0
            for who, (results, _) in zip((name, "convop"), answers):
                if results is not None:
                    bad += self.check(name, who, i, p, expected[i], results)
                    compared += who == name
            if bad:
                print(f"    {problem.describe(p)}\n    {self.repeat(name, i)}")
            wrong += bad
        print(f"{name}: {compared} problems, {wrong} wrong")
        return wrong == 0

    def times_worse(self, dtype, output):
        """How many times as large convop's rms error is as that of the peer that it is nearest to:
        the one that is worst on its problems."""
        ratios = []
        for (who, name, d, o), errors in self.errors.items():
            ours = self.errors.get(("convop", name, d, o))
            if who != "convop" and (d, o) == (dtype, output) and ours and errors.rms() > 0:
                ratios.append(ours.rms() / errors.rms())
        return min(ratios, default=0.0)

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
    print(f"seed {arguments.seed}, {arguments.count} problems for each peer")
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
