"""A model with its data, as bench/make_models.py, bench/export_models.py and ONNX's test cases write it: model.onnx and
test_data_set_0/input_*.pb. reference_*.pb are there for models of export_models.py: their outputs in float64."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper


def read_tensor(path: Path) -> tuple[str, np.ndarray]:
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor.name, numpy_helper.to_array(tensor)


def data_files(folder: Path, kind: str) -> list[Path]:
    """Files of a kind (input, output, reference), in the order of their numbers."""
    files = (folder / "test_data_set_0").glob(f"{kind}_*.pb")
    return sorted(files, key=lambda path: int(path.stem.split("_")[1]))


def references(folder: Path) -> list[np.ndarray] | None:
    """One array for each output of the model, or None where the case has none."""
    return [read_tensor(path)[1] for path in data_files(folder, "reference")] or None


def named_inputs(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The data of the model's inputs, by name, or by position where the data have other names. The arrays may be written to."""
    files = [read_tensor(path) for path in data_files(folder, "input")]
    named = dict(files)
    return {name: np.array(named[name] if name in named else files[i][1]) for i, name in enumerate(names)}
