#!/usr/bin/env python3
"""What compare.py found, as tables.

    bench/report.py fwd1.json fwd2.json bwd1.json bwd2.json     each one's .md and plots anew, and
                                                               all of them side by side
A ratio is the time of the fastest peer in any layout by convop's: above 1 convop is faster.
"""
import collections
import json
import math
import pathlib
import sys

ONE_CALL, STRICT = "one call", "strict"
LAYOUTS = {"nchw": ("nchw",), "nhwc": ("channels_last", "channels_last_3d")}
# Of the share of the limit: what counts as a large product, and as a large tensor.
LARGE_FLOPS, MEDIUM_FLOPS, LARGE_BYTES = 1e8, 1e7, 1e6


def best(times, wanted):
    """(name, ms) of the fastest contender that is wanted; (None, None) where there is none."""
    found = [(t["min"], name) for name, t in times.items() if wanted(name)]
    ms, name = min(found, default=(None, None))
    return name, ms


def is_ours(name):
    return name.startswith("convop ")


def is_default(name):
    return is_ours(name) and not name.endswith(STRICT)


def row(layer):
    """What the tables need of a layer."""
    times = layer["times"]
    peer, peer_ms = best(times, lambda n: not is_ours(n))
    ours, ours_ms = best(times, is_default)

    def by(name, ms=peer_ms):
        own = times.get(f"convop {name}", {}).get("min")
        return ms / own if own and ms else None

    def strict_ms(name):
        """Where strict changes nothing, the default counts."""
        return times.get(f"{name} {STRICT}", times[name])["min"]

    def in_layout(name):
        return by(name, best(times, lambda n: not is_ours(n) and n.split()[1] in LAYOUTS[name])[1])

    one_call = best(times, lambda n: is_default(n) and n.endswith(ONE_CALL))[1]
    strict = min(strict_ms(n) for n in times if is_default(n))
    return {"name": layer["name"], "kind": layer["kind"], "list": layer["list"],
            "flops": layer["flops"], "bytes": layer["bytes"], "impl": layer["rows"].get(ours, ""),
            "ours": ours, "ours_ms": ours_ms, "peer": peer, "peer_ms": peer_ms,
            "gflops": layer["flops"] / ours_ms / 1e6,
            "ratio": peer_ms / ours_ms if peer_ms else None,
            "median_ratio": times[peer]["median"] / times[ours]["median"] if peer else None,
            "nchw": by("nchw"), "nhwc": by("nhwc"),
            "nchw_peers": in_layout("nchw"), "nhwc_peers": in_layout("nhwc"),
            "one_call": peer_ms / one_call if peer_ms and one_call else None,
            "strict": peer_ms / strict if peer_ms else None,
            "limit": layer["limit_ms"] / ours_ms}


def mean(values):
    """Geometric mean of what is there."""
    logs = [math.log(v) for v in values if v]
    return math.exp(sum(logs) / len(logs)) if logs else None


