#!/usr/bin/env python3
"""Trains the digit network with numpy and writes digits.onnx and the sample images beside this script.

    train.py [--out DIR]

Deterministic for one numpy and one BLAS; another BLAS rounds differently, so the weights may differ in the last digits.
What the committed model reaches is checked by check.py.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import dataset
from network import Adam, Network, softmax

SEED = 8
EPOCHS = 40
BATCH = 64
PEAK_RATE = 4e-3
WEIGHT_DECAY = 1e-2
CLASSES = 10
OPSET = 21
IR_VERSION = 10
MODEL_NAME = "digits.onnx"


def shifted(rng: np.random.Generator, images: np.ndarray) -> np.ndarray:
    """Every image moved by at most one pixel each way, at random."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    corners = rng.integers(0, 3, (len(images), 2))
    return np.stack([p[:, y:y + dataset.SIZE, x:x + dataset.SIZE] for p, (y, x) in zip(padded, corners)])


def train(images: np.ndarray, labels: np.ndarray) -> Network:
    """A fixed number of epochs, cosine rate; nothing is chosen by looking at the held-out part."""
    rng = np.random.default_rng(SEED)
    network, adam = Network(rng, CLASSES), Adam(WEIGHT_DECAY)
    one_hot = np.eye(CLASSES, dtype=np.float32)[labels]
    for epoch in range(EPOCHS):
        rate = PEAK_RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2
        loss = 0.0
        order = rng.permutation(len(images))
        for batch in np.split(order, range(BATCH, len(order), BATCH)):
            probabilities = softmax(network.forward(shifted(rng, images[batch])))
            loss -= np.log((probabilities * one_hot[batch]).sum(axis=1)).sum()
            network.backward((probabilities - one_hot[batch]) / len(batch))
            adam.step(network.parameters_and_gradients(), rate)
        print(f"epoch {epoch + 1:2}: loss {loss / len(images):.4f}")
    return network


def accuracy(network: Network, images: np.ndarray, labels: np.ndarray) -> float:
    return float((network.forward(images).argmax(axis=1) == labels).mean())


def metadata(held_out_accuracy: float, held_out_samples: int) -> dict[str, str]:
    """Keys are explained in README.md."""
    return {
        "tenon.image.input": "image",
        "tenon.image.layout": "NCHW",
        "tenon.image.color": "gray",
        "tenon.image.resize": "area",
        "tenon.image.mean": "0",
        "tenon.image.std": "1",
        "tenon.labels": ",".join(map(str, range(CLASSES))),
        "tenon.heldout.accuracy": f"{held_out_accuracy:.4f}",
        "tenon.heldout.samples": str(held_out_samples),
    }


def to_onnx(network: Network, properties: dict[str, str]) -> onnx.ModelProto:
    layers = {name: getattr(network, name) for name in ("conv1", "conv2", "dense1", "dense2")}
    weights = [numpy_helper.from_array(getattr(layer, part), f"{name}.{part}")
               for name, layer in layers.items() for part in ("weight", "bias")]

    def weighted(op: str, name: str, source: str, **attributes) -> onnx.NodeProto:
        inputs = [source, f"{name}.weight", f"{name}.bias"]
        return helper.make_node(op, inputs, [f"{name}.out"], name, **attributes)

    def plain(op: str, name: str, source: str, **attributes) -> onnx.NodeProto:
        return helper.make_node(op, [source], [f"{name}.out"], name, **attributes)

    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        weighted("Conv", "conv1", "image", **conv),
        plain("Relu", "relu1", "conv1.out"),
        plain("MaxPool", "pool1", "relu1.out", **pool),
        weighted("Conv", "conv2", "pool1.out", **conv),
        plain("Relu", "relu2", "conv2.out"),
        plain("MaxPool", "pool2", "relu2.out", **pool),
        plain("Flatten", "flatten", "pool2.out", axis=1),
        weighted("Gemm", "dense1", "flatten.out"),
        plain("Relu", "relu3", "dense1.out"),
        weighted("Gemm", "dense2", "relu3.out"),
        helper.make_node("Softmax", ["dense2.out"], ["probabilities"], "softmax", axis=1),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, dataset.SIZE, dataset.SIZE])
    probabilities = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", CLASSES])
    graph = helper.make_graph(nodes, "digits", [image], [probabilities], weights)
    model = helper.make_model(graph, producer_name="tenon-digits", ir_version=IR_VERSION,
                              opset_imports=[helper.make_opsetid("", OPSET)])
    helper.set_model_props(model, properties)
    onnx.checker.check_model(model, full_check=True)
    return model


def write_samples(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    """The first held-out image of each class, as a PNG."""
    for digit in range(CLASSES):
        first = int(np.argmax(labels == digit))
        dataset.write_png(folder / f"digit_{digit}.png", dataset.image_to_pixels(images[first]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent)
    args = parser.parse_args()
    (images, labels), held_out = dataset.load_split()
    network = train(images, labels)
    reached = accuracy(network, *held_out)
    model = to_onnx(network, metadata(reached, len(held_out[1]))).SerializeToString()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / MODEL_NAME).write_bytes(model)
    write_samples(args.out, *held_out)
    print(f"held-out accuracy {reached:.4f} over {len(held_out[1])} samples, {len(model)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
