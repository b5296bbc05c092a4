"""Packages written for ONNX Runtime run unchanged on Tenon, and give the same.

Each program runs in processes of its own: on ONNX Runtime, on Tenon where ONNX Runtime is not installed, and on Tenon where it is.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import ROOT
from models import one_node
from onnx import TensorProto

INSTALL = """
import sys
if "--tenon" in sys.argv:
    import tenon.onnxruntime
    tenon.onnxruntime.install()
"""
REPORT = """
import json
print("RESULT", json.dumps(result))
if "--tenon" in sys.argv:
    files = [getattr(m, "__file__", None) or "" for m in sys.modules.values()]
    assert not [f for f in files if "/onnxruntime/" in f and "/tenon/" not in f]
"""


def result_of(out: str):
    return json.loads(next(line for line in out.splitlines() if line.startswith("RESULT "))[7:])


@pytest.fixture
def compare(script, real_onnxruntime):
    """The results of a program on ONNX Runtime, and on Tenon in both ways."""

    def run(program: str, **more: str):
        text = INSTALL + program + REPORT
        expected = result_of(script(text, PYTHONPATH=real_onnxruntime, timeout=400, **more))
        alone = result_of(script(text, "--tenon", timeout=400, **more))
        beside = result_of(script(text, "--tenon", PYTHONPATH=real_onnxruntime, timeout=400, **more))
        return expected, alone, beside

    return run


MAGIKA = r"""
from magika import Magika
magika = Magika()
texts = [
    b"#!/bin/bash\necho hi\nfor i in 1 2 3; do echo $i; done\n",
    b"import os\nprint(os.getcwd())\ndef f(x):\n    return x\n",
    b'{"a": 1, "b": [1, 2, 3]}' * 20,
    b"<html><body><p>words</p></body></html>" * 9,
    b"#include <stdio.h>\nint main(void) { return printf(\"x\"); }\n" * 3,
    bytes(range(256)) * 40,
    b"\x89PNG\r\n\x1a\n" + bytes(i * i * 7 % 251 for i in range(5000)),  # equal bytes would give a variance of rounding errors
]
result = [[(r := magika.identify_bytes(t)).output.label, r.score] for t in texts]
"""


def test_magika(compare):
    expected, *others = compare(MAGIKA)
    for got in others:
        assert [row[0] for row in got] == [row[0] for row in expected]
        assert np.allclose([row[1] for row in got], [row[1] for row in expected], atol=1e-3)


RAPIDOCR = r"""
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR
picture = Image.new("RGB", (480, 200), "white")
draw = ImageDraw.Draw(picture)
for row, text in enumerate(("Hello Tenon 2026", "several lines of words", "0123456789")):
    draw.text((20, 15 + 60 * row), text, fill="black", font=ImageFont.load_default(32))
found, _ = RapidOCR()(np.array(picture))
result = [[np.asarray(box).round().tolist(), text, float(score)] for box, text, score in found]
"""


def test_rapidocr(compare):
    expected, *others = compare(RAPIDOCR)
    assert len(expected) == 3
    for got in others:
        assert [row[1] for row in got] == [row[1] for row in expected]
        assert np.abs(np.array([row[0] for row in got]) - np.array([row[0] for row in expected])).max() <= 1
        assert np.allclose([row[2] for row in got], [row[2] for row in expected], atol=1e-3)


SILERO = r"""
import warnings
warnings.simplefilter("ignore")
import numpy as np
import torch
from silero_vad import get_speech_timestamps, load_silero_vad
t = np.arange(16000 * 6) / 16000
audio = 0.01 * np.random.default_rng(0).standard_normal(t.size)
for begin, end in ((1, 2.2), (3.5, 5)):  # something like vowels
    phase = 2 * np.pi * np.cumsum(120 + 20 * np.sin(2 * np.pi * 3 * t)) / 16000
    tones = sum(np.sin(k * phase) / k * np.exp(-(((k * 120 - 600) / 700) ** 2)) for k in range(1, 30))
    audio = audio + ((t >= begin) & (t < end)) * tones * 0.4 * (1 + np.sin(2 * np.pi * 4 * t))
audio = torch.from_numpy(audio.astype("f"))
model = load_silero_vad(onnx=True)
result = [[float(model(audio[i : i + 512], 16000)) for i in range(0, len(audio) - 512, 512)]]
result.append([list(span.values()) for span in get_speech_timestamps(audio, model, threshold=0.3)])
"""


def test_silero_vad(compare):
    expected, *others = compare(SILERO, python=str(ROOT / "build/python-silero/bin/python"))
    assert max(expected[0]) > 0.9 and expected[1]
    for got in others:
        assert np.allclose(got[0], expected[0], atol=1e-4) and got[1] == expected[1]


TORCH = r"""
import gc, sys
import numpy as np, torch, tenon
session = tenon.Session(sys.argv[1])
x = torch.arange(8, dtype=torch.float32).reshape(2, 4)
value = tenon.Value.of(x)
assert np.asarray(value).ctypes.data == x.data_ptr()  # not copied
x[0, 0] = 5
assert session.run({"x0": value})["y"][0, 0] == -5
y = session.run({"x0": x})["y"]
back = torch.from_dlpack(tenon.Value.of(y))
assert back.data_ptr() == y.ctypes.data and torch.equal(back, -x)
assert torch.equal(torch.from_numpy(session.run({"x0": x.T.contiguous().T})["y"]), -x)  # with strides: a copy
half = tenon.Session(sys.argv[2]).run({"x0": x.half()})["y"]
assert half.dtype == np.float16
try:
    session.run({"x0": x.clone().requires_grad_()})
    raise SystemExit("taken")
