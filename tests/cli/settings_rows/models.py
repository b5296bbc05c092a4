"""The models that rows run."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import run_errors


def save(path: Path, nodes: list, inputs: dict, outputs: dict, constants: dict | None = None) -> None:
    def values(named: dict) -> list:
        return [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in named.items()]

    initializers = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


F32 = TensorProto.FLOAT
FOUR = (F32, [4])


def chain(path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "x"], ["a"], "sum"), helper.make_node("Relu", ["a"], ["r"], "cut"),
             helper.make_node("Mul", ["r", "a"], ["y"], "product")]
    save(path, nodes, {"x": FOUR}, {"y": FOUR})


def half(path: Path) -> None:
    node = helper.make_node("Add", ["x", "x"], ["y"], "sum")
    save(path, [node], {"x": (TensorProto.FLOAT16, [4])}, {"y": (TensorProto.FLOAT16, [4])})


def absolute(path: Path) -> None:
    """The accelerator has no Abs."""
    save(path, [helper.make_node("Abs", ["x"], ["y"], "size")], {"x": FOUR}, {"y": FOUR})


def twice(path: Path) -> None:
    """Identity nodes, which a transform removes."""
    nodes = [helper.make_node("Identity", ["x"], ["a"], "same"), helper.make_node("Abs", ["a"], ["y"], "size")]
    save(path, nodes, {"x": FOUR}, {"y": FOUR})


def folded(path: Path) -> None:
    """A sum of two constants of 64 KiB, which folding may make."""
    nodes = [helper.make_node("Add", ["a", "b"], ["c"], "constants"), helper.make_node("Add", ["x", "c"], ["y"], "sum")]
    ones = np.ones(1 << 14, np.float32)
    save(path, nodes, {"x": (F32, [1])}, {"y": (F32, [1 << 14])}, {"a": ones, "b": ones})


def nested(path: Path) -> None:
    """An If in an If."""
    def branch(name: str, node) -> onnx.GraphProto:
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, F32, [4])])

    def choose(name: str, then: onnx.GraphProto) -> onnx.NodeProto:
        other = branch(f"{name}_else", helper.make_node("Neg", ["x"], [f"{name}_else"]))
        return helper.make_node("If", ["c"], [name], then_branch=then, else_branch=other)

    inner = branch("deep", choose("deep", branch("deepest", helper.make_node("Abs", ["x"], ["deepest"]))))
    flag = helper.make_node("Greater", ["s", "zero"], ["c"], "positive")
    total = helper.make_node("ReduceSum", ["x"], ["s"], "total", keepdims=0)
    save(path, [total, flag, choose("y", inner)], {"x": FOUR}, {"y": FOUR}, {"zero": np.zeros((), np.float32)})


def strings(path: Path) -> None:
    """Text that doubles ten times."""
    nodes = [helper.make_node("StringConcat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], f"double{i}") for i in range(10)]
    save(path, nodes, {}, {"s10": (TensorProto.STRING, [1])}, {"s0": np.array(["0123456789"], object)})


def large(path: Path) -> None:
    """Work for several threads, on 4 MiB of weights."""
    rng = np.random.default_rng(1)
    weights = {f"w{i}": rng.standard_normal((512, 512)).astype(np.float32) for i in range(4)}
    nodes = [helper.make_node("MatMul", [f"h{i}" if i else "x", f"w{i}"], [f"h{i + 1}" if i < 3 else "y"]) for i in range(4)]
    save(path, nodes, {"x": (F32, [300, 512])}, {"y": (F32, [300, 512])}, weights)


def outside(path: Path) -> None:
    large(path)
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def rounded(path: Path) -> None:
    """Results whose last bits depend on how the work is divided among threads."""
    rng = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Gelu", ["h"], ["g"]),
             helper.make_node("Softmax", ["g"], ["s"], axis=1), helper.make_node("Tanh", ["h"], ["t"]),
             helper.make_node("Add", ["s", "t"], ["a"]), helper.make_node("MatMul", ["a", "v"], ["y"])]
    save(path, nodes, {"x": (F32, [301, 67])}, {"y": (F32, [301, 61])},
         {"w": rng.standard_normal((67, 509)).astype(np.float32), "v": rng.standard_normal((509, 61)).astype(np.float32)})


def filtered(path: Path) -> None:
    """Convolutions to which Winograd's filtering applies."""
    rng = np.random.default_rng(1)
    weights = {f"w{i}": rng.standard_normal((64, 64, 3, 3)).astype(np.float32) / 24 for i in range(2)}
    nodes = [helper.make_node("Conv", ["x", "w0"], ["h"], pads=[1, 1, 1, 1]), helper.make_node("Conv", ["h", "w1"], ["y"], pads=[1, 1, 1, 1])]
    save(path, nodes, {"x": (F32, [1, 64, 32, 32])}, {"y": (F32, [1, 64, 32, 32])}, weights)


MODELS = {"chain": chain, "relu": lambda path: path.write_bytes(run_errors.relu_model()), "half": half, "absolute": absolute,
          "twice": twice, "folded": folded, "nested": nested, "strings": strings, "large": large, "outside": outside,
          "rounded": rounded, "filtered": filtered}
