#!/usr/bin/env python3
"""convop beside PyTorch, ONNX Runtime and MXNet on the same layers, interleaved in one run.

    bench/compare.py                                all lists, forward, 1 thread, batch 1
    bench/compare.py --dir=BWD --threads=2 --mb=8 mobilenet_v1 resnet50
    bench/compare.py --out=/tmp/figures             figures.json, figures.md, figures.svg

Each contender is a process of its own, with the Python of its own environment (scripts/peers.sh makes
them), and they take turns: a block of calls each, the order shuffled anew each round, the first calls of
a block not counted. All have the same number of threads, an allocator that gives nothing back to the
system, and huge pages. The limit of a layer is measured beside it by `convop bench`.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import problems
import report

HERE = pathlib.Path(__file__).resolve().parent
VENVS = pathlib.Path(os.environ.get("CONVOP_VENVS", pathlib.Path.home() / ".cache/convop/venvs"))
PEERS = {"convop": "torch", "torch": "torch", "onnxruntime": "onnxruntime", "mxnet": "mxnet"}
# Of a block: calls that only warm, least calls that count, and what it should take.
DISCARD, LEAST_CALLS, BLOCK_MS = 2, 5, 40
# An answer that takes longer is none.
PATIENCE_S = 120


class Contender:
    def __init__(self, name, build, threads):
        env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        env |= {"CONTENDER_THREADS": str(threads), "OMP_NUM_THREADS": str(threads),
                "PYTHONPATH": str(HERE.parent / "python"), "PYTHONWARNINGS": "ignore",
                "CONVOP_LIBRARY": str(build / "src" / "libconvop.so"),
                "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
                "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
        self.name = name
        self.process = subprocess.Popen(
            [VENVS / PEERS[name] / "bin/python", HERE / "peers" / f"run_{name}.py"], env=env,
            text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        self.version = self.read()["version"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended: status {self.process.wait()}")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def start(names, build, threads):
    contenders = []
    for name in names:
        try:
            contenders.append(Contender(name, build, threads))
        except (OSError, RuntimeError) as error:
            print(f"compare: without {name}: {error}", file=sys.stderr)
    return contenders


def limit_ms(build, problem, direction, threads):
    """The larger of arithmetic at the measured peak and bytes at the measured bandwidth."""
    directions = {"FWD": ["FWD_D"], "BWD": ["BWD_D", "BWD_W"]}[direction]
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    done = subprocess.run(
        [build / "tools" / "convop", "bench", "--mode=P", "--repeat=1", "--json",
         f"--threads={threads}", "--dir=" + ",".join(directions), problem.descriptor()],
        env=env, text=True, capture_output=True, timeout=PATIENCE_S)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return sum(r.get("limit_ms") or 0 for r in found if r.get("dir") in directions) or None


def measure(contenders, problem, direction, rounds, shuffle):
    """{"torch nchw": {"min": ms, "median": ms}, ...} and what could not be run and why."""
    variants, missing, calls, times = [], {}, {}, {}
    for c in contenders:
        answer = c.ask(do="prepare", problem=dataclasses.asdict(problem), direction=direction)
        variants += [(c, v) for v in answer["variants"]]
        if not answer["variants"]:
            missing[c.name] = answer["why"]
    for c, v in variants:
        once = c.ask(do="time", variant=v, discard=1, calls=1)["ms"][0]
        calls[c.name, v] = max(LEAST_CALLS, min(2000, int(BLOCK_MS / max(once, 1e-4))))
        times[c.name, v] = []
    for _ in range(rounds):
        shuffle.shuffle(variants)
        for c, v in variants:
            times[c.name, v] += c.ask(do="time", variant=v, discard=DISCARD,
                                      calls=calls[c.name, v])["ms"]
    return {" ".join(key): {"min": min(ms), "median": statistics.median(ms)}
            for key, ms in times.items()}, missing


def machine():
    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith("model name")]
    return f"{model[0] if model else 'unknown'}, {len(os.sched_getaffinity(0))} cores"


def commit():
    try:
        return subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"], text=True,
                              capture_output=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lists", nargs="*", help="names in bench/problems; all by default")
    parser.add_argument("--dir", choices=("FWD", "BWD"), default="FWD",
                        help="BWD: both gradients, by the data and by the weights")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mb", type=int, default=1, help="batch")
    parser.add_argument("--rounds", type=int, default=3, help="blocks of each contender")
    parser.add_argument("--only", default="", help="problems whose name holds this text")
    parser.add_argument("--peers", default="torch,onnxruntime,mxnet")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the contenders")
    parser.add_argument("--out", help="path without suffix, for .json, .md and .svg")
    arguments = parser.parse_args()

    todo = [p for path in problems.lists(arguments.lists)
            for p in problems.load(path, arguments.mb) if arguments.only in p.name]
    contenders = start(["convop", *filter(None, arguments.peers.split(","))],
                       arguments.build.resolve(), arguments.threads)
    if not contenders or contenders[0].name != "convop":
        sys.exit("compare: convop's own process did not start; build it first: make build")
    shuffle, begin, layers = random.Random(arguments.seed), time.monotonic(), []
    for i, p in enumerate(todo):
        took = time.monotonic() - begin
        print(f"\r{i + 1}/{len(todo)} {p.name:32.32} {took:5.0f} s", end="", file=sys.stderr)
        times, missing = measure(contenders, p, arguments.dir, arguments.rounds, shuffle)
        layers.append({
            "name": p.name, "list": p.list_name, "kind": p.kind, "descriptor": p.descriptor(),
            "flops": p.flops * (2 if arguments.dir == "BWD" else 1), "times": times,
            "missing": missing,
            "limit_ms": limit_ms(arguments.build, p, arguments.dir, arguments.threads)})
    print(file=sys.stderr)
    for c in contenders:
        c.close()
    result = {"machine": machine(), "commit": commit(), "date": time.strftime("%Y-%m-%d"),
              "versions": [c.version for c in contenders], "dir": arguments.dir,
              "threads": arguments.threads, "mb": arguments.mb, "rounds": arguments.rounds,
              "layers": layers}
    print(report.table(result))
    if arguments.out:
        report.write(result, arguments.out)


if __name__ == "__main__":
    main()
