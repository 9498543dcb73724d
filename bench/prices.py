#!/usr/bin/env python3
"""Fits the prices of CPU rows' estimates (src/operator/convolution/cpu/*estimate.c) to this machine.

    bench/prices.py --out=prices.json                     measure all lists, and fit
    bench/prices.py --threads=2 --mb=8 mobilenet_v1       what estimates lose there
    bench/prices.py --prepared --dir=FWD_D --out=prepared.json
    bench/prices.py --from prices.json prepared.json --row=packed    fit what was measured, one row

Every row runs every problem of the lists that it takes; `convop bench` at verbose 3 says the amounts of
work that its estimate counts. Prices minimise the squares of relative errors, none below 0; that of the
call, the first, is better taken from a problem of few elements, which the lists lack. Prints each
table as the sources have it, how far off it was and is (root mean square of the logarithms, as a factor;
the largest), and what choosing by the estimates loses against the fastest row. Needs SciPy.
"""
import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys

import alone
import compare
import problems
import progress
import race

DIRECTIONS = ("FWD_D", "BWD_D", "BWD_W")
ROWS = "depthwise,grouped,winograd,split,pointwise,packed,implicit,gemm"
# Not a fault of the prices beyond this many times the estimate: a pause, a cache that was cold.
OUTLIER = 3.0
# Least squares, weighed anew: an error of so much counts less the larger it is.
ROUNDS, USUAL = 20, 0.1


