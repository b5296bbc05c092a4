#!/usr/bin/env python3
"""Compares the choice by measured time with the orders that it chooses from, for each model.

    build/venv/bin/python bench/by_cost.py build/bench/exported/*

A model is a folder with model.onnx and test_data_set_0. `tenon tune` measures
the ways first, into a cache of this run. Then the orders and the choice take turns, each turn in a new process. Times are medians of all
turns, in ms; `ratio` is the choice against the fastest order.
"""

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from sides.figures import turns
from sides.processes import bench_tenon, tune_tenon
from sides.report import write_rows

ALL = "provider.onednn.options.claim=\"all\""
CHOICE = "measured"
ORDER = "select.partition=\"order\""
SIDES = {"auto": ("auto", (ORDER,)), "cpu": ("cpu", ()), "onednn,cpu": ("onednn,cpu", (ALL, ORDER)), CHOICE: ("auto", ())}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each process, and for each way of tune")
    parser.add_argument("--restarts", type=int, default=5, help="processes for each side")
    parser.add_argument("--limit", type=float, default=1.03, help="a greater ratio is counted")
    parser.add_argument("--json", type=Path, help="file for the rows")
    options = parser.parse_args()
    rows, above = [], 0
    print(f"| model | {' | '.join(f'{side} ms' for side in SIDES)} | taken | ratio |\n|---|{'---:|' * len(SIDES)}---|---:|", flush=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        for folder in options.folders:
            if not (folder / "test_data_set_0").is_dir() or not (folder / "model.onnx").exists():
                print(f"not measured: {folder} is not a model with data", file=sys.stderr)
                continue
            tuned = tune_tenon(folder, options.threads, options.seconds, *SIDES[CHOICE])
            ways = tuned["candidates"]
            least = min((way.get("measured_ms", float("inf")) for way in ways), default=0)
            taken = next((way["name"] for way in ways if way.get("measured_ms") == least), "the only one")
            times = {side: [] for side in SIDES}
            for side in turns(list(SIDES), options.restarts):
                order, settings = SIDES[side]
                times[side].append(bench_tenon(folder, options.threads, options.seconds, order, settings)["median_ns"])
            median = {side: statistics.median(each) for side, each in times.items()}
            ratio = median[CHOICE] / min(time for side, time in median.items() if side != CHOICE)
            above += ratio > options.limit
            cells = " | ".join(f"{median[side] / 1e6:.3f}" for side in SIDES)
            print(f"| {folder.name} | {cells} | {taken} | {ratio:.2f} |", flush=True)
            rows.append({"model": folder.name, "threads": options.threads, "median_ns": median, "ways": ways})
    print(f"{len(rows)} models, {above} with a ratio above {options.limit}")
    write_rows(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
