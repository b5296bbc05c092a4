#!/usr/bin/env python3
"""packages.py BUILD_DIR: the Debian packages that tools/package makes hold each file once, say what they need, and run from where
they are unpacked."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "tests/data/digits"
BUILD = Path()


def run(*command: object, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **keywords)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
        cls.folder = tempfile.TemporaryDirectory(dir=BUILD, prefix="packages.")
        cls.out = Path(cls.folder.name).resolve()
        made = run(REPO / "tools/package", "--build", BUILD, "--out", cls.out)
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        cls.files = {path.name.split("_")[0]: path for path in map(Path, made.stdout.split())}
        cls.root = cls.out / "root"
        for path in cls.files.values():
            run("dpkg-deb", "-x", path, cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def field(self, package: str, name: str) -> str:
        return run("dpkg-deb", "-f", self.files[package], name).stdout.strip()

    def test_there_is_one_for_each_part_and_provider(self):
        self.assertLessEqual({"libtenon0", "libtenon-dev", "tenon-sdk", "tenon-tools", "tenon-provider-cpu"}, set(self.files))
        built = {path.name.split(".")[0] for path in (BUILD / "lib/tenon/providers.d").glob("*.tenon.json")}
        self.assertEqual(built, {name.removeprefix("tenon-provider-") for name in self.files if "-provider-" in name})

    def test_no_file_is_in_two_and_none_outside_of_usr(self):
        owners: dict[str, str] = {}
        for package, path in self.files.items():
            for line in run("dpkg-deb", "-c", path).stdout.splitlines():
                mode, owner, name = line.split()[0], line.split()[1], line.split()[5]
                self.assertEqual(owner, "root/root", name)
                self.assertTrue(mode[0] == "l" or (mode[5], mode[8]) == ("-", "-"), f"{name} may be written by others")
                if name.endswith("/"):
                    continue
                self.assertTrue(name.startswith("./usr/"), name)
                self.assertNotIn(name, owners, f"{package} and {owners.get(name)}")
                owners[name] = package

    def test_they_say_what_they_need(self):
        self.assertIn("libre2", self.field("libtenon0", "Depends"))
        self.assertNotIn("protobuf", self.field("libtenon0", "Depends"))  # it is a hidden part of libtenon
        self.assertRegex(self.field("libtenon-dev", "Depends"), r"libtenon0 \(= .*tenon-sdk \(= ")
        self.assertIn("libtenon0", self.field("tenon-tools", "Depends"))
        self.assertIn("libtenon0", self.field("tenon-provider-cpu", "Depends"))
        self.assertNotIn("libtenon0", self.field("tenon-sdk", "Depends"))
        if "tenon-provider-onednn" in self.files:
            self.assertIn("libdnnl", self.field("tenon-provider-onednn", "Depends"))

    def test_what_is_unpacked_runs(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
        done = run(self.root / "usr/bin/tenon", "run", DIGITS / "digits.onnx", "--input", f"image={DIGITS / 'digit_7.png'}",
                   "--provider", "cpu", "--format", "json", env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = run(self.root / "usr/bin/tenon", "providers", "list", "--format", "json", env=environment)
        verdicts = {entry["id"]: entry["verdict"] for entry in json.loads(listed.stdout)
                    if str(self.root) in entry["manifest"]}
        self.assertEqual(verdicts.get("cpu"), "usable", listed.stdout)

    def test_there_are_man_pages_and_the_schema_of_the_config(self):
        for name in ("tenon.1.gz", "tenon-run.1.gz", "tenon-providers-list.1.gz", "tenon-cts.1.gz"):
            text = gzip.decompress((self.root / "usr/share/man/man1" / name).read_bytes()).decode()
            self.assertIn(".SH SYNOPSIS", text, name)
        self.assertIn("properties", json.loads((self.root / "usr/share/tenon/config.schema.json").read_text()))

    def test_a_folder_that_is_no_build_is_refused_with_the_cure(self):
        done = run(REPO / "tools/package", "--build", self.out, "--out", self.out / "more")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cmake --preset release", done.stderr)


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
