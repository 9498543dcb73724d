#!/usr/bin/env python3
"""`convop bench`: checks, times, rows, sweeps, stages. command.py says how it is started."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from command import DIRECTIONS, SMALL, WRONG_CONV, Case, convop, main


class Bench(Case):
    def check_caret(self, descriptor, column):
        error = self.run_bad(2, "bench", descriptor).splitlines()
        self.assertEqual(error[1], "  " + descriptor)
        self.assertEqual(error[2], " " * (2 + column) + "^")

    def test_caret_stands_under_the_mistake(self):
        self.check_caret("ic3x4", 3)
        self.check_caret("g32mb1ic32ih112oc32kh3qq1", 22)
        self.check_caret("ic3ih8oc4kh", 11)
        self.check_caret("ic3ih8oc4kh9", 9)
        self.check_caret("g2ic3ih8oc4kh3", 0)

    def test_every_row_is_right(self):
        rows = self.bench("--impl=all", f"--dir={DIRECTIONS}", "--dt=f32,f64,f16,bf16",
                          "--tag=nchw,nhwc",                          *SMALL)
        for row in rows:
            with self.subTest(row["problem"], dir=row["dir"], dt=row["dt"], tag=row["tag"],
                              impl=row["impl"]):
                if row["outcome"] == "skipped":
                    self.assertIsNone(row["ok"])
                    self.assertTrue(row["why"])
                else:
                    self.assertIs(row["ok"], True, row.get("why"))
        cases = {(r["problem"], r["dir"], r["dt"], r["tag"]) for r in rows if r["ok"]}
        self.assertEqual(len(cases), len(SMALL) * 6 * 4 * 2, "a row that ran for each case")

    def test_post_ops(self):
        for post_ops in ("sum", "add", "relu", "clip:0:6", "sum+clip:0:6", "add+relu"):
            rows = self.bench("--impl=all", f"--attr-post-ops={post_ops}", "--dir=FWD_B,FWD_D",
                              "--dt=f32,f64,f16,bf16", "--tag=nchw,nhwc", *SMALL[:3])
            rows += self.bench("--prepared", f"--attr-post-ops={post_ops}", *SMALL[:3])
            for row in rows:
                self.assertEqual(row["post_ops"], post_ops)
                if row["outcome"] != "skipped":
                    self.assertIs(row["ok"], True, row)
        done = convop("bench", "--attr-post-ops=relu", "--json", "--dir=BWD_D", SMALL[0])
        self.assertIn("forward only", json.loads(done.stdout)["why"])
        self.assertIn("clip:0:6", self.run_bad(2, "bench", "--attr-post-ops=gelu", SMALL[0]))
        self.assertIn("runs", self.run_ok("explain", "--attr-post-ops=add+relu", SMALL[0]))
        done = convop("bench", "--attr-post-ops=add+relu", SMALL[0], CONVOP_VERBOSE="1")
        self.assertIn(",+residual+relu,", done.stderr)

    def test_rows_that_do_not_apply_say_why(self):
        rows = {r["impl"]: r for r in self.bench("--impl=all", SMALL[0])}
        self.assertEqual(rows["depthwise"]["outcome"], "skipped")
        self.assertIn("num_group is 1", rows["depthwise"]["why"])
        self.assertIn("channels, it takes 32 or more", rows["winograd"]["why"])
        self.assertIs(rows["gemm"]["ok"], True)
        text = self.run_ok("bench", "--impl=all", SMALL[0])
        self.assertRegex(text, r"depthwise +skipped\n +num_group is 1")
        skipped = sum(r["outcome"] == "skipped" for r in rows.values())
        self.assertRegex(text, rf"\d passed, 0 failed, {skipped} skipped\n\Z")
        some = self.bench("--impl=reference,gemm,nonsense", SMALL[0])
        self.assertEqual([r["impl"] for r in some], ["gemm", "reference"])
        done = convop("bench", "--impl=x,nonsense", SMALL[0])
        self.assertEqual(done.returncode, 1)
        self.assertIn("no row of these names", done.stdout)
        done = convop("bench", "--impl=depthwise", "--json", SMALL[0])
        self.assertEqual(done.returncode, 1, "nothing ran")
        row = json.loads(done.stdout)
        self.assertEqual((row["outcome"], row["ok"]), ("skipped", None))
        self.assertIn("num_group is 1", row["why"])

    def test_row_by_name_runs(self):
        for row in self.bench("--impl=all", "--dir=FWD_D,BWD_D,BWD_W", SMALL[0]):
            if row["outcome"] == "skipped":
                continue
            again = self.bench(f"--impl={row['impl']}", f"--dir={row['dir']}", SMALL[0])
            self.assertEqual([r["impl"] for r in again], [row["impl"]])
            again = self.bench(f"--dir={row['dir']}", SMALL[0], CONVOP_IMPL=row["impl"])
            self.assertEqual([r["impl"] for r in again], [row["impl"]])

    def test_instruction_sets_and_threads_are_right(self):
        for isa in ("baseline", "auto"):
            for threads in ("1", "3"):
                rows = self.bench("--impl=all", "--dir=FWD_D,BWD_D,BWD_W", f"--threads={threads}",
                                  *SMALL[:3], CONVOP_ISA=isa)
                self.assertTrue(all(row["ok"] for row in rows if row["outcome"] != "skipped"))

    def test_times_are_there_where_asked_for(self):
        check, = self.bench("--mode=C", SMALL[0])
        self.assertIs(check["ok"], True)
        self.assertIsNone(check["ms"])
        both, = self.bench("--mode=CP", "--min-time=1", SMALL[0])
        self.assertIs(both["ok"], True)
        time, = self.bench("--mode=P", "--repeat=3", SMALL[0])
        self.assertIsNone(time["ok"])
        for row in (both, time):
            for key in ("ms", "median_ms", "gflops", "limit_ms"):
                self.assertGreater(row[key], 0)
            self.assertGreaterEqual(row["median_ms"], row["ms"])
            # 361 of a plane's 7 * 7 * 9 products lie inside the image
            flops = 2 * 2 * 16 * 32 * 361
            self.assertAlmostEqual(row["gflops"], flops / row["ms"] / 1e6, delta=row["gflops"] / 1e3)

    def test_json_has_all_members(self):
        row, = self.bench("--mode=CP", "--repeat=1", "--threads=1", "--impl=gemm", SMALL[0])
        self.assertLessEqual({"name", "problem", "dir", "dt", "tag", "threads", "prepared", "impl",
                              "choice", "ms", "median_ms", "gflops", "limit_ms", "ok", "outcome"},
                             set(row))
        self.assertEqual((row["threads"], row["outcome"]), (1, "passed"))

    def test_prepared_instances_are_right(self):
        rows = self.bench("--prepared", "--mode=CP", "--repeat=1", "--impl=all", "--dir=FWD_B,FWD_D",
                          "--tag=nchw,nhwc", "--dt=f32,f64,f16", *SMALL)
        self.assertTrue(all(r["ok"] or r["outcome"] == "skipped" for r in rows))
        self.assertTrue(any(r["ok"] for r in rows))
        self.assertTrue(all(r["prepared"] for r in rows))
        done = convop("bench", "--prepared", "--dir=BWD_D", SMALL[0])
        self.assertEqual(done.returncode, 1)
        self.assertIn("only the forward directions", done.stdout)

    def test_stages_say_where_the_time_went(self):
        def counts(*arguments):
            row, = self.bench("--mode=P", "--repeat=3", "--stages", "--threads=1", *arguments)
            for stage in row["stages"]:
                self.assertGreaterEqual(stage["ms"], 0)
            return {s["name"]: s["count"] for s in row["stages"]}
        gemm = counts("--impl=gemm", "mb1ic3ih20oc4kh3")
        self.assertEqual([gemm[s] for s in ("call", "copy", "kernel")], [1, 0, 1])
        self.assertLessEqual(gemm["plan"], 1, "a plan may be remembered")
        self.assertGreater(gemm["lowering"], 0)
        self.assertEqual(gemm["lowering"], gemm["product"])
        pointwise = counts("--impl=gemm", "mb1ic3ih20oc4kh1")
        self.assertEqual(pointwise["lowering"], 0)
        self.assertGreater(pointwise["product"], 0)
        half = counts("--impl=gemm", "--dt=f16", "--dir=FWD_D", "mb1ic3ih20oc4kh3")
        self.assertEqual(half["copy"], 3, "src, weights and dst")
        tiles = counts("--impl=implicit", "--tag=nhwc", "mb1ic3ih20oc4kh3ph1")
        self.assertGreater(min(tiles["lowering"], tiles["packing"], tiles["product"]), 0)
        plain = counts("--impl=reference", "mb1ic3ih20oc4kh3")
        self.assertEqual((plain["kernel"], plain["product"]), (1, 0))
        depthwise = counts("--impl=depthwise", "--tag=nhwc", "g4mb1ic4ih20oc4kh3")
        self.assertEqual(depthwise["packing"], 1)
        self.assertEqual(counts("--prepared", "--impl=depthwise", "--tag=nhwc",
                                "g4mb1ic4ih20oc4kh3")["packing"], 0)
        text = self.run_ok("bench", "--mode=P", "--repeat=3", "--stages", "--impl=gemm", SMALL[0])
        self.assertRegex(text, r"\n +call [\d.]+ ms \([\d.]+ %\), .*lowering .*product ")
        row, = self.bench("--mode=P", "--repeat=3", SMALL[0])
        self.assertNotIn("stages", row)
        self.assertIn("say --mode=P", self.run_bad(2, "bench", "--stages", SMALL[0]))

    def test_sweeps(self):
        def swept(*arguments):
            return [(r["problem"], r["sweep"], r["threads"]) for r in self.bench(*arguments)]
        self.assertEqual(
            [p for p, _, _ in swept("--sweep=stride=1..4", "--threads=1", "mb1ic3ih27oc4kh11")],
            ["mb1ic3ih27oc4kh11", "mb1ic3ih27oc4kh11sh2", "mb1ic3ih27oc4kh11sh3",
             "mb1ic3ih27oc4kh11sh4"])
        self.assertEqual([(p, s) for p, s, _ in swept("--sweep=kernel=1..9:4", "mb1ic1ih9oc1kh3")],
                         [("mb1ic1ih9oc1kh1", {"kernel": 1}), ("mb1ic1ih9oc1kh5", {"kernel": 5}),
                          ("mb1ic1ih9oc1kh9", {"kernel": 9})])
        self.assertEqual([s for _, s, _ in swept("--sweep=mb=1,3", "--sweep=dilate=0..1",
                                                 'ic1ih9oc1kh3n"x"')],
                         [{"mb": 1, "dilate": 0}, {"mb": 1, "dilate": 1}, {"mb": 3, "dilate": 0},
                          {"mb": 3, "dilate": 1}])
        self.assertEqual([t for _, _, t in swept("--sweep=threads=1,2", SMALL[0])], [1, 2])
        # the padding stays, the output follows, also where it was given
        self.assertEqual([p for p, _, _ in swept("--sweep=stride=1,2", "mb1ic1ih8oc1oh8kh4")],
                         ["mb1ic1ih8oc1oh8kh4ph1", "mb1ic1ih8oc1kh4sh2ph1"])
        self.assertEqual([p for p, _, _ in swept("--sweep=pad=0..1", "mb1ic1ih8oc1kh3")],
                         ["mb1ic1ih8oc1kh3", "mb1ic1ih8oc1kh3ph1"])
        for key, problem in (("ic", "mb1ic5ih8oc1kh3"), ("oc", "mb1ic1ih8oc5kh3"),
                             ("input", "mb1ic1ih5oc1kh3"), ("g", "g5mb1ic5ih8oc5kh3")):
            base = "mb1ic5ih8oc5kh3" if key == "g" else "mb1ic1ih8oc1kh3"
            self.assertEqual([p for p, _, _ in swept(f"--sweep={key}=5", base)], [problem])
        text = self.run_ok("bench", "--sweep=stride=1..2", 'mb1ic1ih9oc1kh3n"x"')
        self.assertRegex(text, r"1/2  x stride=1 (.*\n)+2/2  x stride=2 ")

    def test_wrong_sweeps(self):
        for sweep, words in (("stride", "no range"), ("strode=1..2", "no such key"),
                             ("stride=4..1", "no range"), ("stride=1..9:0", "no range"),
                             ("stride=1..1000", "no range"), ("stride=", "no range"),
                             ("stride=1,", "no range"), ("stride=1..2x", "no range"),
                             ("kernel=1..99:49", "spans 50"), ("g=2", "divide")):
            with self.subTest(sweep):
                self.assertIn(words, self.run_bad(2, "bench", f"--sweep={sweep}", "ic3ih8oc3kh3"))

    def test_sweeps_are_drawn(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                              "../../tools/plot_sweep.py")

        def draw(lines, *arguments):
            return subprocess.run([sys.executable, script, *arguments], input=lines, timeout=120,
                                  capture_output=True, encoding="utf-8")
        sweep = convop("bench", "--json", "--mode=P", "--repeat=1", "--stages", "--impl=all",
                       "--sweep=stride=1..2", 'mb1ic3ih9oc4kh3n"x"').stdout
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.svg")
            done = draw(sweep, out, "--rows=gemm")
            if "matplotlib is not here" in done.stderr:
                self.assertEqual(done.returncode, 1)
            else:
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with open(out, encoding="utf-8") as file:
                    self.assertIn("gemm, f32, nchw", file.read())
        for lines, words in (("x\n", "line 1 is no JSON"), ("", "--sweep=KEY"),
                             (sweep + sweep.replace('"stride"', '"mb"'), "more than one key")):
            done = draw(lines, "/nowhere/out.svg")
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
        self.assertIn("none of these rows", draw(sweep, "/nowhere/out.svg", "--rows=x").stderr)

    def test_options_count_for_what_follows_or_for_all(self):
        a, b = self.bench("--dir=FWD_D", SMALL[0], "--dir=BWD_D", SMALL[3])
        self.assertEqual((a["dir"], b["dir"]), ("FWD_D", "BWD_D"))
        rows = self.bench(SMALL[0], SMALL[3], "--dir=BWD_W", "--tag=axb")
        self.assertEqual([(r["dir"], r["tag"]) for r in rows], [("BWD_W", "nhwc")] * 2)
        row, = self.bench(SMALL[0])
        self.assertEqual((row["dir"], row["dt"], row["tag"]), ("FWD_B", "f32", "nchw"))

    def test_names_are_kept(self):
        row, = self.bench('ic1ih2oc1kh1n"mbv1:dw2"')
        self.assertEqual(row["name"], "mbv1:dw2")
        row, = self.bench('ic1ih2oc1kh1nplain "\\\n\x01é')
        self.assertEqual(row["name"], 'plain "\\\n\x01é')
        row, = self.bench("ic1ih2oc1kh1")
        self.assertEqual(row["name"], "ic1ih2oc1kh1")
        row, = self.bench("ic1ih2oc1kh1n\udcff")  # a byte that is no UTF-8
        self.assertEqual(row["name"], "\ufffd")

    def test_table_is_aligned(self):
        lines = self.run_ok("bench", "--mode=CP", "--min-time=1", *SMALL).splitlines()
        column = lines[0].index("DIR")
        self.assertTrue(all(line[column:].startswith("FWD_B") for line in lines[1:-1]), lines)
        self.assertRegex(lines[-1], rf"^{len(SMALL)} passed, 0 failed, 0 skipped$")

    def test_row_that_is_not_there_runs_nothing(self):
        done = convop("bench", "--impl=nonsense", SMALL[0])
        self.assertEqual(done.returncode, 1)
        self.assertIn("nonsense", done.stdout)
        self.assertIn("0 passed", done.stdout)

    def test_wrong_results_are_noticed(self):
        if not WRONG_CONV:
            self.skipTest("the module wrong_conv is not here")
        for wrong, words in (("element", "1 of 3136 elements are wrong"), ("unwritten", "nan"),
                             ("beyond", "beside dst"), ("before", "beside dst"), ("input", "src")):
            for threads in (0, 2):
                with self.subTest(wrong):
                    done = convop("bench", f"--threads={threads}", SMALL[0], WRONG=wrong,
                                  LD_PRELOAD=WRONG_CONV)
                    self.assertEqual(done.returncode, 1, done.stdout)
                    self.assertIn(words, done.stdout)
                    command = re.search(r"repeat: convop (.*)", done.stdout).group(1)
                    again = convop(*shlex.split(command), WRONG=wrong, LD_PRELOAD=WRONG_CONV)
                    self.assertEqual(again.returncode, 1)
                    self.assertIn(command, again.stdout)
                    good = convop(*shlex.split(command))
                    self.assertEqual(good.returncode, 0, good.stdout)
        done = convop("bench", "--json", SMALL[0], WRONG="element", LD_PRELOAD=WRONG_CONV)
        self.assertIs(json.loads(done.stdout)["ok"], False)
        self.assertIn("repeat: convop bench", done.stderr)

    def test_gpu_that_is_not_here(self):
        for library, words in (("none", 'the setting cuda_library is "none"'),
                               ("/nowhere/libcuda.so", "/nowhere/libcuda.so: cannot open")):
            done = convop("bench", "--device=cuda:1", SMALL[0], CONVOP_CUDA_LIBRARY=library)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"\Aconvop: --device=cuda:1: {words}.*\n\Z")
        for wrong, words in (("--device=gpu", "cuda:NUMBER"), ("--device=cuda:-1", "cuda:NUMBER"),
                             ("--stages", "CPU alone"), ("--sweep=threads=1,2", "CPU's alone")):
            self.assertIn(words, self.run_bad(2, "bench", "--device=cuda", wrong, SMALL[0]))
        row, = self.bench("--device=cpu", "--mode=P", "--repeat=1", SMALL[0])
        self.assertEqual(row["device"], "cpu")
        self.assertGreater(row["gb_per_s"], 0)

    def test_problem_that_fits_no_memory(self):
        for descriptor in ("mb2000000000ic2000000000ih9oc1kh1", "mb2000000ic2000000ih9oc1kh1"):
            done = convop("bench", descriptor)
            self.assertEqual(done.returncode, 1)
            self.assertIn("memory", done.stdout)
            repeat = re.search(r"repeat: convop (.*)", done.stdout).group(1)
            self.assertIn(descriptor, repeat)


if __name__ == "__main__":
    main()
