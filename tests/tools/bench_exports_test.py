#!/usr/bin/env python3
"""bench/export_models.py: what it writes as a case, what it refuses, and that nothing is left out silently."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import export_models  # noqa: E402
from exports import made, quantised  # noqa: E402

WEIGHT = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
ROW = np.array([[1, -2, 3, 0.5]], np.float32)


def product(weight: np.ndarray = WEIGHT, reference: np.ndarray | None = None) -> made.Made:
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
                              [numpy_helper.from_array(weight, "w")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return made.Made(model, {"x": ROW}, [ROW.astype(np.float64) @ weight if reference is None else reference])


class Exports(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_main(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with mock.patch.object(sys, "argv", ["export_models.py", str(self.folder), *arguments]):
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                return export_models.main(), out.getvalue(), err.getvalue()

    def test_a_case_has_its_model_inputs_outputs_and_reference(self):
        made.write_case(self.folder / "net", product())
        inputs, references = quantised.data_of(self.folder / "net")
        np.testing.assert_array_equal(inputs["x"], ROW)
        self.assertEqual(references[0].dtype, np.float64)
        np.testing.assert_array_equal(references[0], ROW.astype(np.float64) @ WEIGHT)
        name, output = quantised.tensor(self.folder / "net/test_data_set_0/output_0.pb")
        self.assertEqual((name, output.dtype), ("y", np.float32))
        np.testing.assert_allclose(output, references[0], rtol=1e-6)
        self.assertTrue((self.folder / "net/model.onnx").exists())

    def test_files_of_a_case_are_read_in_the_order_of_their_numbers(self):
        data = self.folder / "test_data_set_0"
        data.mkdir()
        for i in range(11):
            made.write_tensor(data / f"input_{i}.pb", f"x{i}", np.array([i]))
        self.assertEqual(list(quantised.data_of(self.folder)[0]), [f"x{i}" for i in range(11)])

    def test_outputs_that_say_nothing_are_refused(self):
        for weight in (np.zeros_like(WEIGHT), np.full_like(WEIGHT, np.inf)):
            with self.assertRaisesRegex(SystemExit, "net: output 'y' is not finite, or the same everywhere"):
                made.write_case(self.folder / "net", product(weight, reference=np.zeros((1, 3))))
        self.assertFalse((self.folder / "net/model.onnx").exists())

    def test_a_reference_of_another_shape_is_refused(self):
        with self.assertRaisesRegex(SystemExit, r"net: output 'y' has shape \(1, 3\), its reference \(3,\)"):
            made.write_case(self.folder / "net", product(reference=np.ones(3)))

    def test_inputs_of_other_names_are_refused(self):
        case = product()
        case.inputs = {"z": ROW}
        with self.assertRaisesRegex(SystemExit, r"net: the model's inputs are \['x'\], its data are for \['z'\]"):
            made.write_case(self.folder / "net", case)

    def test_a_quantised_model_keeps_inputs_and_reference_of_its_source(self):
        made.write_case(self.folder / "net", product())
        with contextlib.redirect_stderr(io.StringIO()):
            case = quantised.dynamic(self.folder / "net")
        self.assertIn("MatMulInteger", {node.op_type for node in case.model.graph.node})
        made.write_case(self.folder / "net_int8", case)
        np.testing.assert_array_equal(quantised.data_of(self.folder / "net_int8")[1][0], ROW.astype(np.float64) @ WEIGHT)

    def test_a_missing_package_is_told_and_the_next_model_is_exported(self):
        def make(name: str, folder: Path, exporter: str) -> made.Made:
            if name == "unet":
                raise ImportError("No module named 'torch'")
            return product()

        with mock.patch.object(export_models, "make", make):
            code, out, err = self.run_main("unet", "mlp")
        self.assertEqual((code, out), (1, f"{self.folder / 'mlp'}\n"))
        self.assertEqual(err, "left out unet: No module named 'torch'; install bench/requirements.txt\n")

    def test_a_quantised_model_makes_its_source_first(self):
        with mock.patch.object(export_models.images, "network", lambda name: (name, {})), \
             mock.patch.object(made, "from_torch", lambda model, inputs, exporter: product()), \
             mock.patch.dict(quantised.MODELS, {"resnet50_int8": ("resnet50", lambda source: product())}):  # fmt: skip
            code, out, err = self.run_main("resnet50_int8")
        self.assertEqual((code, err), (0, ""))
        self.assertTrue((self.folder / "resnet50/model.onnx").exists())

    def test_a_case_that_is_there_stays(self):
        made.write_case(self.folder / "net", product())
        with mock.patch.object(export_models, "make", side_effect=AssertionError("made again")):
            self.assertEqual(self.run_main("net")[0], 0)


if __name__ == "__main__":
    unittest.main()
