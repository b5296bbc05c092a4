#!/usr/bin/env python3
"""seal.py TENON_CTS FAKES_DIR: tenon-cts --seal makes a manifest fit its files again, and refuses what does not belong together."""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CTS, FAKES = Path(), Path()


class Seal(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(dir=FAKES.parent, prefix="seal.")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.manifest = self.copy("good")

    def copy(self, provider: str) -> Path:
        """Manifest and library of a fake, alone."""
        source = FAKES / f"defects/{provider}.tenon.json"
        library = json.loads(source.read_text())["library"]["path"]
        for name in (source.name, library):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source.parent / name, self.folder / name)
        return self.folder / source.name

    def content(self) -> dict:
        return json.loads(self.manifest.read_text())

    def library(self) -> Path:
        return self.folder / self.content()["library"]["path"]

    def edit(self, change) -> None:
        data = self.content()
        change(data)
        self.manifest.write_text(json.dumps(data))

    def kit(self, *words: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(word) for word in (CTS, self.manifest, *words)], capture_output=True, text=True, check=False)

    def sealed(self) -> str:
        done = self.kit("--seal")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_refused(self, *said: str) -> None:
        before = self.manifest.read_bytes() if self.manifest.exists() else None
        done = self.kit("--seal")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        for words in (*said, "Nothing was changed", "Cure: "):
            self.assertIn(words, done.stderr)
        self.assertEqual(self.manifest.read_bytes() if self.manifest.exists() else None, before)
        self.assertEqual(list(self.folder.rglob("*.new")), [])

    def assert_fits(self, entry: dict) -> None:
        data = (self.folder / entry["path"]).read_bytes()
        self.assertEqual((entry["sha256"], entry["size"]), (hashlib.sha256(data).hexdigest(), len(data)))

    def test_after_strip_the_provider_is_right_again(self):
        self.edit(lambda d: d.update({"x-last": [1.5, {"b": 1, "a": 2}], "priority": 7}))
        before = self.content()
        subprocess.run(["strip", self.library()], check=True)
        self.assertEqual(self.kit("--filter", "hygiene.file").returncode, 1)
        said = self.sealed()
        for line in (f"library.sha256: \"{before['library']['sha256']}\" -> ", f"library.size: {before['library']['size']} -> ", "is sealed"):
            self.assertIn(line, said)
        self.assert_fits(self.content()["library"])
        done = self.kit("--filter", "hygiene.*")
        self.assertEqual(done.returncode, 0, done.stdout)
        after = self.content()
        self.assertEqual(json.dumps(after | {"library": 0}), json.dumps(before | {"library": 0}))  # the order too
        self.assertEqual(list(after["library"]), list(before["library"]))

    def test_what_fits_is_not_written(self):
        before = (self.manifest.stat().st_ino, self.manifest.read_bytes())
        self.assertIn("is up to date", self.sealed())
        self.assertEqual((self.manifest.stat().st_ino, self.manifest.read_bytes()), before)

    def test_the_mode_stays_and_a_link_stays_one(self):
        self.manifest.chmod(0o640)
        real = self.manifest.rename(self.folder / "real.json")
        self.manifest.symlink_to(real.name)
        subprocess.run(["strip", self.library()], check=True)
        self.sealed()
        self.assertTrue(self.manifest.is_symlink())
        self.assertEqual(real.stat().st_mode & 0o777, 0o640)
        self.assert_fits(self.content()["library"])

    def test_hash_and_size_may_be_absent(self):
        self.edit(lambda d: [d["library"].pop(key) for key in ("sha256", "size")])
        self.assertIn("library.size: absent -> ", self.sealed())
        self.assert_fits(self.content()["library"])

    def test_other_files_are_sealed_too(self):
        (self.folder / "table.txt").write_text("1 2 3\n")
        self.edit(lambda d: d.update(files=[{"path": "table.txt", "sha256": "0" * 64, "size": 1}]))
        self.assertIn("files[0].sha256", self.sealed())
        self.assert_fits(self.content()["files"][0])
        (self.folder / "table.txt").unlink()
        self.assert_refused("table.txt", "'files[0].path'", "is no file")

    def test_a_library_of_another_version_or_id_is_refused(self):
        for key, value in (("version", "1.0.1"), ("id", "other")):
            with self.subTest(key):
                self.manifest = self.copy("good")
                self.edit(lambda d: d["provider"].update({key: value}))
                self.assert_refused(f"{key}={'good' if key == 'id' else '1.0.0'}, the manifest {value}")

    def test_a_library_of_another_abi_is_refused(self):
        self.edit(lambda d: d["abi"].update(max_minor=99))
        self.assert_refused("abi=", "99")

    def test_a_library_without_a_note_is_refused(self):
        data = self.library().read_bytes()
        self.assertIn(b"Tenon\0\0\0id=", data)
        self.library().write_bytes(data.replace(b"Tenon\0\0\0id=", b"Xenon\0\0\0id="))
        self.assert_refused("has no Tenon note", "provider_note.cc.in")

    def test_a_missing_library_and_one_that_is_none(self):
        library = self.library()
        library.write_text("no library")
        self.assert_refused("the library's file is broken")
        library.unlink()
        self.assert_refused(str(library), "is no file")

    def test_paths_outside_are_refused(self):
        for path in ("../x.so", "/usr/lib/x.so", "a/../../x.so", ""):
            with self.subTest(path):
                self.edit(lambda d: d["library"].update(path=path))
                self.assert_refused("'library.path' of the manifest", "below it")

    def test_a_manifest_that_is_wrong_otherwise_is_refused(self):
        self.edit(lambda d: d["library"].pop("os"))
        self.assert_refused("lacks 'os'")
        self.manifest.write_text("{")
        self.assert_refused("no JSON")
        self.manifest.write_text("[]")
        self.assert_refused("no JSON object")
        self.manifest.write_text("{}")
        self.assert_refused("no object 'library'")

    def test_a_missing_manifest_is_told(self):
        self.manifest.unlink()
        self.assert_refused("cannot be read", "name a manifest")


if __name__ == "__main__":
    FAKES = Path(sys.argv.pop(2)).resolve()
    CTS = Path(sys.argv.pop(1)).resolve()
    unittest.main()
