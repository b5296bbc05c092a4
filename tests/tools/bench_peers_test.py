#!/usr/bin/env python3
"""bench/peers.py: figures, comparison of outputs, tables and plot; and what it does when a side fails. Nothing here is timed."""

import argparse
import json
import math
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "tools"))

import peers  # noqa: E402
import write_status  # noqa: E402
from sides import case, figures, peer, plot, processes, report  # noqa: E402


def of_process(median: float, least: float, **more: float) -> dict:
    return {"median_ns": median, "min_ns": least, "load_ns": 5e6, "first_ns": 2e6, "peak_bytes": 30 << 20} | more


def row(model: str, side: dict, ns: float, threads: int = 1, **more) -> dict:
    return {"model": f"x/{model}/model.onnx", "threads": threads, "file_bytes": 8 << 20, "errors": [1e-6], "spread": 0.02,
            "median_ns": ns, "min_ns": ns / 2, "load_ns": 3e6, "first_ns": 4e6, "peak_bytes": 40 << 20} | side | more  # fmt: skip


AUTO, CPU, ORT, VINO = {"provider": "auto"}, {"provider": "cpu"}, {"runtime": "ONNX Runtime 9"}, {"runtime": "OpenVINO 8 f32"}
ROWS = [row("net", AUTO, 2e6), row("net", CPU, 8e6, spread=0.3), row("net", ORT, 4e6, errors=[2e-6, None], before_bytes=10 << 20),
        row("net", VINO, 1e6, errors=[]), row("tree", AUTO, 4e6), row("tree", ORT, 2e6)]


class Figures(unittest.TestCase):
    def test_summary_of_processes(self):
        found = report.summary([of_process(4, 3), of_process(6, 5, peak_bytes=90), of_process(5, 1)])
        self.assertEqual((found["median_ns"], found["min_ns"], found["processes"]), (5, 1, 3))
        self.assertAlmostEqual(found["spread"], 0.4)
        self.assertEqual(found["peak_bytes"], 30 << 20)
        self.assertNotIn("before_bytes", found)

    def test_geometric_mean(self):
        self.assertAlmostEqual(figures.geometric_mean([0.5, 2, 8]), 2)

    def test_turns_go_forth_and_back(self):
        self.assertEqual("".join(figures.turns("AB", 3)), "ABBAAB")

    def test_distance(self):
        a = np.array([3, 4], np.float32)
        self.assertAlmostEqual(figures.distance(a + np.float32(0.5), a), 0.5 / math.sqrt(12.5))
        self.assertEqual(figures.distance(a, a), 0)
        self.assertEqual(figures.distance(a, np.zeros(2)), math.inf)
        self.assertEqual(figures.distance(np.array([3, np.nan]), a), math.inf)
        self.assertEqual(figures.distance(np.array([3, -np.inf]), np.array([3, -np.inf])), 0)

    def test_errors_are_those_of_outputs_in_floating_point(self):
        outputs = [np.array([1.5], np.float32), np.array([7])]
        self.assertEqual(figures.errors(outputs, [np.array([1.0]), np.array([8])]), [0.5, None])
        self.assertEqual(figures.errors(outputs, None), [])


