#!/usr/bin/env python3
"""Checks what no compiler checks: length of files, blanks, open ends.

    style.py ROOT            prints what is wrong, and the median length of the C files
"""
import os
import re
import statistics
import sys

MOST_LINES = 700
FOLDERS = ["src", "include", "io", "tools", "adapters", "python", "examples", "tests", "scripts", "docs", ".ci"]
TEXT = (".c", ".h", ".inc", ".cu", ".py", ".sh", ".md", ".map", ".txt", ".build")
NAMES = {"Makefile", "run", ".clang-format", ".editorconfig", ".gitignore", "meson_options.txt"}
# Product code says what it does, not what it might do one day.
FINISHED = ("src/", "include/", "io/", "tools/", "adapters/", "python/", "examples/")
OPEN_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")


def files(root):
    for name in sorted(os.listdir(root)):
        if os.path.isfile(os.path.join(root, name)) and (name.endswith(TEXT) or name in NAMES):
            yield name
    for top in FOLDERS:
        for folder, below, names in os.walk(os.path.join(root, top)):
            below[:] = [b for b in below if b != "__pycache__"]
            for name in sorted(names):
                if name.endswith(TEXT) or name in NAMES:
                    yield os.path.relpath(os.path.join(folder, name), root)


def check(path, text):
    lines = text.split("\n")
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"
    if text.endswith("\n\n"):
        yield len(lines), "blank line at the end"
    if len(lines) - 1 > MOST_LINES:
        yield MOST_LINES + 1, f"{len(lines) - 1} lines, at most {MOST_LINES}"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "blank at the end of the line"
        if "\t" in line and os.path.basename(path) != "Makefile":
            yield number, "tab"
        if path.startswith(FINISHED) and OPEN_END.search(line):
            yield number, OPEN_END.search(line).group(1)


def main():
    root = sys.argv[1]
    wrong = 0
    lengths = {}
    for path in files(root):
        with open(os.path.join(root, path), encoding="utf-8", newline="") as f:
            text = f.read()
        for number, problem in check(path, text):
            print(f"{path}:{number}: {problem}")
            wrong += 1
        if path.endswith((".c", ".h")):
            lengths[path] = text.count("\n")
    longest = max(lengths, key=lengths.get)
    print(f"{len(lengths)} C files, median {statistics.median(lengths.values()):g} lines, longest "
          f"{longest} with {lengths[longest]}; {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
