#!/usr/bin/env python3
"""Compares products and convolutions of the provider cpu with what one thread of the processor can compute at most.

    build/venv/bin/python bench/peak.py [--json build/bench/peak.json]

The peak is that of fused multiply-adds in registers (bench/peak.cc). Each model is one node with constant weights, runs by itself
on one thread, and takes turns with the peak; all rates are medians of --restarts processes. A rate is 2 operations for each
multiplication of the plain algorithm, so a convolution by Winograd's filtering, which multiplies less, can exceed the peak; the
table has it with `precision.strict` too, which switches that off. Each set of instructions that the processor has is measured.
"""

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sides.figures import turns
from sides.processes import COMMAND, Failed, output_of, pinned
from sides.report import write_rows

BENCH = COMMAND.parent / "tenon_bench"
SETS = {"avx512": "PeakAvx512", "avx2": "PeakAvx2"}  # TENON_CPU_ISA, and the benchmark of its peak
PRODUCTS = [(512, 768, 3072), (128, 768, 768), (1024, 1024, 1024)]  # rows, depth, columns
CONVOLUTIONS = [(64, 56), (128, 28), (256, 14)]  # channels, height and width


def write_model(path: Path, op: str, x: list[int], weight: list[int], y: list[int], **attributes: object) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", x), ("y", y))]
    constant = np.random.default_rng(7).standard_normal(weight, dtype=np.float32)
    graph = helper.make_graph([helper.make_node(op, ["x", "w"], ["y"], **attributes)], "one node", values[:1], values[1:],
                              [numpy_helper.from_array(constant, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def write_models(folder: Path) -> list[tuple[str, Path, int, tuple[str, ...]]]:
    """Of each row: its name, the model, the operations of a Run, and settings."""
    rows = []
    for m, k, n in PRODUCTS:
        path = folder / f"product{m}.onnx"
        write_model(path, "MatMul", [m, k], [k, n], [m, n])
        rows.append((f"product {m}x{k}x{n}", path, 2 * m * k * n, ()))
    for channels, side in CONVOLUTIONS:
        path, image = folder / f"convolution{channels}.onnx", [1, channels, side, side]
        write_model(path, "Conv", image, [channels, channels, 3, 3], image, pads=[1, 1, 1, 1])
        work = 2 * 9 * channels * math.prod(image)
        name = f"convolution 3x3 of {channels}x{side}x{side}"
        rows += [(f"{name}, strict", path, work, ("precision.strict=true",)), (name, path, work, ())]
    return rows


def peak(name: str) -> float:
    """Operations for each second; 0 if the processor lacks the instructions."""
    text = output_of(pinned([BENCH, f"--benchmark_filter={name}/", "--benchmark_format=json"], 1))
    rows = json.loads(text)["benchmarks"] if text else []  # no text: built for another processor than x86-64
    return rows[0].get("flops", 0) if rows else 0


def rate(model: Path, work: int, settings: tuple[str, ...], seconds: float) -> float:
    command = [COMMAND, "bench", model, "--provider", "cpu", "--threads", 1, "--seconds", seconds, "--format", "json"]
    command += [word for setting in settings for word in ("--set", setting)]
    return work / json.loads(output_of(pinned(command, 1)))[0]["median_ns"] * 1e9


def measure() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each process")
    parser.add_argument("--restarts", type=int, default=5, help="processes for each row")
    parser.add_argument("--json", type=Path, help="file for the rows")
    options = parser.parse_args()
    rows = []
    print("| instructions | node | GFLOP/s | peak | share |\n|---|---|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        models = write_models(Path(folder))
        for isa, benchmark in SETS.items():
            if not peak(benchmark):
                print(f"| {isa} | not measured: this processor has none | | | |", flush=True)
                continue
            os.environ["TENON_CPU_ISA"] = isa
            for name, model, work, settings in models:
                ours, most = [], []
                for side in turns(["node", "peak"], options.restarts):
                    if side == "node":
                        ours.append(rate(model, work, settings, options.seconds))
                    else:
                        most.append(peak(benchmark))
                row = {"instructions": isa, "node": name, "flops": statistics.median(ours), "peak": statistics.median(most)}
                rows.append(row)
                share = row["flops"] / row["peak"]
                print(f"| {isa} | {name} | {row['flops'] / 1e9:.1f} | {row['peak'] / 1e9:.1f} | {100 * share:.0f} % |", flush=True)
    write_rows(options.json, rows)


def main() -> None:
    if not BENCH.exists():
        sys.exit(f"{BENCH} is missing; run: cmake --build --preset release")
    try:
        measure()
    except Failed as error:
        sys.exit(f"a process failed: {error}")


main()
