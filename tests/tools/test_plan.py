#!/usr/bin/env python3
"""convop plan: choices of cuDNN for GPUs that are not here. command.py says how it is started."""
import json
import os
import unittest
import unittest.mock

from cached import DENSE, DEPTHWISE, Cache
from command import convop, main

DEVICES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cuda", "devices")
H200 = os.path.join(DEVICES, "h200.json")


def cudnn_is_here():
    items = json.loads(convop("info", "--json").stdout)["items"]
    return next(item["value"] for item in items if item["name"] == "cudnn") != "none"


class Refused(Cache):
    def test_wrong_usage(self):
        self.assertIn("--device=FILE is missing", self.bad(2, "plan", DENSE))
        self.assertIn("a descriptor is missing", self.bad(2, "plan", "--device=" + H200))
        self.assertIn("want the number", self.bad(2, "plan", "--dump-device=x"))

    def test_without_cuda_it_says_why(self):
        self.assertIn('the setting cuda_library is "none"',
                      self.bad(1, "plan", "--dump-device", CONVOP_CUDA_LIBRARY="none"))
        self.assertIn('no cuDNN: the setting cudnn_library is "none"',
                      self.bad(1, "plan", "--device=" + H200, DENSE, CONVOP_CUDNN_LIBRARY="none"))


@unittest.skipUnless(cudnn_is_here(), "there is no cuDNN")
class Plan(Cache):
    def setUp(self):
        super().setUp()
        # What cuDNN's engines share is never given back; tests/cuda counts convop's own.
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        patch = unittest.mock.patch.dict(os.environ, ASAN_OPTIONS=options)
        patch.start()
        self.addCleanup(patch.stop)

    def test_plans_keeps_and_knows(self):
        arguments = ["plan", "--json", "--device=" + H200, "--dir=FWD_D,BWD_D,BWD_W",
                     "--dt=f32,f16", "--tag=nchw,nhwc", DENSE]
        first = self.objects(*arguments)
        self.assertEqual([(r["impl"], r["choice"]) for r in first], [("cudnn", "estimated")] * 12)
        kept = self.records()
        self.assertEqual(len(kept), 12)
        for record in kept:
            self.assertEqual(record["impl"], "cudnn")
            self.assertEqual(record["ms"], 0)
            self.assertIn("gpu=NVIDIA H200;cc=9.0;sm=132", record["device"])
            self.assertIn("driver=13000;cudnn=9", record["software"])
            self.assertIn("engine", json.loads(record["plan"]))
        second = self.objects(*arguments)
        self.assertEqual([(r["impl"], r["choice"]) for r in second], [("cudnn", "cached")] * 12)
        self.assertEqual([r["workspace"] for r in second], [r["workspace"] for r in first])
        # Another GPU finds none of it.
        other = self.objects(*arguments[:2], "--device=" + os.path.join(DEVICES, "a100.json"), DENSE)
        self.assertEqual(other[0]["choice"], "estimated")

    def test_text(self):
        text = self.ok("plan", "--device=" + H200, DENSE, DEPTHWISE)
        self.assertRegex(text, r"(?m)^dense one +FWD_B +f32 +nchw +cudnn +\d+ +estimated")
        self.assertIn(f"2 planned, 0 known, 0 refused. Kept in {self.file}", text)

    def test_what_is_not_kept_is_a_failure(self):
        # Nobody makes a folder there, though root may write.
        self.assertIn("the tuning cache", self.bad(1, "plan", "--device=" + H200, DENSE,
                                                   CONVOP_CACHE_DIR="/proc/none"))

    def test_a_refusal_has_the_reasons_of_all_rows(self):
        done = convop("plan", "--json", "--device=" + H200, "--dir=FWD_D", "mb1ic8ih2000000oc8kh3",
                      CONVOP_CACHE_DIR=self.folder)
        self.assertEqual(done.returncode, 1)
        refused = json.loads(done.stdout)
        self.assertIsNone(refused["impl"])
        for said in ("depthwise: ", "; cudnn: cuDNN: no engine runs it", "; gemm: "):
            self.assertIn(said, refused["why"])
        self.assertNotIn("why", self.objects("plan", "--json", "--device=" + H200, DENSE)[0])

    def test_properties_that_are_wrong_are_named(self):
        with open(H200, encoding="utf-8") as file:
            good = file.read()
        lacking = "".join(line for line in good.splitlines(True) if "warpSize" not in line)
        cases = {"cut.json": (good[:100], "the end at byte 100"),
                 "words.json": ("properties", "an error at byte 0"),
                 "lacking.json": (lacking, "warpSize is missing"),
                 "empty.json": ("", "the end at byte 0")}
        for name, (text, why) in cases.items():
            path = os.path.join(self.root, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            said = self.bad(1, "plan", "--device=" + path, DENSE)
            self.assertIn(path, said)
            self.assertIn(why, said)
        missing = os.path.join(self.root, "none.json")
        self.assertIn(missing + ": No such file", self.bad(1, "plan", "--device=" + missing, DENSE))


main()
