#!/usr/bin/env python3
"""Runs sessions with another shape in each Run, and prints how much memory the process has: it must not grow.

    PYTHONPATH=build/release/python build/venv/bin/python bench/shapes.py [--seconds 300] [--provider cpu] [--threads 2]

A network of images and one of tokens take turns; batch, height, width and length are drawn anew for each Run (--seed), so nearly
all shapes are new. The table has the resident memory of the process after each tenth of the time. The exit code is 1 if the last
one is more than a twentieth above that after the third tenth: until then plans are kept (`shapes.keep`).
"""

import argparse
import os
import random
import sys
import time

import numpy as np
import onnx
import tenon
from onnx import TensorProto, helper, numpy_helper


def model(nodes: list, constants: dict[str, np.ndarray], dims: list, out: list) -> bytes:
    graph = helper.make_graph(nodes, "shapes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def weights(draw: np.random.Generator, *dims: int) -> np.ndarray:
    return (draw.standard_normal(dims) / np.sqrt(dims[-1])).astype(np.float32)


def of_images(draw: np.random.Generator) -> bytes:
    node = helper.make_node
    nodes = [node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["b"]),
             node("Conv", ["b", "w2"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), node("Sigmoid", ["c"], ["d"]),
             node("Conv", ["d", "w3"], ["e"]), node("GlobalAveragePool", ["e"], ["f"]), node("Flatten", ["f"], ["g"]),
             node("Gemm", ["g", "w4"], ["y"])]
    constants = {"w1": weights(draw, 48, 3, 3, 3), "w2": weights(draw, 64, 48, 3, 3), "w3": weights(draw, 128, 64, 1, 1),
                 "w4": weights(draw, 128, 10)}
    return model(nodes, constants, ["n", 3, "height", "width"], ["n", 10])


def of_tokens(draw: np.random.Generator) -> bytes:
    node = helper.make_node
    nodes = [node("LayerNormalization", ["x", "scale"], ["a"], axis=-1)]
    nodes += [node("MatMul", ["a", f"w{name}"], [name]) for name in "qkv"]
    nodes += [node("Transpose", ["k"], ["t"], perm=[0, 2, 1]), node("MatMul", ["q", "t"], ["s"]), node("Softmax", ["s"], ["p"], axis=-1),
              node("MatMul", ["p", "v"], ["m"]), node("Add", ["m", "x"], ["y"])]
    constants = {f"w{name}": weights(draw, 128, 128) for name in "qkv"} | {"scale": np.ones(128, np.float32)}
    return model(nodes, constants, ["n", "length", 128], ["n", "length", 128])


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--provider", help="an order of providers, such as onednn,cpu; the automatic one without it")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, shapes = np.random.default_rng(options.seed), random.Random(options.seed)
    config = {"threads": {"count": options.threads}}
    if options.provider:
        config["select"] = {"order": options.provider.split(",")}
    sessions = [tenon.Session(of_images(draw), config), tenon.Session(of_tokens(draw), config)]
    noise = draw.standard_normal(4 * 400 * 128 * 4).astype(np.float32)
    seen: list[set] = [set(), set()]
    begun, runs, after = time.monotonic(), 0, []
    while len(after) < 10:
        which = runs % 2
        dims = (shapes.randint(1, 4), 3, shapes.randint(8, 96), shapes.randint(8, 96)) if which == 0 else (
            shapes.randint(1, 4), shapes.randint(1, 400), 128)
        x = noise[: int(np.prod(dims))].reshape(dims)
        (y,) = sessions[which].run({"x": x}).values()
        if y.shape[0] != dims[0] or not np.isfinite(y).all():
            print(f"the outputs of shape {dims} are wrong", file=sys.stderr)
            return 1
        seen[which].add(dims)
        runs += 1
        if time.monotonic() - begun >= options.seconds * (len(after) + 1) / 10:
            after.append(resident())
            print(f"{time.monotonic() - begun:6.0f} s {runs:8} Runs {sum(map(len, seen)):7} shapes {after[-1] / 2**20:8.1f} MiB", flush=True)
    return 1 if after[-1] > after[2] * 1.05 else 0


if __name__ == "__main__":
    sys.exit(main())
