#!/usr/bin/env python3
"""man_pages.py TENON: tools/write_man.py makes a page for each command of `tenon` and for `tenon-cts`, with every flag that their
--help has; groff reads them without a warning, where it is installed."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
TENON = Path()


def output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def commands() -> dict[str, list]:
    """Page name -> the command, for all that completion offers, and the kit."""
    words = output(TENON, "completion", "bash")
    paths = [path.split() for path in re.findall(r'^    "(tenon[^"]*)"\)', words, re.M)]
    return {"-".join(path): [TENON, *path[1:]] for path in paths} | {"tenon-cts": [TENON.with_name("tenon-cts")]}


class ManPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = {}
        for program in (TENON, TENON.with_name("tenon-cts")):
            out = Path(cls.folder.name) / program.name
            output(sys.executable, "-B", REPO / "tools/write_man.py", program, out)
            cls.pages |= {path.stem: path for path in out.iterdir()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_command_has_one(self):
        self.assertGreater(len(commands()), 20)
        self.assertEqual(set(self.pages), set(commands()))

    def test_they_have_what_help_says(self):
        for name, command in commands().items():
            text = self.pages[name].read_text().replace("\\-", "-").replace("\\e", "\\")
            told = output(*command, "--help")
            flags = re.findall(r"^  (-\S+)", told, re.M)
            self.assertTrue(flags, name)
            for flag in (flag for flags_of_one in flags for flag in flags_of_one.split(",")):
                self.assertIn(f"\\fB{flag}\\fR", text, name)
            for line in told.splitlines():
                said = line[30:].strip() if line.startswith("  ") else line.strip().rstrip(".")
                if said and not said.startswith(("Usage:", "Example:")) and not re.fullmatch(r"\w+:", said):
                    self.assertIn(" ".join(said.removeprefix("tenon ").split()), " ".join(text.replace("\n", " ").split()), name)

    def test_the_first_one_has_the_exit_codes(self):
        self.assertIn(".TP\n12\ninternal error\n", self.pages["tenon"].read_text())

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_reads_them_without_a_warning(self):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", *map(str, self.pages.values())], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    TENON = Path(sys.argv.pop(1))
    unittest.main()
