"""scripts/gpu_report: a page from results, and the tree's page from the tree's results."""

import importlib.machinery
import importlib.util
import json
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = pathlib.Path(__file__).resolve().parent / "gpu_report"


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


report = script("gpu_report")


class Page(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.results = report.kept(report.load(FIXTURES / "results.json"))

    def test_is_what_the_results_give(self):
        self.assertEqual(report.page([self.results]), (FIXTURES / "status.md").read_text())

    def test_takes_the_newest_result_of_a_model(self):
        older = json.loads(json.dumps(self.results).replace("2026-12-01", "2026-11-01").replace("91.2", "55.5"))
        rows = [row for row in report.golden_rows([older, self.results]) if row[0] == "sdxl" and row[2] == "fp32"]
        self.assertEqual([(row[4], row[5], row[7]) for row in rows], [("3 of 3", "88.5", "2026-12-01")])

    def test_says_where_no_device_has_run(self):
        self.results["machine"]["device"] = {}
        self.assertIn("No run on a GPU is recorded yet", report.page([self.results]))
        self.assertIn("A processor, 16 cores", report.page([self.results]))

    def test_names_a_kept_file_by_time_and_device(self):
        self.assertEqual(report.name_of(self.results), "2026-12-01-1020-nvidia-h100-80gb-hbm3.json")

    def test_of_the_tree_is_up_to_date(self):
        found = [report.load(path) for path in sorted(report.FOLDER.glob("*.json"))]
        self.assertEqual(report.PAGE.read_text(), report.page(found), "run scripts/gpu_report")


if __name__ == "__main__":
    unittest.main()
