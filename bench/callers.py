#!/usr/bin/env python3
"""Measures one session with one thread: two callers against one, and Runs with cold caches against Runs with warm ones.

    PYTHONPATH=build/release/python build/venv/bin/python bench/callers.py build/bench/exported/resnet50 [MODEL ...]

A model is a folder with model.onnx and test_data_set_0/input_*.pb. Before a cold Run, 512 MiB are written, which leaves nothing of
the model in the caches; a cold Run of small pages also has to find the translation of each page again. Times are medians.
"""

import argparse
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy as np
import tenon

from sides.case import data_files, read_tensor


def runs_in(session: tenon.Session, inputs: dict, callers: int, seconds: float) -> float:
    """Runs per second of `callers` threads."""
    counts = [0] * callers
    end = time.monotonic() + seconds

    def call(caller: int) -> None:
        while time.monotonic() < end:
            session.run(inputs)
            counts[caller] += 1

    begun = time.monotonic()
    threads = [threading.Thread(target=call, args=(c,)) for c in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - begun)


def median_ms(session: tenon.Session, inputs: dict, runs: int, before=lambda: None) -> float:
    times = []
    for _ in range(runs):
        before()
        begun = time.monotonic()
        session.run(inputs)
        times.append(time.monotonic() - begun)
    return statistics.median(times) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    flood = np.zeros(512 << 20, dtype=np.uint8)
    print("| model | one caller, Runs/s | two | ratio | warm ms | cold ms | ratio |\n|---|---:|---:|---:|---:|---:|---:|")
    for folder in options.folders:
        session = tenon.Session(folder / "model.onnx", {"threads": {"count": 1}})
        inputs = dict(read_tensor(path) for path in data_files(folder, "input"))
        session.run(inputs)
        turns = [(runs_in(session, inputs, 1, options.seconds), runs_in(session, inputs, 2, options.seconds)) for _ in range(3)]
        one, two = (statistics.median(turn[i] for turn in turns) for i in range(2))
        runs = max(10, min(50, int(one * options.seconds)))
        warm, cold = median_ms(session, inputs, runs), median_ms(session, inputs, runs, lambda: flood.fill(1))
        print(f"| {folder.name} | {one:.1f} | {two:.1f} | {two / one:.2f} | {warm:.2f} | {cold:.2f} | {cold / warm:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
