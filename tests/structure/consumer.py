#!/usr/bin/env python3
"""Installs the library into a temporary folder, compiles a program against it with what
pkg-config says, and runs it: with the shared library and with the archive.

    consumer.py ROOT BUILD VERSION MESON COMPILER...
"""
import os
import shutil
import subprocess
import sys
import tempfile


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)
    if done.returncode:
        print("$ " + " ".join(command))
        print(done.stdout)
        sys.exit(1)
    return done.stdout


def find(folder, name):
    for path, _, names in os.walk(folder):
        if name in names:
            return path
    print(f"{name} was not installed")
    sys.exit(1)


def try_out(root, build, version, meson, compiler, folder):
    installed = os.path.join(folder, "installed")
    run([*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", installed])
    pc = find(installed, "convop.pc")
    libraries = find(installed, "libconvop.so")
    env = dict(os.environ, PKG_CONFIG_PATH=pc, PKG_CONFIG_SYSROOT_DIR=installed)

    def ask(*question):
        return run(["pkg-config", *question, "convop"], env=env).split()

    if ask("--modversion") != [version]:
        print(f"convop.pc says version {ask('--modversion')}, the build is {version}")
        return 1
    source = os.path.join(root, "tests/structure/consumer.c")
    shared, static = os.path.join(folder, "shared"), os.path.join(folder, "static")
    run([*compiler, source, "-o", shared, *ask("--cflags", "--libs")])
    run([shared], env=dict(os.environ, LD_LIBRARY_PATH=libraries))

    # The archive by name, and what convop.pc says that it needs.
    needs = ["-l:libconvop.a" if flag == "-lconvop" else flag for flag in ask("--static", "--libs")]
    run([*compiler, source, "-o", static, *ask("--cflags"), *needs])
    run([static])
    return 0


def main():
    root, build, version, meson = sys.argv[1:5]
    if not shutil.which("pkg-config"):
        print("pkg-config is not here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return try_out(root, build, version, meson.split(), sys.argv[5:], folder)


if __name__ == "__main__":
    sys.exit(main())
