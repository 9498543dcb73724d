#!/usr/bin/env python3
"""The command `convop`: usage, ops, info, plug-ins. command.py says how it is started."""
import json
import os

from command import PLUGIN, SMALL, Case, convop, main


class Usage(Case):
    def test_wrong_usage_is_2(self):
        for arguments in ([], ["nonsense"], ["--nonsense"], ["ops", "--nonsense"], ["ops", "A", "B"],
                          ["info", "argument"], ["help", "nonsense"], ["help", "ops", "info"],
                          ["bench"], ["bench", "--json"]):
            with self.subTest(arguments):
                self.assertIn("--help", self.run_bad(2, *arguments))

    def test_wrong_value_is_2_and_names_the_right_ones(self):
        for option, right in (("--dir=FWD", "BWD_WB"), ("--dir=", "BWD_WB"), ("--dt=f8", "bf16"),
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


if __name__ == "__main__":
    main()
