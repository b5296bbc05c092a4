"""A Run of one node against ONNX Runtime, and threads that share a session. ctest runs nothing beside this."""

from __future__ import annotations

import json
import os

ONE_NODE = r"""
import json, sys, time
import numpy as np
import onnxruntime, tenon
from models import one_node
data, x = one_node("Relu", shape=("N", 16)), np.ones((1, 16), np.float32)
theirs = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
from tenon.onnxruntime import InferenceSession
ours, face = tenon.Session(data), InferenceSession(data)
binding = ours.bind({"x0": x}, {"y": np.empty((1, 16), np.float32)})
calls = {
    "onnxruntime": lambda: theirs.run(None, {"x0": x}),
    "tenon": lambda: ours.run({"x0": x}),
    "tenon.onnxruntime": lambda: face.run(None, {"x0": x}),
    "binding": binding.run,
}
best = dict.fromkeys(calls, 1e9)
for _ in range(40):  # side by side
    for name, call in calls.items():
        begin = time.perf_counter()
        for _ in range(500):
            call()
        best[name] = min(best[name], (time.perf_counter() - begin) / 500)
print("RESULT", json.dumps({name: round(value * 1e6, 2) for name, value in best.items()}))
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
    [t.start() for t in running]
    [t.join() for t in running]
    return sum(counts) / seconds

one = max(rate(1) for _ in range(3))
print("RESULT", json.dumps([max(rate(n) for _ in range(3)) / one for n in (2, 8)]))
"""


def figures(script, text, **environment):
    out = script(text, OPENBLAS_NUM_THREADS="1", **environment)
    print(out)
    return json.loads(out.split("RESULT ")[1])


def test_one_node(script, real_onnxruntime):
    for _ in range(3):  # other processes of the machine may disturb a measurement
        best = figures(script, ONE_NODE, PYTHONPATH=real_onnxruntime)
        if all(best[name] <= best["onnxruntime"] for name in best):
            break
    assert all(best[name] <= best["onnxruntime"] for name in best), best


def test_threads_run_at_the_same_time(script):
    if len(os.sched_getaffinity(0)) < 2:
        wanted = (0.9, 0.9)
    else:
        wanted = (1.6, 1.6)
    for _ in range(4):
        two, eight = figures(script, THREADS)
        if two >= wanted[0] and eight >= wanted[1]:
            break
    assert two >= wanted[0] and eight >= wanted[1], (two, eight)
