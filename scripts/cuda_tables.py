#!/usr/bin/env python3
"""The tables of docs/cuda-kernels.md: resources of each kernel, and bytes that layers move.

    cuda_tables.py RESOURCES TRAFFIC DOCUMENT [--update]

RESOURCES is build/src/operator/convolution/cuda/kernels.resources ("none": built without nvcc),
TRAFFIC the program test_cuda_traffic. Compares with what the document has, or writes it there. A kernel
that spills registers is an error, and so is an image, which lies beside RESOURCES, of more than 4 MB.
Registers are compared where the compiler is the recorded one.
"""
import os
import re
import subprocess
import sys

# Threads that a multiprocessor holds at most, by architecture; each has 65536 registers, which a warp
# takes in steps of 256 (CUDA C++ Programming Guide, technical specifications).
THREADS = {"75": 1024, "80": 2048, "90": 2048, "100": 2048, "120": 1536}
REGISTERS = 65536
MOST_BYTES = 4 << 20  # of the image, which is a part of the library
ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)'.*?(\d+) bytes stack frame, "
                   r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", re.S)


def block_threads(kernel):
    return 128 if "gemm_64x64" in kernel else 256


def occupancy(kernel, registers, machine):
    """Percent of the threads that registers allow."""
    warps = REGISTERS // (-(-registers * 32 // 256) * 256)
    blocks = min(warps * 32, THREADS[machine]) // block_threads(kernel)
    return 100 * blocks * block_threads(kernel) // THREADS[machine]


def resource_table(text):
    found, faults = {}, []
    for kernel, machine, stack, *spilled, registers in ENTRY.findall(text):
        kernel = kernel.removeprefix("cvp_")
        found.setdefault(kernel, {})[machine] = int(registers)
        if int(stack) or any(map(int, spilled)):
            faults.append(f"{kernel} on {machine}: {stack} bytes of stack, {spilled} spilled")
    lines = [f"nvcc {text.splitlines()[0]}", "",
             "| kernel | " + " | ".join(f"{m[:-1]}.{m[-1]}" for m in THREADS) + " |",
             "|---|" + "--:|" * len(THREADS)]
    for kernel, by_machine in sorted(found.items()):
        cells = [f"{by_machine[m]} ({occupancy(kernel, by_machine[m], m)})" for m in THREADS]
        lines.append(f"| {kernel} | " + " | ".join(cells) + " |")
    return "\n".join(lines), faults


def image_faults(resources):
    size = os.path.getsize(os.path.join(os.path.dirname(resources), "kernels.fatbin"))
    return [f"the image has {size} bytes, allowed are {MOST_BYTES}"] if size > MOST_BYTES else []


def part(name):
    return re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.S)


def main(resources, traffic, document, update=""):
    with open(document, encoding="utf-8") as file:
        text = file.read()
    tables = {"traffic": subprocess.run([traffic, "--table"], stdout=subprocess.PIPE, text=True,
                                        check=True).stdout.strip()}
    faults = []
    if resources != "none":
        with open(resources, encoding="utf-8") as file:
            table, faults = resource_table(file.read())
        faults += image_faults(resources)
        recorded = part("resources").search(text).group(0).splitlines()[1]
        if update or recorded == table.splitlines()[0]:
            tables["resources"] = table
        else:
            print(f"registers are of {recorded}, which is not here: not compared")
    for fault in faults:
        print(fault)
    new = text
    for name, table in tables.items():
        new = part(name).sub(lambda m, t=table: m.group(1) + t + m.group(2), new)
    if update:
        with open(document, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != text:
        print(f"{document} is not what was built; {' '.join(sys.argv)} --update writes it")
    return 1 if faults or (new != text and not update) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
