#!/usr/bin/env python3
"""Compiles the CUDA kernels of all architectures into one image, and a C file that embeds it.

    build.py NVCC ROOT SOURCE FATBIN C-FILE RESOURCES DEPFILE

RESOURCES is what the assembler says about each kernel: registers, spills, shared memory. PTX is made
once, for the oldest architecture: kernels use nothing newer. Machine code of one architecture runs on
the later ones of its generation (8.0 on 8.6 and 8.9, 12.0 on 12.1); on the rest, and on what is to
come, the driver compiles the PTX.
"""
import re
import subprocess
import sys

OLDEST = "75"
MACHINES = ["75", "80", "90", "100", "120"]
C_FILE = """/* Embeds the image of the CUDA kernels; written by build.py. */
#include "src/operator/convolution/cuda/image.h"

/* It is read by the driver alone, which wants it aligned. */
__asm__(".section .rodata\\n"
        ".balign 64\\n"
        ".global cvp_cuda_image\\n"
        ".hidden cvp_cuda_image\\n"
        "cvp_cuda_image:\\n"
        ".incbin \\"{path}\\"\\n"
        ".byte 0\\n"
        ".previous\\n");
const size_t cvp_cuda_image_size = {size};
const char cvp_cuda_architectures[] = "{machines}";
"""


def codes():
    return ",".join([f"sm_{m}" for m in MACHINES] + [f"compute_{OLDEST}"])


def main(nvcc, root, source, fatbin, c_file, resources, depfile):
    command = [nvcc, "-std=c++17", "-O3", f"-I{root}", "--threads", "2", "-Xptxas", "-v",
               "-Werror", "all-warnings", "-gencode", f"arch=compute_{OLDEST},code=[{codes()}]",
               "-Xfatbin", "-compress-all", "--compress-mode=size", "-fatbin",
               "-MD", "-MF", depfile, "-o", fatbin, source]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr)
        return done.returncode
    version = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True)
    with open(resources, "w", encoding="utf-8") as out:
        out.write(re.search(r"V([\d.]+)", version.stdout).group(0) + "\n")
        # How long it took is of no interest, and differs.
        out.write(re.sub(r"^ptxas info +: Compile time.*\n", "", done.stderr, flags=re.M))
    with open(fatbin, "rb") as image:
        size = len(image.read())
    with open(c_file, "w", encoding="utf-8") as out:
        out.write(C_FILE.format(path=fatbin, size=size, machines=", ".join(MACHINES)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
