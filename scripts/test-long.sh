#!/bin/sh
# The tests in longer forms: random ones draw 20 times as many cases (CONVOP_TEST_SCALE, set by the
# meson set-up "long"), the machine code of all kernels is looked at as the second compiler and -O2
# make it, too, and the kernels and Convolution are tested as NEON computes them, in a build for 64-bit
# ARM that qemu's user mode runs. Summarised as test.sh does. `make test-long` calls it.
#     test-long.sh [long] [clang] [neon]       all by default
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/suites.sh

wants() {
    case " $wanted " in *" $1 "*) ;; *) return 1 ;; esac
}
wanted=${*:-long clang neon}

if wants long && build long build -Dwerror=true; then
    run long build testlog-long '' --setup long
fi
if wants clang; then
    export CC=clang
    if build clang build-clang -Dwerror=true; then
        run clang build-clang testlog-long '' --setup long --suite code
    fi
    unset CC
fi
if wants neon; then
    if ! scripts/neon.sh build-neon; then
        scripts/tally.py failed "$tally" neon "fetching cmocka" "scripts/neon.sh build-neon"
    elif build neon build-neon --cross-file build-neon/target.ini \
        --cross-file scripts/aarch64.ini; then
        # qemu takes tens of times as long as a processor, and cannot fork a program with threads.
        run neon build-neon testlog 'env CONVOP_TEST_SCALE=1/2' --timeout-multiplier 10 \
            --suite conv --suite kernels --no-suite fork
    fi
fi
finish