def text(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def least(rows, key):
    found = min((r for r in rows if r[key]), key=lambda r: r[key], default=None)
    return f"{found[key]:.2f} {found['name']}" if found else ""


def line(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def head(*cells):
    return [line(*cells), line(*["---"] * len(cells))]


def groups(rows, key):
    for name in sorted({r[key] for r in rows}):
        yield name, [r for r in rows if r[key] == name]


MEANS = ("ratio", "median_ratio", "strict", "nchw", "nhwc", "one_call")


def sums(rows):
    yield from head("geometric mean of", "layers", "ratio", "by medians", "strict", "nchw", "nhwc",
                    "one call", "least", "least by one call", "of the limit", "faster than all peers")
    for name, some in [("all", rows), *groups(rows, "kind"), *groups(rows, "list")]:
        won = sum(1 for r in some if (r["ratio"] or 2) > 1)
        yield line(name, len(some), *(text(mean(r[k] for r in some)) for k in MEANS),
                   least(some, "ratio"), least(some, "one_call"),
                   text(mean(r["limit"] for r in some)), won)


def winners(rows):
    """Which implementation convop's fastest variant ran, by kind of layer."""
    yield from head("kind of layer", "fastest variant by")
    for kind, some in groups(rows, "kind"):
        count = collections.Counter(r["impl"] for r in some).most_common()
        yield line(kind, ", ".join(f"{impl} {n}" for impl, n in count))


def title(result):
    return (f"{result['dir']}, {result['threads']} thread{'s' * (result['threads'] > 1)}, "
            f"batch {result['mb']}")


def table(result):
    rows = [row(layer) for layer in result["layers"]]
    lines = [f"{title(result)}, {result['machine']}, {', '.join(result['versions'])}, "
             f"commit {result['commit']}, {result['date']}", "",
             *head("layer", "convop ms", "by", "GFLOPS", "of the limit", "fastest peer", "ms", "ratio",
                   "strict", "nchw", "nhwc", "one call")]
    for r in rows:
        lines.append(line(r["name"], f"{r['ours_ms']:.4f} ({r['ours'][7:]})", r["impl"],
                          f"{r['gflops']:.0f}", text(r["limit"]), r["peer"] or "none",
                          text(r["peer_ms"], 4),
                          *(text(r[k]) for k in ("ratio", "strict", "nchw", "nhwc", "one_call"))))
    lines += ["", *sums(rows), "", *winners(rows), ""]
    why = collections.Counter((name, reason) for layer in result["layers"]
                              for name, reason in layer["missing"].items())
    lines += [f"Not run by {name}: {n} layers, {reason}" for (name, reason), n in why.items()]
    return "\n".join(lines)


# ---- several files of figures side by side ----------------------------------------------------------

def of_kind(kind):
    return lambda r: r["kind"] == kind


def everything(r):
    return True


# What is asked of each file of figures: name, direction (of either where it is None), which layers,
# which number, and whether its geometric mean or the least of it.
QUESTIONS = [
    ("forward", "FWD", everything, "ratio", mean),
    ("forward, strict", "FWD", everything, "strict", mean),
    ("forward, least", "FWD", everything, "ratio", least),
    ("forward, least by one call", "FWD", everything, "one_call", least),
    ("both gradients", "BWD", everything, "ratio", mean),
    ("both gradients, strict", "BWD", everything, "strict", mean),
    ("both gradients, least", "BWD", everything, "ratio", least),
    *((f"{way}, {kind}", direction, of_kind(kind), "ratio", mean)
      for direction, way in (("FWD", "forward"), ("BWD", "both gradients"))
      for kind in ("1x1", "depthwise 3x3", "dense 3x3", "first layer", "grouped", "depthwise, other",
                   "other")),
    *((f"forward, depthwise 3x3, {layout}, {whom}", "FWD", of_kind("depthwise 3x3"), key, mean)
      for layout in ("NCHW", "NHWC")
      for whom, key in (("any peer", layout.lower()), ("peers of that layout", layout.lower() + "_peers"))),
    *((f"of the limit, dense above {name}{suffix}", None,
       lambda r, low=low: "depthwise" not in r["kind"] and r["flops"] >= low, "limit", how)
      for name, low in (("100 MFLOP", LARGE_FLOPS), ("10 MFLOP", MEDIUM_FLOPS))
      for suffix, how in (("", mean), (", least", least))),
    *((f"of the limit, depthwise, tensors {name}{suffix}", None,
       lambda r, large=large: "depthwise" in r["kind"] and (r["bytes"] >= LARGE_BYTES) == large,
       "limit", how)
      for name, large in (("of 1 MB and more", True), ("below 1 MB", False))
      for suffix, how in (("", mean), (", least", least))),
]


def answer(result, direction, wanted, key, how):
    if direction not in (None, result["dir"]):
        return ""
    rows = [r for r in (row(layer) for layer in result["layers"]) if wanted(r)]
    return least(rows, key) if how is least else text(mean(r[key] for r in rows))


def side_by_side(results):
    lines = head("figure", *(title(r) for r in results))
    for name, *question in QUESTIONS:
        cells = [answer(r, *question) for r in results]
        if any(cells):
            lines.append(line(name, *cells))
    return "\n".join(lines)


def write(result, out):
    """OUT.md and the plots."""
    pathlib.Path(out + ".md").write_text(table(result) + "\n")
    try:
        import plots
    except ImportError:
        print("no plots: this Python has no matplotlib", file=sys.stderr)
        return
    plots.ratios(result, out + ".svg")
    plots.roofline(result, out + "_roofline.svg")


def main():
    results = []
    for path in sys.argv[1:]:
        results.append(json.loads(pathlib.Path(path).read_text()))
        write(results[-1], path.removesuffix(".json"))
    print(side_by_side(results))


if __name__ == "__main__":
    main()
