#!/usr/bin/env python3
"""Writes the outputs of models in float64 beside their test data (reference_*.pb), for the errors that bench/peers.py prints.

    build/torch/bin/python bench/reference.py FOLDER...

For models that bench/export_models.py did not make: it leaves such references itself. A model is a folder with model.onnx and
test_data_set_0. ONNX's evaluator runs it, which takes up to a minute and several times the memory of the weights. What it
computes in float32, such as trees, ends with an error.
"""

import argparse
import sys
from pathlib import Path

import onnx

from exports.float64 import Narrow, in_float64
from exports.made import write_tensor
from sides.case import named_inputs


def write_references(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    held = {weight.name for weight in model.graph.initializer}
    inputs = named_inputs(folder, [value.name for value in model.graph.input if value.name not in held])
    try:
        outputs = in_float64(model, inputs)
    except (Narrow, NotImplementedError) as error:
        raise SystemExit(f"{folder}: no references: {error}") from error
    for i, (info, value) in enumerate(zip(model.graph.output, outputs, strict=True)):
        write_tensor(folder / f"test_data_set_0/reference_{i}.pb", info.name, value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        write_references(folder)
        print(folder, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
