#!/usr/bin/env python3
"""Runs train_mobilenet on a few small images: how it ends, what it writes, and that the same seed
gives the same bits whatever the number of threads.

    test_train.py TRAIN_MOBILENET CONVOP
"""
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

TRAIN = CONVOP = None
SMALL = ["--num-classes=2", "--image-shape=3,16,16", "--multiplier=0.125", "--batch-size=4",
         "--num-examples=12", "--lr=0.05"]


def train(*arguments, **environment):
    return subprocess.run([TRAIN, *SMALL, *arguments], stdin=subprocess.DEVNULL, timeout=200,
                          capture_output=True, encoding="utf-8",
                          env={**os.environ, **environment})


def png(side, shade):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((shade + 5 * x * y) % 256 for x in range(side))
                    for y in range(side))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        for label in range(2):
            for i in range(6):
                path = cls.at / "images" / str(label) / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(18, 40 + 120 * label + i))
        for arguments in (["--list", "--recursive"], ["--color", "1"]):
            subprocess.run([CONVOP, "im2rec", *arguments, cls.at / "x", cls.at / "images"],
                           check=True, capture_output=True)
        cls.rec = str(cls.at / "x.rec")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def model(self, name, epoch):
        return (self.at / f"{name}-{epoch:04}.params").read_bytes()

    def train_ok(self, *arguments, **environment):
        done = train(*arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def train_bad(self, status, word, *arguments):
        done = train(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(word, done.stderr)

    def run_as(self, name, *arguments, **environment):
        return self.train_ok(f"--data-train={self.rec}", "--random-crop=1", "--seed=5",
                             f"--model-prefix={self.at / name}", *arguments, **environment)

    def test_same_seed_same_bits_for_any_threads(self):
        self.run_as("a", "--num-epochs=2", "--data-nthreads=3", CONVOP_NUM_THREADS="2")
        self.run_as("b", "--num-epochs=2", "--data-nthreads=1", CONVOP_NUM_THREADS="1")
        self.assertEqual(self.model("a", 2), self.model("b", 2))
        self.run_as("c", "--num-epochs=1")
        self.run_as("c", "--num-epochs=2", "--load-epoch=1")
        self.assertEqual(self.model("a", 2), self.model("c", 2))
        self.run_as("d", "--num-epochs=2", "--seed=6")
        self.assertNotEqual(self.model("a", 2), self.model("d", 2))

    def test_lines_and_curves(self):
        text = self.train_ok(f"--data-train={self.rec}", f"--data-val={self.rec}", "--num-epochs=2",
                             "--disp-batches=1", "--top-k=1", f"--curves={self.at / 'curves'}",
                             "--lr-step-epochs=1")
        for pattern in (r"INFO:root:Epoch\[0\] Batch \[0-1\]\tSpeed: [\d.]+ samples/sec\taccuracy=",
                        r"Epoch\[1\] Train-accuracy=\d", r"Epoch\[1\] Time cost=\d",
                        r"Epoch\[1\] Validation-accuracy=\d", r"Validation-top_k_accuracy_1=",
                        r"Update\[4\]: Change learning rate to 5.00000e-03"):
            self.assertRegex(text, pattern)
        self.assertEqual(len((self.at / "curves").read_text().splitlines()), 2)

    def test_synthetic_data_and_double(self):
        self.train_ok("--benchmark=1", "--num-epochs=1", "--dtype=float64", "--depthwise-conv-off")

    def test_usage_is_2(self):
        for word, *arguments in (("--num-epochs", "--benchmark=1", "--num-epochs=x"),
                                 ("--image-shape", "--benchmark=1", "--image-shape=3,7,16"),
                                 ("--network", "--benchmark=1", "--network=resnet"),
                                 ("--data-train",), ("--help", "--nonsense")):
            with self.subTest(word):
                self.train_bad(2, word, *arguments)

    def test_what_is_not_there_is_1(self):
        for flag in ("--gpus=0", "--kv-store=dist_sync", "--dtype=float16"):
            self.train_bad(1, "not there yet", "--benchmark=1", flag)

    def test_bad_files_are_1_and_named(self):
        self.train_bad(1, "nope.rec", "--data-train=/nope.rec")
        short = self.at / "short.rec"
        short.write_bytes(pathlib.Path(self.rec).read_bytes()[:-70])
        self.train_bad(1, "truncated", f"--data-train={short}", "--num-epochs=1")
        bad = self.at / "bad.rec"
        data = bytearray(pathlib.Path(self.rec).read_bytes())
        data[32:36] = b"\0\0\0\0"  # where the first image begins
        bad.write_bytes(data)
        self.train_bad(1, "record 0", f"--data-train={bad}", "--num-epochs=1")
        text = self.train_ok(f"--data-train={bad}", "--num-epochs=1", "--skip-bad-images")
        self.assertIn("1 images did not decode", text)
        self.train_bad(1, "cannot be written", f"--data-train={self.rec}", "--num-epochs=1",
                       "--model-prefix=/dev/full/x")
        self.train_bad(1, "cannot be opened", f"--data-train={self.rec}", "--load-epoch=7",
                       f"--model-prefix={self.at / 'none'}")

    def test_interrupt_saves_and_ends(self):
        prefix = self.at / "i"
        process = subprocess.Popen([TRAIN, *SMALL, "--benchmark=1", "--num-examples=1000000",
                                    f"--model-prefix={prefix}", "--disp-batches=1"],
                                   stderr=subprocess.PIPE, encoding="utf-8")
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertTrue((self.at / "i-0000.params").exists())
        self.train_ok("--benchmark=1", "--num-epochs=1", "--load-epoch=0",
                      f"--model-prefix={prefix}")

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "a sanitizer keeps what is freed")
    def test_memory_is_flat(self):
        process = subprocess.Popen([TRAIN, *SMALL, "--benchmark=1", "--num-examples=100000000",
                                    "--disp-batches=20"], stderr=subprocess.PIPE, encoding="utf-8")

        def resident():
            text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            return int(text.split("VmRSS:")[1].split()[0])

        for _ in range(2):
            process.stderr.readline()
        before = resident()
        for _ in range(10):
            process.stderr.readline()
        after = resident()
        process.kill()
        process.stderr.close()
        process.wait()
        self.assertLess(after - before, 1024)  # KiB, over 200 steps


if __name__ == "__main__":
    CONVOP = sys.argv.pop(2)
    TRAIN = sys.argv.pop(1)
    unittest.main()
