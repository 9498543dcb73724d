#!/bin/sh
# Installs the libraries that convop is compared with (tests/peers) and those that it is embedded in
# (tests/hosts), each into a virtual environment of its own outside of the tree, so that they are
# kept from checkout to checkout:
# ${CONVOP_VENVS:-~/.cache/convop/venvs}/NAME, about 5 GB in all, most of them PyTorch's.
#     scripts/peers.sh [NAME...]     python torch onnxruntime mxnet jax tvm, by default all; "none" is none
# What is complete already costs nothing. Exits with 77 if something could not be had.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${CONVOP_VENVS:-$HOME/.cache/convop/venvs}
# A registry that hangs must not hang the tests: seconds for one environment.
limit=900

say() {
    echo "peers: $*"
}

# install NAME: makes the environment anew unless it has exactly what is wanted.
install() {
    name=$1 venv=$folder/$1 wanted=tests/peers/requirements-$1.txt
    if [ ! -f "$wanted" ]; then
        say "there is no peer $name"
        return 1
    fi
    if cmp -s "$wanted" "$venv/installed.txt" && [ -x "$venv/bin/python" ]; then
        return 0
    fi
    say "installing $name in $venv"
    rm -rf "$venv"
    if ! python3 -m venv "$venv" >"$log" 2>&1; then
        cat "$log"
        say "python3 -m venv does not work; on Debian it is in the package python3-venv"
        rm -rf "$venv"
        return 1
    fi
    start=$(date +%s)
    # The files are complete lists, and so nothing may come along with them.
    if ! timeout "$limit" "$venv/bin/python" -m pip install --no-input --no-cache-dir \
        --disable-pip-version-check --progress-bar off --no-deps -r "$wanted" >"$log" 2>&1; then
        tail -n 5 "$log"
        say "$name could not be installed, its tests will be skipped"
        rm -rf "$venv"
        return 1
    fi
    cp "$wanted" "$venv/installed.txt"
    # Adapters are built where the headers of their frameworks are: configured folders look again.
    touch -c meson.build
    say "$name is there: $(du -sh "$venv" | cut -f1), $(($(date +%s) - start)) s"
}

if [ "${*:-}" = none ]; then
    exit 0
fi
mkdir -p "$folder" || exit 77
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One at a time, whoever else has started this.
exec 9>"$folder/.lock"
flock 9

status=0
for name in ${*:-python onnxruntime mxnet jax tvm torch}; do
    install "$name" || status=77
done
exit $status
