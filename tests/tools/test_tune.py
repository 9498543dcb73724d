#!/usr/bin/env python3
"""convop tune and convop explain. command.py says how they are started."""
import contextlib
import os
import pty
import re
import resource
import subprocess

from cached import BUDGET, DENSE, DEPTHWISE, Cache
from command import CONVOP, convop, main


class Tune(Cache):
    def test_measures_keeps_and_knows(self):
        first = self.objects("tune", "--json", BUDGET, "--dir=FWD_D,BWD_D,BWD_W", DEPTHWISE, DENSE)
        self.assertEqual(len(first), 6)
        kept = self.records()
        self.assertEqual(len(kept), 6)
        for result in first:
            self.assertEqual(result["outcome"], "measured")
            self.assertGreater(result["ms"], 0)
            record, = [r for r in kept if r["problem"].startswith(result["dir"] + ",")
                       and ("g8" in r["problem"]) == ("g8" in result["problem"])]
            self.assertEqual(record["impl"], result["impl"])
            self.assertAlmostEqual(record["ms"], result["ms"], delta=1e-5 + result["ms"] / 1e3)
            if result["impl"] == result["estimate"]:
                self.assertEqual(result["ms"], result["estimate_ms"])
        second = self.objects("tune", "--json", BUDGET, "--dir=FWD_D,BWD_D,BWD_W", DEPTHWISE, DENSE)
        self.assertEqual([r["outcome"] for r in second], ["known"] * 6)
        self.assertEqual([r["impl"] for r in second], [r["impl"] for r in first])
        again, = self.objects("tune", "--json", "--again", BUDGET, "--dir=FWD_D", DEPTHWISE)
        self.assertEqual(again["outcome"], "measured")
        self.assertEqual(len(self.records()), 6)

    def test_table_and_totals(self):
        text = self.ok("tune", BUDGET, "--dir=FWD_D", "--tag=nchw,nhwc", DEPTHWISE, DENSE)
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^PROBLEM +DIR +DT +TAG +WINNER +MS +ESTIMATE +MS +GAIN$")
        self.assertRegex(lines[1], r"^g8mb1\w+ +FWD_D +f32 +nchw +\w+ +[\d.]+ +\w+ +(-|[\d.]+) +(-|[\d.]+)$")
        for line in lines[1:5]:
            winner, ms, estimate, estimate_ms, gain = line.split()[-5:]
            if winner == estimate:
                self.assertEqual((ms, gain), (estimate_ms, "1.00"))
        self.assertRegex(lines[4], r"^dense one +FWD_D +f32 +nhwc ")
        self.assertRegex(lines[5], r"^4 measured, 0 known, 0 skipped, 0 failed in [\d.]+ s\.$")
        self.assertRegex(lines[6], r"^The estimate was right in \d of \d; the gain over it is [\d.]+ "
                                   r"\(geometric mean\)\.$")
        self.assertEqual(lines[7:], [f"Kept in {self.file}"])
        text = self.ok("tune", BUDGET, "--dir=FWD_D", DEPTHWISE)
        self.assertRegex(text, r"(?m)^g8mb1.* known$")
        self.assertIn("0 measured, 1 known", text)
        self.assertNotIn("geometric", text)

    def test_gain_is_the_mean_of_what_the_rows_say(self):
        text = self.ok("tune", BUDGET, "--dir=FWD_D,BWD_D,BWD_W", DEPTHWISE, DENSE)
        gains = [float(r["estimated_ms"]) / r["ms"] for r in self.records() if r["estimated_ms"]]
        mean = 1
        for gain in gains:
            mean *= gain ** (1 / len(gains))
        told = float(re.search(r"the gain over it is ([\d.]+)", text).group(1))
        self.assertAlmostEqual(told, mean, delta=0.02 * mean)

    def test_batch_file(self):
        path = os.path.join(self.root, "net")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# a net\n--dir=BWD_W {DEPTHWISE}\n--dir=FWD_D {DENSE.split('n')[0]}\n")
        results = self.objects("tune", "--json", BUDGET, f"--batch={path}")
        self.assertEqual([r["dir"] for r in results], ["BWD_W", "FWD_D"])

    def test_a_run_uses_it(self):
        environment = {"CONVOP_CACHE_DIR": self.folder, "CONVOP_VERBOSE": "2"}
        result, = self.objects("tune", "--json", BUDGET, "--dir=FWD_D", DEPTHWISE)
        done = convop("bench", "--dir=FWD_D", DEPTHWISE, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"(?m)^convop,v1,create,.*,{result['impl']},cached,")
        self.assertRegex(done.stderr, r"(?m)^convop,v1,exec,.*,cached,")
        # Another problem, and the same one with the cache switched off: the estimate.
        for problem, tune in (("g4mb1ic4ih9oc4kh3ph1", "unset"), (DEPTHWISE, "0")):
            done = convop("bench", "--dir=FWD_D", problem, CONVOP_AUTOTUNE=tune, **environment)
            self.assertRegex(done.stderr, r"(?m)^convop,v1,exec,.*,estimated,")
            self.assertNotIn("cached", done.stderr)

    def test_threads_and_types_are_problems_of_their_own(self):
        results = self.objects("tune", "--json", BUDGET, "--dir=FWD_D", "--threads=1", DEPTHWISE,
                               "--threads=2", DEPTHWISE, "--dt=f64", DEPTHWISE)
        self.assertEqual({r["outcome"] for r in results}, {"measured"})
        self.assertEqual(len(self.records("--problem=threads=1;")), 1)

    def test_fastest_has_no_limit(self):
        result, = self.objects("tune", "--json", BUDGET, "--fastest", "--dir=FWD_D", DEPTHWISE)
        record, = self.records()
        self.assertNotIn("workspace=1073741824", record["problem"])
        case, = self.objects("explain", "--json", "--dir=FWD_D", DEPTHWISE)
        self.assertEqual(result["estimate"], case["chosen"])

    def test_a_row_that_is_asked_for_is_not_the_estimate(self):
        case, = self.objects("explain", "--json", "--dir=FWD_D", DENSE)
        result, = self.objects("tune", "--json", BUDGET, "--dir=FWD_D", DENSE,
                               CONVOP_IMPL="reference")
        self.assertEqual(result["estimate"], case["chosen"])

    def test_nothing_can_be_kept(self):
        error = self.bad(1, "tune", BUDGET, DEPTHWISE, CONVOP_CACHE_DIR="none")
        self.assertIn("none", error)
        open(self.folder, "w").close()  # no folder will be made here
        error = self.bad(1, "tune", BUDGET, DEPTHWISE)
        self.assertIn(self.file, error)
        self.assertIn("cannot be written", error)

    def test_what_the_disk_has_no_room_for_is_said(self):
        self.ok("tune", BUDGET, "--dir=FWD_D", DENSE)
        size = os.path.getsize(self.file)
        done = subprocess.run([CONVOP, "tune", BUDGET, "--dir=FWD_D,BWD_D", DENSE], text=True,
                              capture_output=True, env={**os.environ, "CONVOP_CACHE_DIR": self.folder},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("measured, but not kept: cannot be written to", done.stdout)
        self.assertIn("0 measured, 1 known, 0 skipped, 1 failed", done.stdout)
        self.assertEqual(os.path.getsize(self.file), size)
        done = subprocess.run([CONVOP, "tune", BUDGET, "--dir=BWD_D", DENSE], text=True,
                              capture_output=True, env={**os.environ, "CONVOP_CACHE_DIR": self.folder},
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertNotIn("Kept in", done.stdout)

    def test_makes_two_folders_and_no_third(self):
        two, three = (os.path.join(self.root, name, *"xy"[:n]) for name, n in (("a", 1), ("b", 2)))
        self.ok("tune", BUDGET, "--dir=FWD_D", DEPTHWISE, CONVOP_CACHE_DIR=two)
        self.assertTrue(os.path.exists(os.path.join(two, "tuning.tsv")))
        self.bad(1, "tune", BUDGET, "--dir=FWD_D", DEPTHWISE, CONVOP_CACHE_DIR=three)

    def test_problem_that_is_refused(self):
        # 2^60 bytes: no row gets buffers for it.
        huge = "mb1048576ic1048576ih1024oc1kh1"
        done = convop("tune", BUDGET, "--dir=FWD_D", huge, DEPTHWISE,
                      CONVOP_CACHE_DIR=self.folder)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"1 measured, 0 known, \d skipped, \d failed")

    def test_terminal_has_one_line_that_moves(self):
        terminal, end = pty.openpty()
        done = subprocess.run([CONVOP, "tune", BUDGET, "--dir=FWD_D", DEPTHWISE, DENSE], stderr=end,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8",
                              env={**os.environ, "CONVOP_CACHE_DIR": self.folder}, timeout=240)
        os.close(end)
        told = b""
        with contextlib.suppress(OSError):  # there is no more, and nobody who could write it
            while part := os.read(terminal, 4096):
                told += part
        os.close(terminal)
        told = told.decode()
        self.assertEqual(done.returncode, 0, told)
        self.assertEqual(told, "\r\x1b[K1/2  g8mb1ic8ih9oc8kh3ph1 FWD_D"
                               "\r\x1b[K2/2  dense one FWD_D\r\x1b[K")

    def test_wrong_usage_is_2(self):
        for arguments in ([], ["--budget=0", DEPTHWISE], ["--budget=x", DEPTHWISE],
                          ["--dir=FWD", DEPTHWISE], ["--nonsense", DEPTHWISE], ["g8mb1x"],
                          ["--mode=P", DEPTHWISE]):
            with self.subTest(arguments):
                self.bad(2, "tune", *arguments)
        self.bad(1, "tune", "--batch=/nowhere/net")


class Explain(Cache):
    def explain(self, *arguments, **environment):
        return self.objects("explain", "--json", *arguments, **environment)

    def test_every_row_has_its_reason_or_its_estimate(self):
        for case in self.explain("--dir=FWD_D,BWD_D,BWD_W", DEPTHWISE, DENSE):
            with self.subTest(case["problem"], dir=case["dir"]):
                self.assertEqual(case["choice"], "estimated")
                names = [row["name"] for row in case["rows"]]
                self.assertIn(case["chosen"], names)
                self.assertIn("reference", names)
                for row in case["rows"]:
                    self.assertNotEqual(row["why_not"] is None, row["estimated_ms"] is None)
                    self.assertIsNone(row["ms"])
        row, = [r for r in self.explain("--dir=FWD_D", DENSE)[0]["rows"] if r["name"] == "depthwise"]
        self.assertIn("num_group", row["why_not"])

    def test_parameters_that_remove_rows(self):
        case, = self.explain("--depthwise-conv-off", "--dir=FWD_D", DEPTHWISE)
        row, = [r for r in case["rows"] if r["name"] == "depthwise"]
        self.assertIn("depthwise_conv_off", row["why_not"])
        self.assertNotEqual(case["chosen"], "depthwise")

    def test_a_gpu_that_is_not_here(self):
        done = convop("explain", "--device=cuda:1", DENSE, CONVOP_CUDA_LIBRARY="none")
        self.assertEqual(done.returncode, 1)
        self.assertIn('cuda:1, which is not here: the setting cuda_library is "none"', done.stdout)
        for device in ("x", "cuda:x", "cuda:-1", "cuda:1x", "cuda:", "cuda1", "cuda:9999999999"):
            self.assertIn("cuda:NUMBER", self.bad(2, "explain", f"--device={device}", DENSE))

    def test_text(self):
        text = self.ok("explain", "--dir=FWD_D,BWD_W", DENSE)
        self.assertRegex(text, r"(?m)\Adense one  FWD_D  f32  nchw\n  ROW +ESTIMATE ms +WORKSPACE\n")
        self.assertRegex(text, r"(?m)^  depthwise +no: num_group")
        self.assertRegex(text, r"(?m)^\* (\w+) +[\d.]+ +\d+\n(.*\n)*  \1 runs: it is the first by the cost model$")
        self.assertEqual(text.count("\n\n"), 1)

    def test_says_why_that_one(self):
        case, = self.explain("--dir=FWD_D", DEPTHWISE, CONVOP_IMPL="reference")
        self.assertEqual((case["chosen"], case["choice"]), ("reference", "forced"))
        self.assertIn("reference runs: the setting impl names it",
                      self.ok("explain", DEPTHWISE, CONVOP_IMPL="reference"))
        result, = self.objects("tune", "--json", BUDGET, "--dir=FWD_D", DEPTHWISE)
        case, = self.explain("--dir=FWD_D", DEPTHWISE)
        self.assertEqual((case["chosen"], case["choice"]), (result["impl"], "cached"))
        row, = [r for r in case["rows"] if r["name"] == result["impl"]]
        self.assertGreater(row["ms"], 0)
        self.assertIn("the tuning cache knows it", self.ok("explain", "--dir=FWD_D", DEPTHWISE))

    def test_measure_leaves_the_cache_alone(self):
        case, = self.explain("--measure", "--dir=FWD_D", DEPTHWISE)
        times = {row["name"]: row["ms"] for row in case["rows"]}
        self.assertGreater(times[case["fastest"]], 0)
        self.assertEqual(case["choice"], "estimated")
        self.assertEqual(self.records(), [])
        text = self.ok("explain", "--measure", "--dir=FWD_D", DEPTHWISE)
        self.assertRegex(text, r"(?m)^  \w+ was the fastest just now$")
        self.assertIn("MEASURED ms", text)

    def test_nothing_runs_it(self):
        for row, why in (("nowhere", "nowhere"), ("depthwise", "no row runs: the setting")):
            with self.subTest(row):
                done = convop("explain", "--dir=FWD_D", DENSE, CONVOP_IMPL=row,
                              CONVOP_CACHE_DIR=self.folder)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(why, done.stdout)

    def test_wrong_usage_is_2(self):
        for arguments in ([], ["--nonsense", DEPTHWISE], ["g8mb1x"], ["--dt=f8", DEPTHWISE]):
            with self.subTest(arguments):
                self.assertIn("--help", self.bad(2, "explain", *arguments))


if __name__ == "__main__":
    main()
