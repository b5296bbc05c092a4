#!/usr/bin/env python3
"""Plants faults into good test cases and sees `tenon test` and the gate's judgement of it turn red.

    planted_faults.py build/release/bin/tenon

The cases are made here, their expected outputs computed by onnx.reference: a small network, the same quantized, and a ZipMap.
Prints a line for each fault that goes unnoticed, then `N passed, N failed`; ends with 1 when one did.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import gate  # noqa: E402

RANDOM = np.random.default_rng(20)
FLOATS = RANDOM.standard_normal((2, 40)).astype(np.float32)


def weights(rows: int, columns: int) -> np.ndarray:
    return (RANDOM.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)


def write_case(folder: Path, nodes: list, initializers: dict, outputs: list, expected: dict | None = None) -> Path:
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 40])]
    constants = [numpy_helper.from_array(value, name) for name, value in initializers.items()]
    graph = helper.make_graph(nodes, "g", values, outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(FLOATS, "x").SerializeToString())
    results = expected or dict(zip([o.name for o in outputs], ReferenceEvaluator(model).run(None, {"x": FLOATS})))
    for i, output in enumerate(outputs):
        value = results[output.name]
        proto = numpy_helper.from_list(value) if isinstance(value, list) else numpy_helper.from_array(value, output.name)
        (data / f"output_{i}.pb").write_bytes(proto.SerializeToString())
    return folder


def floats(*names: str) -> list:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]


def network(folder: Path) -> Path:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    return write_case(folder, nodes, {"w": weights(40, 40)}, floats("h", "y"))


def quantized(folder: Path) -> Path:
    """Two layers with quantized inputs and weights, as exporters write them."""
    scales = {"s": np.float32(0.03), "z": np.uint8(128), "ws": np.float32(0.004), "wz": np.int8(0)}
    nodes, constants, value = [], {name: np.array(scale) for name, scale in scales.items()}, "x"
    for layer in "ab":
        constants[f"{layer}w"] = np.clip(np.round(weights(40, 40) / 0.004), -127, 127).astype(np.int8)
        nodes += [helper.make_node("QuantizeLinear", [value, "s", "z"], [f"{layer}q"]),
                  helper.make_node("DequantizeLinear", [f"{layer}q", "s", "z"], [f"{layer}x"]),
                  helper.make_node("DequantizeLinear", [f"{layer}w", "ws", "wz"], [f"{layer}d"]),
                  helper.make_node("MatMul", [f"{layer}x", f"{layer}d"], [f"{layer}y"])]
        value = f"{layer}y"
    return write_case(folder, nodes, constants, floats(value))


def with_map(folder: Path) -> Path:
    """A map from label to score for each row, its keys in another order than the expected file has them."""
    labels = [30, 10, 20]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["scores"]),
             helper.make_node("ZipMap", ["scores"], ["maps"], domain="ai.onnx.ml", classlabels_int64s=labels)]
    w = weights(40, 3)
    entry = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    maps = helper.make_value_info("maps", helper.make_sequence_type_proto(entry))
    expected = [{key: np.float32(row[labels.index(key)]) for key in sorted(labels)} for row in FLOATS @ w]
    return write_case(folder, nodes, {"w": w}, [maps], {"maps": expected})


def output(case: Path, index: int = 0) -> Path:
    return case / "test_data_set_0" / f"output_{index}.pb"


def scale_output(factor: float) -> Callable[[Path], None]:
    def plant(case: Path) -> None:
        tensor = onnx.TensorProto.FromString(output(case).read_bytes())
        scaled = (numpy_helper.to_array(tensor) * np.float32(factor)).astype(np.float32)
        output(case).write_bytes(numpy_helper.from_array(scaled, tensor.name).SerializeToString())

    return plant


def change_map(change: Callable[[onnx.MapProto], None]) -> Callable[[Path], None]:
    def plant(case: Path) -> None:
        maps = onnx.SequenceProto.FromString(output(case).read_bytes())
        change(maps.map_values[1])
        output(case).write_bytes(maps.SerializeToString())

    return plant


def change_score(entry: onnx.MapProto) -> None:
    entry.values.tensor_values[1].CopyFrom(numpy_helper.from_array(np.float32(77)))


def change_key(entry: onnx.MapProto) -> None:
    entry.keys[0] = 11


def no_value(entry: onnx.MapProto) -> None:
    del entry.values.tensor_values[:]


def copy(source: str, target: str) -> Callable[[Path], None]:
    return lambda case: shutil.copy(case / "test_data_set_0" / source, case / "test_data_set_0" / target)


# name, the case, what is done to it, a part of the failure's text
FAULTS = [
    ("deleted output", network, lambda case: output(case, 1).unlink(), "output_1.pb is missing"),
    ("left-over output", network, copy("output_0.pb", "output_2.pb"), "output_2.pb belongs to no output"),
    ("left-over output far off", network, copy("output_0.pb", "output_17.pb"), "output_17.pb belongs to no output"),
    ("left-over input", network, copy("input_0.pb", "input_1.pb"), "input_1.pb belongs to no input"),
    ("1 % in a network", network, scale_output(1.01), "elements differ"),
    ("10 % in a quantized network", quantized, scale_output(1.1), "signal to noise"),
    ("5 % in a quantized network", quantized, scale_output(0.95), "signal to noise"),
    ("a score of a map", with_map, change_map(change_score), "elements differ"),
    ("a key of a map", with_map, change_map(change_key), "lacks the key 11"),
    ("a map without values", with_map, change_map(no_value), "3 keys and 0 values"),
]


class Judge:
    def __init__(self, tenon: str, folder: Path):
        self.tenon, self.folder = tenon, folder
        self.passed, self.failed = 0, 0

    def expect(self, name: str, good: bool, seen: object) -> None:
        if good:
            self.passed += 1
        else:
            self.failed += 1
            print(f"failed {name.replace(' ', '_')}: {seen}")

    def run(self, case: Path, *more: str) -> tuple[gate.Counts, list[dict]]:
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        command = [self.tenon, "test", case, "--format", "json", "--output", result, "--provider", "cpu", *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        counts = gate.judge_cases("planted", 1, done.returncode, result)
        return counts, json.loads(result.read_text())["cases"] if result.exists() else [{"message": done.stderr}]

    def check_declared(self) -> None:
        """A declared failure is one for the reason that is declared, and no other."""
        case = network(self.folder / "declared")
        output(case, 1).unlink()
        expectations = self.folder / "expectations.json"

        def run(**entry: str) -> tuple[gate.Counts, list[dict]]:
            expectations.write_text(json.dumps({"expected_failure": [{"pattern": "declared", **entry}]}))
            return self.run(case, "--expectations", str(expectations))

        counts, cases = run(reason="known", message="output_1.pb is missing")
        self.expect("declared as it is", (counts.declared, counts.failed) == (1, 0), cases)
        counts, cases = run(reason="known", message="elements differ")
        self.expect("declared for another reason", counts.failed == 1 and "expects another" in cases[0]["message"], cases)
        counts, cases = run(reason="known")
        self.expect("declared without a message", counts.failed == 1 and "'message'" in cases[0]["message"], cases)


def main() -> int:
    with tempfile.TemporaryDirectory() as holder:
        judge = Judge(sys.argv[1], Path(holder))
        for make in (network, quantized, with_map):
            counts, cases = judge.run(make(judge.folder / make.__name__))
            judge.expect(f"{make.__name__} without a fault", (counts.passed, counts.failed) == (1, 0), cases)
        for name, make, plant, text in FAULTS:
            case = make(judge.folder / name.replace(" ", "_"))
            plant(case)
            counts, cases = judge.run(case)
            judge.expect(name, counts.failed == 1 and text in cases[0]["message"], cases)
        judge.check_declared()
    print(f"{judge.passed} passed, {judge.failed} failed")
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())
