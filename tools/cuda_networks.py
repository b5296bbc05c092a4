"""Small files of networks that the provider cuda is measured on. cuda_peers.py has them in PyTorch, too."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def network(path: Path, nodes: list, shape: list[int], weights: dict, opset: int = 17) -> None:
    graph = helper.make_graph(nodes, path.stem, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)


def write_networks(folder: Path) -> None:
    """Weights are expanded when the model is loaded, so the files are small."""
    folder.mkdir()
    drawn = np.random.default_rng(7)
    node = helper.make_node

    def small(*shape: int) -> np.ndarray:
        return (drawn.standard_normal(shape) * 0.02).astype(np.float32)

    nodes, weights, x = [], {"square": np.array([1024, 1024]), "b": small(1024)}, "x"
    for n in range(8):
        weights[f"v{n}"] = small(1024, 1)
        y = "y" if n == 7 else f"r{n}"
        nodes += [node("Expand", [f"v{n}", "square"], [f"w{n}"]), node("Gemm", [x, f"w{n}", "b"], [f"g{n}"]), node("Relu", [f"g{n}"], [y])]
        x = y
    network(folder / "products.onnx", nodes, [256, 1024], weights)

    nodes, weights, x = [], {"b": small(64)}, "x"
    for n in range(6):
        weights[f"w{n}"] = small(64, 64, 3, 3)
        y = "y" if n == 5 else f"r{n}"
        nodes += [node("Conv", [x, f"w{n}", "b"], [f"c{n}"], pads=[1, 1, 1, 1]), node("Relu", [f"c{n}"], [y])]
        x = y
    network(folder / "convolutions.onnx", nodes, [1, 64, 112, 112], weights)

    nodes, x = [], "x"
    for n in range(4):
        y = "y" if n == 3 else f"s{n}"
        nodes += [node("LayerNormalization", [x, "scale", "shift"], [f"l{n}"]), node("Softmax", [f"l{n}"], [y])]
        x = y
    network(folder / "rows.onnx", nodes, [4096, 1024], {"scale": small(1024), "shift": small(1024)})

    names = ["x", "a0", "a1", "a2", "y"]
    network(folder / "attention.onnx", [node("Attention", [a, a, a], [b]) for a, b in zip(names, names[1:])], [1, 12, 512, 64], {}, opset=23)
