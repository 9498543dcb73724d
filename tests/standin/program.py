"""The command convop with the stand-in as driver and cuDNN, for the tests that are started as

    test_....py [CONVOP] STANDIN      without CONVOP, not built then: 77, skipped
"""
import os
import subprocess
import sys


def convop(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CONVOP_")}
    # What cuDNN's engines share is never given back, nor what the stand-in keeps.
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    library = sys.argv[2]
    return subprocess.run([sys.argv[1], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", timeout=60,
                          env={**clean, "CONVOP_CUDA_LIBRARY": library, "CONVOP_CUDNN_LIBRARY": library,
                               "CONVOP_CACHE_DIR": "none", "STANDIN_OF_A_PROGRAM": "1",
                               "ASAN_OPTIONS": sanitizer, **environment})


def run_checks(checks):
    if len(sys.argv) < 3:
        print("the command convop is not built")
        sys.exit(77)
    checks()
