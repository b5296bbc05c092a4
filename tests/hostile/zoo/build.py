"""Shorthands over onnx.helper, and the registry of the zoo.

A case is a function whose name is the name of its row in expected.json. `@case` functions return the model.
`@placed` functions get a folder of their own first, to lay other files beside the model.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
IR_VERSION = 10
FLOAT, INT64, INT32, BOOL, STRING = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL,
                                     TensorProto.STRING)

Content = onnx.ModelProto | bytes
CASES: dict[str, Callable[[], Content]] = {}
PLACED: dict[str, Callable[[Path], Content | None]] = {}


def case(function: Callable[[], Content]) -> Callable[[], Content]:
    CASES[function.__name__] = function
    return function


def placed(function: Callable[[Path], Content | None]) -> Callable[[Path], Content | None]:
    """The function may return None when it made the model's file, or something else of that name, by itself."""
    PLACED[function.__name__] = function
    return function


def info(name: str, shape: list | None = None, element_type: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type, [2] if shape is None else shape)


def constant(name: str, values, dtype=np.float32) -> TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def ints(name: str, *values: int) -> TensorProto:
    return constant(name, list(values), np.int64)


def node(op_type: str, inputs: list, outputs: list, name: str = "", domain: str = "", **attributes) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, name or op_type.lower(), domain=domain, **attributes)


def graph(nodes: list, inputs: list, outputs: list, constants: list | None = None, name: str = "g") -> onnx.GraphProto:
    return helper.make_graph(nodes, name, inputs, outputs, constants or [])


def model(nodes: list, inputs: list | None = None, outputs: list | None = None, constants: list | None = None, *,
          opset: int = OPSET, functions: list | None = None, domains: dict | None = None) -> onnx.ModelProto:
    """A model from 'x' to 'y', both float [2], unless told otherwise. Nothing is checked."""
    inputs, outputs = ([info(name)] if given is None else given for name, given in (("x", inputs), ("y", outputs)))
    body = graph(nodes, inputs, outputs, constants)
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(domain, version) for domain, version in (domains or {}).items()]
    return helper.make_model(body, ir_version=IR_VERSION, opset_imports=imports, functions=functions or [])


def closed(nodes: list, constants: list | None = None, element_type: int = FLOAT, rank: int = 1,
           **kwargs) -> onnx.ModelProto:
    """A model without inputs, so that it runs as it is; of its output 'y' type and rank are declared, no dims."""
    output = info("y", [f"d{axis}" for axis in range(rank)], element_type)
    return model(nodes, [], [output], constants, **kwargs)


def relu(constants: list | None = None) -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"])], constants=constants)
