#!/usr/bin/env python3
"""tools/abi: a change of ep.h or tenon.h that breaks what was compiled before is found, whatever its kind."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EP = Path("ep-sdk/include/tenon/ep.h")
API = Path("host/include/tenon/tenon.h")


class Sources(unittest.TestCase):
    """A copy of the headers. `header` is the one under test, and `text` its content before the change."""

    header: Path
    version = ""  # the macro that a new version raises, with its number: "ABI_MINOR 3u"

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        for header in (EP, API):
            (self.root / header).parent.mkdir(parents=True)
            shutil.copy(ROOT / header, self.root / header)
        self.text = (self.root / self.header).read_text()

    def abi(self, *arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-B", ROOT / "tools" / "abi", "--root", self.root, self.header.name, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def change(self, old: str, new: str, version: int | None = None) -> None:
        self.assertIn(old, self.text)
        text = self.text.replace(old, new, 1)
        if version is not None:
            self.assertIn(self.version, text)
            text = text.replace(self.version, f"{self.version.split()[0]} {version}u")
        (self.root / self.header).write_text(text)

    def assert_passes(self, *arguments: str) -> None:
        code, text = self.abi(*arguments)
        self.assertEqual(code, 0, text)

    def assert_refused(self, message: str, *arguments: str) -> None:
        code, text = self.abi(*arguments)
        self.assertEqual(code, 1, text)
        self.assertIn(message, text)


class Ep(Sources):
    header = EP
    version = "ABI_MINOR 3u"
    last_row = "X(get_extension, OPTIONAL, ANY, QUICK)"
    last_slot = "const void* (*get_extension)(tenon_provider* provider, tenon_str id, uint32_t min_version);"

    def setUp(self):
        super().setUp()
        for name, number in (("MAJOR", 0), ("MINOR", 3), ("OLDEST_MINOR", 3)):
            self.text = re.sub(rf"ABI_{name} \d+u", f"ABI_{name} {number}u", self.text)
        (self.root / EP).write_text(self.text)
        (self.root / "ep-sdk/CHANGELOG.md").write_text("## 0.4\n\n## 0.3\n")
        self.assert_passes("--write")

    def append_slot(self, row: str) -> None:
        """Minor 4, with one more slot."""
        self.assertIn(self.last_row, self.text)
        before, self.text = self.text, self.text.replace(self.last_row, f"{self.last_row} {row}", 1)
        self.change(self.last_slot, self.last_slot + "\n  void (*later)(tenon_provider* provider);", version=4)
        self.text = before

    def test_unchanged_passes(self):
        self.assert_passes()

    def test_comments_do_not_count(self):
        self.change("uint64_t size; /* bytes */", "uint64_t size; /* in bytes */")
        self.assert_passes()

    def test_changes_without_a_new_version(self):
        changes = {
            "field added": ("  uint64_t memory_limit;", "  uint64_t extra;\n  uint64_t memory_limit;"),
            "field retyped": ("const uint32_t* cancel;", "const int32_t* cancel;"),
            "constant renumbered": ("TENON_ABORTED = 10,", "TENON_ABORTED = 99,"),
            "signature": ("void (*device_close)(tenon_device* device);", "void (*device_close)(tenon_provider* device);"),
            "need of a slot": ("X(bind, OPTIONAL, ANY, BLOCKS)", "X(bind, REQUIRED, ANY, BLOCKS)"),
            "threads of a slot": ("X(run, REQUIRED, RUN, HOT)", "X(run, REQUIRED, ANY, HOT)"),
            "time of a slot": ("X(run, REQUIRED, RUN, HOT)", "X(run, REQUIRED, RUN, BLOCKS)"),
        }
        for name, (old, new) in changes.items():
            with self.subTest(name):
                self.change(old, new)
                self.assert_refused("raise TENON_EP_ABI_MINOR")
                for action in ("--write", "--rewrite"):
                    self.assertEqual(self.abi(action)[0], 1, f"{action} must not hide it")

    def test_a_new_minor_may_append(self):
        self.append_slot("X(later, OPTIONAL, ANY, QUICK)")
        text = (self.root / EP).read_text()
        for last in ("no Winograd or FFT for products and convolutions */\n  uint32_t reserved;\n", "  uint64_t free_bytes;\n"):
            self.assertIn(last, text)
            text = text.replace(last, last + "  uint64_t later;\n")
        (self.root / EP).write_text(text)
        self.assert_passes("--write")

    def test_a_new_minor_may_not_change_what_an_earlier_one_has(self):
        slots = "  void (*device_close)(tenon_device* device);\n"
        changes = {
            "field renamed": ("uint32_t precision;", "uint32_t renamed;", "tenon_instance_params: a field of an earlier version was"),
            "field inserted": ("  uint64_t memory_limit;", "  uint64_t extra;\n  uint64_t memory_limit;", "tenon_instance_params: a field of"),
            "slot removed": (slots, "", "tenon_ep_api: a field of an earlier version was"),
            "frozen struct": ("} tenon_opset;", "  int64_t more;\n} tenon_opset;", "tenon_opset travels in arrays and is frozen"),
            "frozen location": ("} tenon_location;", "  int64_t more;\n} tenon_location;", "tenon_location travels in arrays and is frozen"),
            "constant": ("TENON_ABORTED = 10,", "TENON_ABORTED = 99,", "gone or changed: constant TENON_ABORTED = 10"),
            "oldest minor": ("OLDEST_MINOR 3u", "OLDEST_MINOR 4u", "gone or changed: constant TENON_EP_ABI_OLDEST_MINOR = 3"),
            "need of a slot": ("X(bind, OPTIONAL,", "X(bind, REQUIRED,", "gone or changed: slot 20 bind OPTIONAL"),
        }
        for name, (old, new, message) in changes.items():
            with self.subTest(name):
                self.change(old, new, version=4)
                self.assert_refused(f"layout-0.3.txt: {message}", "--write")
                (self.root / "ep-sdk/abi/layout-0.4.txt").unlink()

    def test_a_new_minor_may_not_demand_a_slot(self):
        for need, refused in (("REQUIRED", True), ("STREAM", True), ("OPTIONAL", False), ("SAVE", False)):
            with self.subTest(need):
                self.append_slot(f"X(later, {need}, ANY, QUICK)")
                if refused:
                    self.assert_refused(f"layout-0.3.txt: later is {need}, and providers of that version lack it", "--write")
                else:
                    self.assert_passes("--write")
                (self.root / "ep-sdk/abi/layout-0.4.txt").unlink()

    def test_layouts_from_the_oldest_minor_on_stay(self):
        (self.root / "ep-sdk/abi/layout-0.3.txt").unlink()
        self.change("", "", version=4)
        self.assert_refused("no layout-0.3.txt", "--write")
        self.change("OLDEST_MINOR 3u", "OLDEST_MINOR 5u")
        self.assert_refused("TENON_EP_ABI_OLDEST_MINOR is 5, above TENON_EP_ABI_MINOR, 3")

    def test_a_version_needs_its_change_log(self):
        self.change("", "", version=5)
        self.abi("--write")
        self.assert_refused("ep-sdk/CHANGELOG.md has no section with '## 0.5'")

    def test_layout_rules(self):
        self.change("uint64_t memory_limit;", "uint32_t memory_limit;", version=4)
        self.assert_refused("implicit padding")
        self.change("uint64_t memory_limit;", "size_t memory_limit;", version=4)
        self.text = self.text.replace("#include <stdint.h>", "#include <stddef.h>\n#include <stdint.h>")
        self.change("uint64_t memory_limit;", "size_t memory_limit;", version=4)
        self.assert_refused("without a fixed width")
        self.change("uint64_t memory_limit;", "uint64_t memory_limit : 40;", version=4)
        self.assertEqual(self.abi()[0], 1)

    def test_the_slot_table_is_complete(self):
        for row in ("X(unbind, BIND, ANY, BLOCKS)", "X(unmap, MAP, BUFFER, BLOCKS)"):
            for changed in ("", row.replace(", BLOCKS", "")):
                self.change(row, changed)
                self.assert_refused("TENON_EP_SLOTS does not name the slots")


RELEASED = "## 0.1.0\n\nThe first: `TENON_API_VERSION` 1.\n"
NOT_RELEASED = RELEASED.replace("0.1.0", "0.1.0 (not released)")
LATER = "## 0.2.0 (not released)\n\nMore: `TENON_API_VERSION` 2.\n\n" + RELEASED


class Api(Sources):
    header = API
    version = "API_VERSION 1u"

    # Changes that break an application compiled before, whether the version is raised or not: old text, new text, the message.
    BREAKS = {
        "function removed": ("  tenon_status (*cancel_create)(tenon_cancel** out_cancel); /* Thread-safe. */\n", "", "tenon_api: a field of an earlier version was"),
        "functions reordered": (
            "  uint32_t (*session_input_count)(const tenon_session* session);  /* Thread-safe. */\n"
            "  uint32_t (*session_output_count)(const tenon_session* session); /* Thread-safe. */\n",
            "  uint32_t (*session_output_count)(const tenon_session* session);\n"
            "  uint32_t (*session_input_count)(const tenon_session* session);\n",
            "tenon_api: a field of an earlier version was",
        ),
        "function inserted": (
            "  void (*session_release)",
            "  void (*session_more)(tenon_session* session);\n  void (*session_release)",
            "tenon_api: a field of an earlier version was",
        ),
        "last function removed": (
            "  void (*providers_release)(tenon_providers* providers); /* No other call may use `providers` meanwhile. */\n",
            "",
            "tenon_api: a field of an earlier version was",
        ),
        "type of a parameter": (
            "(const tenon_config* config, uint32_t deep,",
            "(const tenon_config* config, uint64_t deep,",
            "tenon_api: a field of an earlier version was",
        ),
        "type of a result": ("uint64_t (*value_size)", "int64_t (*value_size)", "tenon_api: a field of an earlier version was"),
        "type of a field": ("int64_t deadline_ns;", "uint64_t deadline_ns;", "tenon_run_options: a field of an earlier version was"),
        "field removed": ("  void* log_context;\n", "", "tenon_session_options: a field of an earlier version was"),
        "fields reordered": (
            "  tenon_str provider; /* its id */\n  tenon_str version;",
            "  tenon_str version;\n  tenon_str provider;",
            "tenon_instance_info: a field of an earlier version was",
        ),
        "field of a struct without a size": (
            "  tenon_value* value;\n} tenon_named_value;",
            "  tenon_value* value;\n  uint64_t flags;\n} tenon_named_value;",
            "tenon_named_value travels in arrays and is frozen",
        ),
        "constant changed": ("TENON_DESCRIBE_PLAN = 2,", "TENON_DESCRIBE_PLAN = 5,", "gone or changed: constant TENON_DESCRIBE_PLAN = 2"),
        "constant removed": ("  TENON_FAILURE_CONFIG = 11,\n", "", "gone or changed: constant TENON_FAILURE_CONFIG = 11"),
        "type of a callback": ("typedef void (*tenon_free_fn)(void*", "typedef int32_t (*tenon_free_fn)(void*", "gone or changed: function"),
        "exported function": ("tenon_get_api(uint32_t version)", "tenon_get_api(uint64_t version)", "gone or changed: function"),
    }

    def setUp(self):
        super().setUp()
        self.text = re.sub(r"API_VERSION \d+u", self.version, self.text)
        (self.root / API).write_text(self.text)
        self.log(RELEASED)
        self.assert_passes("--write")

    def log(self, text: str) -> None:
        (self.root / "CHANGELOG.md").write_text(text)

    def golden(self, version: int) -> Path:
        return self.root / "host/abi" / f"layout-{version}.txt"

    def test_breaks_are_found_with_and_without_a_new_version(self):
        before = self.golden(1).read_text()
        for name, (old, new, message) in self.BREAKS.items():
            with self.subTest(name):
                self.log(RELEASED)
                self.change(old, new)
                self.assert_refused("raise TENON_API_VERSION")
                self.log(LATER)
                self.change(old, new, version=2)
                self.assert_refused(f"layout-1.txt: {message}", "--write")
                self.assertEqual(self.golden(1).read_text(), before)
                self.golden(2).unlink()

    def test_a_break_in_ep_h_counts_when_applications_see_it(self):
        text = (ROOT / EP).read_text()
        changes = {
            "struct": ("  uint64_t byte_size; /* of the dense data */", "  int64_t byte_size;"),
            "status": ("TENON_ABORTED = 10,", "TENON_ABORTED = 99,"),
            "element type": ("TENON_BOOL = 9,", "TENON_BOOL = 99,"),
            "macro": ("TENON_RANK_UNKNOWN (-1)", "TENON_RANK_UNKNOWN (-2)"),
            "typedef": ("typedef int32_t tenon_status;", "typedef int64_t tenon_status;"),
        }
        for name, (old, new) in changes.items():
            with self.subTest(name):
                self.assertIn(old, text)
                (self.root / EP).write_text(text.replace(old, new, 1))
                self.assert_refused("raise TENON_API_VERSION")
        for_providers = ("TENON_REJECT_COST = 5,", "TENON_REJECT_COST = 50,")
        self.assertIn(for_providers[0], text)
        (self.root / EP).write_text(text.replace(*for_providers))
        self.assert_passes()

    def test_a_new_version_may_append(self):
        self.log(LATER)
        self.assertIn("  TENON_FAILURE_OPERATOR = 13\n", self.text)
        self.text = self.text.replace("  TENON_FAILURE_OPERATOR = 13\n", "  TENON_FAILURE_OPERATOR = 13,\n  TENON_FAILURE_LATER = 14\n")
        self.text = self.text.replace("} tenon_session_options;", "  uint64_t later;\n} tenon_session_options;")
        self.change("} tenon_api;", "  void (*later)(tenon_session* session);\n} tenon_api;", version=2)
        self.assert_passes("--write")
        self.assertIn("void (*later)", self.golden(2).read_text())
        self.assertNotIn("void (*later)", self.golden(1).read_text())

    def test_only_a_version_that_is_not_released_may_be_rewritten(self):
        old, new = "int64_t deadline_ns", "uint64_t deadline_ns"
        self.change(old, new)
        self.assert_refused("raise TENON_API_VERSION", "--rewrite")
        self.log(NOT_RELEASED)
        self.assert_refused("run tools/abi --rewrite tenon.h", "--write")
        self.assert_passes("--rewrite")
        self.assertIn(new, self.golden(1).read_text())
        self.log(NOT_RELEASED.replace("0.1.0", "0.2.0") + RELEASED)  # a later section may speak of it, too
        self.change(old, old)
        self.assert_refused("raise TENON_API_VERSION", "--rewrite")

    def test_a_version_needs_its_change_log(self):
        self.change("", "", version=2)
        self.assert_refused("CHANGELOG.md has no section with '`TENON_API_VERSION` 2'", "--write")

    def test_layout_rules(self):
        changes = {
            "implicit padding": ("  uint32_t has_default;       /* 1: an input that the caller may leave out */\n", ""),
            "without a fixed width": ("int64_t deadline_ns;", "long deadline_ns;"),
            "does not begin with struct_size": ("typedef struct tenon_api {\n  uint32_t struct_size;", "typedef struct tenon_api {\n  uint32_t size;"),
            "no TENON_API_VERSION": ("#define TENON_API_VERSION 1u", "enum { TENON_API_VERSION = 1 };"),
        }
        for message, (old, new) in changes.items():
            with self.subTest(message):
                self.change(old, new)
                self.assert_refused(message)


class Command(unittest.TestCase):
    def test_wrong_words_are_named(self):
        for arguments, message in ((["tenon.hpp"], "unknown header 'tenon.hpp'; known: ep.h, tenon.h"), (["--rewrite"], "name the header")):
            command = [sys.executable, "-B", ROOT / "tools" / "abi", *arguments]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
