#!/usr/bin/env python3
"""Runs a Python program with the interpreter of a framework's environment (scripts/peers.sh).

    run.py ENVIRONMENT PROGRAM ARGUMENT...

77, skipped, where that environment is not installed. ENVIRONMENT numpy is the first that is there: all
have NumPy; cupy is numpy with a stand-in for CuPy.
"""
import os
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "peers"))
sys.dont_write_bytecode = True

from run import folder, interpreter

WITH_NUMPY = ("tvm", "jax", "onnxruntime", "torch")


def main():
    name, program, *arguments = sys.argv[1:]
    wanted = WITH_NUMPY if name in ("numpy", "cupy") else (name,)
    python = next(filter(None, map(interpreter, wanted)), None)
    if not python:
        print(f"{' or '.join(wanted)} is not installed in {folder()}; scripts/peers.sh does that")
        return 77
    paths = [os.path.join(ROOT, "python")]
    if name == "cupy":
        paths.append(os.path.join(ROOT, "tests", "hosts", "standin"))
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.execv(python, [python, "-B", program, *arguments])


if __name__ == "__main__":
    sys.exit(main())
