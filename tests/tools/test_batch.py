#!/usr/bin/env python3
"""Batch files of `convop bench`, in benchdnn's syntax. command.py says how it is started."""
import json
import os
import tempfile

from command import Case, convop, main


class Batch(Case):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return path

    def rows(self, text, *arguments):
        """What ran, and the note on what was left out."""
        done = convop("bench", "--json", f"--batch={self.write('batch', text)}", *arguments)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0 if any(r["ok"] for r in rows) else 1)
        return rows, done.stderr

    def cases(self, text, *arguments):
        rows, note = self.rows(text, *arguments)
        self.assertEqual(note, "")
        return [(r["name"], r["dir"], r["dt"], r["tag"]) for r in rows]

    def refusal(self, text, status=2):
        path = self.write("batch", text)
        lines = self.run_bad(status, "bench", f"--batch={path}").splitlines()
        self.assertTrue(lines[0].startswith(f"convop bench: {path}"), lines)
        return [lines[0].replace(f"convop bench: {path}:", ""), *lines[1:]]

    def test_words_are_those_of_the_command_line(self):
        self.assertEqual(self.cases("""
            # all of this line
            ic1ih3oc1kh1n"a" --dir=FWD_D\tic2ih3oc1kh1n"b"   # and the rest of this one
            --dt=f64,bf16 --dir=bwd_d
            ic1ih3oc1kh1n"has # and blanks"
            \r
            --dt=f32 --tag=axb ic1ih3oc1kh1_n"c"
        """), [("a", "FWD_B", "f32", "nchw"), ("b", "FWD_D", "f32", "nchw"),
               ("has # and blanks", "BWD_D", "f64", "nchw"),
               ("has # and blanks", "BWD_D", "bf16", "nchw"), ("c", "BWD_D", "f32", "nhwc")])

    def test_reset_takes_back_what_describes_the_problem(self):
        rows, _ = self.rows("--dir=FWD_D --dt=f64 --tag=axb --mb=5 --threads=2 ic1ih3oc1kh1\n"
                            "--reset ic1ih3oc1kh1")
        self.assertEqual([(r["dir"], r["dt"], r["tag"], r["problem"], r["threads"]) for r in rows],
                         [("FWD_D", "f64", "nhwc", "mb5ic1ih3oc1kh1", 2),
                          ("FWD_B", "f32", "nchw", "mb2ic1ih3oc1kh1", 2)])

    def test_a_backslash_joins_words(self):
        self.assertEqual(self.cases("--dir=FWD_D,\\\n  BWD_D ic1ih3oc1kh1n1\n"
                                    "--dir=FWD_I \\\n   ,BWD_W\nic1ih3oc1kh1n2"),
                         [("1", "FWD_D", "f32", "nchw"), ("1", "BWD_D", "f32", "nchw"),
                          ("2", "FWD_I", "f32", "nchw"), ("2", "BWD_W", "f32", "nchw")])

    def test_files_within_files(self):
        self.write("sub/inner", "ic1ih3oc1kh1n2 --batch=../other --dir=BWD_W")
        self.write("other", "ic1ih3oc1kh1n3")
        self.assertEqual([(name, d) for name, d, _, _ in self.cases(
            "--dir=FWD_D ic1ih3oc1kh1n1 --batch=sub/inner ic1ih3oc1kh1n4")],
            [("1", "FWD_D"), ("2", "FWD_D"), ("3", "FWD_D"), ("4", "BWD_W")])
        other = os.path.join(self.folder.name, "other")
        self.assertEqual(self.cases(f"--batch={other}"), [("3", "FWD_B", "f32", "nchw")])
        self.assertIn("more than 16 deep", self.refusal("--batch=batch")[0])
        self.write("sub/inner", "--batch=nowhere")
        error = self.run_bad(1, "bench", f"--batch={self.write('batch', '--batch=sub/inner')}")
        self.assertIn("sub/nowhere: No such file", error)
        self.run_bad(1, "bench", f"--batch={self.folder.name}")

    def test_mistakes_are_shown_where_they_are(self):
        self.assertEqual(self.refusal("\n--dir=FWD_D  ic3ih8oc4kh3zz1 # why\n")[:3],
                         ["2: unknown key", "  --dir=FWD_D  ic3ih8oc4kh3zz1 # why",
                          "                           ^"])
        self.assertEqual(self.refusal('ic1ih2oc1kh1n"ä"\tic3x4\n')[1:3],
                         ['  ic1ih2oc1kh1n"ä" ic3x4', " " * 22 + "^"])
        lines = self.refusal("ic1ih2oc1kh1\n\n  --dir=FWD,BWD_D ic1ih2oc1kh1")
        self.assertTrue(lines[0].startswith("3: --dir=FWD,BWD_D: allowed are FWD_B"), lines)
        self.assertEqual(lines[2], "    ^")
        for option, words in (("--mb=-1", "0 to"), ("--mode=X", "CP"), ("--match=(", "expression"),
                              ("--threads=x", "4096"), ("--mb=" + ",".join(map(str, range(17))),
                                                        "more than 16")):
            self.assertIn(words, self.refusal(f"{option} ic1ih2oc1kh1")[0])
        self.assertIn("zero byte", self.refusal("ic1ih2oc1kh1\0\n")[0])
        self.assertIn("a descriptor is missing",
                      self.run_bad(2, "bench", f"--batch={self.write('batch', '# nothing')}"))

    def test_options_of_others_are_counted_and_left_out(self):
        text = ("--skip-impl=ref,x64:gemm --attr-post-ops=sum:0.5, \\\n relu\n"
                "--engine=cpu --alg=direct --wtag=any --attr-scales= --conv\n"
                "ic1ih3oc1kh1 --alg=wino --attr-post-ops=add:f32 ic1ih3oc1kh1 -v5\n")
        rows, note = self.rows(text)
        self.assertEqual([r["ok"] for r in rows], [True, True])
        self.assertEqual(note, "options left out: --skip-impl (1), --attr-post-ops (2), --alg (1), "
                               "-v5 (1)\n")
        table = self.run_ok("bench", f"--batch={self.write('batch', text)}")
        self.assertTrue(table.endswith("2 passed, 0 failed, 0 skipped\n" + note), table)

    def test_types_and_layouts_that_convop_lacks(self):
        rows, note = self.rows("--dt=f32,u8:s8:u8,bf16:bf16:bf16 ic1ih3oc1kh1\n"
                               "--dt=s8:s8:s32 ic1ih3oc1kh1n2 --cfg=f16,u8s8u8 ic1ih3oc1kh1n3\n")
        self.assertEqual([(r["dt"], r["outcome"]) for r in rows],
                         [("f32", "passed"), ("bf16", "passed"), ("-", "skipped"),
                          ("f16", "passed")])
        self.assertIn("no element type", rows[2]["why"])
        self.assertEqual(note, "options left out: --dt=u8:s8:u8 (1), --dt=s8:s8:s32 (1), "
                               "--cfg=u8s8u8 (1)\n")
        rows, note = self.rows("--stag=aBx16b --dtag=aBx16b ic1ih3oc1kh1")
        self.assertEqual([(r["tag"], r["outcome"]) for r in rows], [("-", "skipped")])
        self.assertEqual(note, "options left out: --stag=aBx16b (1), --dtag=aBx16b (1)\n")

    def test_layouts_of_src_and_dst_must_agree(self):
        def tags(options):
            return [r["tag"] for r in self.rows(f"{options} ic1ih3oc1kh1")[0]]
        self.assertEqual(tags("--stag=axb --dtag=axb"), ["nhwc"])
        self.assertEqual(tags("--stag=abx --dtag=abx"), ["nchw"])
        self.assertEqual(tags("--stag=any,axb --dtag=any,axb"), ["nchw", "nhwc"])
        self.assertEqual(tags("--stag=axb --dtag=abx"), ["-"])
        self.assertEqual(tags("--stag=abx,axb"), ["nchw", "nhwc"])
        self.assertEqual(tags("--stag=axb --dtag=axb --tag=abx"), ["nchw"])

    def test_mb_and_match(self):
        rows, note = self.rows("--mb=1,0,4 mb3ic1ih3oc1kh1n\"one\" mb3ic2ih4oc1kh3n\"two\"",
                               "--match=kh3|one")
        self.assertEqual([(r["name"], r["problem"][:3]) for r in rows],
                         [(n, mb) for n in ("one", "two") for mb in ("mb1", "mb3", "mb4")])
        self.assertEqual(note, "")
        rows, note = self.rows("mb3ic1ih3oc1kh1 mb3ic2ih4oc1kh3", "--match=kh3$")
        self.assertEqual([r["name"] for r in rows], ["mb3ic2ih4oc1kh3"])
        self.assertEqual(note, "descriptors that do not match: 1\n")

    def test_options_after_it_count_for_all_of_it(self):
        text = "--dir=FWD_D ic1ih3oc1kh1 --reset ic1ih3oc1kh1 --dt=f64"
        self.assertEqual([c[1:] for c in self.cases(text, "--dir=BWD_D")],
                         [("BWD_D", "f32", "nchw")] * 2)

    def test_what_benchdnns_files_do(self):
        """Forms that its files for convolutions have, each in a line of our own."""
        rows, _ = self.rows("""--reset --dt=f32
            mb1ic8oc8_ih9kh3_kh3ph2sh1
            --dir=BWD_W g1ic8ih7iw1oc8oh1ow1kh11kw1sh2sw1ph5pw0n
            --dir=BWD_D mb1_g1_ic8oc8_kd1kh1kw1_id1ih2iw1_od1oh1ow1_sd1sh3sw1_pd0ph0pw0n"end(-1)"
            --dir=FWD_B g2ic8id4oc6od2kd3pd0nany%text_!=0*4
            --dir=FWD_I mb1_ic1oc3_iw1_ow29_kw14_pw28_dw1_n"kernel_below_padding"
            g17ic17oc17_id8od4kd3pd1sd2_n"3d:tail"
        """)
        self.assertEqual([r["ok"] for r in rows], [True] * 6)
        self.assertEqual(rows[3]["name"], "any%text_!=0*4")


if __name__ == "__main__":
    main()
