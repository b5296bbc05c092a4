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
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import export_models  # noqa: E402
import reference  # noqa: E402
from exports import float64, made, quantised  # noqa: E402
from sides import case  # noqa: E402

WEIGHT = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
ROW = np.array([[1, -2, 3, 0.3]], np.float32)


def product(weight: np.ndarray = WEIGHT, reference: np.ndarray | None = None) -> made.Made:
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
                              [numpy_helper.from_array(weight, "w")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return made.Made(model, {"x": ROW}, [ROW.astype(np.float64) @ weight if reference is None else reference])


def values(folder: Path, kind: str) -> list[np.ndarray]:
    return [case.read_tensor(path)[1] for path in case.data_files(folder, kind)]


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
        np.testing.assert_array_equal(values(self.folder / "net", "input")[0], ROW)
        reference, output = values(self.folder / "net", "reference")[0], values(self.folder / "net", "output")[0]
        self.assertEqual((reference.dtype, output.dtype), (np.float64, np.float32))
        np.testing.assert_allclose(reference, ROW.astype(np.float64) @ WEIGHT, rtol=1e-14)
        np.testing.assert_allclose(output, reference, rtol=1e-6)
        model = onnx.load(self.folder / "net/model.onnx")
        self.assertEqual(model.graph.input[0].type.tensor_type.elem_type, TensorProto.FLOAT)

    def test_files_of_a_case_are_read_in_the_order_of_their_numbers(self):
        data = self.folder / "test_data_set_0"
        data.mkdir()
        for i in range(11):
            made.write_tensor(data / f"input_{i}.pb", f"x{i}", np.array([i]))
        self.assertEqual(list(quantised.inputs_of(self.folder)), [f"x{i}" for i in range(11)])

    def test_outputs_that_say_nothing_are_refused(self):
        for weight in (np.zeros_like(WEIGHT), np.full_like(WEIGHT, np.inf)):
            with self.assertRaisesRegex(SystemExit, "net: output 'y' is not finite, or the same everywhere"):
                made.write_case(self.folder / "net", product(weight, reference=np.ones((1, 3))))
        self.assertFalse((self.folder / "net/model.onnx").exists())

    def test_an_export_that_is_not_what_the_package_computes_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "net: output 0 of the exported model is 1.0e-03 of its size from the package's"):
            made.write_case(self.folder / "net", product(reference=ROW.astype(np.float64) @ WEIGHT / 1.001))
        with self.assertRaisesRegex(SystemExit, "net: output 0 of the exported model is inf"):
            made.write_case(self.folder / "net", product(reference=np.ones(3)))
        made.write_case(self.folder / "net", product(reference=ROW.astype(np.float64) @ WEIGHT / 1.00001))

    def test_trees_have_the_references_of_their_package(self):
        trees = product(reference=np.ones((1, 3)))
        trees.model.graph.node[0].domain = "ai.onnx.ml"
        self.assertIs(made.references_of(self.folder, trees), trees.reference)

    def test_inputs_of_other_names_are_refused(self):
        other = product()
        other.inputs = {"z": ROW}
        with self.assertRaisesRegex(SystemExit, r"net: the model's inputs are \['x'\], its data are for \['z'\]"):
            made.write_case(self.folder / "net", other)

    def test_a_quantised_model_has_the_inputs_of_its_source_and_a_reference_of_its_own(self):
        made.write_case(self.folder / "net", product())
        with contextlib.redirect_stderr(io.StringIO()):
            quantised_case = quantised.dynamic(self.folder / "net")
        self.assertIn("MatMulInteger", {node.op_type for node in quantised_case.model.graph.node})
        made.write_case(self.folder / "net_int8", quantised_case)
        np.testing.assert_array_equal(values(self.folder / "net_int8", "input")[0], ROW)
        reference = values(self.folder / "net_int8", "reference")[0]
        self.assertGreater(np.abs(reference - ROW.astype(np.float64) @ WEIGHT).max(), 1e-5)
        np.testing.assert_allclose(values(self.folder / "net_int8", "output")[0], reference, rtol=1e-5)

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


