#!/usr/bin/env python3
"""Runs `convop im2rec` and checks lists, records, messages and exit statuses.

    test_im2rec.py [CONVOP]    without CONVOP, which is then not built with it: 77, skipped
"""
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import files

CONVOP = None


def im2rec(*arguments, cwd):
    return subprocess.run([CONVOP, "im2rec", *arguments], stdin=subprocess.DEVNULL, cwd=cwd,
                          capture_output=True, encoding="utf-8", timeout=240)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def read(path):
    with open(path, "rb") as f:
        return f.read()


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = os.path.join(self.folder.name, "root")
        os.mkdir(self.root)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def run_ok(self, *arguments):
        done = im2rec(*arguments, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def run_bad(self, status, *arguments):
        done = im2rec(*arguments, cwd=self.folder.name)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn("convop", done.stderr)
        return done.stderr

    def no_temporary(self):
        self.assertEqual([n for n in os.listdir(self.folder.name) if ".tmp" in n], [])


class Lists(Case):
    TREE = ["b/2.jpg", "b/10.jpg", "b/x.PNG", "a/z/1.jpeg", "a/y.jpg", "top.jpg", "c/none.txt",
            "c/.jpg", "d/.hidden.jpg", "a b/with blank.jpg", "\u00e9/\u00fc.jpg"]

    def make_tree(self):
        for name in self.TREE:
            write(self.path("root", name), b"")
        os.symlink("../b", self.path("root", "a", "link"))
        os.symlink("nowhere", self.path("root", "a", "broken.jpg"))

    def expected(self, recursive):
        """What the walk finds, worked out with Python's own functions."""
        found, labels = [], {}
        for path, folders, names in os.walk(self.root, followlinks=True):
            folders.sort()
            for name in sorted(names):
                full = os.path.join(path, name)
                if os.path.isfile(full) and \
                        os.path.splitext(name)[1].lower() in (".jpg", ".jpeg", ".png"):
                    label = labels.setdefault(path, len(labels))
                    found.append((len(found), os.path.relpath(full, self.root), label))
            if not recursive:
                break
        return found, [f"{os.path.relpath(path, self.root)} {n}" for path, n in labels.items()]

    @staticmethod
    def text(found):
        return "".join(f"{i}\t{label:f}\t{path}\n" for i, path, label in found).encode()

    def test_recursive(self):
        self.make_tree()
        found, labels = self.expected(True)
        self.assertEqual(len(found), 12)
        done = self.run_ok("--list", "--recursive", "--no-shuffle", "p", "root")
        self.assertEqual(read(self.path("p.lst")), self.text(found))
        self.assertEqual(done.stdout.splitlines(), labels)
        self.assertEqual(done.stderr, "p.lst: 12 images\n")
        self.run_ok("--list", "--recursive", "p", "root/")
        random.seed(100)
        random.shuffle(found)
        self.assertEqual(read(self.path("p.lst")), self.text(found))
        self.no_temporary()

    def test_flat(self):
        self.make_tree()
        found, _ = self.expected(False)
        done = self.run_ok("--list", "--no-shuffle", "p", "root")
        self.assertEqual(read(self.path("p.lst")), self.text(found))
        self.assertEqual(done.stdout, "")

    def test_shuffle_of_many_sizes(self):
        for n in (1, 2, 3, 4, 255, 256, 257, 1000):
            while len(os.listdir(self.root)) < n:
                write(self.path("root", f"{len(os.listdir(self.root)):05}.jpg"), b"")
            found, _ = self.expected(False)
            random.seed(100)
            random.shuffle(found)
            self.run_ok("--list", "p", "root")
            self.assertEqual(read(self.path("p.lst")), self.text(found), n)

    def test_chunks_and_parts(self):
        for i in range(23):
            write(self.path("root", f"{i:02}.jpg"), b"")
        found, _ = self.expected(False)
        for chunks, train, test in ((1, .5, 0), (1, .7, .3), (3, .6, .2), (4, .1, .9), (23, .5, .5),
                                    (30, .9, 0), (2, 0, 0), (5, .29, .57)):
            with self.subTest(chunks=chunks, train=train, test=test):
                for name in os.listdir(self.folder.name):
                    if name.endswith(".lst"):
                        os.remove(self.path(name))
                self.run_ok("--list", "--no-shuffle", "--chunks", str(chunks), "--train-ratio",
                            str(train), f"--test-ratio={test}", "p", "root")
                size = (23 + chunks - 1) // chunks
                wanted = {}
                for c in range(chunks):
                    chunk = found[c * size:(c + 1) * size]
                    stem = f"p_{c}" if chunks > 1 else "p"
                    a, b = int(size * test), int(size * train)
                    if test:
                        wanted[stem + "_test.lst"] = chunk[:a]
                    if train + test < 1:
                        wanted[stem + "_val.lst"] = chunk[a + b:]
                    wanted[stem + "_train.lst"] = chunk[a:a + b]
                got = {n: read(self.path(n)) for n in os.listdir(self.folder.name)
                       if n.endswith(".lst")}
                self.assertEqual(got, {n: self.text(f) for n, f in wanted.items()})

    def test_extensions_up_to_the_next_option(self):
        for name in ("a.jpg", "b.bmp", "c.tif", "d.png"):
            write(self.path("root", name), b"")
        for arguments in (["p", "root", "--exts", ".bmp", ".TIF"],
                          ["--exts", ".bmp", ".tif", "--list", "p", "root"],
                          ["--exts=.bmp,.tif", "--list", "p", "root"]):
            self.run_ok("--list", "--no-shuffle", *arguments)
            self.assertEqual(read(self.path("p.lst")),
                             b"0\t0.000000\tb.bmp\n1\t0.000000\tc.tif\n")

    def test_what_is_refused(self):
        self.assertIn("extension", self.run_bad(1, "--list", "p", "root"))
        self.assertIn("No such file", self.run_bad(1, "--list", "p", "nowhere"))
        write(self.path("root", "tab\there.jpg"), b"")
        self.assertIn("tab", self.run_bad(1, "--list", "p", "root"))
        for wrong in (["--chunks", "0"], ["--chunks", "x"], ["--train-ratio", "1.5"],
                      ["--test-ratio", "0.1"], ["--exts", "jpg", "--list"], ["--color", "2"],
                      ["--encoding", ".bmp"], ["--quality", "101"], ["--num-thread", "0"],
                      ["third"], ["--nonsense"]):
            self.assertIn("--help", self.run_bad(2, "--list", "p", "root", *wrong), wrong)
        self.assertFalse(os.path.exists(self.path("p.lst")))
        self.no_temporary()

    def test_loop_of_links_ends(self):
        write(self.path("root", "a", "1.jpg"), b"")
        os.symlink("..", self.path("root", "a", "up"))
        done = self.run_ok("--list", "--recursive", "p", "root")
        self.assertIn("leads back", done.stderr)
        self.assertEqual(read(self.path("p.lst")), b"0\t0.000000\ta/1.jpg\n")


class Records(Case):
    def make(self, lines, **images):
        for name, data in images.items():
            write(self.path("root", name.replace("_", ".")), data)
        write(self.path("p.lst"), "".join(line + "\n" for line in lines).encode())

    @staticmethod
    def record(payload):
        return struct.pack("<II", 0xced7230a, len(payload)) + payload + b"\0" * (-len(payload) % 4)

    def test_pass_through(self):
        a, b, c = b"anything", b"\x0a\x23\xd7" * 7, b"x"
        self.make(["7\t1.5\ta.jpg", "", "3\t2\t-4\tb.jpg", "18446744073709551615\t1e3\tc.png\r"],
                  a_jpg=a, b_jpg=b, c_png=c)
        payloads = [struct.pack("<IfQQ", 0, 1.5, 7, 0) + a, struct.pack("<IfQQ", 0, 2, 3, 0) + b,
                    struct.pack("<IfQQ", 0, 1000, 2**64 - 1, 0) + c]
        for threads in (1, 3):
            done = self.run_ok("--pass-through", "--num-thread", str(threads), "p", "root")
            self.assertIn("p.rec: 3 records", done.stderr)
            self.assertEqual(read(self.path("p.rec")), b"".join(map(self.record, payloads)))
            self.assertEqual(read(self.path("p.idx")),
                             b"7\t0\n3\t40\n18446744073709551615\t96\n")
        self.run_ok("--pass-through", "--pack-label", "p", "root")
        payloads[1] = struct.pack("<IfQQ2f", 2, 0, 3, 0, 2, -4) + b
        self.assertEqual(read(self.path("p.rec")), b"".join(map(self.record, payloads)))
        self.no_temporary()

    def test_magic_in_an_image_is_cut(self):
        magic = struct.pack("<I", 0xced7230a)
        self.make(["0\t0\ta.jpg"], a_jpg=b"1234" + magic + b"56")
        self.run_ok("--pass-through", "p", "root")
        head = struct.pack("<IfQQ", 0, 0, 0, 0) + b"1234"
        self.assertEqual(read(self.path("p.rec")),
                         magic + struct.pack("<I", 1 << 29 | len(head)) + head +
                         magic + struct.pack("<I", 3 << 29 | 2) + b"56\0\0")

    def test_encoding_is_the_same_for_any_number_of_threads(self):
        for i in range(40):
            write(self.path("root", f"{i}.png"),
                  files.png(20 + i, 50 - i, lambda x, y: (5 * x % 256, 5 * y % 256, i)))
        self.run_ok("--list", "p", "root")
        outcomes = set()
        for threads in "1", "2", "4":
            self.run_ok("--resize", "16", "--num-thread", threads, "p", "root")
            outcomes.add((read(self.path("p.rec")), read(self.path("p.idx"))))
        self.assertEqual(len(outcomes), 1)
        found = files.records(read(self.path("p.rec")))
        self.assertEqual(len(found), 40)
        for _, payload in found:
            self.assertEqual(payload[24:26], b"\xff\xd8")

    def test_png_keeps_the_pixels(self):
        image = files.png(5, 3, lambda x, y: (x * 50, y * 80, 7))
        self.make(["0\t0\ta.png"], a_png=image)
        self.run_ok("--encoding", ".png", "p", "root")
        first = files.records(read(self.path("p.rec")))[0][1][24:]
        self.assertEqual(first[:8], image[:8])
        write(self.path("root", "a.png"), first)
        self.run_ok("--encoding", ".png", "p", "root")
        self.assertEqual(files.records(read(self.path("p.rec")))[0][1][24:], first)

    def test_bad_images_stop_or_are_skipped(self):
        good = files.jpegs()["jpg.gray_keep"]
        cut = files.jpegs()["jpg.trunc_no_eoi"]
        self.make(["0\t0\ta.jpg", "1\t1\tbad.jpg", "2\t2\tcut.jpg", "3\t3\tmissing.jpg",
                   "4\t4\tempty.jpg", "5\t5\tb.jpg"],
                  a_jpg=good, bad_jpg=b"nonsense", cut_jpg=cut, empty_jpg=b"", b_jpg=good)
        write(self.path("p.rec"), b"old")
        write(self.path("p.idx"), b"old index")
        message = self.run_bad(1, "p", "root")
        self.assertIn("line 2", message)
        self.assertIn("root/bad.jpg", message)
        self.assertEqual((read(self.path("p.rec")), read(self.path("p.idx"))), (b"old", b"old index"))
        self.no_temporary()
        for threads in "1", "4":
            done = self.run_ok("--skip-bad-images", "--num-thread", threads, "p", "root")
            for name in "bad.jpg", "cut.jpg", "missing.jpg", "empty.jpg":
                self.assertIn("root/" + name, done.stderr)
            self.assertIn("2 records", done.stderr)
            self.assertIn("4 bad images skipped", done.stderr)
            found = files.records(read(self.path("p.rec")))
            self.assertEqual([struct.unpack_from("<IfQQ", p)[1:3] for _, p in found],
                             [(0, 0), (5, 5)])
            self.assertEqual(read(self.path("p.idx")), f"0\t0\n5\t{found[1][0]}\n".encode())
        done = self.run_ok("--skip-bad-images", "--keep-damaged", "p", "root")
        self.assertIn("3 records", done.stderr)

    def test_lists_that_are_wrong(self):
        for lines, words in ((["0\t0"], "line 1"), (["0\t0\ta.jpg", "x\t0\tb.jpg"], "line 2"),
                             (["0\tlabel\ta.jpg"], "label"), (["-1\t0\ta.jpg"], "index"),
                             (["1\t0\ta.jpg", "", "1\t0\ta.jpg"], "line 3")):
            self.make(lines, a_jpg=b"x")
            message = self.run_bad(1, "--pass-through", "p", "root")
            self.assertIn(words, message)
            self.assertFalse(os.path.exists(self.path("p.rec")))
        os.remove(self.path("p.lst"))
        self.assertIn("no list", self.run_bad(1, "p", "root"))

    def test_every_list_of_the_prefix(self):
        write(self.path("root", "a.jpg"), b"a")
        for name in "p_train.lst", "p_val.lst", "q.lst":
            write(self.path(name), b"0\t0\ta.jpg\n")
        self.run_ok("--pass-through", "p", "root")
        made = {n for n in os.listdir(self.folder.name) if n.endswith(".rec")}
        self.assertEqual(made, {"p_train.rec", "p_val.rec"})
        self.run_ok("--pass-through", ".", "root")
        self.assertTrue(os.path.exists(self.path("q.rec")))

    def test_full_disk(self):
        self.make(["0\t0\ta.jpg"], a_jpg=b"a" * 100000)
        os.symlink("/dev/full", self.path("p.rec"))
        self.assertIn("No space left", self.run_bad(1, "--pass-through", "p", "root"))
        self.no_temporary()

    def end_early(self, number):
        image = files.png(400, 400, lambda x, y: (x * y % 256, x % 256, y % 256))
        self.make([f"{i}\t0\ta.png" for i in range(5000)], a_png=image)
        write(self.path("p.rec"), b"old")
        child = subprocess.Popen([CONVOP, "im2rec", "p", "root"], cwd=self.folder.name,
                                 stderr=subprocess.PIPE, encoding="utf-8")
        while not [n for n in os.listdir(self.folder.name) if n.startswith("p.idx.")]:
            self.assertIsNone(child.poll())
            time.sleep(0.01)
        time.sleep(0.05)
        child.send_signal(number)
        _, message = child.communicate(timeout=60)
        self.assertEqual(read(self.path("p.rec")), b"old")
        self.assertFalse(os.path.exists(self.path("p.idx")))
        return child.returncode, message

    def test_interrupt_leaves_the_old_file(self):
        for number in signal.SIGINT, signal.SIGTERM:
            status, message = self.end_early(number)
            self.assertEqual(status, 1)
            self.assertIn("interrupted", message)
            self.no_temporary()

    def test_kill_leaves_the_old_file(self):
        self.assertEqual(self.end_early(signal.SIGKILL)[0], -signal.SIGKILL)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("convop was built without io/ (TurboJPEG and libpng)")
        sys.exit(77)
    CONVOP = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
