#!/usr/bin/env python3
"""Builds programs of users against convop, each in one way of embedding it, and runs them.

    embed.py WAY ROOT BUILD MESON COMPILER...

WAY is a method of Embed below. Most first install the library into a temporary folder. 77, skipped,
where a tool is missing.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Werror"]


class Skip(Exception):
    pass


def need(tool):
    if not shutil.which(tool):
        raise Skip(f"{tool} is not here")
    return tool


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **more)
    if done.returncode:
        print("$ " + " ".join(command))
        print(done.stdout)
        sys.exit(1)
    return done.stdout


class Embed:
    def __init__(self, root, build, meson, compiler, folder):
        self.root, self.build, self.meson = root, build, meson.split()
        self.compiler, self.folder = compiler, folder
        self.installed = os.path.join(folder, "installed")

    def source(self, name):
        return os.path.join(HERE, name)

    def example(self, name):
        return os.path.join(self.root, "examples/embedding", name)

    def install(self):
        run([*self.meson, "install", "-C", self.build, "--no-rebuild", "--quiet", "--destdir",
             self.installed])
        # What is under DESTDIR is found by its place, whatever the prefix is.
        self.pc = self.find("convop.pc")
        self.libraries = self.find("libconvop.so")
        self.cmake_config = self.find("convopConfig.cmake")

    def find(self, name):
        for path, _, names in os.walk(self.installed):
            if name in names:
                return path
        print(f"{name} was not installed")
        sys.exit(1)

    def pkg_config_env(self):
        need("pkg-config")
        return dict(os.environ, PKG_CONFIG_PATH=self.pc, PKG_CONFIG_SYSROOT_DIR=self.installed)

    def flags(self, *question):
        return run(["pkg-config", *question, "convop"], env=self.pkg_config_env()).split()

    def execute(self, *command):
        run(list(command), env=dict(os.environ, LD_LIBRARY_PATH=self.libraries))

    def compile(self, compiler, sources, *flags, libs=("--libs",)):
        program = os.path.join(self.folder, "program")
        run([*compiler, *WARNINGS, *sources, *self.flags("--cflags"), *flags,
             *(self.flags(*libs) if libs else []), "-o", program])
        return program

    def pkg_config(self):
        self.install()
        for standard in ("c99", "c11", "gnu17"):
            self.execute(self.compile(self.compiler, [self.source("consumer.c")],
                                      f"-std={standard}"))

    def archive(self):
        self.install()
        needs = ["-l:libconvop.a" if flag == "-lconvop" else flag
                 for flag in self.flags("--static", "--libs")]
        program = self.compile(self.compiler, [self.source("consumer.c")], "-DCONVOP_STATIC", *needs,
                               libs=())
        run([program])
        needed = run([need("readelf"), "-d", program])
        assert "libconvop" not in needed, needed

    def cmake(self):
        need("cmake")
        self.install()
        build = os.path.join(self.folder, "build")
        run(["cmake", "-S", self.source("cmake"), "-B", build,
             f"-Dconvop_DIR={self.cmake_config}"])
        run(["cmake", "--build", build])
        for name in ("shared", "static"):
            run([os.path.join(build, name)])
        wrong = subprocess.run(["cmake", "-S", self.source("cmake"), "-B", build + "2",
                                f"-Dconvop_DIR={self.cmake_config}", "-DWANTED=99.0"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert wrong.returncode and "99.0" in wrong.stdout, wrong.stdout

    def subproject(self):
        # It compiles the library once more, so what it makes stays in the build folder.
        project = os.path.join(self.build, "tests/embed/project")
        build = os.path.join(project, "build")
        shutil.copytree(self.source("subproject"), project, dirs_exist_ok=True)
        shutil.copy(self.source("consumer.c"), project)
        link = os.path.join(project, "subprojects/convop")
        if not os.path.islink(link):
            os.makedirs(os.path.dirname(link))
            os.symlink(self.root, link)
        run([*self.meson, "setup", build, project, "--optimization=0",
             "-Dconvop:cuda=disabled", "-Dconvop:isas=",
             *(["--reconfigure"] if os.path.exists(build) else [])])
        targets = json.loads(run([*self.meson, "introspect", build, "--targets"]))
        made = {t["name"] for t in targets if t["type"] not in ("shared library", "static library")}
        assert made == {"consumer"}, made
        run(["ninja", "-C", build, "-j2"])
        run([os.path.join(build, "consumer")])

    def cxx(self):
        found = [c for c in ("g++", "clang++") if shutil.which(c)]
        if not found:
            raise Skip("no C++ compiler is here")
        self.install()
        headers = sorted(map(os.path.basename,
                             glob.glob(os.path.join(self.root, "include/convop/*.h"))))
        every = os.path.join(self.folder, "every_header.cc")
        with open(every, "w", encoding="utf-8") as text:
            text.writelines(f"#include <convop/{name}>\n" for name in headers)
        consumer = os.path.join(self.folder, "consumer.cc")
        shutil.copy(self.source("consumer.c"), consumer)
        for compiler in found:
            for standard in ("c++11", "c++17"):
                self.execute(self.compile([compiler], [consumer, every], f"-std={standard}"))

    def load(self):
        self.install()
        program = self.compile(self.compiler, [self.source("load.c")], "-D_GNU_SOURCE", "-ldl",
                               libs=())
        for scope in ("local", "global"):
            run([program, os.path.join(self.libraries, "libconvop.so.0"), scope])

    def fork(self):
        self.install()
        self.execute(self.compile(self.compiler, [self.source("fork.c")], "-D_GNU_SOURCE"))

    def libtorch(self):
        need("g++")
        asked = subprocess.run([sys.executable, os.path.join(self.root, "adapters/find_package.py"),
                                "torch", ""], capture_output=True, text=True)
        if asked.returncode:
            raise Skip(asked.stderr.strip())
        torch = asked.stdout.strip()
        self.install()
        compiled = os.path.join(self.folder, "libtorch.o")
        # Their headers are not clean under our warnings, and need their C++.
        run(["g++", "-std=c++20", "-O0", "-c", self.example("cpp/libtorch.cc"), "-o", compiled,
             *self.flags("--cflags"), "-isystem", os.path.join(torch, "include")])
        ours = self.flags("--libs")
        theirs = ["-L" + os.path.join(torch, "lib"), "-ltorch_cpu", "-lc10",
                  "-Wl,-rpath," + os.path.join(torch, "lib"), "-Wl,--allow-shlib-undefined"]
        for order in (ours + theirs, theirs + ours):
            program = os.path.join(self.folder, "libtorch")
            run(["g++", compiled, "-Wl,--no-as-needed", *order, "-o", program])
            self.execute(program)


    def c_example(self):
        self.install()
        run([need("make"), "-C", self.folder, "-f", self.example("c/Makefile"),
             "VPATH=" + self.example("c"), "host"], env=self.pkg_config_env())
        self.execute(os.path.join(self.folder, "host"))

    def adapters(self):
        """They need convop and libc, find convop beside them, and export their functions alone."""
        exports = {"jax": r"convop_jax_conv_\w+", "tvm_ffi": r"__tvm_ffi_conv_\w+"}
        self.install()
        found = 0
        for framework, names in exports.items():
            adapter = os.path.join(self.libraries, f"libconvop_{framework}.so")
            if not os.path.exists(adapter):
                continue
            found += 1
            dynamic = run([need("readelf"), "-d", adapter])
            needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
            assert needed <= {"libconvop.so.0", "libc.so.6"}, needed
            assert re.search(r"R(UN)?PATH.*\[\$ORIGIN\]", dynamic), dynamic
            for line in run([need("nm"), "-D", "--defined-only", adapter]).splitlines():
                assert re.fullmatch(names, line.split()[-1]), line
        if not found:
            raise Skip("no adapter is built: their frameworks' headers are not here")

    def page(self):
        """The snippets of docs/embedding.md, but for Python's, as they are printed."""
        self.install()
        with open(os.path.join(self.root, "docs/embedding.md"), encoding="utf-8") as text:
            blocks = re.findall(r"^```(\w+)\n(.*?)^```", text.read(), re.M | re.S)
        with open(self.example("c/host.c"), encoding="utf-8") as text:
            host = text.read()
        with open(self.source("subproject/meson.build"), encoding="utf-8") as text:
            subproject = text.read()
        program, source = (os.path.join(self.folder, name) for name in ("program", "program.c"))
        shutil.copy(self.source("consumer.c"), source)
        for language, block in blocks:
            if language == "sh":
                run(["sh", "-c", block], cwd=self.folder, env=self.pkg_config_env())
            elif language == "cmake":
                with open(os.path.join(self.folder, "CMakeLists.txt"), "w", encoding="utf-8") as text:
                    text.write(block)
                run([need("cmake"), "-S", self.folder, "-B", self.folder + "/build",
                     f"-Dconvop_DIR={self.cmake_config}"])
                run(["cmake", "--build", self.folder + "/build"])
            elif language == "meson":
                assert block in subproject, block
            elif "int main" in block:
                with open(source, "w", encoding="utf-8") as text:
                    text.write(block)
                program = self.compile(self.compiler, [source], "-std=c99")
            else:
                assert block in host, block
                continue
            if os.path.exists(program):
                self.execute(program)
        assert {language for language, _ in blocks} == {"sh", "cmake", "meson", "c"}, blocks


def main():
    way, root, build, meson, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        try:
            getattr(Embed(root, build, meson, compiler, folder), way)()
        except Skip as why:
            print(why)
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
