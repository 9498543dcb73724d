"""Image files for the tests in Python: PNGs are written here, JPEGs are those of cases.json."""
import json
import os
import struct
import zlib

FOLDER = os.path.dirname(os.path.abspath(__file__))


def jpegs():
    """id -> bytes of the cases that decode."""
    with open(os.path.join(FOLDER, "cases.json"), encoding="utf-8") as f:
        cases = json.load(f)
    return {c["id"]: bytes.fromhex(c["params"]["file_hex"]) for c in cases
            if c["kind"] == "jpeg" and "file_hex" in c["params"]}


def png(width, height, pixel, channels=3):
    """A PNG whose pixel (x, y) is the tuple pixel(x, y)."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in pixel(x, y))
                    for y in range(height))
    color = {1: 0, 3: 2, 4: 6}[channels]
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def records(data):
    """The payloads of a record file whose records have one part each, with their offsets."""
    at, found = 0, []
    while at < len(data):
        magic, word = struct.unpack_from("<II", data, at)
        assert magic == 0xced7230a and word >> 29 == 0, (at, magic, word)
        found.append((at, data[at + 8:at + 8 + word]))
        at += 8 + (word + 3) // 4 * 4
    return found
