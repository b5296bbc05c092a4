#!/usr/bin/env python3
"""Exports torchvision networks with random weights as ONNX test cases.

    python3 -m venv build/torch
    build/torch/bin/pip install torch torchvision onnx onnxruntime onnxscript
    build/torch/bin/python bench/export_models.py build/bench/exported [NAME...]

Weights use a fixed seed and torchvision's initialisation. Batch norms get the statistics of one batch, so that activations stay
in range. No network access is needed beyond the packages. Time the models with bench/peers.py.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

SEED = 20201022
SIDES = {"inception_v3": 299}
NAMES = (
    "vit_b_16",
    "efficientnet_b0",
    "resnet18",
    "mobilenet_v3_large",
    "shufflenet_v2_x1_0",
    "densenet121",
    "convnext_tiny",
    "regnet_y_400mf",
    "mnasnet1_0",
    "swin_t",
    "googlenet",
    "deeplabv3_mobilenet_v3_large",
)


def network(name: str):
    import torch
    import torchvision

    torch.manual_seed(SEED)
    arguments = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    if name.startswith("deeplab"):
        model = torchvision.models.get_model(name, weights=None, weights_backbone=None)
    else:
        model = torchvision.models.get_model(name, weights=None, **arguments)
    image = torch.randn(1, 3, SIDES.get(name, 224), SIDES.get(name, 224))
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.eval()
        model(torch.randn(2, *image.shape[1:]))  # sets the statistics of batch norms
    return model.eval(), image


def write_case(folder: Path, name: str) -> None:
    import onnx
    import onnxruntime
    import torch
    from onnx import numpy_helper

    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    model, image = network(name)
    part = folder / "model.part"
    torch.onnx.export(model, (image,), str(part), opset_version=17, input_names=["input"], dynamo=False)
    session = onnxruntime.InferenceSession(str(part), providers=["CPUExecutionProvider"])
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(image.numpy(), "input").SerializeToString())
    names = [output.name for output in session.get_outputs()]
    for i, answer in enumerate(session.run(None, {"input": image.numpy()})):
        assert np.isfinite(answer).all(), f"{name}: {names[i]} is not finite"
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(answer, names[i]).SerializeToString())
    onnx.checker.check_model(str(part))
    part.rename(folder / "model.onnx")  # last: its presence marks the case as complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of torchvision's; default: {', '.join(NAMES)}")
    options = parser.parse_args()
    for name in options.names or NAMES:
        folder = options.folder / name
        if not (folder / "model.onnx").exists():
            write_case(folder, name)
        print(folder, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
