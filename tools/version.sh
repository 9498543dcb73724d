#!/bin/sh
# Prints the version that include/convop/version.h states, its only source.
sed -n 's/^#define CONVOP_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' \
    "$(dirname "$0")/../include/convop/version.h" | paste -sd.
