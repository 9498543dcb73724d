#!/usr/bin/env python3
"""Reads the #include lines of the tree and checks that they only point down the layers.

    layers.py ROOT
"""
import os
import re
import sys

# folder -> what its files may include with "..."; a file belongs to the longest folder it is in.
COMMON = ["include/convop", "src/common"]
CUDA = COMMON + ["src/cuda"]
OPERATOR = CUDA + ["src/registry", "src/engine", "src/operator"]
MAY_INCLUDE = {
    "include/convop": ["include/convop"],
    "src/common": COMMON,
    "src/cuda": CUDA,
    "src/registry": COMMON + ["src/registry"],
    "src/engine": COMMON + ["src/engine"],
    "src/operator": OPERATOR,
    "src/graph": OPERATOR + ["src/graph"],
    "io": ["include/convop", "src/common", "io"],
    "tools": ["include/convop", "io", "tools"],
    "examples": ["include/convop", "io", "examples"],
    # Linked with the static library: it trains through the graph, whose API is private.
    "examples/mobilenet": ["include/convop", "src/graph", "io", "examples/mobilenet"],
    "adapters": ["include/convop", "adapters"],
    "python": ["include/convop", "python"],
}
# Single files that stand for themselves: the ABI of DLPack, which its consumers need whole.
STANDALONE = {"src/common/dlpack_abi.h"}
# What <...> may name in public headers: C99's headers and DLPack.
PUBLIC_SYSTEM = {"dlpack/dlpack.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h"}
# The core needs libc alone: no <...> may begin with one of these anywhere in src/.
FOREIGN = ("omp", "cblas", "cuda", "cudnn", "Python", "jpeglib", "turbojpeg", "png", "mpi", "nccl")
GENERATED = "src/config.h"
# A macro that an #include may name: a file that is included again with other types.
FILE_MACRO = re.compile(r'^\s*#\s*define\s+(\w+)\s+("[^"]+\.(?:h|inc)")\s*$')
INCLUDE = re.compile(r"^\s*#\s*include\b\s*(.*?)\s*(?:/[/*].*)?$")


def folder_of(path):
    inside = [f for f in MAY_INCLUDE if path.startswith(f + "/")]
    return max(inside, key=len, default=None)


def sources(root):
    for top in ("src", "include", "io", "tools", "examples", "adapters", "python"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".inc", ".cu", ".cuh")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def resolve(root, target):
    """The file that a root-relative "..." names, relative to the root; None if there is none."""
    for base in ("", "include/"):
        if os.path.isfile(os.path.join(root, base + target)):
            return os.path.normpath(base + target)
    return None


def check_line(root, path, folder, what, macros):
    """What is wrong with one include line of a file, or None."""
    if what.startswith("<"):
        name = what[1:].split(">")[0]
        # An example is copied out of the tree, and then it is written so.
        if folder == "examples" and name.startswith("convop/"):
            return None
        if name.startswith(("convop/", "src/")):
            return f'<{name}> is ours: write "{name}"'
        if folder == "include/convop" and name not in PUBLIC_SYSTEM:
            return f"a public header may not include <{name}>"
        if path.startswith("src/") and name.startswith(FOREIGN):
            return f"the core may not include <{name}>"
        return None
    if not what.startswith('"'):
        return None if what in macros else f"{what}: no #define of it names a file"
    name = what[1:].split('"')[0]
    if name == GENERATED:
        return f'only src/ has "{name}"' if not path.startswith("src/") else None
    found = resolve(root, name)
    if found is None:
        return f'"{name}" is no path from the root of the tree (or from include/)'
    if found.startswith("include/") and name.startswith("include/"):
        return f'write "{name[len("include/"):]}"'
    if found not in STANDALONE and folder_of(found) not in MAY_INCLUDE[folder]:
        return f'{folder} may not include "{name}"'
    return None


def lines_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as lines:
        return list(lines)


def main():
    root = sys.argv[1]
    wrong = 0
    files = {path: lines_of(root, path) for path in sources(root)}
    # The file that such a macro names counts as included where the macro is defined.
    macros = {match.group(1) for lines in files.values()
              for match in map(FILE_MACRO.match, lines) if match}
    for path, lines in files.items():
        folder = folder_of(path)
        if folder is None:
            print(f"{path}: belongs to no layer of tests/structure/layers.py")
            wrong += 1
            continue
        for number, line in enumerate(lines, 1):
            include, define = INCLUDE.match(line), FILE_MACRO.match(line)
            what = define.group(2) if define else include.group(1) if include else None
            problem = what and check_line(root, path, folder, what, macros)
            if problem:
                print(f"{path}:{number}: {problem}")
                wrong += 1
    print(f"{len(files)} files, {wrong} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
