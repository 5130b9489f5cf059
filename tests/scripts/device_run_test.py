"""bench/device: how a run on a device machine goes on after tests that end their process or lose the device."""

import pathlib
import stat
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "device"))
import golden_part  # noqa: E402
import processes  # noqa: E402
import weights  # noqa: E402

# A GoogleTest program of five tests, of which the second loses the device and the fourth ends the process.
PROGRAM = r"""#!/usr/bin/env python3
import os, sys
flags = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:] if "=" in word)
lost = False
for name in flags["gtest_filter"].split(":"):
    print(f"[ RUN      ] {name}", flush=True)
    if name.endswith("Crashes"):
        os.abort()
    if name.endswith("Loses") or lost:
        lost = True
        print("CUDA error: an illegal memory access was encountered")
        print(f"[  FAILED  ] {name}, where GetParam() = cuda (3 ms)", flush=True)
    else:
        print(f"[       OK ] {name} (2 ms)", flush=True)
"""


class Tests(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.replace("#!/usr/bin/env python3", f"#!{sys.executable}"))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def run_tests(self, names):
        return processes.run_tests(self.program, names, self.folder / "logs", {}, time.monotonic() + 30, self.folder, 1)

    def test_each_test_counts_once_and_runs_on_a_device_that_is_there(self):
        tests = self.run_tests(["S.A", "S.Loses", "S.B", "S.Crashes", "S.C"])
        self.assertEqual([(test["name"], test["result"]) for test in tests],
                         [("S.A", "ok"), ("S.Loses", "failed"), ("S.B", "ok"), ("S.Crashes", "crashed"), ("S.C", "ok")])

    def test_reads_skipped_tests_with_their_reason(self):
        text = "[ RUN      ] All/C.T/cuda\nf.cpp:1: Skipped\nno device\n[  SKIPPED ] All/C.T/cuda (0 ms)\n"
        self.assertEqual(processes.tests_of(text),
                         [{"name": "All/C.T/cuda", "result": "skipped", "seconds": 0, "message": "f.cpp:1: Skipped\nno device"}])


class Goldens(unittest.TestCase):
    def test_tells_records_from_the_run_that_was_begun(self):
        text = 'noise\n{"begins":"a/b","level":"eager","dtype":"fp32"}\n{"golden":"a/b","passed":true}\n{"begins":"a/c","level":"eager","dtype":"fp32"}\n'
        records, begun = golden_part.parsed(text)
        self.assertEqual([record["golden"] for record in records], ["a/b"])
        self.assertEqual(begun["begins"], "a/c")


class Weights(unittest.TestCase):
    def test_every_file_that_they_are_made_from_is_in_the_tree(self):
        for model in weights.MODELS:
            for path in weights.needed_files(model):
                self.assertTrue((ROOT / path).is_file(), path)

    def test_have_the_size_of_the_models(self):
        self.assertAlmostEqual(weights.bytes_of("flux1-dev") / 1e9, 33.7, 1)

    def test_keep_the_size_of_what_goes_through_them(self):
        self.assertEqual(weights.scale_of("norm.weight", [8]), "1")
        self.assertEqual(weights.scale_of("norm.bias", [8]), "0")
        self.assertEqual(weights.scale_of("proj.weight", [4, 16]), 0.25)

    def test_headers_cover_the_file_without_a_gap(self):
        head, places, size = weights.header_of({"a": [2, 3], "bn.num_batches_tracked": [], "b": [5]})
        self.assertEqual([place[2:] for place in places], [(0, 12), (12, 20), (20, 30)])
        self.assertEqual((size, len(head) % 8), (30, 0))


if __name__ == "__main__":
    unittest.main()
