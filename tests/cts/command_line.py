#!/usr/bin/env python3
"""command_line.py TENON_CTS FAKES_DIR: what the kit says of a command line that it cannot use, and its exit codes."""

import ctypes
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CTS, FAKES = Path(), Path()


def like_any_user() -> None:
    """In a child: a program that root starts then may no longer read what its mode forbids."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


class CommandLine(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.good = FAKES / "defects" / "good.tenon.json"

    def kit(self, *words: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(word) for word in (CTS, *words)], capture_output=True, text=True, check=False,
                              preexec_fn=like_any_user)  # fmt: skip

    def assert_unusable(self, words: tuple, *said: str) -> None:
        done = self.kit(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in ("tenon-cts: ", *said):
            self.assertIn(text, done.stderr)

    def test_a_folder_names_its_manifests(self):
        self.assert_unusable((self.folder,), str(self.folder), "it is a folder, without a *.tenon.json", "Cure: name the manifest")
        (self.folder / "acme.tenon.json").write_text("{}")
        self.assert_unusable((self.folder,), f"its manifests are {self.folder}/acme.tenon.json")

    def test_no_file(self):
        self.assert_unusable((self.folder / "a.tenon.json",), "there is no such file", "Cure: ")
        self.assert_unusable(("/dev/null",), "it is no file")

    def test_a_file_that_may_not_be_read(self):
        manifest = self.folder / "a.tenon.json"
        manifest.write_text("{}")
        manifest.chmod(0)
        self.assert_unusable((manifest,), "the permission to read it is lacking")

    def test_seal_says_so_too(self):
        for target in (self.folder, self.folder / "a.tenon.json"):
            done = self.kit("--seal", target)
            self.assertEqual(done.returncode, 1)
            self.assertIn("Nothing was changed. Cure: name a manifest", done.stderr)

    def test_options_and_cases(self):
        accelerator = FAKES / "accelerator" / "accelerator.tenon.json"
        self.assert_unusable((accelerator, "--option", "latency_us"), "write name=value")
        self.assert_unusable((accelerator, "--option", "latency=1"), "no option 'latency'", "latency_us")
        self.assert_unusable((accelerator, "--option", "latency_us=-1"), "must be at least 0")
        self.assert_unusable((accelerator, "--option", "fault=cold"), "must be one of", "compile")
        self.assert_unusable((accelerator, "--option", "latency_us=1", "--option", "latency_us=2"), "given twice")
        self.assert_unusable((accelerator, "--cases", self.folder / "none"), "there is no such folder")
        (self.folder / "a.case.json").write_text("{")
        self.assert_unusable((accelerator, "--cases", self.folder))
        self.assert_unusable((self.good, "--here", "R999"), "there is no such check")
        self.assert_unusable((self.good, "--filter", "R999"), "no check has such a name")

    def test_a_failed_check_is_1_and_none_is_0(self):
        self.assertEqual(self.kit(self.good, "--filter", "R1").returncode, 0)
        self.assertEqual(self.kit(self.good).returncode, 1)  # its instance_create fails

    def test_reports_count_what_is_not_reached(self):
        junit, report = self.folder / "junit.xml", self.folder / "report.json"
        done = self.kit(self.good, "--junit", junit, "--format", "json", "--output", report)
        summary = json.loads(report.read_text())["summary"]
        self.assertEqual(summary["failed"], 1)
        self.assertGreater(summary["not_reached"], 50)
        self.assertIn(f"{summary['not_reached']} not reached", done.stdout)
        self.assertIn("R38 not reached: lifecycle.once\n", done.stdout)
        text = junit.read_text()
        self.assertEqual(text.count("<skipped message=\"not reached: lifecycle.once\"/>"), summary["not_reached"])
        self.assertEqual(text.count("<failure "), 1)
        self.assertIn(f'skipped="{text.count("<skipped ")}"', text)
        listed = len(self.kit("--list").stdout.splitlines())
        self.assertEqual(text.count("<testcase "), listed)  # none vanishes


if __name__ == "__main__":
    FAKES = Path(sys.argv.pop(2)).resolve()
    CTS = Path(sys.argv.pop(1)).resolve()
    unittest.main()
