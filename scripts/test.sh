#!/bin/sh
# All tests, in four suites: as built for use, with the address and undefined-behaviour sanitizers,
# what has threads with the thread sanitizer, and a build of everything with the second compiler, whose
# machine code of the kernels is looked at.
# Ends with "N passed, N failed, N skipped"; exits 1 if anything failed. `make test` calls it.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/suites.sh

# On a new machine the libraries to compare with take minutes to come; meanwhile convop is built.
# CONVOP_PEERS names those that are wanted; with "none" nothing is installed.
scripts/peers.sh ${CONVOP_PEERS:-} >"$tally.peers" 2>&1 &
peers=$!
build plain build -Dwerror=true
built=$?
wait "$peers"
cat "$tally.peers"
rm -f "$tally.peers"
# The adapters whose headers have come meanwhile.
if [ "$built" -eq 0 ] && build plain build -Dwerror=true; then
    run plain build testlog ''
fi

export CC=gcc
# nvcc has compiled the CUDA kernels above, and takes neither sanitizers nor another compiler.
if build sanitized build-asan -Dbuildtype=debugoptimized -Db_sanitize=address,undefined \
    -Db_lundef=false -Dcuda=disabled; then
    run sanitized build-asan testlog-asan '' --setup asan
fi

# The thread sanitizer of these compilers stops where the kernel scatters mappings more than it
# knows of (vm.mmap_rnd_bits above 28); without that scattering (setarch -R) it runs.
race_free='#include <pthread.h>
static void *nothing(void *p) { return p; }
int main(void) { pthread_t t; return pthread_create(&t, 0, nothing, 0) || pthread_join(t, 0); }'
find_thread_sanitizer() {
    for CC in gcc clang; do
        echo "$race_free" | $CC -fsanitize=thread -pthread -xc - -o "$tally.tsan" 2>/dev/null || continue
        for prefix in '' 'setarch -R'; do
            if $prefix "$tally.tsan" 2>/dev/null; then
                rm -f "$tally.tsan"
                return 0
            fi
        done
    done
    rm -f "$tally.tsan"
    return 1
}
if ! find_thread_sanitizer; then
    say "threads: no thread sanitizer runs on this machine"
    scripts/tally.py skipped "$tally" threads "the thread sanitizer"
elif build threads build-tsan -Dbuildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false \
    -Dcuda=disabled; then
    run threads build-tsan testlog-tsan "$prefix" --setup tsan --suite threads
fi

CC=clang
if build clang build-clang -Dwerror=true -Dcuda=disabled; then
    scripts/tally.py passed "$tally" clang "building"
    run clang build-clang testlog '' --suite code
fi

finish
