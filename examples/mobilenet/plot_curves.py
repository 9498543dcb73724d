#!/usr/bin/env python3
"""Draws the curves that train_mobilenet --curves wrote.

    plot_curves.py CURVES.jsonl OUT.png
"""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        epochs = [json.loads(line) for line in file]
    x = [e["epoch"] + 1 for e in epochs]
    figure, (loss, accuracy) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, style in (("train", "o-"), ("validation", "s-")):
        points = [(n, e[name]) for n, e in zip(x, epochs) if e.get(name)]
        ns = [n for n, _ in points]
        loss.plot(ns, [v["cross_entropy"] for _, v in points], style, label=name)
        accuracy.plot(ns, [v["accuracy"] for _, v in points], style, label=name)
    for axes, title in ((loss, "cross-entropy"), (accuracy, "accuracy")):
        axes.set_title(title)
        axes.set_xlabel("epoch")
        axes.grid(alpha=0.3)
        axes.legend()
        axes.xaxis.get_major_locator().set_params(integer=True)
    loss.set_yscale("log")
    best = max((e["validation"]["accuracy"] for e in epochs if e.get("validation")), default=None)
    figure.suptitle("MobileNet v1" + (f", best validation accuracy {best:.3f}" if best else ""))
    figure.savefig(sys.argv[2], dpi=120)


main()