class Difference(unittest.TestCase):
    VALUES = np.linspace(-2, 2, 100, dtype=np.float32)

    def test_rounding_is_no_difference(self):
        self.assertIsNone(figures.difference([self.VALUES * np.float32(1.0005)], [self.VALUES]))
        self.assertIsNone(figures.difference([self.VALUES + np.float32(5e-5)], [self.VALUES]))

    def test_one_wrong_element_is_told(self):
        wrong = self.VALUES.copy()
        wrong[3] += 0.01
        self.assertEqual(figures.difference([self.VALUES, wrong], [self.VALUES] * 2), "output 1: 1 of 100 elements differ")

    def test_small_outputs_are_compared_by_their_own_size(self):
        small = self.VALUES * np.float32(1e-6)
        self.assertIsNotNone(figures.difference([small + np.float32(1e-8)], [small]))

    def test_not_a_number_agrees_only_with_itself(self):
        nan = np.where(self.VALUES > 1, np.float32(np.nan), self.VALUES)
        self.assertIsNone(figures.difference([nan], [nan]))
        self.assertIsNotNone(figures.difference([nan], [self.VALUES]))
        self.assertIsNotNone(figures.difference([nan], [self.VALUES], rough=True))

    def test_as_exact_is_at_most_twice_the_error_of_the_peer(self):
        exact, theirs = self.VALUES.astype(np.float64), self.VALUES * np.float32(1.001)
        near, far = self.VALUES * np.float32(0.9981), self.VALUES * np.float32(0.9979)
        self.assertTrue(figures.as_exact([near, theirs], [theirs, theirs], [exact, exact]))
        self.assertFalse(figures.as_exact([near, far], [theirs, theirs], [exact, exact]))
        lost = np.where(np.arange(100) == 7, np.float32(np.nan), self.VALUES)
        self.assertFalse(figures.as_exact([lost], [lost], [exact]))
        classes = np.arange(100)
        self.assertFalse(figures.as_exact([classes], [classes], [classes]))

    def test_shapes_and_numbers_of_outputs(self):
        self.assertEqual(figures.difference([self.VALUES], [self.VALUES[:2]]), "output 0: shape (100,) against (2,)")
        self.assertEqual(figures.difference([self.VALUES], []), "1 outputs against 0")

    def test_rough_outputs_are_compared_as_a_whole(self):
        noise = np.random.default_rng(1).normal(size=100).astype(np.float32)
        self.assertIsNone(figures.difference([self.VALUES + 0.1 * noise], [self.VALUES], rough=True))
        self.assertIsNotNone(figures.difference([self.VALUES + 0.1 * noise], [self.VALUES]))
        self.assertRegex(figures.difference([self.VALUES + noise], [self.VALUES], rough=True), "output 0: the outputs are 0.7")

    def test_integers_are_equal_but_for_a_few_rough_ones(self):
        classes = np.arange(100)
        other = classes.copy()
        other[:5] = -1
        self.assertEqual(figures.difference([other], [classes]), "output 0: 5 of 100 elements differ")
        self.assertIsNone(figures.difference([other], [classes], rough=True))
        other[5] = -1
        self.assertEqual(figures.difference([other], [classes], rough=True), "output 0: 6 of 100 elements differ")


