#!/usr/bin/env python3
"""convop bench of tensors on a GPU, with the stand-in as driver and cuDNN: results, times, names, and a
plan that computes something wrong. Its end with the status that is wanted says that the driver was used
as it may be, and nothing was left.

    test_bench.py [CONVOP] STANDIN      without CONVOP, not built then: 77, skipped
"""
import json
import re
import shlex

from program import convop, run_checks

DENSE = "mb1ic4ih7oc8kh3"
PROBLEMS = [DENSE, "g4mb2ic8ih9iw5oc12kh3kw2sh2sw1ph1pw0dh0dw1", "ic5iw11oc3kw4pw2dw1", "ic2id4oc3kd2pd1"]


def bench(*arguments, status=0, **environment):
    done = convop("bench", "--device=cuda", "--json", *arguments, **environment)
    assert done.returncode == status, (arguments, done)
    assert status or not done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def results_are_right():
    right = set()
    for more in (["--dir=FWD_B,FWD_D,BWD_D,BWD_W"], ["--dir=FWD_B", "--attr-post-ops=sum+relu"],
                 ["--dir=FWD_B", "--attr-post-ops=add+relu", "--prepared"]):
        for row in bench("--impl=cudnn", "--dt=f32,f16", "--tag=nchw,nhwc", *more, *PROBLEMS)[0]:
            assert row["ok"] if row["outcome"] != "skipped" else row["why"], row
            if row["ok"]:
                right.add((row["problem"], row["dir"], row["prepared"]))
    for way in (("FWD_B", False), ("FWD_D", False), ("BWD_D", False), ("BWD_W", False), ("FWD_B", True)):
        assert (DENSE, *way) in right, (way, right)


def rows_have_names():
    # A row that takes a problem, one that does not, and the one that a call runs.
    (other, named), _ = bench("--impl=depthwise,cudnn", DENSE)
    assert (other["impl"], other["outcome"], named["impl"]) == ("depthwise", "skipped", "cudnn")
    assert "depthwise" in other["why"] or "no CUDA kernels" in other["why"], other
    assert bench("--sweep=stride=1,2", DENSE)[0][1]["impl"] == "cudnn"
    assert named["device"] == "cuda:0" and named["device_name"] == "NVIDIA H200", named
    second, = bench("--device=cuda:1", DENSE)[0]
    assert second["device"] == "cuda:1" and "A100" in second["device_name"], second


def times_are_those_of_events():
    # Of the stand-in a plan takes 1 ms, a copy 10 microseconds, and so do taking and giving workspace.
    row, = bench("--mode=CP", "--repeat=3", "--impl=cudnn", "--dir=FWD_D", DENSE)[0]
    assert row["ok"] and row["threads"] is None, row
    ms = row["ms"]
    assert 1 <= ms <= 1.05, row
    for key, wanted in (("median_ms", ms), ("limit_ms", 0.01),
                        ("gflops", 2 * 8 * 25 * 4 * 9 / ms / 1e6),
                        ("gb_per_s", 4 * (4 * 49 + 8 * 4 * 9 + 8 * 25) / ms / 1e6)):
        assert abs(row[key] - wanted) < 1e-3 * wanted, (key, wanted, row)
    text = convop("bench", "--device=cuda", "--mode=P", "--repeat=1", DENSE).stdout.splitlines()
    assert text[0] == "cuda:0: NVIDIA H200", text
    assert re.search(r" cudnn +1\.0\d+ +1\.0\d+ +0\.01 +1\.0 % +timed$", text[2]), text


def wrong_results_are_noticed():
    (row,), repeat = bench("--impl=cudnn", DENSE, status=1, STANDIN_SPOILS="1")
    assert row["ok"] is False and "1 of 200 elements are wrong" in row["why"], row
    command = shlex.split(re.search("repeat: convop (.*)", repeat).group(1))
    assert "--device=cuda:0" in command, command
    assert convop(*command, STANDIN_SPOILS="1").returncode == 1
    assert convop(*command).returncode == 0


def what_is_not_there_is_said():
    done = convop("bench", "--device=cuda:7", DENSE)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr == "convop: --device=cuda:7: no such GPU; 2 are here\n", done


def check_all():
    results_are_right()
    rows_have_names()
    times_are_those_of_events()
    wrong_results_are_noticed()
    what_is_not_there_is_said()


run_checks(check_all)
