#!/usr/bin/env python3
"""Runs the command `convop` and checks what it prints and how it ends.

    test_cli.py [CONVOP [PLUGIN [WRONG_CONV]]]    without CONVOP, not built then: 77, skipped

PLUGIN is tests/plugins/good.c. WRONG_CONV is the module of wrong_conv.c; without it what it serves
is left out.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import unittest

CONVOP = PLUGIN = WRONG_CONV = None

SMALL = ["ic16ih7oc32kh3ph1", "g4mb1ic8ih9iw5oc12kh3kw2sh2sw1ph1pw0dh0dw1", "g6ic6ih10oc6kh3sh2ph1",
         "ic5iw11oc3kw4pw2dw1", "ic2id4oc3kd2pd1", "ic3ih7oc4oh4kh3sh2ph0", "mb0ic3ih4oc2kh1",
         "g3ic3ih6oc6kh3n\"multiplier 2\"", "mb1ic300ih1oc7kh1"]
DIRECTIONS = "FWD_B,FWD_D,FWD_I,BWD_D,BWD_W,BWD_WB"


def convop(*arguments, stdout=subprocess.PIPE, **environment):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CONVOP_")}
    return subprocess.run([CONVOP, *arguments], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape",
                          timeout=240, env={**clean, **environment})


class Case(unittest.TestCase):
    def run_ok(self, *arguments, **environment):
        done = convop(*arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def run_bad(self, status, *arguments, **environment):
        done = convop(*arguments, **environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertTrue(done.stderr.startswith("convop"), done.stderr)
        return done.stderr

    def bench(self, *arguments, **environment):
        lines = self.run_ok("bench", "--json", *arguments, **environment).splitlines()
        return [json.loads(line) for line in lines]


class Usage(Case):
    def test_wrong_usage_is_2(self):
        for arguments in ([], ["nonsense"], ["--nonsense"], ["ops", "--nonsense"], ["ops", "A", "B"],
                          ["info", "argument"], ["help", "nonsense"], ["help", "ops", "info"],
                          ["bench"], ["bench", "--json"]):
            with self.subTest(arguments):
                self.assertIn("--help", self.run_bad(2, *arguments))

    def test_wrong_value_is_2_and_names_the_right_ones(self):
        for option, right in (("--dir=FWD", "BWD_WB"), ("--dir=", "BWD_WB"), ("--dt=f16", "f64"),
                              ("--dt=f32,,f64", "f64"), ("--tag=hwcn", "nhwc"), ("--mode=", "CP"),
                              ("--mode=X", "CP"), ("--threads=-1", "4096"),
                              ("--threads=5000", "4096"), ("--threads=2x", "4096"),
                              ("--repeat=0", "1000000"), ("--min-time=soon", "3600000")):
            with self.subTest(option):
                error = self.run_bad(2, "bench", option, SMALL[0])
                self.assertIn(right, error)
                self.assertIn(option.split("=")[1] or option, error)

    def test_help_goes_to_stdout_and_has_examples(self):
        for arguments in (["--help"], ["help"], ["ops", "--help"], ["help", "ops"],
                          ["info", "--help"], ["help", "info"], ["bench", "--help"],
                          ["help", "bench"], ["help", "--help"], ["help", "help"]):
            with self.subTest(arguments):
                text = self.run_ok(*arguments)
                self.assertRegex(text, r"\AUsage: convop")
                self.assertRegex(text, r"Examples?:\n +(CONVOP_\w+=\w+ )?convop ")

    def test_help_lists_every_command(self):
        text = self.run_ok("--help")
        for name in ("ops", "info", "bench", "help"):
            self.assertRegex(text, rf"(?m)^  {name} +\w")

    def test_version(self):
        self.assertRegex(self.run_ok("--version"), r"\Aconvop \d+\.\d+\.\d+\n\Z")
        self.assertEqual(self.run_ok("--version"), self.run_ok("bench", "--version"))

    def test_setting_that_does_not_parse_is_1(self):
        for arguments in (["ops"], ["info"], ["bench", SMALL[0]]):
            with self.subTest(arguments):
                error = self.run_bad(1, *arguments, CONVOP_VERBOSE="abc")
                self.assertIn("CONVOP_VERBOSE", error)
                self.assertIn("abc", error)
        self.run_ok("--help", CONVOP_VERBOSE="abc")

    def test_lost_output_is_1(self):
        for arguments in (["--help"], ["--version"], ["ops"], ["ops", "--json"], ["info"],
                          ["bench", SMALL[0]], ["bench", "--json", SMALL[0]]):
            with self.subTest(arguments, to="full disk"), open("/dev/full", "w") as full:
                self.assertEqual(convop(*arguments, stdout=full).returncode, 1)
            with self.subTest(arguments, to="closed pipe"):
                reader, writer = os.pipe()
                os.close(reader)
                done = convop(*arguments, stdout=writer)
                os.close(writer)
                self.assertEqual(done.returncode, 1)
                self.assertIn("the output could not be written", done.stderr)


class Ops(Case):
    def test_rows_of_a_problem(self):
        text = self.run_ok("ops", "Convolution", "--problem=g8mb1ic8ih9oc8kh3ph1")
        self.assertRegex(text, r"FWD_D +depthwise +chosen")
        self.assertRegex(text, r"BWD_B +reduce +chosen")
        rows = json.loads(
            self.run_ok("ops", "Convolution", "--json", "--problem=mb1ic8ih9oc8kh3"))
        why = {(r["direction"], r["name"]): r["why_not"] for r in rows}
        self.assertIn("num_group", why[("FWD_D", "depthwise")])
        self.assertIsNone(why[("FWD_D", "gemm")])
        self.assertEqual(sum(r["chosen"] for r in rows), 4)
        self.run_bad(2, "ops", "--problem=mb1ic8ih9oc8kh3")
        self.run_bad(2, "ops", "Convolution", "--problem=mb1xx")

    def test_table_has_convolution(self):
        text = self.run_ok("ops")
        self.assertRegex(text, r"(?m)^NAME +INPUTS +OUTPUTS +WHAT$")
        self.assertRegex(text, r"(?m)^Convolution +\S")

    def test_page_names_everything(self):
        text = self.run_ok("ops", "Convolution")
        op = json.loads(self.run_ok("ops", "Convolution", "--json"))
        for part in op["inputs"] + op["outputs"]:
            self.assertRegex(text, rf"(?m)^    {part['name']}$")
        for part in op["parameters"]:
            self.assertRegex(text, rf"(?m)^    {part['name']}: ")
            for value in part.get("values", []):
                self.assertIn(value["name"], text)
        self.assertRegex(text, r"(?m)^    kernel: .*required")
        self.assertTrue(all(len(line) <= 100 for line in text.splitlines()))

    def test_json_is_whole(self):
        ops = json.loads(self.run_ok("ops", "--json"))
        names = [op["name"] for op in ops]
        self.assertEqual(names, sorted(names))
        self.assertIn("Convolution", names)
        types = {"bool": "int", "int": "int64_t", "float": "double", "enum": "int",
                 "tuple": "convop_tuple", "bytes": "size_t"}
        for op in ops:
            self.assertEqual(json.loads(self.run_ok("ops", op["name"], "--json")), op)
            self.assertEqual(len(op["inputs"]), op["max_inputs"])
            self.assertEqual(len(op["outputs"]), op["max_outputs"])
            for field in op["parameters"]:
                self.assertEqual(types[field["type"]], field["c_type"])
                self.assertEqual(field["required"], field["default"] is None)
                self.assertLess(field["offset"], op["params_size"])
                self.assertEqual("values" in field, field["type"] == "enum")

    def test_convolution_has_mxnets_parameters(self):
        op = json.loads(self.run_ok("ops", "Convolution", "--json"))
        names = {p["name"] for p in op["parameters"]}
        self.assertLessEqual({"kernel", "stride", "dilate", "pad", "num_filter", "num_group",
                              "workspace", "no_bias", "cudnn_tune", "cudnn_off", "layout",
                              "depthwise_conv_off"}, names)

    def test_unknown_operator_is_1(self):
        for flags in ([], ["--json"]):
            error = self.run_bad(1, "ops", "Convolutoin", *flags)
            self.assertIn("Convolutoin", error)
            self.assertEqual(error.count("\n"), 1)


class Plugin(Case):
    def test_its_operator_is_listed(self):
        self.assertNotIn("Plus", self.run_ok("ops"))
        self.assertRegex(self.run_ok(f"--plugin={PLUGIN}", "ops"), r"(?m)^Plus +\S")
        op = json.loads(self.run_ok("--plugin", PLUGIN, "ops", "Plus", "--json"))
        self.assertEqual([p["name"] for p in op["parameters"]], ["value"])

    def test_one_that_does_not_load_is_1(self):
        for path in ("/nowhere/x.so", "x.so", __file__):
            with self.subTest(path):
                self.assertIn(path, self.run_bad(1, f"--plugin={path}", "ops"))
        self.assertIn("is loaded", self.run_bad(1, f"-P{PLUGIN}", f"-P{PLUGIN}", "ops"))


class Info(Case):
    def test_items_and_settings(self):
        info = json.loads(self.run_ok("info", "--json"))
        items = {item["name"]: item for item in info["items"]}
        self.assertLessEqual({"version", "cpu", "instruction set", "processors", "threads", "caches",
                              "huge pages", "openblas", "gpu"}, set(items))
        self.assertGreaterEqual(int(items["processors"]["value"]), 1)
        text = self.run_ok("info")
        for name, item in items.items():
            self.assertTrue(item["value"])
            self.assertRegex(text, rf"(?m)^{name} ")
        for setting in info["settings"]:
            self.assertEqual(setting["origin"], "default")
            self.assertTrue(setting["ok"])
            self.assertIn(setting["environment"], text)

    def test_origin_and_cap_are_told(self):
        info = json.loads(self.run_ok("info", "--json", CONVOP_ISA="baseline",
                                      CONVOP_NUM_THREADS="1"))
        settings = {s["name"]: s for s in info["settings"]}
        items = {item["name"]: item for item in info["items"]}
        self.assertEqual(settings["isa"]["origin"], "environment")
        self.assertEqual(settings["isa"]["value"], "baseline")
        self.assertEqual(items["instruction set"]["value"], "baseline")
        self.assertEqual(items["threads"]["value"], "1")

    def test_bad_setting_is_shown(self):
        done = convop("info", CONVOP_NUM_THREADS="many")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^num_threads +many +environment .*does not parse")


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
        rows = self.bench("--impl=all", f"--dir={DIRECTIONS}", "--dt=f32,f64", "--tag=nchw,nhwc",
                          *SMALL)
        for row in rows:
            with self.subTest(row["problem"], dir=row["dir"], dt=row["dt"], tag=row["tag"],
                              impl=row["impl"]):
                self.assertIs(row["ok"], True, row.get("why"))
        cases = {(r["problem"], r["dir"], r["dt"], r["tag"]) for r in rows}
        self.assertEqual(len(cases), len(SMALL) * 6 * 2 * 2, "a row for each case")

    def test_row_by_name_runs(self):
        for row in self.bench("--impl=all", "--dir=FWD_D,BWD_D,BWD_W", SMALL[0]):
            again = self.bench(f"--impl={row['impl']}", f"--dir={row['dir']}", SMALL[0])
            self.assertEqual([r["impl"] for r in again], [row["impl"]])
            again = self.bench(f"--dir={row['dir']}", SMALL[0], CONVOP_IMPL=row["impl"])
            self.assertEqual([r["impl"] for r in again], [row["impl"]])

    def test_instruction_sets_and_threads_are_right(self):
        for isa in ("baseline", "auto"):
            for threads in ("1", "3"):
                rows = self.bench("--impl=all", "--dir=FWD_D,BWD_D,BWD_W", f"--threads={threads}",
                                  *SMALL[:3], CONVOP_ISA=isa)
                self.assertTrue(all(row["ok"] for row in rows))

    def test_times_are_there_where_asked_for(self):
        check, = self.bench("--mode=C", SMALL[0])
        self.assertIs(check["ok"], True)
        self.assertIsNone(check["ms"])
        both, = self.bench("--mode=CP", "--min-time=1", SMALL[0])
        self.assertIs(both["ok"], True)
        time, = self.bench("--mode=P", "--repeat=3", SMALL[0])
        self.assertIsNone(time["ok"])
        for row in (both, time):
            for key in ("ms", "gflops", "limit_ms"):
                self.assertGreater(row[key], 0)
            # 361 of a plane's 7 * 7 * 9 products lie inside the image
            flops = 2 * 2 * 16 * 32 * 361
            self.assertAlmostEqual(row["gflops"], flops / row["ms"] / 1e6, delta=row["gflops"] / 1e3)

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

    def test_problem_that_fits_no_memory(self):
        for descriptor in ("mb2000000000ic2000000000ih9oc1kh1", "mb2000000ic2000000ih9oc1kh1"):
            done = convop("bench", descriptor)
            self.assertEqual(done.returncode, 1)
            self.assertIn("memory", done.stdout)
            repeat = re.search(r"repeat: convop (.*)", done.stdout).group(1)
            self.assertIn(descriptor, repeat)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("the command convop is not built")
        sys.exit(77)
    CONVOP = sys.argv.pop(1)
    PLUGIN = sys.argv.pop(1)
    if len(sys.argv) > 1 and sys.argv[1].endswith(".so"):
        WRONG_CONV = sys.argv.pop(1)
    unittest.main()
