#!/usr/bin/env python3
"""headers.py: the headers of this folder are what they claim to be.

Each minor has a kept header beside its golden layout, and has that layout. The kept header of the current minor says what ep.h
says. The invented next minor only appends, which tools/abi judges as it would judge a real one.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import next_header

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADER = Path("ep-sdk/include/tenon/ep.h")
LAYOUTS = Path("ep-sdk/abi")


def version(text: str) -> str:
    return ".".join(re.search(rf"#define TENON_EP_ABI_{name} (\d+)u", text)[1] for name in ("MAJOR", "MINOR"))


def code(text: str) -> list[str]:
    """The words without comments."""
    return re.sub(r"/\*.*?\*/|\\\n", " ", text, flags=re.DOTALL).split()


def kept() -> dict[str, Path]:
    return {path.stem.removeprefix("ep-"): path for path in HERE.glob("ep-*.h")}


class Headers(unittest.TestCase):
    def judge(self, text: str, *arguments: str) -> None:
        """tools/abi on `text` in place of ep.h."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            shutil.copytree(ROOT / LAYOUTS, root / LAYOUTS)
            (root / HEADER).parent.mkdir(parents=True)
            (root / HEADER).write_text(text)
            (root / "ep-sdk/CHANGELOG.md").write_text(f"## {version(text)}\n")
            command = [sys.executable, "-B", ROOT / "tools/abi", "--root", root, "ep.h", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_layout_has_its_header(self):
        layouts = {path.stem.removeprefix("layout-") for path in (ROOT / LAYOUTS).glob("layout-*.txt")}
        self.assertEqual(set(kept()), layouts, "copy ep.h to tests/frozen/ep-<version>.h, and never change it after the release")

    def test_kept_headers_have_their_layout(self):
        for name, path in kept().items():
            with self.subTest(name):
                text = path.read_text()
                self.assertEqual(version(text), name)
                self.judge(text)

    def test_the_current_minor_is_kept_as_it_is(self):
        current = (ROOT / HEADER).read_text()
        path = HERE / f"ep-{version(current)}.h"
        self.assertEqual(code(path.read_text()), code(current), f"while this version is not released: cp {HEADER} {path.relative_to(ROOT)}")

    def test_the_next_minor_only_appends(self):
        self.judge(next_header.next_header((ROOT / HEADER).read_text()), "--write")


if __name__ == "__main__":
    unittest.main()