class Float64(unittest.TestCase):
    """Operators over PyTorch are not here: every export compares the evaluator's outputs with PyTorch's own."""

    def model(self, nodes: list, inputs: dict[str, np.ndarray], kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
        types = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in inputs.items()}
        values = [helper.make_tensor_value_info(name, types[name], value.shape) for name, value in inputs.items()]
        graph = helper.make_graph(nodes, "net", values, [helper.make_tensor_value_info("y", kind, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def run_nodes(self, nodes: list, inputs: dict[str, np.ndarray], kind: int = TensorProto.FLOAT) -> np.ndarray:
        return float64.in_float64(self.model(nodes, inputs, kind), inputs)[0]

    def test_constants_and_casts_are_widened(self):
        third = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array([0.1], np.float32)))
        nodes = [third, helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["f", "c"], ["y"])]
        y = self.run_nodes(nodes, {"i": np.array([3])})
        self.assertEqual(y.dtype, np.float64)
        self.assertEqual(y[0], 3 * np.float64(np.float32(0.1)))

    def test_subgraphs_are_widened(self):
        constant = helper.make_node("Constant", [], ["b"], value=numpy_helper.from_array(np.array([0.1], np.float32)))
        branch = helper.make_graph([constant], "branch", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, [1])])
        y = self.run_nodes([helper.make_node("If", ["i"], ["y"], then_branch=branch, else_branch=branch)], {"i": np.array(True)})
        self.assertEqual((y.dtype, y[0]), (np.float64, np.float32(0.1)))

    def test_the_default_of_constant_of_shape_is_widened(self):
        nodes = [helper.make_node("ConstantOfShape", ["i"], ["z"]), helper.make_node("Add", ["x", "z"], ["y"])]
        np.testing.assert_array_equal(self.run_nodes(nodes, {"i": np.array([2]), "x": np.ones(2, np.float32)}), [1, 1])

    def test_sums_of_integers_are_exact(self):
        draw = np.random.default_rng(1).integers
        a, b = draw(0, 255, (5, 700), np.uint8), draw(-128, 127, (700, 3), np.int8)
        zeros = {"az": np.array(7, np.uint8), "bz": np.array([-3, 0, 100], np.int8)}
        y = self.run_nodes([helper.make_node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])], {"a": a, "b": b} | zeros, TensorProto.INT32)
        np.testing.assert_array_equal(y, (a.astype(np.int32) - 7) @ (b.astype(np.int32) - zeros["bz"]))

    def test_weights_of_four_bits_are_those_of_onnx_runtime(self):
        random = np.random.default_rng(1)
        count, width, block = 40, 3, 16  # the last block and the last byte of zero points are not full
        blocks = -(-count // block)
        inputs = {"a": random.normal(size=(2, count)).astype(np.float32),
                  "b": random.integers(0, 255, (width, blocks, block // 2), np.uint8),
                  "s": random.uniform(0.5, 1, width * blocks).astype(np.float32),
                  "z": random.integers(0, 255, width * ((blocks + 1) // 2), np.uint8)}  # fmt: skip
        for names in (["a", "b", "s"], ["a", "b", "s", "z"]):
            node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=count, N=width, bits=4, block_size=block)
            used = {name: inputs[name] for name in names}
            model = self.model([node], used)
            theirs = made.session_of(model.SerializeToString()).run(None, used)[0]
            np.testing.assert_allclose(theirs, float64.in_float64(model, used)[0], rtol=1e-5, atol=1e-5)

    def test_what_is_computed_in_float32_is_refused(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data = folder / "test_data_set_0"
            data.mkdir()
            made.write_tensor(data / "input_0.pb", "x", ROW)
            node = helper.make_node("Binarizer", ["x"], ["b"], domain="ai.onnx.ml", threshold=0.5)
            narrow = helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT)
            model = self.model([node, narrow], {"x": ROW})
            model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
            onnx.save(model, folder / "model.onnx")
            reference.write_references(folder)
            np.testing.assert_array_equal(values(folder, "reference")[0], [[1, 0, 1, 0]])
            with mock.patch.object(float64, "widen_graph", lambda graph: setattr(graph.output[0].type.tensor_type, "elem_type", 11)):
                with self.assertRaisesRegex(SystemExit, "no references: output 'y' is float32"):
                    reference.write_references(folder)


if __name__ == "__main__":
    unittest.main()
