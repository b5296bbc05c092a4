#!/usr/bin/env python3
"""`tenon bench` tells the memory of its own work, not that of the process which started it."""

import json
import os
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TENON = Path(os.environ.get("TENON_BUILD_DIR", ROOT / "build/release")) / "bin/tenon"
MODEL = ROOT / "tests/data/digits/digits.onnx"


class BenchMemory(unittest.TestCase):
    def test_the_peak_of_a_large_parent_is_not_its_own(self):
        large = b"\1" * (900 << 20)  # in memory while the command is started
        command = [TENON, "bench", MODEL, MODEL, "--provider", "cpu", "--seconds", "0.05", "--format", "json"]
        rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        self.assertEqual(len(large), 900 << 20)
        for row in rows:
            self.assertGreater(row["peak_bytes"], 1 << 20)
            self.assertLess(row["peak_bytes"], 800 << 20)


if __name__ == "__main__":
    unittest.main()
