#!/usr/bin/env python3
"""tools/abi: a change of ep.h without a new version is found, whatever its kind."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = Path("include/tenon/ep.h")


class Abi(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.sdk = Path(holder.name)
        (self.sdk / "include/tenon").mkdir(parents=True)
        text = (ROOT / "ep-sdk" / HEADER).read_text()
        text = re.sub(r"ABI_MAJOR \d+u", "ABI_MAJOR 1u", text)
        self.text = re.sub(r"ABI_MINOR \d+u", "ABI_MINOR 0u", text)
        (self.sdk / HEADER).write_text(self.text)
        (self.sdk / "CHANGELOG.md").write_text("## 1.1\n\n## 1.0\n")
        self.assertEqual(self.abi("--write")[0], 0)

    def abi(self, *arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-B", ROOT / "tools" / "abi", "--sdk", self.sdk, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def change(self, old: str, new: str, minor: int = 0) -> None:
        self.assertIn(old, self.text)
        text = self.text.replace(old, new, 1)
        (self.sdk / HEADER).write_text(text.replace("ABI_MINOR 0u", f"ABI_MINOR {minor}u"))

    def assert_refused(self, message: str) -> None:
        code, text = self.abi()
        self.assertEqual(code, 1, text)
        self.assertIn(message, text)

    def test_unchanged_passes(self):
        code, text = self.abi()
        self.assertEqual(code, 0, text)

    def test_comments_do_not_count(self):
        self.change("uint64_t size; /* bytes */", "uint64_t size; /* in bytes */")
        self.assertEqual(self.abi()[0], 0)

    def test_changes_without_a_new_version(self):
        changes = {
            "field added": ("  uint64_t memory_limit;", "  uint64_t extra;\n  uint64_t memory_limit;"),
            "field retyped": ("const uint32_t* cancel;", "const int32_t* cancel;"),
            "constant renumbered": ("TENON_ABORTED = 10,", "TENON_ABORTED = 99,"),
            "signature": ("void (*device_close)(tenon_device* device);", "void (*device_close)(tenon_provider* device);"),
            "thread tag": ("X(run, REQUIRED, HOT)", "X(run, REQUIRED, ANY)"),
        }
        for name, (old, new) in changes.items():
            with self.subTest(name):
                self.change(old, new)
                self.assert_refused("raise TENON_EP_ABI_MINOR")
                self.assertEqual(self.abi("--write")[0], 1, "--write must not hide it")

    def test_a_new_minor_may_append(self):
        function = "const void* (*get_extension)(tenon_provider* provider, tenon_str id, uint32_t min_version);"
        self.text = self.text.replace("X(get_extension, OPTIONAL, ANY)", "X(get_extension, OPTIONAL, ANY) X(later, OPTIONAL, ANY)")
        self.change(function, function + "\n  void (*later)(tenon_provider* provider);", minor=1)
        code, text = self.abi("--write")
        self.assertEqual(code, 0, text)

    def test_a_new_minor_may_not_reorder_or_grow_frozen_structs(self):
        self.change("uint32_t precision;", "uint32_t renamed;", minor=1)
        self.abi("--write")
        self.assert_refused("layout-1.0.txt: tenon_instance_params: a field of an earlier minor was changed")
        shutil.rmtree(self.sdk / "abi")
        (self.sdk / HEADER).write_text(self.text)
        self.abi("--write")
        self.change("} tenon_opset;", "  int64_t more;\n} tenon_opset;", minor=1)
        self.abi("--write")
        self.assert_refused("tenon_opset travels in arrays and is frozen")

    def test_a_version_needs_its_change_log(self):
        self.change("", "", minor=2)
        self.abi("--write")
        self.assert_refused("CHANGELOG.md has no section '## 1.2'")

    def test_layout_rules(self):
        self.change("uint64_t memory_limit;", "uint32_t memory_limit;", minor=1)
        self.assert_refused("implicit padding")
        self.change("uint64_t memory_limit;", "size_t memory_limit;", minor=1)
        self.text = self.text.replace("#include <stdint.h>", "#include <stddef.h>\n#include <stdint.h>")
        self.change("uint64_t memory_limit;", "size_t memory_limit;", minor=1)
        self.assert_refused("without a fixed width")
        self.change("uint64_t memory_limit;", "uint64_t memory_limit : 40;", minor=1)
        self.assertEqual(self.abi()[0], 1)

    def test_the_function_table_is_complete(self):
        self.change("X(unbind, BIND, HANDLE)", "", minor=1)
        self.assert_refused("TENON_EP_SLOTS")


if __name__ == "__main__":
    unittest.main()
