#!/usr/bin/env python3
"""tests/hostile: rows and cases fit, and ONNX's own checker says of every file what the row claims."""

import os
import re
import resource
import sys
import tempfile
import unittest
from pathlib import Path

import onnx

HOSTILE = Path(__file__).resolve().parents[1] / "hostile"
sys.path.insert(0, str(HOSTILE))

import make_hostile  # noqa: E402
from zoo import build  # noqa: E402

KINDS = {"ok", "invalid model", "unsupported", "limit exceeded", "out of memory", "invalid input"}
STAGES = {"load", "run"}
LARGEST_FILE = 4_000_000


def check(path: Path) -> str:
    """Only a path tells the checker about external data; only parsed messages are checked beyond the graph."""
    try:
        onnx.checker.check_model(str(path) if path.name == "model.onnx" else onnx.load(path))
        onnx.load(path)
    except Exception:  # the checker raises many types, and which one is no matter here
        return "refuses"
    try:
        onnx.shape_inference.infer_shapes(onnx.load(path), check_type=True, strict_mode=True, data_prop=True)
    except Exception:
        return "infers no"
    return "accepts"


def verdict_of_child(path: Path) -> str:
    """check() in a process of its own, with limits: some of these files take the checker down."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.write(write_end, check(path).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        verdict = pipe.read()
    os.waitpid(child, 0)
    return verdict or "died"


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = Path(cls.folder.name) / "zoo"
        make_hostile.load_cases()
        cls.rows = make_hostile.load_rows()
        make_hostile.write_cases(cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_case_has_one_row(self):
        make_hostile.check_rows(self.rows)
        self.assertIn(f"writes {len(self.rows)} files", (HOSTILE / "README.md").read_text())

    def test_rows_are_well_formed(self):
        for row in self.rows:
            with self.subTest(row["name"]):
                re.compile(row["message"])
                self.assertEqual(row["file"], make_hostile.model_path(row["name"]))
                self.assertIn(row["stage"], STAGES)
                self.assertTrue(row["kinds"] and set(row["kinds"]) <= KINDS)
                self.assertTrue(row["what"])

    def test_files_are_small(self):
        for name in build.CASES:
            self.assertLess((self.out / make_hostile.model_path(name)).stat().st_size, LARGEST_FILE, name)

    def test_models_to_run_need_no_inputs(self):
        for row in self.rows:
            if row["stage"] == "run":
                self.assertEqual(len(onnx.load(self.out / row["file"]).graph.input), 0, row["name"])

    def test_what_onnx_says(self):
        for row in self.rows:
            if row["onnx"] != "not run":
                with self.subTest(row["name"]):
                    self.assertEqual(verdict_of_child(self.out / row["file"]), row["onnx"])


if __name__ == "__main__":
    unittest.main()
