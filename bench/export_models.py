#!/usr/bin/env python3
"""Exports networks with random weights as ONNX test cases, from packages of PyPI alone.

    python3 -m venv build/torch
    build/torch/bin/pip install -r bench/requirements.txt
    build/torch/bin/python bench/export_models.py build/bench/exported [NAME...]

A case is a folder with model.onnx and test_data_set_0: the inputs, the outputs of ONNX Runtime (output_*.pb), and those of the
same model in float64 (reference_*.pb), which are compared with what PyTorch computes in float64. Weights use a fixed seed and
the package's initialisation. Batch norms get the statistics of one batch, so that activations stay in range. No network access
is needed beyond the packages. Time the models with bench/peers.py.

A model whose package is missing is left out by name, and the exit code is 1. A case that is there stays as it is.
"""

import argparse
import sys
from pathlib import Path

from exports import images, made, quantised, tables, texts

IMAGES = ("mobilenet_v2", "efficientnet_b0", "resnet50", "squeezenet1_1", "deeplabv3_mobilenet_v3_large", "yolo11n", "unet",
          "vit_b_16", "swin_t")
NAMES = (*IMAGES, *texts.NETWORKS, *tables.MODELS, *quantised.MODELS)


def make(name: str, folder: Path, exporter: str) -> made.Made:
    if name in tables.MODELS:
        return tables.MODELS[name]()
    if name in quantised.MODELS:
        source, quantise = quantised.MODELS[name]
        export(source, folder, exporter)
        return quantise(folder / source)
    network = texts.network(name) if name in texts.NETWORKS else images.network(name)
    return made.from_torch(*network, exporter)


def export(name: str, folder: Path, exporter: str) -> None:
    if not (folder / name / "model.onnx").exists():
        made.write_case(folder / name, make(name, folder, exporter))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}, or any of torchvision's; default: those")
    parser.add_argument("--exporter", choices=("dynamo", "torchscript"), default="dynamo", help="PyTorch's default, or the one before it")
    options = parser.parse_args()
    left_out = []
    for name in options.names or NAMES:
        try:
            export(name, options.folder, options.exporter)
            print(options.folder / name, flush=True)
        except ImportError as error:
            left_out.append(name)
            print(f"left out {name}: {error}; install bench/requirements.txt", file=sys.stderr, flush=True)
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
