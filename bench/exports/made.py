"""A model that was made for the benches, and the folder that it becomes."""

import copy
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from exports.float64 import in_float64
from onnx import numpy_helper
from sides.figures import distance

SEED = 20201022
EXPORT_ROUNDS = 1e-4  # exporters fold constants, batch norms into convolutions for one, in float32


@dataclass
class Made:
    """`reference` has what the package that the model comes from computes in float64, one array for each output of the model."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    reference: list[np.ndarray] | None = None


def session_of(content: bytes | str):
    import onnxruntime

    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def from_torch(module, inputs: dict, exporter: str = "dynamo") -> Made:
    """Exports a module in eval mode. `exporter` is dynamo, which is PyTorch's default, or torchscript, the one before it."""
    import torch

    doubled = [value.double() if value.is_floating_point() else value for value in inputs.values()]
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        answers = copy.deepcopy(module).double()(*doubled)  # before the export, which leaves traced values in some modules
        path = Path(name) / "model.onnx"
        arguments = {"dynamo": True, "external_data": False, "verbose": False}
        if exporter == "torchscript":
            arguments = {"dynamo": False, "opset_version": 17}
        torch.onnx.export(module, tuple(inputs.values()), str(path), input_names=list(inputs), **arguments)
        model = onnx.load(path)
    answers = [answers] if isinstance(answers, torch.Tensor) else list(answers)
    return Made(model, {key: value.numpy() for key, value in inputs.items()}, [answer.numpy() for answer in answers])


def write_tensor(path: Path, name: str, value: np.ndarray) -> None:
    path.write_bytes(numpy_helper.from_array(np.ascontiguousarray(value), name).SerializeToString())


def references_of(folder: Path, made: Made) -> list[np.ndarray]:
    """The outputs of the model in float64, which are close to what its package computes. For trees they are the package's."""
    if any(node.domain == "ai.onnx.ml" for node in made.model.graph.node):
        return made.reference  # ONNX's evaluator computes trees in float32
    references = in_float64(made.model, made.inputs)
    for i, (ours, theirs) in enumerate(zip(references, made.reference or references, strict=True)):
        apart = distance(ours, theirs) if ours.shape == theirs.shape else math.inf
        if not apart <= EXPORT_ROUNDS:
            raise SystemExit(f"{folder.name}: output {i} of the exported model is {apart:.1e} of its size from the package's")
    return references


def write_case(folder: Path, made: Made) -> None:
    """Writes the model, its inputs, the outputs of ONNX Runtime and the reference. Refuses a model whose outputs say nothing.
    The model in `made` becomes float64."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(made.model, folder / "model.part")
    onnx.checker.check_model(str(folder / "model.part"))
    session = session_of(str(folder / "model.part"))
    known = {info.name for info in session.get_inputs()}
    if known != made.inputs.keys():
        raise SystemExit(f"{folder.name}: the model's inputs are {sorted(known)}, its data are for {sorted(made.inputs)}")
    for i, (key, value) in enumerate(made.inputs.items()):
        write_tensor(data / f"input_{i}.pb", key, value)
    names, answers = [info.name for info in session.get_outputs()], session.run(None, made.inputs)
    for i, (name, answer) in enumerate(zip(names, answers, strict=True)):
        if not np.isfinite(answer).all() or answer.size > 1 and np.ptp(answer) == 0:
            raise SystemExit(f"{folder.name}: output '{name}' is not finite, or the same everywhere")
        write_tensor(data / f"output_{i}.pb", name, answer)
    for i, (name, reference) in enumerate(zip(names, references_of(folder, made), strict=True)):
        write_tensor(data / f"reference_{i}.pb", name, reference)
    (folder / "model.part").rename(folder / "model.onnx")  # last: its presence marks the case as complete
