#!/usr/bin/env python3
"""Installs the library into a temporary folder and builds two plug-ins against its headers alone, as
somebody outside of this tree would: the one of docs/plugins.md, and examples/plugin with its
Makefile. Loads them with the installed library.

    plugin.py ROOT BUILD MESON COMPILER...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from consumer import find, run


def try_out(root, build, meson, compiler, folder):
    installed = os.path.join(folder, "installed")
    run([*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", installed])
    libraries = find(installed, "libconvop.so")
    env = dict(os.environ, PKG_CONFIG_PATH=find(installed, "convop.pc"),
               PKG_CONFIG_SYSROOT_DIR=installed, LD_LIBRARY_PATH=libraries)
    flags, libs = (run(["pkg-config", what, "convop"], env=env).split()
                   for what in ("--cflags", "--libs"))

    with open(os.path.join(root, "docs/plugins.md"), encoding="utf-8") as f:
        page = f.read()
    source = os.path.join(folder, "scale.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(re.search(r"^```c\n(.*?)^```$", page, re.M | re.S).group(1))
    plugin, user = os.path.join(folder, "scale.so"), os.path.join(folder, "user")
    run([*compiler, "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
         *flags, "-o", plugin, source])
    needed = run(["readelf", "-d", plugin])
    if "convop" in needed:
        print("the plug-in links convop:\n" + needed)
        return 1
    run([*compiler, os.path.join(root, "tests/structure/plugin_user.c"), "-o", user, *flags, *libs])
    run([user, plugin], env=env)

    if not shutil.which("make"):
        return 0
    example = shutil.copytree(os.path.join(root, "examples/plugin"), os.path.join(folder, "example"))
    run(["make", "-C", example, f"CC={' '.join(compiler)}", f"CONVOP_CFLAGS={' '.join(flags)}",
         f"CONVOP_LIBS={' '.join(libs)}"], env=env)
    said = run(["./use_plugin", "./example.so"], cwd=example, env=env)
    rows = re.findall(r"Convolution runs (\S+)", said)
    if len(rows) != 3 or rows[1] != "depthwise3x3" or rows[0] != rows[2]:
        print(said)
        return 1
    return 0


def main():
    root, build, meson = sys.argv[1:4]
    if not shutil.which("pkg-config"):
        print("pkg-config is not here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return try_out(root, build, meson.split(), sys.argv[4:], folder)


if __name__ == "__main__":
    sys.exit(main())
