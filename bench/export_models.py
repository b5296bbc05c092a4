#!/usr/bin/env python3
"""Exports networks of torchvision and transformers with random weights as ONNX test cases.

    python3 -m venv build/torch
    build/torch/bin/pip install torch torchvision transformers onnx onnxruntime onnxscript
    build/torch/bin/python bench/export_models.py build/bench/exported [NAME...]

Weights use a fixed seed and the package's initialisation. Batch norms get the statistics of one batch, so that activations stay
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
    "bert_base",
)


def text_network(name: str):
    """The model and its inputs by name: one text of 128 tokens, the last 28 masked."""
    import torch
    import transformers

    assert name == "bert_base"
    torch.manual_seed(SEED)
    model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager", return_dict=False))
    ids = torch.randint(0, model.config.vocab_size, (1, 128))
    mask = (torch.arange(128) < 100).long()[None]

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)

    return Bert().eval(), {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}


def network(name: str):
    """The model and its inputs by name: one image."""
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
    return model.eval(), {"input": image}


def write_case(folder: Path, name: str) -> None:
    import onnx
    import onnxruntime
    import torch
    from onnx import numpy_helper

    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    model, inputs = text_network(name) if name.startswith("bert") else network(name)
    part = folder / "model.part"
    torch.onnx.export(model, tuple(inputs.values()), str(part), opset_version=17, input_names=list(inputs), dynamo=False)
    session = onnxruntime.InferenceSession(str(part), providers=["CPUExecutionProvider"])
    for i, (key, tensor) in enumerate(inputs.items()):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(tensor.numpy(), key).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    for i, answer in enumerate(session.run(None, {key: tensor.numpy() for key, tensor in inputs.items()})):
        assert np.isfinite(answer).all(), f"{name}: {names[i]} is not finite"
        (data / f"output_{i}.pb").write_bytes(numpy_helper.from_array(answer, names[i]).SerializeToString())
    onnx.checker.check_model(str(part))
    part.rename(folder / "model.onnx")  # last: its presence marks the case as complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of torchvision's, or bert_base; default: {', '.join(NAMES)}")
    options = parser.parse_args()
    for name in options.names or NAMES:
        folder = options.folder / name
        if not (folder / "model.onnx").exists():
            write_case(folder, name)
        print(folder, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
