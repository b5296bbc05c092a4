#!/usr/bin/env python3
"""primitives.py TENON: how many primitives the library runs for a graph, as it says itself (DNNL_VERBOSE=1).

Functions that models spell out as several nodes are part of the primitive before them, and matrices that meet the same one
behind them are multiplied as one. Without that all results are the same, and slower.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(11)
NUMBERS = {"root": np.sqrt(np.float32(2)), "inverse": 1 / np.sqrt(np.float32(2)), "one": np.float32(1), "half": np.float32(0.5)}
PRODUCT = helper.make_node("MatMul", ["x", "w"], ["p"])
BIASED = [PRODUCT, helper.make_node("Add", ["p", "b"], ["v"])]
CONVOLUTION = [helper.make_node("Conv", ["x", "k"], ["v"])]


def node(op: str, *inputs: str, to: str) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), [to])


# name: input, nodes, how often each kind of primitive runs, a word that must be among what it says
ROWS = {
    "gelu, divided": (
        [2, 7, 32],
        [*BIASED, node("Div", "v", "root", to="s"), node("Erf", "s", to="e"), node("Add", "e", "one", to="f"),
         node("Mul", "v", "f", to="g"), node("Mul", "g", "half", to="y")],
        {"matmul": 1}, "eltwise_gelu_erf",
    ),
    "gelu, half of x": (
        [2, 7, 32],
        [*BIASED, node("Mul", "inverse", "v", to="s"), node("Erf", "s", to="e"), node("Add", "one", "e", to="f"),
         node("Mul", "half", "v", to="h"), node("Mul", "f", "h", to="y")],
        {"matmul": 1}, "eltwise_gelu_erf",
    ),
    "gelu whose middle is used elsewhere": (
        [2, 7, 32],
        [*BIASED, node("Div", "v", "root", to="s"), node("Erf", "s", to="e"), node("Add", "e", "one", to="f"),
         node("Mul", "v", "f", to="g"), node("Mul", "g", "e", to="y")],
        {"matmul": 1, "binary": None}, "",
    ),
    "swish": (
        [1, 16, 8, 8], [*CONVOLUTION, node("Sigmoid", "v", to="s"), node("Mul", "v", "s", to="y")],
        {"convolution": 1}, "eltwise_swish",
    ),
    "swish, mirrored": (
        [1, 16, 8, 8], [*CONVOLUTION, node("Sigmoid", "v", to="s"), node("Mul", "s", "v", to="y")],
        {"convolution": 1}, "eltwise_swish",
    ),
    # As one row: 8 pixels wide and one high.
    "a column of pixels": (
        [1, 16, 8, 1], [helper.make_node("Conv", ["x", "k3"], ["v"], pads=[1, 0, 1, 0]), node("Relu", "v", to="y")],
        {"convolution": 1}, "ih1oh1kh1sh1dh0ph0_iw8ow8kw3sw1dw0pw1",
    ),
    "matrices in front": ([2, 7, 32], [helper.make_node("MatMul", ["x", "w"], ["y"])], {"matmul": 1}, "14x32:32x64:14x64"),
    "more of them": ([2, 3, 7, 32], [helper.make_node("MatMul", ["x", "w"], ["y"])], {"matmul": 1}, "42x32:32x64:42x64"),
    "a residual": (
        [2, 7, 64], [node("MatMul", "x", "q", to="p"), node("Add", "x", "p", to="y")], {"matmul": 1}, "14x64:64x64:14x64",
    ),
}


def write(path: pathlib.Path, shape: list[int], nodes: list) -> None:
    weights = {name: np.float32(value) for name, value in NUMBERS.items()}
    weights |= {
        "w": RANDOM.standard_normal((32, 64)).astype(np.float32),
        "q": RANDOM.standard_normal((64, 64)).astype(np.float32),
        "b": RANDOM.standard_normal(64).astype(np.float32),
        "k3": RANDOM.standard_normal((16, 16, 3, 1)).astype(np.float32),
        "k": RANDOM.standard_normal((16, 16, 1, 1)).astype(np.float32),
    }
    used = {name for each in nodes for name in each.input}
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items() if name in used],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def primitives(tenon: str, model: pathlib.Path) -> tuple[dict[str, int], str]:
    words = ["--provider", "onednn", "cpu", "--set", "provider.onednn.options.claim=all", "--input", "x=random"]
    done = subprocess.run(
        [tenon, "run", model, *words], capture_output=True, text=True, check=False, env=os.environ | {"DNNL_VERBOSE": "1"}
    )
    if done.returncode != 0:
        sys.exit(f"{model.name}: {done.stdout}{done.stderr}")
    lines = [line.split(",") for line in done.stdout.splitlines() if line.startswith("onednn_verbose,exec,")]
    count: dict[str, int] = {}
    for line in lines:
        if line[3] != "reorder":  # of weights, and of images
            count[line[3]] = count.get(line[3], 0) + 1
    return count, "\n".join(",".join(line) for line in lines)


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (shape, nodes, wanted, word) in ROWS.items():
            model = pathlib.Path(folder) / "model.onnx"
            write(model, shape, nodes)
            found, said = primitives(sys.argv[1], model)
            good = found.keys() == wanted.keys() and all(n is None or n == found[kind] for kind, n in wanted.items())
            if not good or word not in said:
                failed += 1
                print(f"failed {name}: {found}, expected {wanted} and '{word}' in\n{said}")
    print(f"{len(ROWS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
