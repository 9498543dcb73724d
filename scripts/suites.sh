# shellcheck shell=sh
# Functions that test.sh and test-long.sh share; sourced, from the root of the tree.
# Each suite is configured, built and run; what it counted goes to the file $tally, a JSON object
# a line, and finish() sums that up.

jobs=${JOBS:-2}
tally=$(mktemp)
trap 'rm -f "$tally"' EXIT
# On a terminal ninja shows its one moving line; in a log it says only what went wrong.
if [ -t 1 ]; then quiet=; else quiet=--quiet; fi

say() {
    printf '\n== %s\n' "$*"
}

# configure FOLDER ARGUMENT...: configures, or configures anew if the arguments were others.
configure() {
    dir=$1
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        meson setup "$dir" "$@" >"$tally.log" 2>&1
    elif [ "$(cat "$dir/.configured" 2>/dev/null)" != "$*" ]; then
        meson configure "$dir" "$@" >"$tally.log" 2>&1
    fi || {
        cat "$tally.log"
        rm -f "$tally.log"
        return 1
    }
    rm -f "$tally.log"
    echo "$*" >"$dir/.configured"
}

# build SUITE FOLDER ARGUMENT...: configures and builds; a failure is counted.
build() {
    suite=$1 dir=$2
    shift 2
    say "$suite: building in $dir"
    if ! configure "$dir" "$@"; then
        scripts/tally.py failed "$tally" "$suite" "configuring" "meson setup $dir $*"
        return 1
    fi
    if ! ninja $quiet -C "$dir" -j "$jobs"; then
        scripts/tally.py failed "$tally" "$suite" "building" "ninja -C $dir"
        return 1
    fi
}

# run SUITE FOLDER LOG PREFIX ARGUMENT...: `PREFIX meson test` with these arguments; LOG is the
# name that meson gives its log.
run() {
    suite=$1 dir=$2 log=$dir/meson-logs/$3.json prefix=$4
    shift 4
    say "$suite: running"
    rm -f "$log"
    $prefix meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes "$jobs" "$@"
    scripts/tally.py read "$tally" "$suite" "$log" "${prefix:+$prefix }meson test -C $dir${*:+ $*} -v"
}

# Prints what failed, each with the command that repeats it, and the closing line.
finish() {
    say "all suites"
    scripts/tally.py sum "$tally"
}
