#!/usr/bin/env python3
"""Compiles each public header alone, as C99 and as C++11, with all compilers that are here.

    headers.py ROOT
"""
import glob
import os
import shutil
import subprocess
import sys

LANGUAGES = [
    ("c", "-std=c99", ["gcc", "clang"]),
    ("c++", "-std=c++11", ["g++", "clang++"]),
]
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Werror"]
# Macros that change what a header declares.
VARIANTS = [[], ["-DCONVOP_NO_SHORT_NAMES"], ["-DCONVOP_STATIC"]]


def compile_header(root, compiler, language, standard, header, variant):
    # Twice: the guard must hold. The object keeps a C file from being empty.
    text = f'#include "{header}"\n#include "{header}"\nextern int nothing;\nint nothing;\n'
    return subprocess.run(
        [compiler, "-x", language, standard, *WARNINGS, *variant, "-I", os.path.join(root, "include"),
         "-fsyntax-only", "-"], input=text, capture_output=True, text=True)


def main():
    root = sys.argv[1]
    headers = sorted(glob.glob(os.path.join(root, "include/convop/*.h")))
    compiled = wrong = 0
    for language, standard, compilers in LANGUAGES:
        here = [c for c in compilers if shutil.which(c)]
        if not here:
            print(f"no compiler for {language}: none of {', '.join(compilers)}")
            wrong += 1
        for compiler in here:
            for path in headers:
                for variant in VARIANTS:
                    header = "convop/" + os.path.basename(path)
                    done = compile_header(root, compiler, language, standard, header, variant)
                    compiled += 1
                    if done.returncode:
                        wrong += 1
                        print(f"{header}: {compiler} {standard} {' '.join(variant)}")
                        print(done.stderr)
    print(f"{len(headers)} headers, {compiled} compiled, {wrong} wrong")
    return 1 if wrong or not compiled else 0


if __name__ == "__main__":
    sys.exit(main())
