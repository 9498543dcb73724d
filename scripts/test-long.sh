#!/bin/sh
# The tests in longer forms: random ones draw 20 times as many cases (CONVOP_TEST_SCALE, set by the
# meson set-up "long"), and the machine code of all kernels is looked at as the second compiler and -O2
# make it, too. Summarised as test.sh does. `make test-long` calls it.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/suites.sh

if build long build -Dwerror=true; then
    run long build testlog-long '' --setup long
fi
CC=clang
export CC
if build clang build-clang -Dwerror=true; then
    run clang build-clang testlog-long '' --setup long --suite code
fi
finish
