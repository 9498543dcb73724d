#!/usr/bin/env python3
"""Compiles kernels at -O2, whatever the build has, and looks at their code: usage at_o2.py BUILD.

A distribution's flags may end in -O2, where compilers unroll less and keep more in memory. Of the kernels
in BUILD's list of commands the tiles of the widest vectors; in the long form of the tests all of them.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

KERNEL = re.compile(r'src/libcvp_(\w+?)_(baseline|avx\w+|amx)\.a\.p/')


def main():
    build, wrong = pathlib.Path(sys.argv[1]), 0
    commands = json.loads((build / 'compile_commands.json').read_text())
    kernels = [(*found.groups(), c) for c in commands for found in [KERNEL.match(c['output'])] if found]
    if int(os.environ.get('CONVOP_TEST_SCALE', '1')) == 1:
        widest = [isa for name, isa, _ in kernels if name == 'tile'][-1]
        kernels = [k for k in kernels if k[:2] == ('tile', widest)]
    with tempfile.TemporaryDirectory() as folder:
        for name, isa, command in kernels:
            words = shlex.split(command['command'])
            target = os.path.join(folder, f'{name}_{isa}.o')
            for option, path in (('-o', target), ('-MF', target + '.d')):
                words[words.index(option) + 1] = path
            words = ['-O2' if word == '-O3' else word for word in words]
            subprocess.run(words, cwd=command['directory'], check=True)
            print(f'{name}:', end=' ', flush=True)
            script = pathlib.Path(__file__).with_name('code.py')
            wrong += subprocess.run([sys.executable, script, isa, target]).returncode
    return 1 if wrong or not kernels else 0


sys.exit(main())
