#!/usr/bin/env python3
"""Compares what the library exports with symbols.txt and with the public headers.

    symbols.py ROOT SHARED STATIC            checks
    symbols.py --update ROOT SHARED STATIC   writes symbols.txt from the headers
"""
import glob
import os
import re
import subprocess
import sys

LIST = "tests/structure/symbols.txt"
PUBLIC = re.compile(r"^(convop_|conv_(forward|backward)$)")
# Names that an archive shows to the program it is linked into.
ARCHIVE = re.compile(r"^(convop_|cvp_|conv_(forward|backward)$)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# A declaration from CONVOP_API to its ";"; the name stands before "(" or, of an object, before the
# end or "[". An attribute may follow.
DECLARATION = re.compile(r"^CONVOP_API\b([^;{]*);", re.M)
NAME = re.compile(r"(\w+)\s*(?:\(|\[|$)")


def declared(root):
    names = set()
    for header in glob.glob(os.path.join(root, "include/convop/*.h")):
        with open(header, encoding="utf-8") as f:
            text = COMMENT.sub(" ", f.read())
        # Preprocessor lines may stand between a declaration and its attribute.
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        for body in DECLARATION.findall(text):
            names.add(NAME.search(body.strip()).group(1))
    return names


def symbols(*command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        parts = line.split()
        if len(parts) >= 2 and not line.endswith(":"):
            # POSIX format: name, type, value, size.
            yield parts[0].split("@")[0], parts[1]


def differ(what, left, right, left_name, right_name):
    for name in sorted(left - right):
        print(f"{what}: {name} is {left_name}, but not {right_name}")
    for name in sorted(right - left):
        print(f"{what}: {name} is {right_name}, but not {left_name}")
    return left != right


def main():
    update = sys.argv[1] == "--update"
    root, shared, static = sys.argv[-3:]
    in_headers = declared(root)
    listed_path = os.path.join(root, LIST)
    if update:
        with open(listed_path, "w", encoding="utf-8") as f:
            f.writelines(name + "\n" for name in sorted(in_headers))
    with open(listed_path, encoding="utf-8") as f:
        lines = f.read().split()
    listed = set(lines)
    # The version node of the script shows up as an absolute symbol.
    exported = {name for name, kind in symbols("nm", "-P", "-D", "--defined-only", shared)
                if kind != "A"}

    wrong = differ("headers", in_headers, listed, "declared in include/convop", "in " + LIST)
    wrong |= differ("library", exported, listed, "exported", "in " + LIST)
    if lines != sorted(listed):
        print(f"{LIST}: not sorted, or a name twice")
        wrong = True
    for name in sorted(exported):
        if not PUBLIC.match(name):
            print(f"library: {name} does not begin with convop_")
            wrong = True
    for name, kind in sorted(set(symbols("nm", "-P", "-g", "--defined-only", static))):
        if kind in "TDBRWVCi" and not ARCHIVE.match(name):
            print(f"archive: {name} begins with neither convop_ nor cvp_")
            wrong = True
    print(f"{len(exported)} exported, {len(in_headers)} declared")
    return 1 if wrong or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
