"""What the tests of the command `convop` share: how it is run, and what its ends mean.

Each is started as
    test_....py [CONVOP [PLUGIN [WRONG_CONV]]]    without CONVOP, not built then: 77, skipped

PLUGIN is tests/plugins/good.c. WRONG_CONV is the module of wrong_conv.c; without it what it serves
is left out.
"""
import json
import os
import subprocess
import sys
import unittest

CONVOP = sys.argv[1] if len(sys.argv) > 1 else None
PLUGIN = sys.argv[2] if len(sys.argv) > 2 else None
WRONG_CONV = sys.argv[3] if len(sys.argv) > 3 else None

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


def main():
    if not CONVOP:
        print("the command convop is not built")
        sys.exit(77)
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[4:]])