def bench(arguments, lists, *options, **settings):
    """The lines of `convop bench`, those of log among them."""
    line = [arguments.build.resolve() / "tools" / "convop", "bench", "--json", "--mode=P",
            f"--dir={arguments.dir}", f"--tag={alone.TAGS}", f"--threads={arguments.threads}",
            f"--mb={arguments.mb}", *options, *(f"--batch={path}" for path in lists)]
    process = subprocess.Popen(line, env=race.environment() | {"CONVOP_AUTOTUNE": "0"} | settings,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    yield from process.stdout


def key_of(r):
    return f"{r['name']} {r['dir']} {r['tag']}" + (" prepared" if r["prepared"] else "")


def amounts(arguments, lists):
    """Of each case: row -> [threads that share, ms by estimate, work...]."""
    found, rows, prices = {}, {}, []
    for line in bench(arguments, lists, *arguments.prepared, "--repeat=1", CONVOP_VERBOSE="3"):
        field = line.rstrip("\n").split(",")
        if line.startswith("{"):
            found[key_of(json.loads(line))] = rows
        elif field[2:3] == ["create"]:
            rows, prices = {}, []
        elif field[2:3] == ["price"]:
            prices.append([float(x) for x in field[5:]])
        elif field[2:3] == ["dispatch"]:
            # Of a row that adds up several prices no table can be fitted.
            if field[6] != "no" and len(prices) == 1:
                rows[field[5]] = prices[0]
            prices = []
    return found


def measure(arguments):
    cases, shown = [], progress.Progress()
    for path in problems.lists(arguments.lists):
        work = amounts(arguments, [path])
        for line in bench(arguments, [path], *arguments.prepared, f"--impl={arguments.rows}",
                          f"--min-time={arguments.min_time}"):
            r = json.loads(line) if line.startswith("{") else {}
            counted = work.get(key_of(r), {}).get(r["impl"]) if r.get("ms") else None
            if counted:
                cases.append({"case": key_of(r), "dir": r["dir"], "tag": r["tag"],
                              "row": r["impl"], "ms": r["ms"], "lanes": counted[0],
                              "estimate": counted[1], "work": counted[2:]})
                shown.show(f"{len(cases)} cases, {cases[-1]['case']} {r['impl']}")
    shown.end()
    return cases


def shares(c):
    """The work of one thread: the call, which comes first, is shared by none."""
    return [c["work"][0], *(x / c["lanes"] for x in c["work"][1:])]


def fit(cases):
    """Prices in ns."""
    import numpy as np  # what measures and compares needs neither
    import scipy.optimize

    work = np.array([shares(c) for c in cases])
    ms = np.array([c["ms"] for c in cases])
    relative = work * 1e-6 / ms[:, None]
    scale = np.maximum(np.abs(relative).max(axis=0), 1e-30)
    weights = np.ones(len(cases))
    for _ in range(ROUNDS):
        prices, _ = scipy.optimize.nnls(relative / scale * weights[:, None], weights)
        errors = np.abs(relative / scale @ prices - 1)
        weights = 1 / np.sqrt(np.maximum(errors, USUAL))
    return prices / scale


def off(estimates, cases):
    logs = [math.log(e / c["ms"]) for e, c in zip(estimates, cases)]
    logs = [x for x in logs if abs(x) < math.log(OUTLIER)] or logs
    return math.exp(math.sqrt(sum(x * x for x in logs) / len(logs))), math.exp(max(map(abs, logs)))


def loss(cases, key):
    """Geometric mean of the chosen row's time by the fastest one's, and the worst."""
    by_case = collections.defaultdict(list)
    for c in cases:
        by_case[c["case"]].append(c)
    lost = []
    for name, rows in by_case.items():
        chosen = min(rows, key=lambda c: c[key])
        best = min(rows, key=lambda c: c["ms"])
        lost.append((chosen["ms"] / best["ms"], f"{name}: {chosen['row']} for {best['row']}"))
    lost.sort(reverse=True)
    return math.exp(sum(math.log(x) for x, _ in lost) / len(lost)), lost


def tables(cases, is_shared):
    """Cases that share a table: of a row, a direction and a layout."""
    groups = collections.defaultdict(list)
    for c in cases:
        direction = "FWD_D,BWD_D" if is_shared(c) and c["dir"] != "BWD_W" else c["dir"]
        groups[c["row"], direction, c["tag"]].append(c)
    return sorted(groups.items())


def show(arguments, cases):
    for (row, direction, tag), some in tables(cases, lambda c: c["row"] == "depthwise"):
        for c in some:
            c["fitted"] = c["estimate"]
        if arguments.row and row not in arguments.row.split(","):
            continue
        prices = fit(some)
        before = off([c["estimate"] for c in some], some)
        for c in some:
            c["fitted"] = sum(float(p) * x for p, x in zip(prices, shares(c))) * 1e-6
        after = off([c["fitted"] for c in some], some)
        text = ", ".join(f"{x:.3g}" for x in prices)
        print(f"{row} {direction} {tag}, {len(some)} cases: off by {before[0]:.2f} ({before[1]:.1f}), "
              f"fitted {after[0]:.2f} ({after[1]:.1f})\n    {{{text}}}")
    for name, key in (("estimates", "estimate"), ("fitted", "fitted")):
        for direction in DIRECTIONS:
            for tag in alone.TAGS.split(","):
                some = [c for c in cases if c["dir"] == direction and c["tag"] == tag]
                if some:
                    mean, lost = loss(some, key)
                    print(f"{name} {direction} {tag}: {mean:.3f} times the fastest row, worst "
                          f"{lost[0][0]:.2f} {lost[0][1]}")
                    if arguments.all:
                        print(*(f"    {x:.2f} {text}" for x, text in lost if x > 1.1), sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lists", nargs="*", help="names in bench/problems; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mb", type=int, default=1, help="batch")
    parser.add_argument("--dir", default=",".join(DIRECTIONS))
    parser.add_argument("--rows", default=ROWS, help="rows to measure")
    parser.add_argument("--row", help="rows to fit; all by default")
    parser.add_argument("--prepared", action="store_const", const=["--prepared"], default=[],
                        help="forward with constant weights")
    parser.add_argument("--min-time", type=int, default=5, help="ms for a case")
    parser.add_argument("--all", action="store_true", help="list what loses more than a tenth")
    parser.add_argument("--build", type=pathlib.Path, default=compare.HERE.parent / "build")
    parser.add_argument("--from", dest="sources", nargs="+", type=pathlib.Path, default=[],
                        help="what --out wrote")
    parser.add_argument("--out", type=pathlib.Path, help="a file for all cases, JSON")
    arguments = parser.parse_intermixed_args()
    if arguments.sources:
        cases = [case for path in arguments.sources for case in json.loads(path.read_text())]
    else:
        compare.pin(arguments.threads)
        cases = measure(arguments)
    if arguments.out:
        arguments.out.write_text(json.dumps(cases))
    show(arguments, cases)


if __name__ == "__main__":
    main()
