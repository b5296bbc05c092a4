#!/usr/bin/env python3
"""tools/tidy finds what is planted, runs again only what has changed, and judges NOLINT; .clang-tidy says why it leaves out."""

import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load_script():
    loader = importlib.machinery.SourceFileLoader("tidy", str(ROOT / "tools" / "tidy"))
    spec = importlib.util.spec_from_loader("tidy", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tidy"] = module
    loader.exec_module(module)
    return module


tidy = load_script()

HEADER = "#pragma once\ninline int half(int n) { return n / 2; }\n"
SOURCE = '#include "a.h"\nint main() { return half(4); }\n'
# A wrong sizeof (bugprone-sizeof-expression).
BAD = "inline unsigned long wrong(const int* p) { return sizeof(p) / sizeof(*p); }\n"


class Run(unittest.TestCase):
    """A source tree of one unit with one header."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name).resolve()
        for folder in ("core", "tests", "build/clang"):
            (self.root / folder).mkdir(parents=True)
        shutil.copy(ROOT / ".clang-tidy", self.root)
        (self.root / "core/a.h").write_text(HEADER)
        (self.root / "core/a.cc").write_text(SOURCE)
        (self.root / "tests/t.cc").write_text(BAD)
        self.commands("core/a.cc", "tests/t.cc")

    def commands(self, *files: str) -> None:
        entries = [{
            "directory": str(self.root / "build/clang"),
            "command": f"/usr/bin/c++ -Dlibrary{i}_EXPORTS -std=c++20 -Winvalid-pch -include absent.hxx -o {i}.o -c {self.root / file}",
            "file": str(self.root / file),
        } for i, file in enumerate(files)]
        (self.root / "build/clang/compile_commands.json").write_text(json.dumps(entries))

    def run_tidy(self, *arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-B", ROOT / "tools" / "tidy", "--root", self.root, "--build", self.root / "build/clang", *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def expect(self, code: int, *texts: str) -> None:
        got, output = self.run_tidy()
        self.assertEqual(got, code, output)
        for text in texts:
            self.assertIn(text, output)

    def test_a_unit_runs_again_only_when_something_has_changed(self):
        self.expect(0, "0 of 1 units unchanged", "1 passed, 0 failed")
        self.expect(0, "1 of 1 units unchanged", "1 passed, 0 failed")
        (self.root / "core/a.h").write_text(HEADER + BAD)
        found = ("core/a.h:3:51: ", "[bugprone-sizeof-expression]", "failed core/a.cc", "0 passed, 1 failed")
        self.expect(1, "0 of 1 units unchanged", *found)
        self.expect(1, "1 of 1 units unchanged", *found)
        (self.root / ".clang-tidy").write_text("Checks: '-*,bugprone-*,-bugprone-sizeof-expression'\n")
        self.expect(0, "0 of 1 units unchanged", "1 passed, 0 failed")

    def test_a_comment_counts_as_a_change(self):
        line = BAD.rstrip() + "  // NOLINT(bugprone-sizeof-expression): the test plants it\n"
        (self.root / "core/a.h").write_text(HEADER + line)
        self.expect(0, "1 passed, 0 failed")
        (self.root / "core/a.h").write_text(HEADER + BAD)
        self.expect(1, "0 of 1 units unchanged")

    def test_a_file_that_does_not_compile_fails_each_time(self):
        (self.root / "core/a.cc").write_text(SOURCE.replace("half(4)", "absent(4)"))
        self.expect(1, "core/a.cc:2:21: ", "[clang-diagnostic-error]", "0 passed, 1 failed")
        (self.root / "core/a.cc").write_text(SOURCE.replace("a.h", "absent.h"))
        self.expect(1, "core/a.cc:1:10: ", "0 passed, 1 failed")
        self.expect(1, "0 of 1 units unchanged", "0 passed, 1 failed")

    def test_equal_compilations_count_once_and_different_ones_each(self):
        self.commands("core/a.cc", "core/a.cc")
        self.expect(0, "1 passed, 0 failed")
        path = self.root / "build/clang/compile_commands.json"
        entries = json.loads(path.read_text())
        entries[1]["command"] = entries[1]["command"].replace("-std=c++20", "-std=c++20 -DOTHER")
        path.write_text(json.dumps(entries))
        self.expect(0, "1 of 2 units unchanged", "2 passed, 0 failed")

    def test_what_cannot_begin_says_why(self):
        for arguments, message in (
            ((str(self.root / "tests/t.cc"),), "t.cc is not compiled there, or not in one of: core, host"),
            (("--build", str(self.root / "absent")), "cmake --preset clang"),
        ):
            code, output = self.run_tidy(*arguments)
            self.assertEqual(code, 2, output)
            self.assertIn(message, output)
        self.commands("tests/t.cc")
        self.expect(2, "no unit of the project")


class Nolint(unittest.TestCase):
    def test_each_form_is_judged(self):
        for text, count, problem in (
            ("f();  // NOLINT(bugprone-x): a reason", 1, ""),
            ("// NOLINTNEXTLINE(bugprone-x, misc-y.Z): a reason", 2, ""),
            ("// NOLINTBEGIN(bugprone-x): a reason", 1, ""),
            ("// NOLINTEND(bugprone-x)", 0, ""),
            ("f();  // NOLINT", 1, "without the names"),
            ("f();  // NOLINT: a reason", 1, "without the names"),
            ("f();  // NOLINT(*): a reason", 1, "without the names"),
            ("f();  // NOLINT(bugprone-*): a reason", 1, "without the names"),
            ("// NOLINTEND", 0, "without the names"),
            ("f();  // NOLINT(bugprone-x)", 1, "without a reason"),
            ("f();  // NOLINT(bugprone-x):", 1, "without a reason"),
            ("f();  // no lint", 0, ""),
        ):
            with self.subTest(text):
                counts, problems = tidy.nolints_in(f"first line\n{text}\n")
                self.assertEqual(counts.total(), count)
                self.assertEqual(len(problems), 1 if problem else 0)
                for line, said in problems:
                    self.assertEqual(line, 2)
                    self.assertIn(problem, said)

    def test_this_tree(self):
        result = subprocess.run([sys.executable, "-B", ROOT / "tools/tidy", "--count-nolint"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"(?m)^[1-9]\d* NOLINT, 0 problems$")


class Checks(unittest.TestCase):
    def setUp(self):
        text = (ROOT / ".clang-tidy").read_text()
        listed = re.search(r"^Checks: >-\n((?:  .*\n)+)", text, re.MULTILINE)
        self.names = [name.strip() for name in listed[1].split(",")]
        self.reasons = dict(re.findall(r"^#   ([\w.-]+)  +(\S.*)$", text, re.MULTILINE))

    def test_each_check_that_is_left_out_has_its_reason(self):
        self.assertEqual(self.names[0], "-*")
        self.assertEqual(sorted(name[1:] for name in self.names[1:] if name.startswith("-")), sorted(self.reasons))

    def test_each_name_exists(self):
        command = [tidy.TIDY, "--list-checks", "--checks=*"]
        known = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout.split()
        for name in self.names[1:]:
            if name.startswith("clang-diagnostic-"):  # a warning of the compiler
                flags = [f"-W{name.removeprefix('clang-diagnostic-')}", "-Werror=unknown-warning-option", "-fsyntax-only"]
                subprocess.run([tidy.COMPILER, *flags, "-x", "c++", "/dev/null"], check=True)
                continue
            pattern = re.compile(re.escape(name.removeprefix("-")).replace(r"\*", ".*"))
            self.assertTrue(any(pattern.fullmatch(other) for other in known), name)


if __name__ == "__main__":
    unittest.main()
