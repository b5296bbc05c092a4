"""Small models that the tests make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import ModelProto, TensorProto, TypeProto, helper

FLOAT = TensorProto.FLOAT


def tensor(name: str, dtype: int = FLOAT, shape: Sequence[Any] | None = ("N", 4)) -> Any:
    return helper.make_tensor_value_info(name, dtype, shape)


def of_type(name: str, proto: TypeProto) -> Any:
    return helper.make_value_info(name, proto)


def model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], initializers: Sequence[Any] = (), **more: Any) -> ModelProto:
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers))
    opsets = [helper.make_opsetid("", more.pop("opset", 21)), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=more.pop("ir_version", 10), **more)


def one_node(op: str, dtype: int = FLOAT, shape: Sequence[Any] | None = ("N", 4), inputs: int = 1, opset: int = 21, **attributes: Any) -> bytes:
    """x0, x1 ... -> y, all of one type."""
    names = [f"x{i}" for i in range(inputs)]
    node = helper.make_node(op, names, ["y"], name="n", **attributes)
    made = model([node], [tensor(n, dtype, shape) for n in names], [tensor("y", dtype, shape)], opset=opset)
    return made.SerializeToString()


def matmul_chain(size: int = 192, layers: int = 6) -> bytes:
    """A model whose Run takes some milliseconds on one thread."""
    import numpy as np
    from onnx import numpy_helper

    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array((rng.standard_normal((size, size)) / size**0.5).astype("f"), f"w{i}") for i in range(layers)]
    nodes = []
    name = "x"
    for i in range(layers):
        last = i == layers - 1
        nodes.append(helper.make_node("MatMul", [name, f"w{i}"], [f"m{i}"], name=f"m{i}"))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], ["y" if last else f"t{i}"], name=f"t{i}"))
        name = f"t{i}"
    return model(nodes, [tensor("x", FLOAT, ["N", size])], [tensor("y", FLOAT, ["N", size])], weights).SerializeToString()