except tenon.InvalidInputError as error:
    assert "detach" in str(error)
del value, x, back
gc.collect()
print("fine")
"""


def test_torch(script, tmp_path):
    (tmp_path / "neg.onnx").write_bytes(one_node("Neg"))
    (tmp_path / "half.onnx").write_bytes(one_node("Neg", TensorProto.FLOAT16))
    assert "fine" in script(TORCH, str(tmp_path / "neg.onnx"), str(tmp_path / "half.onnx"), python=str(ROOT / "build/python-silero/bin/python"))


# A decoder with a cache: one layer of attention over past keys and values, greedy. The model is made here, as an exporter would.
DECODER = r"""
import numpy as np, onnx, onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper
rng = np.random.default_rng(7)
V, D, H, L = 97, 32, 4, 2
weights, nodes = [], []

def weight(name, *shape):
    weights.append(numpy_helper.from_array((rng.standard_normal(shape) / shape[0] ** 0.5).astype("f"), name))
    return name

def const(name, value):
    weights.append(numpy_helper.from_array(np.array(value), name))
    return name

def op(kind, inputs, output, **attributes):
    nodes.append(h.make_node(kind, inputs, [output], name=output, **attributes))
    return output

heads, merged, scale = const("heads", np.array([0, 0, H, D // H])), const("merged", np.array([0, 0, D])), const("scale", np.float32((D // H) ** -0.5))
x = op("Gather", [weight("embed", V, D), "ids"], "emb")
ins = [h.make_tensor_value_info("ids", T.INT64, ["B", "S"])]
outs = [h.make_tensor_value_info("logits", T.FLOAT, ["B", "S", V])]
for i in range(L):
    n = f"l{i}_"
    normed = op("LayerNormalization", [x, const(n + "g", np.ones(D, "f")), const(n + "b", np.zeros(D, "f"))], n + "n", axis=-1)
    q, k, v = (op("Transpose", [op("Reshape", [op("MatMul", [normed, weight(n + w, D, D)], n + w + "m"), heads], n + w + "r")], n + w + "t", perm=[0, 2, 1, 3]) for w in "qkv")
    keys, values = op("Concat", [f"past_{i}_k", k], f"present_{i}_k", axis=2), op("Concat", [f"past_{i}_v", v], f"present_{i}_v", axis=2)
    scores = op("Mul", [op("MatMul", [q, op("Transpose", [keys], n + "kT", perm=[0, 1, 3, 2])], n + "s"), scale], n + "ss")
    context = op("MatMul", [op("Softmax", [scores], n + "p", axis=-1), values], n + "c")
    flat = op("Reshape", [op("Transpose", [context], n + "ct", perm=[0, 2, 1, 3]), merged], n + "cr")
    x = op("Add", [x, op("MatMul", [flat, weight(n + "o", D, D)], n + "om")], n + "x")
    x = op("Add", [x, op("MatMul", [op("Gelu", [op("MatMul", [x, weight(n + "u", D, 4 * D)], n + "um")], n + "ug"), weight(n + "w", 4 * D, D)], n + "wm")], n + "y")
    for kv in "kv":
        ins.append(h.make_tensor_value_info(f"past_{i}_{kv}", T.FLOAT, ["B", H, "P", D // H]))
        outs.append(h.make_tensor_value_info(f"present_{i}_{kv}", T.FLOAT, ["B", H, "T", D // H]))
op("MatMul", [x, weight("head", D, V)], "logits")
model = h.make_model(h.make_graph(nodes, "decoder", ins, outs, weights), opset_imports=[h.make_opsetid("", 20)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
past = {a.name: np.zeros((1, H, 0, D // H), "f") for a in session.get_inputs()[1:]}
ids, result = np.array([[3]], np.int64), []
for _ in range(64):
    logits, *present = session.run(None, {"ids": ids, **past})
    past = dict(zip(past, present))
    ids = logits[:, -1:].argmax(-1)
    result.append(int(ids[0, 0]))
"""


def test_a_decoder_with_a_cache(compare):
    expected, *others = compare(DECODER)
    assert len(expected) == 64 and len(set(expected)) > 3
    for got in others:
        assert got == expected
