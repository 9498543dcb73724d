#!/usr/bin/env python3
"""Compiles and runs the C program that README.md prints, as printed.

    readme.py ROOT BUILD_SRC     BUILD_SRC: where libconvop.so lies
"""
import os
import re
import subprocess
import sys
import tempfile


def main():
    root, library = sys.argv[1], os.path.abspath(sys.argv[2])
    text = open(os.path.join(root, "README.md"), encoding="utf-8").read()
    programs = [p for p in re.findall(r"```c\n(.*?)```", text, re.S) if "int main" in p]
    if not programs:
        sys.exit("README.md has no C program")
    for program in programs:
        wanted = re.search(r"/\* (.*?) \*/\n    return 0;", program)
        with tempfile.TemporaryDirectory() as folder:
            source, binary = os.path.join(folder, "sample.c"), os.path.join(folder, "sample")
            open(source, "w", encoding="utf-8").write(program)
            subprocess.run(
                ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", source, "-o", binary]
                + [f"-I{root}/include", f"-L{library}", "-lconvop", f"-Wl,-rpath,{library}"],
                check=True,
            )
            printed = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
        if not wanted or printed.strip() != wanted.group(1):
            sys.exit(f"README.md's program printed {printed.strip()!r}, its comment says otherwise")
    print(f"{len(programs)} programs of README.md ran as printed")


main()
