#!/usr/bin/env python3
"""Prints a folder inside an installed Python package, for headers and libraries of other frameworks.

    find_package.py PACKAGE FOLDER [ENVIRONMENT]     find_package.py jaxlib include jax

Looked for in this interpreter's packages, then in the virtual environment of that name that
scripts/peers.sh made. Nothing of the package is imported. 1 where there is none.
"""
import glob
import importlib.util
import os
import sys


def candidates(package, environment):
    spec = importlib.util.find_spec(package)
    if spec and spec.submodule_search_locations:
        yield from spec.submodule_search_locations
    venvs = os.environ.get("CONVOP_VENVS") or os.path.expanduser("~/.cache/convop/venvs")
    yield from glob.glob(os.path.join(glob.escape(venvs), environment, "lib", "python3*",
                                      "site-packages", package))


def main():
    package, folder, environment = (*sys.argv[1:], sys.argv[1])[:3]
    for candidate in candidates(package, environment):
        found = os.path.join(candidate, folder)
        if os.path.isdir(found):
            print(found)
            return 0
    print(f"{package} has no folder {folder} here", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
