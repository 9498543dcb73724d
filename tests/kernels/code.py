#!/usr/bin/env python3
"""Looks at the machine code of kernels: usage code.py ISA FILE... of objects or archives, x86.

Compiler flags and a missing pragma can break these without any wrong result, at a third of the speed:

- Tiles (gemm, tile). In the loop all accumulators are in registers: no vector goes to the stack or comes
  from it, and where the instruction set has FMA there is one fused multiply-add for each accumulator and
  no multiplication or addition apart.
- Every other function. Most of its products are fused; those of a window of k by k taps (patches_3_1...)
  are written out, two rows of them at least, or its sums are in memory; where an innermost loop multiplies
  and adds straight on, sums are in registers: a compiler that runs out of them may put away a vector here
  and there, but not one for each second product.
"""
import re
import subprocess
import sys

HEADER = re.compile(r'^[0-9a-f]+ <(\S+)>:$')
TILE = re.compile(r'(?:packing_|along_|table_|panel_)?tile_(\d+)(?:x(\d+)|_\d)_(f32|f64)')
WINDOW = re.compile(r'(?:\w+_)?(?:windows|patches)_(\d)_\d\w*_(f\d\d|bf16)')
INSTRUCTION = re.compile(r'^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$')
TARGET = re.compile(r'([0-9a-f]+) <')
FUSED = re.compile(r'vfn?m(add|sub)|vdpbf16ps')
VECTOR = re.compile(r'%[xyz]mm')
FULL_WIDTH = 2  # vectors of a full tile, on x86
# Straight code with fewer products is no kernel's inner loop.
LEAST_FUSED = 4
# Multiplications of vectors that are none of a kernel's, in a function.
MOST_APART = 10
# Depthwise windows with more values than registers: 25 weights, or, in weight gradients, a window of sums and
# its inputs. With AVX-512 gcc puts away one of five of those, clang all.
SHORT_OF_REGISTERS = {'avx2': r'filter_windows_|windows_5_', 'avx512': r'filter_windows_5_2_'}


class Function:
    """body: [(address, mnemonic, operands)]."""

    def __init__(self, name):
        self.name, self.body = name, []

    @property
    def stack(self):
        framed = any(line[1:] == ('mov', '%rsp,%rbp') for line in self.body)
        return r'\(%r[sb]p' if framed else r'\(%rsp'

    def touches_stack(self, line):
        return re.search(self.stack, line[2]) and VECTOR.search(line[2])

    def loops(self):
        """The instructions between every conditional backward jump and its target. (A branch that gcc
        moved behind the end of the function comes back by a jump without condition; clang ends some
        loops so, and has no other ones then.)"""
        return list(self.backward(lambda name: name != 'jmp')) or list(self.backward(bool))

    def backward(self, wanted):
        for address, name, operands in self.body:
            found = TARGET.match(operands)
            if name[0] == 'j' and wanted(name) and found:
                target = int(found.group(1), 16)
                inside = [line for line in self.body if target <= line[0] <= address]
                if inside and inside[0][0] == target and 'ret' not in (line[1] for line in inside):
                    yield inside

    def innermost_loops(self):
        ranges = [(loop[0][0], loop[-1][0], loop) for loop in self.loops()]
        for begin, end, loop in ranges:
            if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e, _ in ranges):
                yield loop

    def blocks(self, loop):
        """Straight pieces of it."""
        targets = {int(found.group(1), 16) for _, name, operands in self.body
                   for found in [TARGET.match(operands)] if name[0] == 'j' and found}
        piece = []
        for line in loop:
            if line[0] in targets and piece:
                yield piece
                piece = []
            piece.append(line)
            if line[1][0] == 'j':
                yield piece
                piece = []
        if piece:
            yield piece


def functions(path):
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True).stdout
    function = None
    for line in text.splitlines():
        header, instruction = HEADER.match(line), INSTRUCTION.match(line)
        if header:
            if function:
                yield function
            function = Function(header.group(1))
        elif function and instruction:
            function.body.append((int(instruction.group(1), 16), *instruction.groups()[1:]))
    if function:
        yield function


def count_fused(lines):
    return sum(bool(FUSED.match(name)) for _, name, _ in lines)


def count_apart(lines):
    return sum(name.startswith('vmulp') for _, name, _ in lines)


def check_tile_loop(isa, accumulators, function, loop):
    for line in loop:
        if accumulators == 1:
            break  # clang 14 keeps a lone accumulator there at -O3; it is not worth a detour
        if function.touches_stack(line):
            return f'vector on the stack: {line[1]} {line[2]}'
    if isa == 'baseline':
        return None
    fused = count_fused(loop)
    if fused == 0 or fused % accumulators != 0:
        return f'{fused} fused multiply-adds for {accumulators} accumulators'
    apart = [name for _, name, _ in loop if re.match(r'v(mul|add|sub)[sp][sd]', name)]
    return f'{apart[0]} in the loop' if apart else None


def check_tile(isa, function, rows, vectors):
    loops = function.loops()
    found = [check_tile_loop(isa, rows * vectors, function, loop) for loop in loops]
    return [what for what in found if what] if loops else ['no loop']


def check_other(isa, function):
    if isa == 'baseline':
        return
    window = WINDOW.fullmatch(function.name)
    if window and count_fused(function.body) < 2 * int(window.group(1)):
        yield f'{count_fused(function.body)} fused multiply-adds for a window'
    crowded = re.match(SHORT_OF_REGISTERS['avx2' if isa == 'avx2' else 'avx512'], function.name)
    apart = count_apart(function.body)
    if apart > max(count_fused(function.body), MOST_APART):
        yield f'{apart} multiplications that are not fused'
    for loop in function.innermost_loops():
        for block in function.blocks(loop):
            fused = count_fused(block)
            # In this syntax what is written comes last.
            put = [line for line in block if line[1].startswith('vmov') and
                   re.match(r'%[xyz]mm\d+,.*' + function.stack, line[2])]
            if fused >= LEAST_FUSED and 2 * len(put) > fused and not crowded:
                yield f'{len(put)} vectors to the stack at {fused} products, {put[0][0]:x}: {put[0][2]}'


def main():
    isa, *paths = sys.argv[1:]
    tiles, others, fused, apart, wrong = 0, 0, 0, 0, []
    for path in paths:
        for function in functions(path):
            tile = TILE.fullmatch(function.name)
            if tile:
                tiles += 1
                found = check_tile(isa, function, int(tile.group(1)), int(tile.group(2) or FULL_WIDTH))
            else:
                others += 1
                found = check_other(isa, function)
            fused += count_fused(function.body)
            apart += count_apart(function.body)
            wrong += [f'{function.name}: {what}' for what in found]
    if apart and not fused and isa != 'baseline':
        wrong.append('no fused multiply-add at all')
    print('\n'.join(wrong) or f'{isa}: {tiles} tiles, {others} other functions, {fused} products')
    return 1 if wrong or not tiles + others else 0


sys.exit(main())
