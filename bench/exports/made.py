"""A model that was made for the benches, and the folder that it becomes."""

import copy
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

SEED = 20201022


@dataclass
class Made:
    """`reference` has what the same weights give in float64, one array for each output of the model."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    reference: list[np.ndarray]


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


def write_case(folder: Path, made: Made) -> None:
    """Writes the model, its inputs, the outputs of ONNX Runtime and the reference. Refuses a model whose outputs say nothing."""
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
    names = [info.name for info in session.get_outputs()]
    answers = session.run(None, made.inputs)
    for i, (name, answer, reference) in enumerate(zip(names, answers, made.reference, strict=True)):
        if not np.isfinite(answer).all() or answer.size > 1 and np.ptp(answer) == 0:
            raise SystemExit(f"{folder.name}: output '{name}' is not finite, or the same everywhere")
        if answer.shape != reference.shape:
            raise SystemExit(f"{folder.name}: output '{name}' has shape {answer.shape}, its reference {reference.shape}")
        write_tensor(data / f"output_{i}.pb", name, answer)
        write_tensor(data / f"reference_{i}.pb", name, reference)
    (folder / "model.part").rename(folder / "model.onnx")  # last: its presence marks the case as complete
