"""What compare.py found, as a table and as a plot."""
import json
import math
import sys

# The two ways that convop's forward is timed: `packed` where the weights stay the same.
ONE_CALL = "one call"


def best(times, wanted):
    """(name, ms) of the fastest contender that is wanted; (None, None) where there is none."""
    found = [(t["min"], name) for name, t in times.items() if wanted(name)]
    ms, name = min(found, default=(None, None))
    return name, ms


def is_ours(name):
    return name.startswith("convop ")


def row(layer):
    """What the table and the sums need of a layer; ratios are times of the fastest peer by ours."""
    times = layer["times"]
    peer, peer_ms = best(times, lambda n: not is_ours(n))
    ours, ours_ms = best(times, is_ours)

    def ratio(layout):
        ms = times.get(f"convop {layout}", {}).get("min")
        return peer_ms / ms if ms and peer_ms else None

    one_call = best(times, lambda n: is_ours(n) and n.endswith(ONE_CALL))[1]
    return {"name": layer["name"], "kind": layer["kind"], "ours": ours, "ours_ms": ours_ms,
            "peer": peer, "peer_ms": peer_ms, "gflops": layer["flops"] / ours_ms / 1e6,
            "ratio": peer_ms / ours_ms if peer_ms else None,
            "nchw": ratio("nchw"), "nhwc": ratio("nhwc"),
            "one_call": peer_ms / one_call if peer_ms and one_call else None,
            "limit": layer["limit_ms"] / ours_ms if layer["limit_ms"] else None,
            "median_ratio": median_ratio(times, ours, peer)}


def median_ratio(times, ours, peer):
    return times[peer]["median"] / times[ours]["median"] if peer else None


def mean(values):
    """Geometric mean of what is there."""
    logs = [math.log(v) for v in values if v]
    return math.exp(sum(logs) / len(logs)) if logs else None


def text(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def sums(rows):
    kinds = sorted({r["kind"] for r in rows})
    yield "all", rows
    for kind in kinds:
        yield kind, [r for r in rows if r["kind"] == kind]


def table(result):
    rows = [row(layer) for layer in result["layers"]]
    lines = [f"{result['dir']}, {result['threads']} thread(s), batch {result['mb']}, "
             f"{result['machine']}, {', '.join(result['versions'])}, commit {result['commit']}, "
             f"{result['date']}", "",
             "| layer | convop ms | GFLOPS | of the limit | fastest peer | ms | ratio | nchw | nhwc | one call |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        lines.append(f"| {r['name']} | {r['ours_ms']:.4f} ({r['ours'][7:]}) | {r['gflops']:.0f} | "
                     f"{text(r['limit'])} | {r['peer'] or 'none'} | {text(r['peer_ms'], 4)} | "
                     f"{text(r['ratio'])} | {text(r['nchw'])} | {text(r['nhwc'])} | "
                     f"{text(r['one_call'])} |")
    lines += ["", "| geometric mean of | layers | ratio | by medians | nchw | nhwc | one call | least | of the limit |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for kind, some in sums(rows):
        with_peer = [r for r in some if r["ratio"]]
        least = min(with_peer, key=lambda r: r["ratio"], default=None)
        lines.append(f"| {kind} | {len(some)} | " + " | ".join(
            text(mean(r[k] for r in some)) for k in ("ratio", "median_ratio", "nchw", "nhwc", "one_call")) +
            f" | {text(least['ratio']) + ' ' + least['name'] if least else ''} | "
            f"{text(mean(r['limit'] for r in some))} |")
    return "\n".join(lines)


def plot(result, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams["svg.fonttype"] = "none"
    rows = [r for r in (row(layer) for layer in result["layers"]) if r["ratio"]]
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.16 * len(rows)))
    colours = {kind: f"C{i}" for i, kind in enumerate(sorted({r["kind"] for r in rows}))}
    places = range(len(rows))
    axes.barh(places, [r["ratio"] for r in rows], color=[colours[r["kind"]] for r in rows])
    axes.set_yticks(places, [r["name"] for r in rows], fontsize=6)
    axes.margins(y=0.005)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time of the fastest peer / time of convop (more is better)")
    axes.set_title(f"{result['dir']}, {result['threads']} thread(s), batch {result['mb']}: "
                   f"geometric mean {mean(r['ratio'] for r in rows):.2f}")
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in colours.values()], colours,
                fontsize=7)
    figure.tight_layout()
    figure.savefig(path)


def write(result, out):
    with open(out + ".json", "w") as file:
        json.dump(result, file, indent=1)
    with open(out + ".md", "w") as file:
        file.write(table(result) + "\n")
    try:
        plot(result, out + ".svg")
    except ImportError:
        print("compare: no plot, this Python has no matplotlib", file=sys.stderr)
