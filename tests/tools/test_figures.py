#!/usr/bin/env python3
"""bench/: its reading of problems agrees with `convop bench`; what it makes of times. command.py says how
it is started."""
import json
import os
import pathlib
import sys
import tempfile
import types

from command import CONVOP, SMALL, Case, main

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import compare  # noqa: E402
import prices  # noqa: E402
import problems  # noqa: E402
import race  # noqa: E402
import report  # noqa: E402

ODD = ["g2mb2ic4ih9oh6oc6kh3sh2ph1dh1", "mb1ic3iw20oc4kw5pw4", "mb1ic2id4ih5oc3kd2kh3ph1"]


def layer(name, kind="1x1", limit_ms=0.5, **times):
    return {"name": name, "list": "net", "kind": kind, "flops": 2e8, "bytes": 1e6,
            "limit_ms": limit_ms, "rows": {"convop nhwc": "implicit"}, "missing": {},
            "times": {n.replace("_", " ", 1): {"min": ms, "median": 2 * ms, "calls": 5}
                      for n, ms in times.items()}}


FIGURES = {"dir": "FWD", "threads": 1, "mb": 1, "machine": "", "versions": [], "commit": "", "date": "",
           "layers": [layer("a", convop_nhwc=1.0, convop_nchw=2.0, torch_nchw=3.0, mxnet_nchw=4.0,
                            **{"convop nhwc one call": 1.5, "convop nhwc strict": 2.0}),
                      layer("b", convop_nhwc=1.0, torch_nchw=1.0, torch_channels_last=0.75)]}


class Figures(Case):
    def test_problems_are_read_as_the_command_reads_them(self):
        texts = [text for text in [*SMALL, *ODD] if not text.startswith("mb0")]
        rows = self.bench("--mode=P", "--repeat=1", "--dir=FWD_D", *texts)
        self.assertEqual(len(rows), len(texts))
        for text, row in zip(texts, rows):
            with self.subTest(text):
                p = problems.parse(text)
                self.assertAlmostEqual(p.flops / (row["gflops"] * row["ms"] * 1e6), 1, 3)
                for again in (p.descriptor(), row["problem"]):
                    self.assertEqual(problems.parse(again).shapes(), p.shapes())

    def test_lists_are_read_whole(self):
        found = [p for path in problems.lists() for p in problems.load(path, 8)]
        self.assertGreater(len(found), 100)
        self.assertEqual(len({p.name for p in found}), len(found), "names are keys")
        self.assertEqual({p.mb for p in found}, {8})

    def test_prices_find_what_rows_count(self):
        cases = prices.measure(types.SimpleNamespace(
            lists=["odd_sizes"], build=pathlib.Path(CONVOP).resolve().parents[1], dir="FWD_D,BWD_W", threads=1, mb=1, min_time=1,
            prepared=[], rows="implicit,packed"))
        self.assertEqual({c["row"] for c in cases}, {"implicit", "packed"})
        self.assertEqual(len({(c["case"], c["row"]) for c in cases}), len(cases))
        for c in cases:
            with self.subTest(c["case"], row=c["row"]):
                self.assertGreater(min(c["ms"], c["estimate"]), 0)
                self.assertEqual((c["lanes"], c["work"][0], len(c["work"])), (1, 1, 10))
                self.assertGreater(c["work"][1], 0, "multiply-adds")

    def test_loss_of_a_choice(self):
        def case(name, row, ms, estimate):
            return {"case": name, "row": row, "ms": ms, "estimate": estimate}

        mean, lost = prices.loss([case("x", "a", 1.0, 3.0), case("x", "b", 4.0, 2.0),
                                  case("y", "a", 1.0, 1.0), case("y", "b", 2.0, 5.0)], "estimate")
        self.assertAlmostEqual(mean, 2.0)
        self.assertEqual(lost, [(4.0, "x: b for a"), (1.0, "y: a for a")])

    def test_ratios(self):
        a, b = map(report.row, FIGURES["layers"])
        self.assertEqual((a["ours"], a["peer"], a["ratio"]), ("convop nhwc", "torch nchw", 3))
        self.assertEqual((a["one_call"], a["strict"], a["nchw"]), (2, 2, 1.5))
        self.assertEqual((a["limit"], a["impl"]), (0.5, "implicit"))
        self.assertIsNone(a["nhwc_peers"], "no peer has that layout")
        self.assertEqual((b["peer"], b["ratio"], b["strict"]), ("torch channels_last", 0.75, 0.75))
        self.assertEqual(b["nhwc_peers"], 0.75)
        self.assertIsNone(b["one_call"])

    def test_sums(self):
        text = report.table(FIGURES)
        self.assertIn("| all | 2 | 1.50 |", text)
        self.assertIn("0.75 b", text)
        lines = report.side_by_side([FIGURES, FIGURES | {"dir": "BWD", "threads": 2}]).splitlines()
        self.assertIn("| forward | 1.50 |  |", lines)
        self.assertIn("| both gradients, least |  | 0.75 b |", lines)
        self.assertIn("| of the limit, dense above 100 MFLOP, least | 0.50 a | 0.50 a |", lines)

    def test_figures_are_merged_by_layer(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.json")
            compare.keep(FIGURES, path)
            self.assertEqual(list(compare.read_layers([path], FIGURES)), ["a", "b"])
            with self.assertRaises(SystemExit):
                compare.read_layers([path], FIGURES | {"threads": 2})
            with open(path) as file:
                self.assertEqual(json.load(file), FIGURES)

    def test_peers_far_behind_drop_out(self):
        def runner(name, *ms):
            contender = type("Contender", (), {"name": name})
            return race.Runner(contender, "nchw", list(ms))

        runners = [runner("convop", 9), runner("torch", 1, 2), runner("mxnet", 2.5, 1.9)]
        self.assertEqual([r.name for r in race.still_racing(runners, 2)],
                         ["convop nchw", "torch nchw", "mxnet nchw"])
        self.assertEqual([r.name for r in race.still_racing(runners, 1.25)],
                         ["convop nchw", "torch nchw"])


main()
