#!/usr/bin/env python3
"""convop explain of tensors on a GPU, with the stand-in as driver and cuDNN: the rule of the rows, and
what the parameters that remove rows make of it.

    test_explain.py [CONVOP] STANDIN      without CONVOP, not built then: 77, skipped
"""
import json

from program import convop, run_checks

RULES = [  # problem, options, the row that runs
    ("g8mb1ic8ih9oc8kh3ph1", [], "depthwise"),
    ("g8mb1ic8ih9oc8kh3ph1", ["--cudnn-off"], "depthwise"),
    ("g8mb1ic8ih9oc8kh3ph1", ["--depthwise-conv-off"], "cudnn"),
    ("g8mb1ic8ih9oc8kh3ph1", ["--depthwise-conv-off", "--cudnn-off"], "gemm"),
    ("mb1ic8ih9oc8kh3ph1", [], "cudnn"),
    ("mb1ic8ih9oc8kh3ph1", ["--cudnn-off"], "gemm"),
]
REASONS = {"--cudnn-off": ("cudnn", "cudnn_off is set"),
           "--depthwise-conv-off": ("depthwise", "depthwise_conv_off is set")}


def explain(options, problem):
    done = convop("explain", "--json", "--device=cuda", "--dir=FWD_D", *options, problem)
    # 1: no row computes it, as where there are no kernels.
    assert done.returncode in (0, 1) and not done.stderr, (options, problem, done.returncode, done.stderr)
    return json.loads(done.stdout)


def check(problem, options, wanted):
    said = explain(options, problem)
    rows = {row["name"]: row for row in said["rows"]}
    kernels = not (rows["gemm"]["why_not"] or "").startswith("no CUDA kernels")
    if not kernels and wanted != "cudnn":
        wanted = None if "--cudnn-off" in options else "cudnn"
    assert said["chosen"] == wanted, (problem, options, said)
    for option in options:
        row, why = REASONS[option]
        assert why in rows[row]["why_not"], (problem, options, rows[row])
    # The first row has a time: the driver says what memory gives.
    if wanted == "depthwise":
        assert 0 < rows["depthwise"]["estimated_ms"] < 1, rows["depthwise"]


run_checks(lambda: [check(*rule) for rule in RULES])
