#!/usr/bin/env python3
"""Measures Runs from Python: one node beside ONNX Runtime, and threads that share a session.

    build/venv/bin/python bench/python.py [--processes 5] [--json build/bench/python.json]

It starts the Python of the package's tests (build/python-tests) with the package of build/release, and ONNX Runtime from build/venv
beside it. A process measures all calls side by side: the least mean of 500 calls, of 40 rounds. The table has the medians of the processes. Inputs
and outputs are NumPy arrays.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ONE_NODE = r"""
import json, time
import numpy as np
import onnxruntime, tenon
from models import one_node
from tenon.onnxruntime import InferenceSession
data, x = one_node("Relu", shape=("N", 16)), np.ones((1, 16), np.float32)
theirs = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
ours, face = tenon.Session(data), InferenceSession(data)
binding = ours.bind({"x0": x}, {"y": np.empty((1, 16), np.float32)})
assert (ours.run({"x0": x})["y"] == theirs.run(None, {"x0": x})[0]).all()
calls = {
    "ONNX Runtime, run": lambda: theirs.run(None, {"x0": x}),
    "tenon, run": lambda: ours.run({"x0": x}),
    "tenon.onnxruntime, run": lambda: face.run(None, {"x0": x}),
    "tenon, bound": binding.run,
}
best = dict.fromkeys(calls, 1e9)
for _ in range(40):
    for name, call in calls.items():
        begin = time.perf_counter()
        for _ in range(500):
            call()
        best[name] = min(best[name], (time.perf_counter() - begin) / 500)
print(json.dumps({name: value * 1e6 for name, value in best.items()}))
"""
THREADS = r"""
import json, threading, time
import numpy as np
import tenon
from models import matmul_chain
session = tenon.Session(matmul_chain(256, 6), {"threads": {"count": 1}})
x = np.ones((64, 256), np.float32)
session.run({"x": x})

def rate(threads, seconds=1.0):
    counts, stop = [0] * threads, time.perf_counter() + seconds
    def work(i):
        while time.perf_counter() < stop:
            session.run({"x": x})
            counts[i] += 1
    running = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    [thread.start() for thread in running]
    [thread.join() for thread in running]
    return sum(counts) / seconds

one = rate(1)
print(json.dumps({f"{n} threads on one session, against 1": rate(n) / one for n in (2, 8)}))
"""


def run(script: str, peer: Path) -> dict[str, float]:
    path = os.pathsep.join(map(str, (ROOT / "tests/python", peer, ROOT / "build/release/python")))
    done = subprocess.run([ROOT / "build/python-tests/bin/python", "-B", "-c", script], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"})  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"python.py: a measurement failed:\n{done.stderr}")
    return json.loads(done.stdout)


def medians(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5, help="whose medians are printed; default: 5")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file that gets the medians")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (found,) = ROOT.glob("build/venv/lib/python3*/site-packages/onnxruntime")
        (Path(folder) / "onnxruntime").symlink_to(found)
        calls = medians([run(ONE_NODE, Path(folder)) for _ in range(options.processes)])
        threads = medians([run(THREADS, Path(folder)) for _ in range(options.processes)])
    theirs = calls["ONNX Runtime, run"]
    print("| call of one node | us | of ONNX Runtime's time |\n|---|---:|---:|")
    for name, value in calls.items():
        print(f"| {name} | {value:.2f} | {value / theirs:.2f} |")
    print("\n| Runs per second | ratio |\n|---|---:|")
    for name, value in threads.items():
        print(f"| {name} | {value:.2f} |")
    if options.json:
        options.json.write_text(json.dumps(calls | threads, indent=1) + "\n")


if __name__ == "__main__":
    main()
