#!/usr/bin/env python3
"""Finds the peers' interpreters, and runs compare.py with one of them: it needs NumPy.

    run.py LIBCONVOP [--peer NAME] [--count N] [--seed S] [--index I]

77, skipped, where no peer is installed. scripts/peers.sh installs them.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ("torch", "onnxruntime", "mxnet", "jax")


def folder():
    return os.environ.get("CONVOP_VENVS") or os.path.expanduser("~/.cache/convop/venvs")


def interpreter(name):
    """Of a complete installation of the versions that are wanted, or None."""
    venv = os.path.join(folder(), name)
    python = os.path.join(venv, "bin", "python")
    try:
        with open(os.path.join(venv, "installed.txt"), encoding="utf-8") as have, \
                open(os.path.join(HERE, f"requirements-{name}.txt"), encoding="utf-8") as want:
            return python if have.read() == want.read() and os.path.exists(python) else None
    except FileNotFoundError:
        return None


def main():
    found = {name: python for name in NAMES if (python := interpreter(name))}
    if not found:
        print(f"no peer is installed in {folder()}; scripts/peers.sh does that")
        return 77
    peers = [f"{name}={found.get(name, '')}" for name in NAMES]
    sys.stdout.flush()
    os.execv(next(iter(found.values())), [next(iter(found.values())), "-B",
                                          os.path.join(HERE, "compare.py"), *peers, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
