#!/usr/bin/env python3
"""Checks what the shared library asks of the process that loads it.

    needed.py SHARED COMPILER...

It needs libc, libm and the loader only; has no path of its own, no constructor, no resolver
(IFUNC) and no static thread-local storage; never ends the process, writes to stdout or changes
what is the whole process's. stderr is allowed: it is where log lines go by default.
"""
import os
import re
import subprocess
import sys
import tempfile

# libdl and libpthread are part of libc from glibc 2.34 on, and libraries of their own before.
ALLOWED_NEEDED = re.compile(r"^(libc|libm|libdl|libpthread|ld-linux[-\w]*)\.so(\.\d+)*$")
FORBIDDEN_CALLS = {
    "ends the process": "exit _exit _Exit quick_exit abort raise kill __assert_fail __assert "
                        "__fortify_fail err errx",
    "writes to stdout": "stdout printf vprintf puts putchar __printf_chk __vprintf_chk",
    "changes the process": "setlocale setenv putenv unsetenv clearenv srand srandom signal "
                           "sigaction atexit on_exit chdir umask system popen",
}


def out_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C")).stdout


def section_size(library, name):
    for line in out_of("readelf", "-SW", library).splitlines():
        parts = line.replace("[ ", "[").split()
        if len(parts) > 5 and parts[1] == name:
            return int(parts[5], 16)
    return 0


def empty_library(compiler, folder):
    """A library of one function: what the compiler's own start-up code brings."""
    source, library = os.path.join(folder, "empty.c"), os.path.join(folder, "empty.so")
    with open(source, "w", encoding="ascii") as f:
        f.write("int empty(void);\nint empty(void) { return 0; }\n")
    subprocess.run([*compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def check_dynamic(library):
    for line in out_of("readelf", "-dW", library).splitlines():
        needed = re.search(r"\(NEEDED\).*\[(.*)\]", line)
        if needed and not ALLOWED_NEEDED.match(needed.group(1)):
            yield f"needs {needed.group(1)}"
        if "RPATH" in line or "RUNPATH" in line or "TEXTREL" in line or "STATIC_TLS" in line:
            yield "dynamic section: " + " ".join(line.split()[1:])
    if "IRELATIV" in out_of("readelf", "-rW", library):
        yield "has a resolver (IFUNC), which runs while the library is loaded"
    if re.search(r"GNU_STACK.*RWE", out_of("readelf", "-lW", library)):
        yield "asks for an executable stack"


def check_constructors(library, compiler):
    with tempfile.TemporaryDirectory() as folder:
        plain = empty_library(compiler, folder)
        for name in (".init_array", ".fini_array", ".ctors", ".dtors", ".preinit_array"):
            ours, theirs = section_size(library, name), section_size(plain, name)
            if ours != theirs:
                yield f"{name} has {ours} bytes, a library without constructors {theirs}"


def check_calls(library):
    used = {line.split()[-1].split("@")[0]
            for line in out_of("nm", "-D", "--undefined-only", library).splitlines()}
    for why, names in FORBIDDEN_CALLS.items():
        for name in sorted(used & set(names.split())):
            yield f"uses {name}, which {why}"
    if not used:
        yield "nm shows no undefined symbol: this is not the library"


def main():
    library, compiler = sys.argv[1], sys.argv[2:]
    problems = [*check_dynamic(library), *check_constructors(library, compiler),
                *check_calls(library)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
