#!/bin/sh
# Says where a build folder has the library and the command.
set -eu
build=$1
echo
echo "library  $build/src/libconvop.so  $build/src/libconvop.a"
echo "headers  include/convop/convop.h"
if [ -x "$build/tools/convop" ]; then
    echo "command  $build/tools/convop"
fi
