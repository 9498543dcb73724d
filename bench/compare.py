#!/usr/bin/env python3
"""convop beside PyTorch, ONNX Runtime and MXNet on the same layers, interleaved in one run.

    bench/compare.py                                all lists, forward, 1 thread, batch 1
    bench/compare.py --dir=BWD --threads=2 --mb=8 mobilenet_v1 resnet50
    bench/compare.py --quick --out=fwd              fwd.json, fwd.md, fwd.svg, fwd_roofline.svg
    bench/compare.py --out=fwd --resume vgg16       those of vgg16 that fwd.json has not yet

Each contender is a process of its own, with the Python of its own environment (scripts/peers.sh makes
them), and they take turns: a block of calls each, the order shuffled anew each round, the first calls of
a block not counted. All run on the same processors with the same number of threads, an allocator that
gives nothing back to the system, and huge pages. convop chooses by estimate, and where the setting `math`
at strict chooses otherwise, that is timed too. The limit of a layer is measured beside it.
The file of figures is written after each layer; report.py reads it.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import problems
import progress
import race
import report

HERE = pathlib.Path(__file__).resolve().parent
# Of --quick: seconds for a layer; large ones take more, small ones less.
QUICK_S = 3
SAME = ("dir", "threads", "mb")


def machine():
    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith("model name")]
    return f"{model[0] if model else 'unknown'}, {os.cpu_count()} cores"


def commit():
    try:
        return subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], text=True,
                              capture_output=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def read_layers(paths, result):
    """{name: layer} of figures with the same configuration; later files count more."""
    found = {}
    for path in paths:
        figures = json.loads(pathlib.Path(path).read_text())
        if any(figures[k] != result[k] for k in SAME):
            sys.exit(f"compare: {path} has other figures than these: {', '.join(SAME)}")
        found |= {layer["name"]: layer for layer in figures["layers"]}
    return found


def keep(result, path):
    """Whole or not at all."""
    if path:
        pathlib.Path(path + ".new").write_text(json.dumps(result, indent=1))
        os.replace(path + ".new", path)


def pin(threads):
    """To as many processors as there are threads, the last ones: interrupts tend to the first."""
    allowed = sorted(os.sched_getaffinity(0))
    if threads > len(allowed):
        print(f"compare: {threads} threads on {len(allowed)} processors", file=sys.stderr)
    os.sched_setaffinity(0, allowed[-threads:])


def measure_layers(todo, arguments, result, out):
    """Adds them to result["layers"]."""
    build, backward = arguments.build.resolve(), arguments.dir == "BWD"
    contenders = race.start(["convop", *filter(None, arguments.peers.split(","))], build,
                            arguments.threads)
    if not contenders or contenders[0].name != "convop":
        sys.exit("compare: convop's own process did not start; build it first: make build")
    rates = race.Rates(build, arguments.threads)
    result["versions"] = [c.version for c in contenders]
    shuffle, shown = random.Random(arguments.seed), progress.Progress()
    for i, p in enumerate(todo):
        shown.show(f"{i + 1}/{len(todo)} {p.name}")
        share = float("inf")
        if arguments.seconds:
            share = (arguments.seconds - shown.seconds) / (len(todo) - i)
        found = race.race(contenders, p, arguments.dir, arguments.rounds, arguments.block_ms, share,
                          shuffle)
        flops, size = p.flops * (2 if backward else 1), p.moved_bytes(backward)
        found |= rates.limit(flops, size, report.best(found["times"], report.is_ours)[1])
        result["layers"].append({"name": p.name, "list": p.list_name, "kind": p.kind,
                                 "descriptor": p.descriptor(), "flops": flops, "bytes": size, **found})
        keep(result, out)
    shown.end()
    for process in (*contenders, rates):
        process.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lists", nargs="*", help="names in bench/problems; all by default")
    parser.add_argument("--dir", choices=("FWD", "BWD"), default="FWD",
                        help="BWD: both gradients, by the data and by the weights")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mb", type=int, default=1, help="batch")
    parser.add_argument("--rounds", type=int, default=3, help="blocks of each contender, at most")
    parser.add_argument("--block-ms", type=float, default=40, help="what a block should take")
    parser.add_argument("--seconds", type=float, help="for all layers; rounds are left out to keep it")
    parser.add_argument("--quick", action="store_true",
                        help=f"up to 6 blocks of 15 ms in {QUICK_S} seconds a layer")
    parser.add_argument("--only", default="", help="problems whose name holds this text")
    parser.add_argument("--peers", default="torch,onnxruntime,mxnet")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the contenders")
    parser.add_argument("--out", help="path without suffix, for .json, .md and .svg")
    parser.add_argument("--resume", action="store_true", help="measure what --out has not yet")
    parser.add_argument("--merge", action="append", default=[], metavar="FILE",
                        help="take the layers of another file of figures as measured")
    arguments = parser.parse_intermixed_args()
    out = arguments.out + ".json" if arguments.out else None
    if arguments.resume and out and os.path.exists(out):
        arguments.merge.append(out)

    result = {"machine": machine(), "commit": commit(), "date": time.strftime("%Y-%m-%d"),
              "versions": [], "dir": arguments.dir, "threads": arguments.threads,
              "mb": arguments.mb, "layers": []}
    known = read_layers(arguments.merge, result)
    result["layers"] = list(known.values())
    todo = [p for path in problems.lists(arguments.lists) for p in problems.load(path, arguments.mb)
            if arguments.only in p.name and p.name not in known]
    if arguments.quick:
        arguments.block_ms, arguments.rounds = 15, 6
        arguments.seconds = arguments.seconds or QUICK_S * len(todo)
    pin(arguments.threads)
    if todo:
        measure_layers(todo, arguments, result, out)
    keep(result, out)
    print(report.table(result))
    if arguments.out:
        report.write(result, arguments.out)


if __name__ == "__main__":
    main()
