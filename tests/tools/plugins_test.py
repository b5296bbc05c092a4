#!/usr/bin/env python3
"""Every folder of plugins/ has the same skeleton, so that who knows one provider finds his way in all."""

import re
import tempfile
import unittest
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
SKELETON = {"CMakeLists.txt", "README.md", "device.cc", "device.h", "expectations.json", "manifest.json.in", "plugin.cc"}
OPERATORS = {"kernels", "compiler/ops"}  # one of them: a file per operator or family, kernel-style or compile-style
CHAPTER = re.compile(r"^## How to add an? (kernel|operator)$", re.M)


def problems(folder: Path) -> list[str]:
    """What is different in a provider's folder."""
    files = {path.name for path in folder.iterdir() if path.is_file()}
    out = [f"{name} is missing" for name in sorted(SKELETON - files)]
    # Whatever else is there is a part of the provider: what it is stands in a header, how in a source.
    for name in sorted(files - SKELETON):
        stem, _, suffix = name.rpartition(".")
        partner = {"cc": f"{stem}.h", "h": f"{stem}.cc"}.get(suffix)
        if partner is None:
            out.append(f"{name} is no part of the skeleton, and no source")
        elif partner not in files:
            out.append(f"{name} has no {partner}")
    places = [place for place in sorted(OPERATORS) if any((folder / place).glob("*.cc"))]
    if len(places) != 1:
        out.append(f"operators are in {places or 'no folder'}, expected is one of {sorted(OPERATORS)}")
    if "README.md" in files and not CHAPTER.search((folder / "README.md").read_text()):
        out.append("README.md does not say how to add a kernel or an operator")
    if "CMakeLists.txt" in files and not re.search(rf"^\s*ID {re.escape(folder.name)}$", (folder / "CMakeLists.txt").read_text(), re.M):
        out.append(f"CMakeLists.txt builds no provider with the id '{folder.name}'")
    return out


class Plugins(unittest.TestCase):
    def test_all_have_the_skeleton(self):
        folders = [path for path in sorted(PLUGINS.iterdir()) if path.is_dir()]
        self.assertGreaterEqual(len(folders), 3)
        for folder in folders:
            with self.subTest(provider=folder.name):
                self.assertEqual(problems(folder), [])

    def test_differences_are_noticed(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "acme"
            (folder / "kernels").mkdir(parents=True)
            (folder / "kernels/add.cc").touch()
            for file in SKELETON:
                (folder / file).touch()
            (folder / "README.md").write_text("# Acme\n\n## How to add a kernel\n")
            (folder / "CMakeLists.txt").write_text("tenon_add_provider(\n  ID acme\n  VERSION 1.0.0)\n")
            self.assertEqual(problems(folder), [])
            (folder / "memory.cc").touch()
            (folder / "notes.txt").touch()
            (folder / "device.cc").rename(folder / "devices.cc")
            (folder / "compiler/ops").mkdir(parents=True)
            (folder / "compiler/ops/add.cc").touch()
            (folder / "README.md").write_text("# Acme\n")
            (folder / "CMakeLists.txt").write_text("tenon_add_provider(ID other)\n")
            found = problems(folder)
            self.assertEqual(len(found), 7, found)
            for word in ("device.cc is missing", "devices.cc has no devices.h", "memory.cc has no memory.h", "notes.txt"):
                self.assertTrue(any(word in problem for problem in found), word)


if __name__ == "__main__":
    unittest.main()
