#!/usr/bin/env python3
"""Checks that clang-format 14 leaves every C file as it is; exit 77 (skipped) without it.

    format.py ROOT

Other versions of clang-format break lines elsewhere, so they are not asked.
"""
import collections
import os
import re
import shutil
import subprocess
import sys

FOLDERS = ["include", "src", "io", "tools", "adapters", "python", "examples", "tests"]
VERSION = 14


def find_formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path:
            text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            match = re.search(r"version (\d+)\.", text)
            if match and int(match.group(1)) == VERSION:
                return path
    return None


def main():
    root = sys.argv[1]
    formatter = find_formatter()
    if not formatter:
        print(f"clang-format {VERSION} is not here")
        return 77
    sources = sorted(
        os.path.join(folder, name)
        for top in FOLDERS for folder, _, names in os.walk(os.path.join(root, top))
        for name in names if name.endswith((".c", ".h")))
    done = subprocess.run([formatter, "--dry-run", "-Werror", *sources],
                          capture_output=True, text=True)
    places = collections.Counter(re.findall(r"^(\S+?):\d+:\d+: error:", done.stderr, re.M))
    for path, number in sorted(places.items()):
        print(f"{os.path.relpath(path, root)}: {number} places")
    if done.returncode and not places:
        print(done.stderr)
    print(f"{len(sources)} files, {len(places)} wrong; `{os.path.basename(formatter)} -i FILE` "
          "formats one")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
