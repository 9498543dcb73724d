#!/usr/bin/env python3
"""Compares `convop im2rec` with MXNet's im2rec.py: lists, records and index byte for byte, encoded
images byte for byte as well, where both use the same JPEG library, else pixel by pixel.

    test_mxnet.py [CONVOP]    77, skipped, without CONVOP or without MXNet (scripts/peers.sh mxnet)
"""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

CONVOP = PYTHON = IM2REC = None
MAGIC = bytes.fromhex("0a23d7ce")

# Runs in MXNet's environment: smooth pictures with noise, of many sizes; and files that hold the
# magic word at every alignment.
MAKE = r"""
import os, sys, numpy as np, cv2
root = sys.argv[1]
rng = np.random.RandomState(5)
for i in range(24):
    h, w = rng.randint(20, 260, 2)
    small = rng.randint(0, 256, (5, 6, 3)).astype(np.uint8)
    image = cv2.resize(small, (int(w), int(h)), interpolation=cv2.INTER_CUBIC).astype(int)
    image = np.clip(image + rng.randint(-9, 10, image.shape), 0, 255).astype(np.uint8)
    os.makedirs(os.path.join(root, str(i % 3)), exist_ok=True)
    name = os.path.join(root, str(i % 3), "%d" % i)
    if i % 6 == 0:
        cv2.imwrite(name + ".png", image)
    elif i % 6 == 1:
        cv2.imwrite(name + ".jpg", image[:, :, 0])
    elif i % 6 == 2:
        cv2.imwrite(name + ".png", np.dstack([image, image[:, :, :1]]))
    elif i % 6 == 3:
        cv2.imwrite(name + ".png", image[:, :, 0].astype(np.uint16) * 257 - 3)
    else:
        cv2.imwrite(name + ".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 60 + i])
"""

# Prints a line a record: label and id, then how the two files differ.
COMPARE = r"""
import sys, numpy as np, cv2, mxnet as mx
def read(path):
    r = mx.recordio.MXRecordIO(path, "r")
    out = []
    while True:
        s = r.read()
        if s is None:
            return out
        out.append(mx.recordio.unpack(s))
a, b = read(sys.argv[1]), read(sys.argv[2])
assert len(a) == len(b), (len(a), len(b))
for (ha, ia), (hb, ib) in zip(a, b):
    assert str(ha) == str(hb), (ha, hb)
    x, y = [cv2.imdecode(np.frombuffer(i, np.uint8), -1) for i in (ia, ib)]
    assert x.shape == y.shape, (x.shape, y.shape)
    print(int(ia == ib), int(np.abs(x.astype(int) - y).max()))
"""


def environment():
    folder = os.environ.get("CONVOP_VENVS") or os.path.expanduser("~/.cache/convop/venvs")
    python = os.path.join(folder, "mxnet", "bin", "python")
    if not os.path.exists(python):
        return None, None
    found = subprocess.run([python, "-c", "import cv2, mxnet; print(mxnet.__file__)"],
                           capture_output=True, encoding="utf-8")
    if found.returncode:
        return None, None
    tool = os.path.join(os.path.dirname(found.stdout.strip()), "tools", "im2rec.py")
    return python, tool if os.path.exists(tool) else None


class Compare(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = os.path.join(self.folder.name, "root")
        for name in "root", "ours", "theirs":
            os.mkdir(os.path.join(self.folder.name, name))

    def both(self, *arguments, root=None):
        for name, command in (("ours", [CONVOP, "im2rec"]), ("theirs", [PYTHON, IM2REC])):
            prefix = os.path.join(self.folder.name, name, "p")
            done = subprocess.run([*command, prefix, root or self.root, *arguments],
                                  capture_output=True, encoding="utf-8", timeout=240)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def same_files(self, *ends):
        names = {}
        for who in "ours", "theirs":
            paths = glob.glob(os.path.join(self.folder.name, who, "*"))
            names[who] = {}
            for path in paths:
                if path.endswith(ends):
                    with open(path, "rb") as f:
                        names[who][os.path.basename(path)] = f.read()
        self.assertEqual(names["ours"].keys(), names["theirs"].keys())
        self.assertTrue(names["ours"])
        for name, data in names["ours"].items():
            self.assertEqual(data, names["theirs"][name], name)

    def test_lists(self):
        for i in range(37):
            path = os.path.join(self.root, "abcd"[i % 4] + "x" * (i % 2), f"{i}.jpg")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").close()
        for arguments in ([], ["--no-shuffle"], ["--chunks", "4"],
                          ["--train-ratio", "0.7", "--test-ratio", "0.1"],
                          ["--chunks", "3", "--train-ratio", "0.25"]):
            for name in glob.glob(os.path.join(self.folder.name, "*", "*.lst")):
                os.remove(name)
            self.both("--list", "--recursive", *arguments)
            self.same_files(".lst")

    def test_records_with_the_magic_word_anywhere(self):
        lines = []
        for n in range(64):
            data = b"ab" * (n % 4) + MAGIC * (n % 3) + b"x" * (n % 5) + MAGIC + b"y" * (n % 7) + b"z"
            with open(os.path.join(self.root, f"{n}.jpg"), "wb") as f:
                f.write(data + MAGIC * (n % 2))
            labels = "\t".join(str(i / 8) for i in range(n % 3 + 1))
            lines.append(f"{5 * n}\t{labels}\t{n}.jpg\n")
        for who in "ours", "theirs":
            with open(os.path.join(self.folder.name, who, "p.lst"), "w", encoding="utf-8") as f:
                f.writelines(lines)
        for arguments in ([], ["--pack-label"]):
            self.both("--pass-through", *arguments)
            self.same_files(".rec", ".idx")

    def test_encoded(self):
        subprocess.run([PYTHON, "-c", MAKE, self.root], check=True)
        self.both("--list", "--recursive")
        # Equal bytes for JPEG; with PNG the compressor may choose otherwise.
        for arguments in ([], ["--resize", "64"], ["--center-crop", "--resize", "50"],
                          ["--color", "0", "--resize", "99"], ["--resize", "300", "--quality", "80"],
                          ["--encoding", ".png", "--quality", "3", "--resize", "70"]):
            with self.subTest(arguments):
                self.both(*arguments)
                done = subprocess.run(
                    [PYTHON, "-c", COMPARE, *(os.path.join(self.folder.name, who, "p.rec")
                                              for who in ("ours", "theirs"))],
                    capture_output=True, encoding="utf-8")
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
                self.assertEqual(len(rows), 24)
                print(arguments, "equal bytes:", sum(r[0] for r in rows), "of 24; largest"
                      " difference of a pixel:", max(r[1] for r in rows))
                self.assertLessEqual(max(r[1] for r in rows), 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("convop was built without io/ (TurboJPEG and libpng)")
        sys.exit(77)
    CONVOP = os.path.abspath(sys.argv.pop(1))
    PYTHON, IM2REC = environment()
    if not IM2REC:
        print("MXNet and OpenCV are not here: scripts/peers.sh mxnet installs them")
        sys.exit(77)
    unittest.main(verbosity=2)