class Tables(unittest.TestCase):
    def test_speed(self):
        lines = report.speed_table(ROWS, "median_ns").splitlines()
        self.assertEqual(lines[0], "| model | threads | providers | Tenon ms | ONNX Runtime ms | OpenVINO f32 ms | x ONNX Runtime "
                         "| x OpenVINO f32 | spread | error: Tenon | ONNX Runtime | OpenVINO f32 |")  # fmt: skip
        self.assertEqual(lines[2], "| net | 1 | auto | 2.000 | 4.000 | 1.000 | 2.00 | 0.50 | 2% | 1.0e-06 | 2.0e-06 |  |")
        self.assertEqual(lines[3], "| net | 1 | cpu | 8.000 | 4.000 | 1.000 | 0.50 | 0.12 | 30% | 1.0e-06 | 2.0e-06 |  |")
        self.assertEqual(lines[4], "| tree | 1 | auto | 4.000 | 2.000 |  | 0.50 |  | 2% | 1.0e-06 | 1.0e-06 |  |")
        self.assertEqual({line.count("|") for line in lines}, {13})

    def test_least_times(self):
        self.assertIn("| net | 1 | auto | 1.000 | 2.000 | 0.500 |", report.speed_table(ROWS, "min_ns"))

    def test_short_times_have_more_digits(self):
        self.assertEqual([report.ms(ns) for ns in (1234567, 99999, 540)], ["1.235", "0.10000", "0.00054"])

    def test_means(self):
        lines = report.means_table(ROWS, "median_ns").splitlines()
        self.assertIn("| 1 | auto | ONNX Runtime | 2 | 1.00 | tree 0.50 | 1: tree 0.50 |", lines)
        self.assertIn("| 1 | auto | OpenVINO f32 | 1 | 0.50 | net 0.50 | 1: net 0.50 |", lines)
        faster = report.means_table([ROWS[0], ROWS[2]], "median_ns").splitlines()
        self.assertEqual(faster[2], "| 1 | auto | ONNX Runtime | 1 | 2.00 | net 2.00 | 0 |")

    def test_numbers_of_threads_stay_apart(self):
        rows = ROWS + [row("net", AUTO, 1e6, threads=2), row("net", ORT, 3e6, threads=2)]
        self.assertIn("| 2 | auto | ONNX Runtime | 1 | 3.00 | net 3.00 | 0 |", report.means_table(rows, "median_ns"))

    def test_cold(self):
        lines = report.cold_table(ROWS).splitlines()
        self.assertEqual(lines[2], "| net | 1 | Tenon auto | 3.0 | 4.00 | 40 |  | 8 | 5.0 |")
        self.assertEqual(lines[4], "| net | 1 | ONNX Runtime | 3.0 | 4.00 | 40 | 10 | 8 | 3.8 |")

    def test_problems_are_on_the_page(self):
        self.assertTrue(report.page(ROWS, ["net: wrong", "tree: slow"], "median_ns").endswith("\n- net: wrong\n- tree: slow\n"))
        self.assertIn("Other runtimes: ONNX Runtime 9, OpenVINO 8 f32. ", report.page(ROWS, [], "min_ns"))
        self.assertIn("least times", report.page(ROWS, [], "min_ns"))

    def test_the_status_page_reads_the_rows(self):
        page = write_status.status_text({}, bench=[ROWS])
        self.assertIn("| net | auto | 1 | ONNX Runtime 9 | 0.50 |\n| net | auto | 1 | OpenVINO 8 f32 | 2.00 |\n| net | cpu | 1 |", page)

    def test_plot(self):
        svg = plot.plot(ROWS, "median_ns")
        root = ElementTree.fromstring(svg)
        circles = root.findall("{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(circles), 6 + 4)  # and one for each side's name
        self.assertIn(f'cx="{plot.place(0.5):.1f}"', svg)
        texts = [element.text for element in root.findall("{http://www.w3.org/2000/svg}text")]
        self.assertIn("tree, 1 thread", texts)
        self.assertIn("16", [element.text for element in ElementTree.fromstring(plot.plot([ROWS[2], row("net", CPU, 64e6)], "median_ns"))])

    def test_places_of_the_plot(self):
        self.assertAlmostEqual(plot.place(0.25), plot.LEFT)
        self.assertAlmostEqual(plot.place(8), plot.LEFT + plot.WIDTH)
        self.assertEqual(plot.place(100), plot.place(8))
        self.assertAlmostEqual(plot.place(2) - plot.place(1), plot.place(4) - plot.place(2))


class Cases(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "net"
        (self.folder / "test_data_set_0").mkdir(parents=True)
        self.write("input", 0, "x", np.array([1, 2], np.float32))
        self.model("Relu")

    def write(self, kind: str, number: int, name: str, value: np.ndarray) -> None:
        path = self.folder / f"test_data_set_0/{kind}_{number}.pb"
        path.write_bytes(numpy_helper.from_array(value, name).SerializeToString())

    def model(self, op: str) -> None:
        graph = helper.make_graph([helper.make_node(op, ["x"], ["y"] if op == "Relu" else ["y", "s", "z"])], "net",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT if op == "Relu" else TensorProto.UINT8, [2])])
        opsets = [helper.make_opsetid("", 20)]
        (self.folder / "model.onnx").write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())

    def compare(self, run, **more) -> tuple[list[dict], list[str], list[str]]:
        """peers.compare with processes that `run` stands for: side -> (outputs, figures of the process)."""
        def instead(side, folder, threads, seconds, work):
            side.outputs, of = run(side)
            side.figures.append({"version": "9", "precision": "f32"} | of)

        options = argparse.Namespace(provider=["cpu"], peers=["onnxruntime", "openvino"], quick=True, seconds=1, restarts=2)
        for key, value in more.items():
            setattr(options, key, value)
        with mock.patch.object(peers.Side, "run", instead):
            return peers.compare(self.folder, 1, options)

    def test_inputs_by_name_or_position(self):
        self.write("input", 1, "w", np.array([3]))
        found = case.named_inputs(self.folder, ["w", "x"])
        np.testing.assert_array_equal(found["w"], [3])
        np.testing.assert_array_equal(case.named_inputs(self.folder, ["a", "b"])["b"], [3])
        self.assertTrue(found["x"].flags.writeable)

    def test_rows_of_all_sides(self):
        self.write("reference", 0, "y", np.array([1.0, 2.0]))
        outputs = [np.array([1, 2], np.float32)]
        rows, problems, notes = self.compare(lambda side: (outputs, of_process(5, 4)))
        self.assertEqual((problems, notes), ([], []))
        self.assertEqual([report.label(row) for row in rows],
                         ["Tenon auto", "Tenon cpu", "ONNX Runtime 9 CPU", "OpenVINO 9 f32", "OpenVINO 9 default (f32)"])
        self.assertTrue(all(row["errors"] == [0] and row["processes"] == 2 for row in rows))
        json.dumps(rows)

    def test_wrong_outputs_of_tenon_leave_no_rows(self):
        def run(side):
            return [np.array([1, 9 if side.provider == "cpu" else 2], np.float32)], of_process(5, 4)

        rows, problems, _ = self.compare(run)
        self.assertEqual(rows, [])
        self.assertEqual(problems[0], "net, threads 1: Tenon cpu against ONNX Runtime: output 0: 1 of 2 elements differ")

    def test_an_element_may_differ_where_both_are_as_far_from_float64(self):
        self.write("reference", 0, "y", np.array([1.0, 2.0]))

        def run(side):
            return [np.array([1, 2.004 if side.provider else 1.997], np.float32)], of_process(5, 4)

        rows, problems, notes = self.compare(run)
        self.assertEqual((len(rows), problems), (5, []))
        self.assertEqual(notes[0], "net, threads 1: Tenon auto against ONNX Runtime: output 0: 1 of 2 elements differ; "
                                   "the error against float64 is at most 2 times as large")

    def test_another_precision_is_compared_roughly(self):
        def run(side):
            low = side.setting == "default"
            return [np.array([1, 2.1 if low else 2], np.float32)], of_process(5, 4) | {"precision": "bf16" if low else "f32"}

        rows, problems, _ = self.compare(run)
        self.assertEqual((len(rows), problems), (5, []))
        self.assertEqual(rows[-1]["runtime"], "OpenVINO 9 default (bf16)")

    def test_a_precision_of_tenon(self):
        flags = processes.tenon_flags(self.folder, "onednn,cpu+bf16")
        self.assertEqual(flags[:5], ["--provider", "onednn", "cpu", "--set", "precision.default=bf16"])
        self.assertEqual(processes.tenon_flags(self.folder, "auto+bf16")[:2], ["--set", "precision.default=bf16"])
        self.assertNotIn("--set", processes.tenon_flags(self.folder, "auto"))

        def run(side):
            return [np.array([1, 2.1 if side.provider == "auto+bf16" else 2], np.float32)], of_process(5, 4)

        rows, problems, _ = self.compare(run, provider=["auto+bf16"])
        self.assertEqual((len(rows), problems), (5, []))
        self.assertIn("Tenon auto+bf16", [report.label(row) for row in rows])

    def test_quantised_models_are_compared_roughly(self):
        self.assertFalse(peers.is_quantised(self.folder))
        self.model("DynamicQuantizeLinear")
        self.assertTrue(peers.is_quantised(self.folder))
        rows, problems, _ = self.compare(lambda side: ([np.array([1, 2.1 if side.provider else 2], np.float32)], of_process(5, 4)))
        self.assertEqual((len(rows), problems), (5, []))

    def test_a_peer_that_cannot_run_the_model_is_named(self):
        def run(side):
            if side.runtime == "openvino":
                raise processes.Failed("no such operator")
            return [np.array([1, 2], np.float32)], of_process(5, 4)

        rows, problems, notes = self.compare(run)
        self.assertEqual((len(rows), problems), (3, []))
        self.assertEqual(notes, [f"net, threads 1: OpenVINO {setting} fails: no such operator" for setting in ("f32", "default")])

    def test_tenon_that_fails_is_a_problem(self):
        def run(side):
            if side.provider == "auto":
                raise processes.Failed("refused")
            return [np.array([1, 2], np.float32)], of_process(5, 4)

        self.assertEqual(self.compare(run)[:2], ([], ["net, threads 1: Tenon auto fails: refused"]))

    def test_the_fastest_setting_of_onnx_runtime(self):
        times = {"all+spin": 5, "all+park": 3, "basic+park": 4}  # basic+spin fails

        def bench(runtime, setting, folder, threads, seconds):
            if setting not in times:
                raise processes.Failed("no")
            return {"median_ns": times[setting]}

        with mock.patch.object(processes, "bench_peer", bench):
            self.assertEqual(peers.fastest_setting(self.folder, 2, 1), "all+park")
        self.assertEqual(peer.ort_settings(1), ["all+spin", "basic+spin"])

    def test_the_last_line_of_a_failed_process_is_told(self):
        with self.assertRaisesRegex(processes.Failed, "^second$"):
            processes.output_of(["bash", "-c", "echo first >&2; echo second >&2; exit 3"])
        with self.assertRaisesRegex(processes.Failed, "^exit code 3$"):
            processes.output_of(["bash", "-c", "exit 3"])

    def test_processes_stay_on_the_cores_of_this_one(self):
        with mock.patch("os.sched_getaffinity", lambda process: {5, 2, 7}):
            self.assertEqual(processes.pinned(["true", 3], 2), ["taskset", "-c", "2,5", "true", "3"])

    def test_onnx_runtime_in_a_process(self):
        output = self.folder / "o.npz"
        found = processes.bench_peer("onnxruntime", "all+spin", self.folder, 1, 0.01, output)
        np.testing.assert_array_equal(processes.load_outputs(output)[0], [1, 2])
        self.assertLessEqual(found["min_ns"], found["median_ns"])
        self.assertGreaterEqual(found["peak_bytes"], found["before_bytes"])
        self.assertEqual(found["precision"], "f32")


if __name__ == "__main__":
    unittest.main()
