#!/bin/sh
# What a build for 64-bit ARM needs that the cross compiler of Debian does not bring: cmocka, as Debian
# packages it for ARM, in FOLDER/target, and FOLDER/target.ini, which tells aarch64.ini where it is. This
# machine's own packages stay as they are: apt works on lists and a state in FOLDER/apt.
#     neon.sh FOLDER
# Then: meson setup FOLDER --cross-file FOLDER/target.ini --cross-file scripts/aarch64.ini
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
apt=$folder/apt

if [ ! -f "$folder/target/usr/include/cmocka.h" ]; then
    for command in apt-get dpkg-deb; do
        command -v $command >/dev/null || {
            echo "neon: this is no Debian system; put cmocka for 64-bit ARM into $folder/target" >&2
            exit 1
        }
    done
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    get() {
        apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
            -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
            -o APT::Sandbox::User= "$@"
    }
    get update
    (cd "$apt" && get download libcmocka0 libcmocka-dev)
    for package in "$apt"/*.deb; do
        dpkg-deb -x "$package" "$folder/target"
    done
fi
printf "[constants]\ntarget = '%s/target'\n" "$folder" >"$folder/target.ini"
