"""What compare.py found, as plots."""
import statistics

import matplotlib
import matplotlib.pyplot as plt

import report

matplotlib.use("Agg")
plt.rcParams["svg.fonttype"] = "none"
plt.rcParams["svg.hashsalt"] = "convop"  # the same figures, the same file


def legend(axes, colours):
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=c) for c in colours.values()], colours, fontsize=7)


def colours_of(names):
    return {name: f"C{i}" for i, name in enumerate(sorted(set(names)))}


def ratios(result, path):
    """A bar a layer: how many times as fast as the fastest peer."""
    rows = [r for r in map(report.row, result["layers"]) if r["ratio"]]
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.16 * len(rows)))
    colours = colours_of(r["kind"] for r in rows)
    places = range(len(rows))
    axes.barh(places, [r["ratio"] for r in rows], color=[colours[r["kind"]] for r in rows])
    axes.set_yticks(places, [r["name"] for r in rows], fontsize=6)
    axes.margins(y=0.005)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time of the fastest peer / time of convop (more is better)")
    average = report.text(report.mean(r["ratio"] for r in rows))
    axes.set_title(f"{report.title(result)}: geometric mean {average}")
    legend(axes, colours)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def roofline(result, path):
    """A point a layer, coloured by what computed it, under the limits that were measured beside them."""
    rows = [report.row(layer) for layer in result["layers"]]
    peak = statistics.median(layer["peak_gflops"] for layer in result["layers"])
    bandwidths = [layer["bandwidth_gbs"] for layer in result["layers"]]
    figure, axes = plt.subplots(figsize=(8, 5))
    colours = colours_of(r["impl"] for r in rows)
    intensity = [r["flops"] / r["bytes"] for r in rows]
    axes.scatter(intensity, [r["gflops"] for r in rows], s=14,
                 color=[colours[r["impl"]] for r in rows])
    ends = min(intensity) / 1.5, max(intensity) * 1.5
    axes.plot(ends, (peak, peak), color="black", linewidth=0.8)
    for gbs, where in ((min(bandwidths), "largest tensors"), (max(bandwidths), "smallest")):
        knee = peak / gbs
        axes.plot((ends[0], knee), (ends[0] * gbs, peak), color="black", linewidth=0.8,
                  linestyle="--")
        axes.annotate(f"{gbs:.0f} GB/s, {where}", (ends[0], ends[0] * gbs), fontsize=7,
                      xytext=(2, 4), textcoords="offset points")
    axes.annotate(f"{peak:.0f} GFLOPS", (ends[1], peak), fontsize=7, ha="right",
                  xytext=(0, 3), textcoords="offset points")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("FLOP a byte, each tensor moved once")
    axes.set_ylabel("GFLOPS")
    axes.set_title(report.title(result))
    legend(axes, colours)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
