#!/usr/bin/env python3
"""Writes well-known networks with random weights as ONNX test cases: model, input, and the outputs of ONNX Runtime.

    build/venv/bin/python bench/make_models.py build/bench/models [NAME...]

Weights use a fixed seed, so that every machine writes the same bytes. They are scaled as for training (He et al. 2015,
"Delving Deep into Rectifiers"), which keeps the activations of all layers in one range, so that outputs can be compared.
Architectures: Iandola et al. 2016 (SqueezeNet 1.1), He et al. 2015 (ResNet-50, stride in the 3x3 as in torchvision),
Sandler et al. 2018 (MobileNetV2).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
IR_VERSION = 10
SEED = 20160224


class Builder:
    """A graph under construction. Every method adds a layer to `self.last` or to the given value."""

    def __init__(self, name: str, shape: list[int]):
        self.name, self.shape = name, shape
        self.random = np.random.default_rng(SEED)
        self.nodes, self.initializers = [], []
        self.channels = {"input": shape[1]}

    def constant(self, value: np.ndarray) -> str:
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def add(self, op: str, inputs: list[str], channels: int, **attributes) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self.channels[name] = channels
        return name

    def conv(self, x: str, channels: int, kernel: int, stride: int = 1, pad: int = 0, group: int = 1, bias=False) -> str:
        fan_in = self.channels[x] // group * kernel * kernel
        weight = self.random.normal(0, np.sqrt(2 / fan_in), (channels, self.channels[x] // group, kernel, kernel))
        inputs = [x, self.constant(weight)]
        if bias:
            inputs.append(self.constant(self.random.normal(0, 0.05, channels)))
        return self.add("Conv", inputs, channels, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
                        group=group)

    def norm(self, x: str, scale: float = 1) -> str:
        count = self.channels[x]
        random = self.random
        parts = (scale * random.uniform(0.8, 1.2, count), random.normal(0, 0.05, count), random.normal(0, 0.05, count),
                 random.uniform(0.8, 1.2, count))
        return self.add("BatchNormalization", [x] + [self.constant(part) for part in parts], count)

    def unary(self, op: str, x: str, **attributes) -> str:
        return self.add(op, [x], self.channels[x], **attributes)

    def clip(self, x: str, low: float, high: float) -> str:
        return self.add("Clip", [x, self.constant(np.array(low)), self.constant(np.array(high))], self.channels[x])

    def pool(self, x: str, kernel: int, stride: int, pad: int = 0, ceil: int = 0) -> str:
        return self.unary("MaxPool", x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, ceil_mode=ceil)

    def dense(self, x: str, channels: int) -> str:
        flat = self.unary("Flatten", x)
        weight = self.random.normal(0, np.sqrt(1 / self.channels[x]), (channels, self.channels[x]))
        return self.add("Gemm", [flat, self.constant(weight), self.constant(np.zeros(channels))], channels, transB=1)

    def model(self, output: str) -> onnx.ModelProto:
        self.nodes[-1].output[0] = "output"
        assert self.nodes[-1].name == output
        graph = helper.make_graph(
            self.nodes, self.name, [helper.make_tensor_value_info("input", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, [self.shape[0], 1000])], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                  producer_name="tenon bench")
        onnx.checker.check_model(model, full_check=True)
        return model


def squeezenet11() -> onnx.ModelProto:
    net = Builder("squeezenet11", [1, 3, 224, 224])

    def fire(x: str, squeeze: int, expand: int) -> str:
        thin = net.unary("Relu", net.conv(x, squeeze, 1, bias=True))
        sides = [net.unary("Relu", net.conv(thin, expand, 1, bias=True)),
                 net.unary("Relu", net.conv(thin, expand, 3, pad=1, bias=True))]
        return net.add("Concat", sides, 2 * expand, axis=1)

    x = net.unary("Relu", net.conv("input", 64, 3, stride=2, bias=True))
    x = net.pool(x, 3, 2, ceil=1)
    x = fire(fire(x, 16, 64), 16, 64)
    x = net.pool(x, 3, 2, ceil=1)
    x = fire(fire(x, 32, 128), 32, 128)
    x = net.pool(x, 3, 2, ceil=1)
    for squeeze, expand in ((48, 192), (48, 192), (64, 256), (64, 256)):
        x = fire(x, squeeze, expand)
    x = net.unary("Relu", net.conv(x, 1000, 1, bias=True))
    return net.model(net.unary("Flatten", net.unary("GlobalAveragePool", x)))


def resnet50() -> onnx.ModelProto:
    net = Builder("resnet50", [1, 3, 224, 224])

    def bottleneck(x: str, width: int, stride: int) -> str:
        y = net.unary("Relu", net.norm(net.conv(x, width, 1)))
        y = net.unary("Relu", net.norm(net.conv(y, width, 3, stride=stride, pad=1)))
        y = net.norm(net.conv(y, 4 * width, 1), scale=0.3)  # small at the end of a branch, so that sums do not grow
        if stride != 1 or net.channels[x] != 4 * width:
            x = net.norm(net.conv(x, 4 * width, 1, stride=stride))
        return net.unary("Relu", net.add("Add", [y, x], 4 * width))

    x = net.pool(net.unary("Relu", net.norm(net.conv("input", 64, 7, stride=2, pad=3))), 3, 2, pad=1)
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            x = bottleneck(x, width, stride if block == 0 else 1)
    return net.model(net.dense(net.unary("GlobalAveragePool", x), 1000))


def mobilenetv2() -> onnx.ModelProto:
    net = Builder("mobilenetv2", [1, 3, 224, 224])

    def relu6(x: str) -> str:
        return net.clip(x, 0, 6)

    def inverted(x: str, channels: int, stride: int, expand: int) -> str:
        hidden = net.channels[x] * expand
        y = x if expand == 1 else relu6(net.norm(net.conv(x, hidden, 1)))
        y = relu6(net.norm(net.conv(y, hidden, 3, stride=stride, pad=1, group=hidden)))
        y = net.norm(net.conv(y, channels, 1), scale=0.5)
        return net.add("Add", [y, x], channels) if stride == 1 and channels == net.channels[x] else y

    x = relu6(net.norm(net.conv("input", 32, 3, stride=2, pad=1)))
    for expand, channels, repeat, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                             (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(repeat):
            x = inverted(x, channels, stride if block == 0 else 1, expand)
    x = relu6(net.norm(net.conv(x, 1280, 1)))
    return net.model(net.dense(net.unary("GlobalAveragePool", x), 1000))


MODELS = {"squeezenet11": squeezenet11, "resnet50": resnet50, "mobilenetv2": mobilenetv2}


def write_case(folder: Path, model: onnx.ModelProto) -> None:
    import onnxruntime

    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    image = np.random.default_rng(SEED + 1).normal(0, 1, shape).astype(np.float32)
    content = model.SerializeToString()
    answer = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"input": image})[0]
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(image, "input").SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(answer, "output").SerializeToString())
    (folder / "model.onnx").write_bytes(content)  # last: its presence marks the case as complete


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; default: all")
    options = parser.parse_args()
    unknown = set(options.names) - MODELS.keys()
    if unknown:
        parser.error(f"no model '{unknown.pop()}'; there are {', '.join(MODELS)}")
    for name in options.names or MODELS:
        folder = options.folder / name
        if not (folder / "model.onnx").exists():
            write_case(folder, MODELS[name]())
        print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
