#!/usr/bin/env python3
"""tools/write_status.py: the page follows from the reports alone, and leaves nothing out silently."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import write_status  # noqa: E402


def counts(passed: int, failed: int = 0, failures: tuple = ()) -> dict:
    return {"passed": passed, "failed": failed, "declared": 0, "not_run": 0, "failures": list(failures)}


def case(name: str, status: str = "passed", message: str = "", **nodes: int) -> dict:
    return {"name": name, "status": status, "message": message, "seconds": 0.5, "nodes": nodes}


NODE = {"cases": [case("a", cpu=1), case("b", cpu=1, fake=2), case("c", fake=1),
                  case("d", "failed", "file '/home/me/d/model.onnx': node 'n' (Op|X) is unsupported, 12 ms"),
                  case("e", "failed", "file '/tmp/e/model.onnx': node 'n' (Op|X) is unsupported, 3 ms"),
                  case("f", "crashed", "the worker was killed"), case("g", "declared", "rounds otherwise", cpu=1)]}
MODELS = {"cases": [case("zeta", cpu=10), case("alpha", "failed", "no", fake=3, cpu=1)]}
RESULTS = {"tests release": counts(10, 1, ["suite.name"]), "onnx node": counts(3, 3, ["d", "e", "f"]),
           "published models": counts(1, 1, ["alpha"])}
PEERS = [{"model": "x/resnet.onnx", "threads": 1, "median_ns": 300},
         {"model": "y/bert/model.onnx", "threads": 0, "median_ns": 100},
         {"model": "resnet.onnx", "threads": 1, "median_ns": 400, "runtime": "peer 2.0"},
         {"model": "bert/model.onnx", "threads": 0, "median_ns": 50, "runtime": "peer 2.0"},
         {"model": "resnet.onnx", "threads": 1, "median_ns": 200, "provider": "fake,cpu"},
         {"model": "resnet.onnx", "threads": 2, "median_ns": 1, "runtime": "peer 2.0"}]
BENCH = [PEERS, [{"model": "bert.onnx", "threads": 0, "median_ns": 60, "provider": "fake,cpu"},
                 {"model": "bert.onnx", "threads": 0, "median_ns": 40, "runtime": "peer 2.0"}]]
OVERHEAD = [{"call": "bound slots", "nodes": 1, "median_ns": 20.4}, {"call": "bound slots", "nodes": 10, "median_ns": 119.4}]


class Status(unittest.TestCase):
    def page(self) -> str:
        return write_status.status_text(RESULTS, {"onnx node": NODE, "published models": MODELS}, BENCH)

    def test_cases_by_provider(self):
        self.assertIn("| onnx node | cpu | 1 | 1 |\n| onnx node | fake | 1 | 1 |\n", self.page())

    def test_models(self):
        self.assertIn("| alpha | failed | cpu 1, fake 3 |\n| zeta | passed | cpu 10 |\n", self.page())

    def test_failures_of_one_cause_are_one_row(self):
        self.assertIn("| 2 | `d` | file 'model.onnx': node 'n' (Op\\|X) is unsupported, N s |\n", self.page())
        self.assertIn("| 1 | `f` | the worker was killed |\n", self.page())

    def test_failures_of_tests_are_named(self):
        self.assertIn("- tests release: `suite.name`\n", self.page())

    def test_declared_failures_have_their_reason(self):
        self.assertIn("### onnx node: declared\n\n| cases | first of them | message |\n|---:|---|---|\n"
                      "| 1 | `g` | rounds otherwise |\n", self.page())

    def test_performance(self):
        self.assertIn("| bert | auto | all | peer 2.0 | 2.00 |\n| bert | fake,cpu | all | peer 2.0 | 1.50 |\n| resnet | auto | 1 | peer 2.0 | 0.75 |\n"
                      "| resnet | fake,cpu | 1 | peer 2.0 | 0.50 |\n", self.page())
        self.assertIn("Not measured in this run.", write_status.status_text(RESULTS))

    def test_automatic_order(self):
        row = {"model": "net", "threads": 1, "median_ns": {"auto": 2200, "cpu": 9000, "onednn,cpu": 2000}}
        page = write_status.status_text(RESULTS, orders=[[row]])
        self.assertIn("| net | 1 | 2.2 | 9.0 | 2.0 | 1.10 |", page)
        self.assertNotIn("automatic order", write_status.status_text(RESULTS))

    def test_overhead(self):
        page = write_status.status_text(RESULTS, overhead=OVERHEAD)
        self.assertIn("| bound slots | 1 | 20 |  |\n| bound slots | 10 | 119 | 11.0 |\n", page)

    def test_what_is_left_out_is_counted(self):
        many = [case(f"c{i:03}", "failed", f"cause {i:03}") for i in range(write_status.GROUPS_SHOWN + 5)]
        page = write_status.status_text(RESULTS, {"onnx node": {"cases": many}})
        self.assertIn("5 more cases in 5 groups.", page)

    def test_page_is_the_same_for_other_times_and_orders_of_models(self):
        slower = {"cases": [entry | {"seconds": 9.0} for entry in reversed(MODELS["cases"])]}
        again = write_status.status_text(RESULTS, {"onnx node": NODE, "published models": slower}, BENCH)
        self.assertEqual(again, self.page())

    def test_files(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "onnx_node.json").write_text(json.dumps(NODE))
            (folder / "peers.json").write_text(json.dumps(PEERS))
            self.assertEqual(write_status.load_reports(list(RESULTS), folder), {"onnx node": NODE})
            (folder / "onnx_node.json").unlink()
            self.assertEqual(write_status.load_runs(folder, "peers*.json"), [PEERS])


if __name__ == "__main__":
    unittest.main()
