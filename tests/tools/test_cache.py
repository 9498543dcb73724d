#!/usr/bin/env python3
"""convop cache: list, path, merge, prune, clear. command.py says how it is started."""
import json
import os
import re
import resource
import subprocess
import time

from cached import BUDGET, DENSE, DEPTHWISE, Cache
from command import CONVOP, convop, main

# Lines with their checksums: the header of a format to come, and a record of the year 2001.
NEWER = "#convop-tuning\t2\tdd7f993157f8dbb4"
OLD = ("choice\tcpu=Old CPU;isa=avx2\tconvop=0\tFWD_D,old\tgemm\t1\t0.250000\t"
       "0.500000\t0\t1000000000\t\tccaf69fb8585ee27")


class Commands(Cache):
    def fill(self):
        self.ok("tune", BUDGET, "--dir=FWD_D,BWD_D", DEPTHWISE, DENSE)

    def fill_foreign(self):
        """Records of the lowest instruction set: foreign to any machine that has a higher one."""
        self.ok("tune", BUDGET, "--dir=FWD_D", DEPTHWISE, CONVOP_ISA="baseline")
        info = json.loads(self.ok("info", "--json"))
        isa, = [i["value"] for i in info["items"] if i["name"] == "instruction set"]
        if isa == "baseline":
            self.skipTest("this machine has no other instruction set")

    def test_empty(self):
        self.assertEqual(self.ok("cache", "list"), "no records\n")
        self.assertEqual(self.ok("cache", "list", "--json"), "")
        self.assertEqual(self.ok("cache", "path"), self.file + "\n")
        self.assertIn("0 damaged lines removed", self.ok("cache", "prune"))
        self.assertIn("0 records removed", self.ok("cache", "clear", "--yes"))
        self.assertFalse(os.path.exists(self.file))

    def test_list(self):
        self.fill()
        records = self.records()
        self.assertEqual(len(records), 4)
        self.assertEqual([r["problem"] for r in records], sorted(r["problem"] for r in records))
        for record in records:
            self.assertEqual(set(record), {"device", "software", "problem", "impl", "impl_version",
                                           "ms", "estimated_ms", "workspace_bytes", "when", "plan"})
            self.assertLess(abs(record["when"] - time.time()), 600)
        text = self.ok("cache", "list")
        self.assertEqual(text.count(records[0]["device"]), 1)
        for record in records:
            self.assertRegex(text, rf"(?m)^  {record['impl']}/\d+ .*  {re.escape(record['problem'])}$")

    def test_filters(self):
        self.fill()
        self.fill_foreign()
        records = self.records()
        self.assertEqual(len(records), 5)
        for key, text in (("problem", "BWD_D"), ("problem", "g8"), ("impl", records[0]["impl"][:4]),
                          ("device", "isa=baseline"), ("software", "convop="),
                          ("problem", "nowhere")):
            with self.subTest(key, text=text):
                self.assertEqual(self.records(f"--{key}={text}"),
                                 [r for r in records if text in r[key]])
        self.assertEqual(self.records("--problem=FWD_D", "--device=isa=baseline"),
                         self.records("--foreign"))
        self.assertEqual(len(self.records("--foreign")), 1)

    def test_merge_is_the_recipe_of_a_cluster(self):
        nodes = [os.path.join(self.root, name) for name in ("node1", "node2")]
        self.ok("tune", BUDGET, "--dir=FWD_D", DEPTHWISE, CONVOP_CACHE_DIR=nodes[0])
        self.ok("tune", BUDGET, "--dir=FWD_D,BWD_W", DENSE, CONVOP_CACHE_DIR=nodes[1])
        files = [self.ok("cache", "path", CONVOP_CACHE_DIR=node).strip() for node in nodes]
        text = self.ok("cache", "merge", *files)
        self.assertEqual(text.splitlines(), [f"{files[0]}: 1 record", f"{files[1]}: 2 records",
                                             f"Kept in {self.file}"])
        self.assertEqual(self.records(), sorted(self.records(CONVOP_CACHE_DIR=nodes[0]) +
                                                self.records(CONVOP_CACHE_DIR=nodes[1]),
                                                key=lambda r: r["problem"]))
        self.ok("cache", "merge", *files)
        self.assertEqual(len(self.lines()), 4)
        done = convop("bench", "--dir=FWD_D", DEPTHWISE, CONVOP_CACHE_DIR=self.folder,
                      CONVOP_VERBOSE="2")
        self.assertRegex(done.stderr, r"(?m)^convop,v1,exec,.*,cached,")

    def test_merge_that_the_disk_has_no_room_for(self):
        self.fill()
        other = os.path.join(self.root, "other")
        os.rename(self.folder, other)
        self.ok("tune", BUDGET, "--dir=BWD_D", DENSE)
        size = os.path.getsize(self.file)
        done = subprocess.run([CONVOP, "cache", "merge", os.path.join(other, "tuning.tsv")], text=True,
                              capture_output=True, env={**os.environ, "CONVOP_CACHE_DIR": self.folder},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("not kept, the tuning cache cannot be written", done.stderr)
        self.assertNotIn("Kept in", done.stdout)
        self.assertEqual(len(self.records()), 1)

    def test_merge_of_what_is_no_cache(self):
        self.fill()
        before = self.records()
        text = os.path.join(self.root, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("some\nlines\n")
        newer = os.path.join(self.root, "newer")
        with open(newer, "w", encoding="utf-8") as file:
            file.write("\n".join([NEWER, *self.lines()[1:]]) + "\n")
        for path in (text, newer, "/nowhere/tuning.tsv", self.root):
            with self.subTest(path):
                done = convop("cache", "merge", path, CONVOP_CACHE_DIR=self.folder)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(path, done.stdout + done.stderr)
                self.assertNotIn("Kept in", done.stdout)
        self.assertIn("of format 2, this version reads 1",
                      convop("cache", "merge", newer, CONVOP_CACHE_DIR=self.folder).stdout)
        self.assertEqual(self.records(), before)

    def test_prune_removes_damage(self):
        self.fill()
        lines = self.lines()
        self.append("a torn li")
        self.append("\n" + lines[1].replace("\tdepthwise\t", "\tdepthwist\t", 1) + "x\n")
        self.assertEqual(len(self.records()), 4)
        self.assertEqual(self.ok("cache", "prune"), f"2 damaged lines removed from {self.file}\n")
        self.assertEqual(sorted(self.lines()), sorted(lines))
        self.assertIn("0 damaged lines", self.ok("cache", "prune"))

    def test_prune_removes_what_is_asked_for(self):
        self.fill()
        self.fill_foreign()
        self.assertNotIn("record", self.ok("cache", "prune").split(" removed")[0])
        self.assertEqual(len(self.records()), 5)
        self.assertIn("1 record of other machines", self.ok("cache", "prune", "--foreign"))
        self.assertEqual(len(self.records()), 4)
        self.append(OLD + "\n")
        self.assertIn("0 records that are too old", self.ok("cache", "prune", "--older=36500"))
        self.assertIn("1 record that are too old", self.ok("cache", "prune", "--older=365"))
        self.assertEqual(len(self.records()), 4)
        time.sleep(1.1)
        self.assertIn("0 records that are too old", self.ok("cache", "prune", "--older=1"))
        self.assertIn("4 records that are too old", self.ok("cache", "prune", "--older=0"))
        self.assertEqual(self.records(), [])

    def test_clear_wants_yes(self):
        self.fill()
        error = self.bad(2, "cache", "clear")
        self.assertIn("4 records", error)
        self.assertIn("--yes", error)
        self.assertEqual(len(self.records()), 4)
        self.assertEqual(self.ok("cache", "clear", "--problem=BWD_D", "--yes"),
                         f"2 records removed from {self.file}\n")
        self.assertEqual(len(self.records()), 2)
        self.assertIn("2 records removed", self.ok("cache", "clear", "--yes"))
        self.assertEqual(self.records(), [])

    def test_no_file_or_none_that_can_be_written(self):
        for arguments in (["path"], ["merge", "x"], ["prune"], ["clear", "--yes"]):
            with self.subTest(arguments):
                self.assertIn("cache_dir is none",
                              self.bad(1, "cache", *arguments, CONVOP_CACHE_DIR="none"))
        self.assertEqual(self.ok("cache", "list", CONVOP_CACHE_DIR="none"), "no records\n")
        open(self.folder, "w").close()
        for arguments in (["merge", "x"], ["prune"], ["clear", "--yes"]):
            with self.subTest(arguments):
                self.assertIn("cannot be written", self.bad(1, "cache", *arguments))
        done = convop("cache", "path", CONVOP_CACHE_DIR=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, self.file + "\n"))
        self.assertIn("cannot be written", done.stderr)

    def test_info_shows_it(self):
        self.fill()
        self.assertRegex(self.ok("info"), rf"(?m)^tuning cache +{re.escape(self.file)} ")

    def test_wrong_usage_is_2(self):
        for arguments in ([], ["nonsense"], ["list", "x"], ["path", "x"], ["merge"], ["prune", "x"],
                          ["prune", "--older=x"], ["prune", "--older=-1"], ["clear", "x"],
                          ["list", "--nonsense"]):
            with self.subTest(arguments):
                self.assertIn("--help", self.bad(2, "cache", *arguments))

    def test_help(self):
        for command in ([], ["list"], ["path"], ["merge"], ["prune"], ["clear"]):
            with self.subTest(command):
                text = self.ok("cache", *command, "--help")
                self.assertRegex(text, r"\AUsage: convop cache")
                self.assertRegex(text, r"Examples?:\n +\S")
        for command in ("tune", "cache", "explain"):
            self.assertRegex(self.ok("help", command), rf"\AUsage: convop {command}")
            self.assertRegex(self.ok("--help"), rf"(?m)^  {command} +\w")


if __name__ == "__main__":
    main()
