#!/usr/bin/env python3
"""Draws what `convop bench --sweep --stages --json` writes: the time of each stage over the swept key.

    convop bench --json --mode=P --stages --sweep=stride=1..4 mb1ic3ih227oc96kh11 |
        python3 plot_sweep.py OUT.svg [--title=TEXT] [--rows=NAME,...]

One column for each problem, row and type: above the times, below their shares. Times are those of all
threads together. The format follows the name of OUT: svg, png, pdf. Needs matplotlib.
"""
import argparse
import json
import sys

STAGES = ["product", "lowering", "kernel", "packing", "copy", "threads", "plan", "call"]
# Okabe and Ito's colours, which those who see few colours can tell apart, and a grey.
COLOURS = dict(zip(STAGES, ["#0072b2", "#e69f00", "#56b4e9", "#f0e442", "#d55e00", "#cc79a7",
                            "#999999", "#333333"]))


def fail(text):
    sys.exit(f"plot_sweep.py: {text}")


def read_columns(file, rows):
    """{(name, row, dt, tag): [(value of the key, result), ...]} and the key."""
    columns, keys = {}, set()
    for number, line in enumerate(file, 1):
        try:
            result = json.loads(line)
        except ValueError as error:
            fail(f"line {number} is no JSON: {error}")
        if not result.get("stages") or len(result.get("sweep", {})) != 1:
            continue
        (key, value), = result["sweep"].items()
        keys.add(key)
        if rows and result["impl"] not in rows:
            continue
        name = result["name"] if result["name"] not in result["problem"].split('n"')[0] else ""
        columns.setdefault((name, result["impl"], result["dt"], result["tag"]), []).append(
            (value, result))
    if len(keys) != 1:
        fail("no results with one swept key and with stages: --sweep=KEY=..., --stages, --mode=P"
             if not keys else f"more than one key was swept: {', '.join(sorted(keys))}")
    return columns, keys.pop()


def stage_times(result):
    return {s["name"]: s["ms"] for s in result["stages"]}


def draw_column(above, below, points, key):
    places = range(len(points))
    times = [stage_times(result) for _, result in points]
    totals = [sum(t.values()) for t in times]
    bottom, low = [0.0] * len(points), [0.0] * len(points)
    for stage in STAGES:
        heights = [t.get(stage, 0) for t in times]
        if not any(heights):
            continue
        shares = [100 * h / total if total else 0 for h, total in zip(heights, totals)]
        above.bar(places, heights, 0.7, bottom, color=COLOURS[stage], label=stage)
        below.bar(places, shares, 0.7, low, color=COLOURS[stage])
        bottom = [b + h for b, h in zip(bottom, heights)]
        low = [b + s for b, s in zip(low, shares)]
    for place, total in zip(places, totals):
        above.annotate(f"{total:.3g}", (place, total), (0, 5), textcoords="offset points",
                       ha="center", fontsize=8)
    # The work shrinks by itself: what the first bar would take if time were work alone.
    work = [result["gflops"] * result["ms"] for _, result in points]
    above.plot(places, [totals[0] * w / work[0] for w in work], "k_", markersize=22,
               markeredgewidth=1.2, label="the first bar, scaled by the flops")
    above.set_ylim(0, 1.12 * max(totals))
    below.set_ylim(0, 100)
    below.set_xticks(list(places), [str(value) for value, _ in points])
    below.set_xlabel(key)


def draw(columns, key, title, path):
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "convop", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(columns), sharex="col", squeeze=False,
                                   figsize=(1.2 + 2.6 * len(columns), 4.8),
                                   gridspec_kw={"height_ratios": [2, 1]})
    for (name, row, dt, tag), above, below in zip(columns, axes[0], axes[1]):
        draw_column(above, below, columns[name, row, dt, tag], key)
        above.set_title(f"{name}\n{row}, {dt}, {tag}".strip(), fontsize=9)
    axes[0][0].set_ylabel("ms, all threads")
    axes[1][0].set_ylabel("% of it")
    labels = {}
    for above in axes[0]:
        handles, names = above.get_legend_handles_labels()
        labels.update(zip(names, handles))
    figure.suptitle(title)
    figure.legend(labels.values(), labels.keys(), loc="lower center", ncols=2 * len(columns),
                  fontsize=8,
                  frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--title", default="")
    parser.add_argument("--rows", default="", help="only these implementation rows")
    arguments = parser.parse_args()
    columns, key = read_columns(sys.stdin, [r for r in arguments.rows.split(",") if r])
    if not columns:
        fail("none of these rows was timed")
    try:
        draw(columns, key, arguments.title, arguments.out)
    except ImportError:
        fail("matplotlib is not here: python3 -m pip install matplotlib")


if __name__ == "__main__":
    main()
