#!/bin/sh
# The tests in longer forms: random ones draw 20 times as many cases (CONVOP_TEST_SCALE, set by the
# meson set-up "long"). Summarised as test.sh does. `make test-long` calls it.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/suites.sh

if build long build -Dwerror=true; then
    run long build testlog-long '' --setup long
fi
finish
