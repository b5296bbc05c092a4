#!/usr/bin/env python3
"""decoders.py BUILD_DIR NODE_CASES: ImageDecoder of the image provider on right, broken and lying images.

The broken ones run in a process of their own each format, which must end well and write nothing to stderr.
"""

import json
import random
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "support")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper  # noqa: E402
from pictures import pictures, refused  # noqa: E402
from tenon_c import Api, TenonError  # noqa: E402

FORMATS = {"bmp": "BMP", "jpeg": "JPEG", "jpeg2k": "JPEG 2000", "png": "PNG", "pnm": "PNM", "tiff": "TIFF", "webp": "WebP"}
FLIPS, SLACK = 400, 96 << 20
build, cases = Path(), Path()


def model(pixel_format: str | None) -> bytes:
    attributes = {"pixel_format": pixel_format} if pixel_format else {}
    node = helper.make_node("ImageDecoder", ["data"], ["pixels"], **attributes)
    graph = helper.make_graph([node], "decode", [helper.make_tensor_value_info("data", onnx.TensorProto.UINT8, [None])],
                              [helper.make_tensor_value_info("pixels", onnx.TensorProto.UINT8, [None, None, None])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9).SerializeToString()


class Decoder:
    def __init__(self, pixel_format: str | None = None, order: str | None = '["image", "cpu"]'):
        api = Api((build / "lib/libtenon.so").resolve())
        with api.config({"select.order": order} if order else {}) as config:
            self.session = api.session(model(pixel_format), config)

    def __call__(self, data: bytes) -> np.ndarray:
        return self.session.run({"data": np.frombuffer(data, np.uint8)})[0]


def sample(name: str) -> bytes:
    folder = cases / f"test_image_decoder_decode_{name}_rgb" / "test_data_set_0"
    tensor = onnx.TensorProto.FromString((folder / "input_0.pb").read_bytes())
    return onnx.numpy_helper.to_array(tensor).tobytes()


def grey(rgb: np.ndarray) -> np.ndarray:
    weighted = rgb.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32)
    return ((weighted + 0x8000) >> 16).astype(np.uint8)[:, :, None]


def outcome(decode: Decoder, data: bytes) -> tuple[str, str]:
    try:
        decode(data)
    except TenonError as error:
        return error.kind, str(error)
    return "ok", ""


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


def damage(name: str) -> None:
    """In a process of its own: says as JSON what cut and changed data came to."""
    data, decode = sample(name), Decoder()
    decode(data)
    before, rng = peak(), random.Random(f"damage {name}")
    wrong = []
    lengths = {*range(1, min(len(data), 200)), *range(200, len(data), max(1, len(data) // 150)), len(data) - 1}
    for length in sorted(lengths):
        kind, words = outcome(decode, data[:length])
        if kind != "invalid input" or (length > 16 and f"{FORMATS[name]}: " not in words):
            wrong.append(f"cut to {length} of {len(data)}: {kind} {words}")
    for number in range(FLIPS):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8))):
            changed[rng.randrange(min(len(data), rng.choice((64, len(data)))))] ^= 1 << rng.randrange(8)
        kind, words = outcome(decode, bytes(changed))
        if kind not in ("ok", "invalid input", "limit exceeded", "out of memory"):
            wrong.append(f"change {number}: {kind} {words}")
    if not np.array_equal(decode(data), Decoder()(data)):
        wrong.append("the right image is another afterwards")
    print(json.dumps({"wrong": wrong, "lengths": len(lengths), "grown": peak() - before}))


class Decoders(unittest.TestCase):
    def test_pictures(self):
        decode, bgr, gray = Decoder(), Decoder("BGR"), Decoder("Grayscale")
        for name, data, wanted in pictures():
            with self.subTest(name):
                np.testing.assert_array_equal(decode(data), wanted)
                np.testing.assert_array_equal(bgr(data), wanted[:, :, ::-1])
                np.testing.assert_array_equal(gray(data), grey(wanted))

    def test_samples_in_each_pixel_format(self):
        decode, bgr, gray = Decoder("RGB"), Decoder("BGR"), Decoder("Grayscale", None)
        for name in FORMATS:
            with self.subTest(name):
                rgb = decode(sample(name))
                self.assertEqual(rgb.shape, (32, 32, 3))
                np.testing.assert_array_equal(bgr(sample(name)), rgb[:, :, ::-1])
                np.testing.assert_array_equal(gray(sample(name)), grey(rgb))

    def test_refused(self):
        decode, before = Decoder(), peak()
        for name, data, words in refused({name: sample(name) for name in FORMATS}):
            with self.subTest(name):
                with self.assertRaisesRegex(TenonError, words) as caught:
                    decode(data)
                self.assertIn(caught.exception.kind, ("invalid input", "limit exceeded"))
        self.assertLess(peak() - before, SLACK)

    def test_unknown_pixel_format(self):
        with self.assertRaisesRegex(TenonError, "attribute pixel_format is 'CMYK'"):
            Decoder("CMYK")

    def test_damage(self):
        for name in FORMATS:
            with self.subTest(name):
                command = [sys.executable, "-B", __file__, str(build), str(cases), "--damage", name]
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                answer = json.loads(done.stdout)
                self.assertEqual(answer["wrong"], [])
                self.assertGreater(answer["lengths"], 200)
                self.assertLess(answer["grown"], SLACK)


if __name__ == "__main__":
    build, cases = Path(sys.argv[1]), Path(sys.argv[2])
    if sys.argv[3:4] == ["--damage"]:
        damage(sys.argv[4])
    else:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
