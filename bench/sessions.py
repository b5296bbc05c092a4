#!/usr/bin/env python3
"""Makes two sessions of one model, runs each once, and prints how much memory each adds to the process.

    PYTHONPATH=build/release/python build/venv/bin/python bench/sessions.py build/bench/exported/bert_base [MODEL ...]

A model is a folder with model.onnx and test_data_set_0/input_*.pb. Sessions share weights, so the second one should add little.
Memory is what /proc/self/smaps_rollup calls Rss. Each model has a process of its own.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import tenon

from sides.case import data_files, read_tensor


def resident() -> int:
    return int(re.search(r"^Rss:\s+(\d+) kB", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)[1]) << 10


def measure(folder: Path) -> str:
    inputs: dict[str, np.ndarray] = dict(read_tensor(path) for path in data_files(folder, "input"))
    memory, times, sessions = [resident()], [], []
    for _ in range(2):
        begun = time.monotonic()
        sessions.append(tenon.Session(folder / "model.onnx"))
        sessions[-1].run(inputs)
        times.append(time.monotonic() - begun)
        memory.append(resident())
    first, second = memory[1] - memory[0], memory[2] - memory[1]
    return (f"{folder.name:28} first {first / 2**20:7.1f} MiB, {times[0]:5.2f} s; second {second / 2**20:6.1f} MiB, {times[1]:5.2f} s; "
            f"{second / first:.0%}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    if len(folders) == 1:
        print(measure(folders[0]))
        return 0
    return max(subprocess.run([sys.executable, "-B", __file__, folder], check=False).returncode for folder in folders)


if __name__ == "__main__":
    sys.exit(main())
