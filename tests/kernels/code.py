#!/usr/bin/env python3
"""Looks at the machine code of the tiles: usage code.py ISA ARCHIVE.

In the loop of every tile all accumulators must be in registers: no vector goes to the stack or comes
from it, and where the instruction set has FMA there is one fused multiply-add for each accumulator
and no multiplication or addition apart. Compiler flags can break this without any wrong result,
at a third of the speed.
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r'^[0-9a-f]+ <((?:packing_|table_)?tile_(\d+)(?:x(\d+)|_\d)_(f32|f64))>:$')
INSTRUCTION = re.compile(r'^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$')
FULL_WIDTH = 2  # vectors of a full tile, on x86


def functions(archive):
    """Yields (name, rows, vectors, [(address, mnemonic, operands)])."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', archive], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    header, body = None, []
    for line in text.splitlines() + ['0 <>:']:
        found = FUNCTION.match(line)
        if found or line.endswith('>:'):
            if header:
                yield (header[0], int(header[1]), int(header[2] or FULL_WIDTH), body)
            header, body = (found.groups() if found else None), []
        elif header:
            found = INSTRUCTION.match(line)
            if found:
                body.append((int(found.group(1), 16), found.group(2), found.group(3)))


def loops(body):
    """The instructions between every conditional backward jump and its target. (A branch that gcc
    moved behind the end of the function comes back by a jump without condition.)"""
    for address, name, operands in body:
        if name[0] == 'j' and name != 'jmp' and re.match(r'[0-9a-f]+ <', operands):
            target = int(operands.split()[0], 16)
            inside = [line for line in body if target <= line[0] <= address]
            if inside and inside[0][0] == target and 'ret' not in (line[1] for line in inside):
                yield inside


def complaint(isa, rows, vectors, loop, stack):
    names = [name for _, name, _ in loop]
    for _, name, operands in loop:
        if rows * vectors == 1:
            break  # clang 14 keeps a lone accumulator there at -O3; it is not worth a detour
        if re.search(stack, operands) and re.search(r'%[xyz]mm', operands):
            return f'vector on the stack: {name} {operands}'
    if isa == 'baseline':
        return None
    fused = sum(name.startswith('vfmadd') for name in names)
    if fused == 0 or fused % (rows * vectors) != 0:
        return f'{fused} fused multiply-adds for {rows * vectors} accumulators'
    apart = [name for name in names if re.match(r'v(mul|add|sub)[sp][sd]', name)]
    return f'{apart[0]} in the loop' if apart else None


def main():
    isa, archive = sys.argv[1:]
    count, wrong = 0, []
    for name, rows, vectors, body in functions(archive):
        count += 1
        framed = any(line[1:] == ('mov', '%rsp,%rbp') for line in body)
        stack = r'\(%r[sb]p' if framed else r'\(%rsp'
        found = list(loops(body))
        if not found:
            wrong.append(f'{name}: no loop')
        for loop in found:
            what = complaint(isa, rows, vectors, loop, stack)
            if what:
                wrong.append(f'{name}: {what}')
    if count == 0:
        wrong.append('no tiles')
    print('\n'.join(wrong) or f'{isa}: {count} tiles')
    return 1 if wrong else 0


sys.exit(main())
