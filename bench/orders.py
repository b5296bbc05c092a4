#!/usr/bin/env python3
"""Compares the automatic order with the cpu provider alone and with onednn before it, for each model.

    build/venv/bin/python bench/orders.py ../shared/models/* build/bench/models/* build/bench/exported/*

A model is a folder with model.onnx and test_data_set_0. The orders take turns, each turn in a new process. Times are medians of
all turns. `ratio` is the automatic order against the faster of the other two, by medians and by the least times.
"""

import argparse
import statistics
import sys
from pathlib import Path

from sides.processes import bench_tenon
from sides.report import write_rows

ORDERS = ("auto", "cpu", "onednn,cpu")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each process")
    parser.add_argument("--restarts", type=int, default=5, help="processes for each order")
    parser.add_argument("--limit", type=float, default=1.1, help="a greater ratio of medians is counted")
    parser.add_argument("--json", type=Path, help="file for the rows")
    options = parser.parse_args()
    rows, above = [], 0
    print("| model | auto us | cpu us | onednn,cpu us | ratio | of the least |\n|---|---:|---:|---:|---:|---:|", flush=True)
    for folder in options.folders:
        if not (folder / "test_data_set_0").is_dir() or not (folder / "model.onnx").exists():
            print(f"not measured: {folder} is not a model with data", file=sys.stderr)
            continue
        times = {order: [] for order in ORDERS}
        for turn in range(options.restarts):
            for i in range(len(ORDERS)):
                order = ORDERS[(turn + i) % len(ORDERS)]
                times[order].append(bench_tenon(folder, options.threads, options.seconds, order)["median_ns"])
        median = {order: statistics.median(each) for order, each in times.items()}
        least = {order: min(each) for order, each in times.items()}
        ratios = [of["auto"] / min(of["cpu"], of["onednn,cpu"]) for of in (median, least)]
        above += ratios[0] > options.limit
        cells = " | ".join(f"{median[order] / 1e3:.1f}" for order in ORDERS)
        print(f"| {folder.name} | {cells} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)
        rows.append({"model": folder.name, "threads": options.threads, "median_ns": median, "least_ns": least})
    print(f"{len(rows)} models, {above} with a ratio above {options.limit}")
    write_rows(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
