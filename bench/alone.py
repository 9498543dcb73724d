#!/usr/bin/env python3
"""Figures of convop alone, over the problem lists: what compare.py has no peers for.

    bench/alone.py estimates --threads=2 --mb=8     time by estimate / time tuned (`convop tune`)
    bench/alone.py threads --mb=8                   time on one thread / time on two, beside what the
                                                    limits measured with one and with two allow
    bench/alone.py limit --isa=avx2                 limit / time, with the peak of these instructions

Each prints a summary and writes all cases with --out=FILE.json. Each direction and layout of a layer is a
case; a summary of the limit takes the better layout.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import compare
import problems
import progress
import race
import report

DIRECTIONS, TAGS = "FWD_D,BWD_D,BWD_W", "nchw,nhwc"
# Below this a call is too short to gain by a second thread, in ms.
SHORT_MS = 0.1
# An estimate is amiss beyond this, times of the tuned time.
AMISS = 1.5


def run(arguments, command, *options, **settings):
    """The objects that `convop COMMAND --json` writes for the problem lists."""
    lists = [f"--batch={path}" for path in problems.lists(arguments.lists)]
    line = [arguments.build.resolve() / "tools" / "convop", command, "--json", f"--mb={arguments.mb}",
            *options, *lists]
    print("alone:", *(f"{k}={v}" for k, v in settings.items()), *line, file=sys.stderr)
    process = subprocess.Popen(line, env=race.environment() | settings, text=True,
                               stdout=subprocess.PIPE)
    found, shown = [], progress.Progress()
    for text in process.stdout:
        found.append(json.loads(text))
        shown.show(f"{len(found)} done, {found[-1]['name']} {found[-1]['dir']}")
    shown.end()
    process.wait()
    return [r | {"kind": problems.parse(r["problem"]).kind} for r in found if r.get("ms")]


def timed(arguments, *options, **settings):
    """`convop bench` without checks: forward as a prepared instance, gradients by calls."""
    options = ("--mode=P", f"--min-time={arguments.min_time}", f"--tag={TAGS}", *options)
    settings = settings | {"CONVOP_AUTOTUNE": "0"}
    return (run(arguments, "bench", *options, "--dir=FWD_D", "--prepared", **settings) +
            run(arguments, "bench", *options, "--dir=BWD_D,BWD_W", **settings))


def short_name(r):
    return f"{r['name']} {r['dir']} {r['tag']}"


def summary(cases, key, worst):
    """Of each direction and in all: how many, the geometric mean, and the worst with its name."""
    for name, some in [("all", cases), *report.groups(cases, "dir")]:
        if some:
            end = worst(some, key=lambda r: r[key])
            yield {"of": name, "cases": len(some), "mean": report.mean(r[key] for r in some),
                   "worst": end[key], "worst_case": short_name(end)}


def estimates(arguments):
    with tempfile.TemporaryDirectory() as cache:
        cases = run(arguments, "tune", f"--budget={arguments.budget}", f"--dir={DIRECTIONS}",
                    f"--tag={TAGS}", f"--threads={arguments.threads}", CONVOP_CACHE_DIR=cache)
    cases = [r | {"ratio": max(1.0, r["estimate_ms"] / r["ms"])} for r in cases if r["estimate_ms"]]
    amiss = sorted((r for r in cases if r["ratio"] > AMISS), key=lambda r: -r["ratio"])
    return {"figure": "time by estimate / time tuned", "summary": list(summary(cases, "ratio", max)),
            "right": sum(r["impl"] == r["estimate"] for r in cases),
            "amiss": [f"{short_name(r)}: {r['estimate']} {r['ratio']:.2f} times {r['impl']}"
                      for r in amiss], "cases": cases}


def threads(arguments):
    pairs = collections.defaultdict(dict)
    for r in timed(arguments, "--sweep=threads=1,2"):
        pairs[short_name(r)][r["threads"]] = r
    cases = []
    for one, two in ((p[1], p[2]) for p in pairs.values() if len(p) == 2):
        gain = one["ms"] / two["ms"]
        # Two threads have twice the caches, too; more than twice the speed is not asked for.
        allowed = min(2.0, one["limit_ms"] / two["limit_ms"])
        cases.append(one | {"two_ms": two["ms"], "gain": gain, "allowed": allowed,
                            "share": gain / allowed})
    long = [r for r in cases if r["ms"] >= SHORT_MS]
    return {"figure": f"gain of two threads, cases of {SHORT_MS} ms and more",
            "summary": list(summary(long, "gain", min)),
            "share of what the limits allow": list(summary(long, "share", min)),
            "short cases": list(summary([r for r in cases if r["ms"] < SHORT_MS], "gain", min)),
            "cases": cases}


def limit(arguments):
    best = {}
    for r in timed(arguments, f"--threads={arguments.threads}", CONVOP_ISA=arguments.isa):
        r["share"] = r["limit_ms"] / r["ms"]
        key = r["name"], r["dir"]
        if key not in best or best[key]["share"] < r["share"]:
            best[key] = r
    cases = list(best.values())
    flops = {r["problem"]: problems.parse(r["problem"]).flops for r in cases}
    dense = [r for r in cases if "depthwise" not in r["kind"]]
    return {"figure": f"limit / time, {arguments.isa}", "isa": arguments.isa,
            "summary": list(summary(cases, "share", min)),
            "dense above 100 MFLOP": list(summary(
                [r for r in dense if flops[r["problem"]] >= report.LARGE_FLOPS], "share", min)),
            "dense above 10 MFLOP": list(summary(
                [r for r in dense if flops[r["problem"]] >= report.MEDIUM_FLOPS], "share", min)),
            "depthwise": list(summary([r for r in cases if "depthwise" in r["kind"]], "share", min)),
            "cases": cases}


def show(result):
    print(f"{result['figure']}: {result['machine']}, commit {result['commit']}, {result['date']}, "
          f"batch {result['mb']}")
    for name, value in result.items():
        if name == "amiss":
            print(*value, sep="\n")
        elif name != "cases" and isinstance(value, list):
            print(f"{name}:")
            for s in value:
                print(f"  {s['of']:6} {s['cases']:4} cases, geometric mean {s['mean']:.3f}, "
                      f"worst {s['worst']:.2f} {s['worst_case']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("figure", choices=("estimates", "threads", "limit"))
    parser.add_argument("lists", nargs="*", help="names in bench/problems; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mb", type=int, default=1, help="batch")
    parser.add_argument("--isa", default="auto", help="of limit: the setting isa")
    parser.add_argument("--budget", type=int, default=200, help="of estimates: ms for a case")
    parser.add_argument("--min-time", type=int, default=30, help="of the others: ms for a case")
    parser.add_argument("--build", type=pathlib.Path, default=compare.HERE.parent / "build")
    parser.add_argument("--out", type=pathlib.Path, help="a file for all cases, JSON")
    arguments = parser.parse_intermixed_args()
    if arguments.figure != "threads":
        compare.pin(arguments.threads)
    result = {"machine": compare.machine(), "commit": compare.commit(),
              "date": compare.time.strftime("%Y-%m-%d"), "mb": arguments.mb,
              "threads": arguments.threads}
    result |= {"estimates": estimates, "threads": threads, "limit": limit}[arguments.figure](arguments)
    show(result)
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
