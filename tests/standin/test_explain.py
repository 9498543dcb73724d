#!/usr/bin/env python3
"""convop explain of tensors on a GPU, with the stand-in as driver and cuDNN: the rule of the rows, and
what the parameters that remove rows make of it.

    test_explain.py [CONVOP] STANDIN      without CONVOP, not built then: 77, skipped
"""
import json
import os
import subprocess
import sys

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


def explain(convop, library, options, problem):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CONVOP_")}
    # What cuDNN's engines share is never given back, nor what the stand-in keeps.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    command = [convop, "explain", "--json", "--gpu", "--dir=FWD_D", *options, problem]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env={**clean, "CONVOP_CUDA_LIBRARY": library, "CONVOP_CACHE_DIR": "none",
                               "STANDIN_OF_A_PROGRAM": "1", "ASAN_OPTIONS": sanitizer,
                               "CONVOP_CUDNN_LIBRARY": library})
    # 1: no row computes it, as where there are no kernels.
    assert done.returncode in (0, 1) and not done.stderr, (command, done.returncode, done.stderr)
    return json.loads(done.stdout)


def check(convop, library, problem, options, wanted):
    said = explain(convop, library, options, problem)
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


def main():
    if len(sys.argv) < 3:
        print("the command convop is not built")
        return 77
    for rule in RULES:
        check(sys.argv[1], sys.argv[2], *rule)
    return 0


sys.exit(main())
