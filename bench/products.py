#!/usr/bin/env python3
"""Times matrix products of eight shapes on two providers in turn, and compares their outputs.

    build/venv/bin/python bench/products.py                          opencl against onednn, 2 threads
    build/venv/bin/python bench/products.py --first opencl --second cpu --seed 7

The shapes are: square, tall, skinny, batched, of prime sizes, a layer of a transformer, a single row, and a random one from the
seed, which is printed. Both factors are inputs, so that nothing can be prepared ahead. The providers take turns (A B B A),
each time in a new process. The result of a side is the best of its medians. Prints the geometric mean of the rates, first
to second. The exit code is 1 if outputs differ or if that mean is below --least.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ROOT / "build/release/bin/tenon"


def shapes(seed: int) -> dict[str, tuple[list[int], list[int]]]:
    draw = random.Random(seed)
    rows, depth, columns = (draw.randint(33, 1200) for _ in range(3))
    return {
        "square": ([1024, 1024], [1024, 1024]),
        "tall": ([4096, 256], [256, 256]),
        "skinny": ([16, 2048], [2048, 2048]),
        "batched": ([12, 128, 64], [12, 64, 128]),
        "prime": ([509, 521], [521, 503]),
        "transformer": ([128, 768], [768, 3072]),
        "row": ([1, 2048], [2048, 2048]),
        f"drawn {rows}x{depth}x{columns}": ([rows, depth], [depth, columns]),
    }


def write_model(folder: Path, a: list[int], b: list[int]) -> Path:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
              for name, dims in (("a", a), ("b", b), ("y", a[:-1] + b[-1:]))]
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "product", values[:2], values[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def order_of(provider: str) -> list[str]:
    return ["--provider", *dict.fromkeys((provider, "cpu"))]


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def median_ns(model: Path, provider: str, threads: int, seconds: float) -> float:
    text = run(COMMAND, "bench", model, "--threads", threads, "--seconds", seconds, "--format", "json", *order_of(provider))
    return json.loads(text)[0]["median_ns"]


def product(model: Path, provider: str, folder: Path) -> np.ndarray:
    out = folder / provider
    run(COMMAND, "run", model, "--input", "a=random", "--input", "b=random", "--output", out, *order_of(provider))
    return np.load(out / "y.npy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", default="opencl")
    parser.add_argument("--second", default="onednn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each process")
    parser.add_argument("--seed", type=int, default=20161)
    parser.add_argument("--least", type=float, default=0.0, help="the geometric mean to reach")
    flags = parser.parse_args()
    sides = (flags.first, flags.second)
    print(f"seed {flags.seed}, {flags.threads} threads")
    print(f"| product | {flags.first} GFLOP/s | {flags.second} GFLOP/s | rate |\n|---|---|---|---|")
    rates, differ = [], []
    for name, (a, b) in shapes(flags.seed).items():
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            model = write_model(folder, a, b)
            answers = [product(model, side, folder) for side in sides]
            if not np.allclose(answers[0], answers[1], rtol=1e-3, atol=1e-5 * math.sqrt(a[-1])):
                differ.append(name)
            best = dict.fromkeys(sides, math.inf)
            for side in (*sides, *reversed(sides)):
                best[side] = min(best[side], median_ns(model, side, flags.threads, flags.seconds))
        work = 2 * math.prod(a) * b[-1]
        rates.append(best[sides[1]] / best[sides[0]])
        print(f"| {name} | {work / best[sides[0]]:.0f} | {work / best[sides[1]]:.0f} | {rates[-1]:.2f} |", flush=True)
    mean = math.exp(sum(map(math.log, rates)) / len(rates))
    print(f"geometric mean {mean:.2f}")
    for name in differ:
        print(f"the outputs of '{name}' differ")
    sys.exit(1 if differ or mean < flags.least else 0)


main()
