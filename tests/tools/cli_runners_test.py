#!/usr/bin/env python3
"""tests/cli: the rows are well formed, and the runners see every kind of wrong answer."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

CLI = Path(__file__).resolve().parents[1] / "cli"
sys.path.insert(0, str(CLI))

import command  # noqa: E402
import run_errors  # noqa: E402
import run_hostile  # noqa: E402

ROW = {"name": "r", "args": [], "exit": 10, "stderr": {"file": r"x\.npy", "cure": "numpy"}}
CASE = {"name": "c", "file": "cycle.onnx", "kinds": ["invalid model"], "message": "cycl|ring"}
NEEDS_BUILD = {"provider"}


def outcome(exit_code: int, stderr: str, **changed) -> command.Outcome:
    values = {"seconds": 0.01, "peak": 1 << 20, "timed_out": False} | changed
    return command.Outcome(exit_code, stderr, **values)


class Rows(unittest.TestCase):
    def test_rows_are_well_formed(self):
        rows = run_errors.load_rows()
        self.assertGreater(len(rows), 70)
        self.assertEqual(len({row["name"] for row in rows}), len(rows))
        for row in rows:
            with self.subTest(row["name"]):
                self.assertLessEqual(row.keys(), {"name", "args", "env", "files", "exit", "stderr"})
                self.assertLessEqual(set(run_errors.expected_exits(row)), set(command.EXIT_CODES.values()) - {0})
                self.assertTrue(row["stderr"])
                for pattern in row["stderr"].values():
                    re.compile(pattern)

    def test_files_can_be_made(self):
        for row in run_errors.load_rows():
            with tempfile.TemporaryDirectory() as folder:
                for path, spec in row.get("files", {}).items():
                    if not spec.keys() & NEEDS_BUILD:
                        run_errors.make_file(Path("no-command"), Path(folder) / path, spec)
                        self.assertTrue((Path(folder) / path).exists(), row["name"])

    def test_array_files_are_what_numpy_reads(self):
        import numpy as np

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.npy"
            path.write_bytes(run_errors.npy_bytes({"type": "<f8", "shape": [2, 3]}))
            array = np.load(path)
        self.assertEqual((array.shape, array.dtype.str, array.any()), ((2, 3), "<f8", False))


class Verdicts(unittest.TestCase):
    def test_a_right_error_passes(self):
        right = "error: file 'x.npy': is not a .npy file; write one with numpy.save\n"
        self.assertEqual(run_errors.problems_of(ROW, outcome(10, right)), [])

    def test_wrong_errors_fail(self):
        good = "error: file 'x.npy': write one with numpy.save\n"
        for code, text in ((0, good), (1, good), (-11, good), (10, "error: x.npy\n"), (10, good[7:]),
                           (10, good + "\x1b[2J"), (10, good + "x" * command.LONGEST_ERROR)):
            with self.subTest(code=code, text=text[:60]):
                self.assertTrue(run_errors.problems_of(ROW, outcome(code, text)))

    def test_hostile_verdicts(self):
        good = "error: cycle.onnx: the graph has a cycle through node 'a'\n"
        self.assertEqual(run_hostile.verdict_problems(CASE, outcome(3, good)), [])
        for code, text in ((0, ""), (4, good), (-6, good), (3, "error: the graph has a cycle\n"),
                           (3, "error: cycle.onnx: bad\n")):
            with self.subTest(code=code, text=text):
                self.assertTrue(run_hostile.verdict_problems(CASE, outcome(code, text)))
        self.assertEqual(run_hostile.verdict_problems(CASE | {"kinds": ["ok"]}, outcome(0, "")), [])


class Command(unittest.TestCase):
    """command.run over stand-ins for the command."""

    def run_script(self, script: str, **limits) -> command.Outcome:
        with tempfile.TemporaryDirectory() as folder:
            environment = command.clean_environment(Path(folder), {})
            return command.run([sys.executable, "-c", script], Path(folder), environment, **limits)

    def test_exit_code_and_error(self):
        result = self.run_script("import sys; print('error: no', file=sys.stderr); sys.exit(4)")
        self.assertEqual((result.exit, result.stderr, result.timed_out), (4, "error: no\n", False))

    def test_signal(self):
        result = self.run_script("import os; os.kill(os.getpid(), 11)")
        self.assertEqual((result.exit, result.end()), (-11, "killed by SIGSEGV"))

    def test_hang(self):
        result = self.run_script("import time; time.sleep(60)", timeout=0.3)
        self.assertTrue(result.timed_out)
        self.assertLess(result.seconds, 10)

    def test_peak_of_memory(self):
        small = self.run_script("pass").peak
        self.assertGreater(self.run_script("x = b'x' * (300 << 20)").peak, max(small, 300 << 20))

    def test_limit_of_address_space(self):
        result = self.run_script("x = b'x' * (900 << 20)", address_space=512 << 20)
        self.assertIn("MemoryError", result.stderr)

    def test_environment_is_clean(self):
        import os

        os.environ["TENON_CONFIG"] = "/nowhere"
        self.addCleanup(os.environ.pop, "TENON_CONFIG")
        result = self.run_script("import os, sys; sys.exit(7 if 'TENON_CONFIG' in os.environ else 0)")
        self.assertEqual(result.exit, 0)


class Runners(unittest.TestCase):
    """Both scripts from start to end over a stand-in that refuses everything."""

    def stand_in(self, script: str) -> Path:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        path = Path(holder.name) / "release" / "bin" / "tenon"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def test_hostile_runner_counts(self):
        refuses = 'case "$2" in trivial.onnx) exit 0;; esac\necho "error: $2: a cycle" >&2\nexit 3'
        path = self.stand_in(refuses)
        result = command.run([sys.executable, "-B", CLI / "run_hostile.py", path, "--filter", "cycle_of", "-v"],
                             path.parent, command.clean_environment(path.parent, {}), timeout=120)
        self.assertEqual((result.exit, result.stderr), (0, ""))

    def test_error_runner_counts(self):
        path = self.stand_in("echo 'error: --inptu; see --help' >&2\nexit 2")
        common = [sys.executable, "-B", CLI / "run_errors.py", path, "--filter"]
        environment = command.clean_environment(path.parent, {})
        self.assertEqual(command.run([*common, "usage.unknown_flag"], path.parent, environment).exit, 0)
        self.assertEqual(command.run([*common, "usage."], path.parent, environment).exit, 1)
        self.assertEqual(command.run([*common, "no such row"], path.parent, environment).exit, 1)


if __name__ == "__main__":
    unittest.main()
