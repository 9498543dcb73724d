#!/bin/sh
# Installs the Debian packages that building (`setup.sh build`), the demo (`setup.sh demo`), testing
# (`setup.sh test`) or the long tests (`setup.sh long`) need, and of those only what is missing: with
# everything there it asks nothing of the network. Can be run again.
set -eu

# What each is for: the compiler and its C library, meson and ninja, pkg-config; Python with its headers
# (the extension of the package); the DLPack header;
# xxhash (a header too: the checksums of the tuning cache); cmocka (the C tests); OpenBLAS, which the
# library opens at run time where it is found.
packages="gcc libc6-dev pkg-config meson ninja-build python3-dev libdlpack-dev libxxhash-dev
    libcmocka-dev libopenblas0-pthread"
case ${1-build} in
build) ;;
demo) # TurboJPEG and libpng (record files of images), venv (the digits, the plot).
    packages="$packages libturbojpeg0-dev libpng-dev python3-venv"
    ;;
test | long) # The second compiler with its sanitizers, C++ for the headers, nm and readelf, setarch,
    # jansson (the cases), cmake (programs that find the library by it), TurboJPEG and libpng (record
    # files of images; the library needs neither).
    packages="$packages g++ clang libclang-rt-14-dev clang-format binutils util-linux
        libjansson-dev cmake libturbojpeg0-dev libpng-dev python3-venv"
    # The compiler for 64-bit ARM and what runs its programs.
    [ "$1" = test ] || packages="$packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
    ;;
*)
    echo "usage: scripts/setup.sh [build|demo|test|long]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is no Debian system; these Debian packages, or what equals them, are needed:"
    echo "   " $packages
    exit 0
fi

missing() {
    for package in $packages; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            echo "$package"
    done
}

wanted=$(missing | tr '\n' ' ')
if [ -z "$wanted" ]; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root="env"
elif command -v sudo >/dev/null; then
    as_root="sudo"
else
    echo "setup: packages are missing, and neither root nor sudo is here. Run this as root:" >&2
    echo "    apt-get update && apt-get install --no-install-recommends $wanted" >&2
    exit 1
fi

apt="$as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300"
echo "setup: installing $wanted"
$apt update || echo "setup: apt-get update failed; going on with the lists that are here" >&2

unknown=
for package in $wanted; do
    candidate=$(LC_ALL=C apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
    case $candidate in '' | '(none)') unknown="$unknown $package" ;; esac
done
if [ -n "$unknown" ]; then
    echo "setup: no package source of this machine has:$unknown" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! $apt install -y --no-install-recommends $wanted >"$log" 2>&1; then
    cat "$log" >&2
    echo "setup: could not be installed: $(missing | tr '\n' ' ')" >&2
    exit 1
fi
left=$(missing | tr '\n' ' ')
if [ -n "$left" ]; then
    echo "setup: still missing after the installation: $left" >&2
    exit 1
fi
# A folder that is configured already looks again for what it did without.
touch -c "$(dirname "$0")/../meson.build"
