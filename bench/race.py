"""Contenders that take turns on one layer: processes with a protocol of lines (peers/contender.py).

What costs time is cut where it changes no figure: a peer that is far behind the fastest one drops out,
and rounds end when the time for the layer is up. The first round is always run by all others.
"""
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
VENVS = pathlib.Path(os.environ.get("CONVOP_VENVS", pathlib.Path.home() / ".cache/convop/venvs"))
PEERS = {"convop": "torch", "torch": "torch", "onnxruntime": "onnxruntime", "mxnet": "mxnet"}
# Of a block: calls that only warm, and least calls that count.
DISCARD, LEAST_CALLS, MOST_CALLS = 2, 5, 2000
# A peer drops out when the fastest peer is so many times as fast: after the first calls, after a round.
FAR_BEHIND, BEHIND = 2, 1.25


def environment():
    """Of every process that is measured. The variables of OpenBLAS override what it knows of the CPU."""
    return {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}


class Contender:
    def __init__(self, name, build, threads):
        env = environment() | {
            "CONTENDER_THREADS": str(threads), "OMP_NUM_THREADS": str(threads),
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


class Rates:
    """What the machine gives at this moment: build/bench/rates."""

    def __init__(self, build, threads):
        self.threads = threads
        self.process = subprocess.Popen([build / "bench" / "rates"], env=environment(), text=True,
                                        bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def measure(self, size):
        """GFLOPS, and GB/s from a working set of so many bytes."""
        self.process.stdin.write(f"{self.threads} {max(int(size), 1)}\n")
        return tuple(float(word) for word in self.process.stdout.readline().split())

    def limit(self, flops, size, ours_ms):
        """The larger of arithmetic at the peak and bytes at the bandwidth, and these two."""
        gflops, gbs = self.measure(size)
        if max(flops / gflops, size / gbs) > ours_ms * 1e6:
            # What was beaten is no limit: either the probe met a busy neighbour, or the row
            # computes with fewer products.
            gflops, gbs = (max(pair) for pair in zip((gflops, gbs), self.measure(size)))
            gbs = max(gbs, size / ours_ms / 1e6)
        return {"limit_ms": max(flops / gflops, size / gbs) / 1e6, "peak_gflops": gflops,
                "bandwidth_gbs": gbs}

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


@dataclasses.dataclass
class Runner:
    contender: Contender
    variant: str
    ms: list
    calls: int = LEAST_CALLS

    @property
    def name(self):
        return f"{self.contender.name} {self.variant}"

    @property
    def is_peer(self):
        return self.contender.name != "convop"

    def run(self, discard, calls):
        self.ms += self.contender.ask(do="time", variant=self.variant, discard=discard,
                                      calls=calls)["ms"]


def enter(contenders, problem, direction):
    """The runners, what could not be run and why, and the rows of convop's."""
    runners, missing, rows = [], {}, {}
    for c in contenders:
        answer = c.ask(do="prepare", problem=dataclasses.asdict(problem), direction=direction)
        runners += [Runner(c, v, []) for v in answer["variants"]]
        rows |= {f"{c.name} {v}": row for v, row in answer.get("rows", {}).items()}
        if not answer["variants"]:
            missing[c.name] = answer["why"]
    return runners, missing, rows


def still_racing(runners, times):
    """Without the peers that are so many times as slow as the fastest peer."""
    best = min((min(r.ms) for r in runners if r.is_peer), default=0)
    return [r for r in runners if not r.is_peer or min(r.ms) <= times * best]


def race(contenders, problem, direction, rounds, block_ms, seconds, shuffle):
    """{"times": {"torch nchw": {"min": ms, "median": ms, "calls": n}, ...}, "missing":, "rows":}."""
    began = time.monotonic()
    runners, missing, rows = enter(contenders, problem, direction)
    for r in runners:
        r.run(1, 1)
        if r.ms[0] < block_ms:
            r.run(1, 2)
        r.calls = max(LEAST_CALLS, min(MOST_CALLS, int(block_ms / max(min(r.ms), 1e-4))))
    racing = still_racing(runners, FAR_BEHIND)
    for r in racing:
        r.ms.clear()
    for done in range(1, rounds + 1):
        shuffle.shuffle(racing)
        for r in racing:
            r.run(DISCARD, r.calls)
        # Another round, only if it can be expected to be through in time.
        if (time.monotonic() - began) * (done + 1) / done > seconds:
            break
        racing = still_racing(racing, BEHIND)
    times = {r.name: {"min": min(r.ms), "median": statistics.median(r.ms), "calls": len(r.ms)}
             for r in runners}
    return {"times": times, "missing": missing, "rows": rows}
