#!/usr/bin/env python3
"""tools/conformance/write_cases.py: every written file parses as what its graph declares; reruns and bad packs."""

import io
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

import onnx
from onnx import OptionalProto, SequenceProto, TensorProto

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "conformance" / "write_cases.py"
PROTOS = {"tensor_type": TensorProto, "sequence_type": SequenceProto, "optional_type": OptionalProto}


def run_script(*args: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, SCRIPT, *map(str, args)], capture_output=True, text=True, check=False)


def fed_inputs(graph) -> list:
    """The inputs that a test case feeds: those no initializer gives a value."""
    initialized = {tensor.name for tensor in graph.initializer}
    return [info for info in graph.input if info.name not in initialized]


def mismatch(path: Path, info) -> str:
    """Why the file is not a value of the declared type, or an empty string."""
    message = PROTOS[info.type.WhichOneof("value")].FromString(path.read_bytes())
    if not isinstance(message, TensorProto):
        return "" if message.name == info.name else f"{path}: named {message.name}"
    declared = info.type.tensor_type
    if message.data_type != declared.elem_type:
        return f"{path}: element type {message.data_type}, declared {declared.elem_type}"
    fixed = [dim.dim_value if dim.HasField("dim_value") else None for dim in declared.shape.dim]
    agrees = all(want in (None, got) for want, got in zip(fixed, message.dims))
    if declared.HasField("shape") and not (agrees and len(fixed) == len(message.dims)):
        return f"{path}: dims {list(message.dims)}, declared {fixed}"
    return ""


class WriteCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = Path(cls.folder.name)
        cls.first = run_script(cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_counts(self):
        self.assertEqual(self.first.stderr, "")
        self.assertEqual(self.first.stdout, "1884 node cases, 1834 of them symbolic too, 149 others\n")
        self.assertEqual(len(list(self.out.glob("node/*/model.onnx"))), 1884)
        self.assertEqual(len(list(self.out.glob("*/*/model.onnx"))), 1884 + 1834 + 149)

    def test_every_file_is_what_its_graph_declares(self):
        wrong = []
        for model_file in self.out.glob("*/*/model.onnx"):
            graph = onnx.load(model_file).graph
            for data_set in model_file.parent.glob("test_data_set_*"):
                for side, infos in (("input", fed_inputs(graph)), ("output", graph.output)):
                    files = sorted(data_set.glob(f"{side}_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
                    if len(files) != len(infos):
                        wrong.append(f"{data_set}: {len(files)} {side} files for {len(infos)} declared")
                    wrong += filter(None, map(mismatch, files, infos))
        self.assertEqual(wrong, [])

    def test_second_run_writes_nothing(self):
        before = {path: path.stat().st_mtime_ns for path in self.out.rglob("*")}
        self.assertEqual(run_script(self.out).stdout, self.first.stdout)
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.out.rglob("*")})

    def test_pack_members_outside_the_target_are_refused(self):
        for name in ("../escape/model.onnx", "/escape/model.onnx"):
            pack = self.out / "bad.tar.xz"
            with tarfile.open(pack, "w:xz") as tar:
                tar.addfile(tarfile.TarInfo(name), io.BytesIO())
            refused = run_script(self.out, "--unpack", pack)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(f"refused member '{name}'", refused.stderr)


if __name__ == "__main__":
    unittest.main()
