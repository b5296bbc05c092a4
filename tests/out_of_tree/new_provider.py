#!/usr/bin/env python3
"""new_provider.py BUILD_DIR: `tenon new-provider` writes projects that build, pass the kit and can be packed, or nothing at all.

The product is installed into an empty prefix, whose SDK is all that the projects use.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
BUILD = Path()
STYLES = ("kernel", "compile", "device")
INPUT_ERROR, USAGE_ERROR = 10, 2
TEMPLATES = REPO / "ep-sdk/templates"


def code_lines(text: str) -> list[str]:
    """Without blank lines and lines that are comments."""
    return [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


class NewProvider(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
        cls.holder = tempfile.TemporaryDirectory(dir=BUILD, prefix="new_provider.")
        cls.top = Path(cls.holder.name).resolve()
        cls.prefix = cls.top / "prefix"
        for component in ("runtime", "tools", "sdk", "cts"):
            subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component], check=True,
                           capture_output=True)
        cls.command = cls.prefix / "bin/tenon"
        cls.templates = cls.prefix / "share/tenon/templates"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
        cls.environment = kept | {"HOME": str(cls.top), "CMAKE_PREFIX_PATH": str(cls.prefix)}

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def setUp(self):
        holder = tempfile.TemporaryDirectory(dir=self.top, prefix="work.")
        self.addCleanup(holder.cleanup)
        self.work = Path(holder.name)

    def run_in(self, folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run([str(word) for word in words], cwd=folder, env=self.environment | variables, capture_output=True,
                              text=True, check=False)

    def must(self, folder: Path, *words: object, **variables: str) -> str:
        done = self.run_in(folder, *words, **variables)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def new(self, *words: object, **variables: str) -> subprocess.CompletedProcess:
        return self.run_in(self.work, self.command, "new-provider", *words, **variables)

    def assert_refused(self, said: str, *words: object, code: int = INPUT_ERROR, **variables: str) -> None:
        before = sorted(self.work.rglob("*"))
        done = self.new(*words, **variables)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertRegex(done.stderr, said)
        self.assertEqual(sorted(self.work.rglob("*")), before)  # nothing is half written

    # ---- What it writes works ----

    def test_each_style_builds_and_passes_the_kit(self):
        for style in STYLES:
            with self.subTest(style):
                name = f"acme-{style}"
                said = self.must(self.work, self.command, "new-provider", name, "--style", style)
                self.assertIn(f"wrote the provider {name} ({style} style)", said)
                project = self.work / name
                names = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
                self.assertLessEqual({"CMakeLists.txt", "README.md", "manifest.json.in", "provider.cc", "pyproject.toml",
                                      "python/__init__.py"}, names)
                for path in project.rglob("*"):
                    if path.is_file():
                        self.assertNotRegex(path.read_text(), "@[a-z]+@", path)
                self.assertIn(f'"tenon_acme_{style}:folder"', (project / "pyproject.toml").read_text())
                self.must(project, "cmake", "-B", "build", "-D", "CMAKE_CXX_FLAGS=-Werror")
                self.must(project, "cmake", "--build", "build")
                kit = self.must(project, "ctest", "--test-dir", "build", "--verbose", "--no-tests=error")
                self.assertRegex(kit, r"[0-9]+ passed, 0 failed")
                checks = self.checks(project, name)
                self.assertEqual(checks["operators.probes"], "passed")
                rules = ("R48", "R49", "R50", "R55", "R56") if style == "device" else ()
                self.assertEqual({rule: checks[rule] for rule in rules}, dict.fromkeys(rules, "passed"))
                found = json.loads(self.must(project, self.command, "providers", "list", "--format", "json",
                                             TENON_PROVIDER_FILES=str(project / "build/providers.d")))
                self.assertEqual([(entry["id"], entry["refusal"]) for entry in found], [(name, "")])

    def checks(self, project: Path, name: str) -> dict[str, str]:
        report = self.must(project, self.prefix / "bin/tenon-cts", f"build/providers.d/{name}.tenon.json", "--cases", "cases",
                           "--format", "json")
        return {row["id"]: row["status"] for row in json.loads(report)["checks"]}

    def test_the_device_is_short(self):
        lines = code_lines((TEMPLATES / "device/provider.cc").read_text())
        first = next(number for number, line in enumerate(lines, 1) if line.startswith("TENON_KERNEL("))
        self.assertLess(first, 100)
        self.assertLess(len(lines), 150)

    def test_the_package_has_the_provider_where_hosts_look(self):
        self.must(self.work, self.command, "new-provider", "acme")
        project = self.work / "acme"
        self.must(project, "cmake", "-B", "package", "-D", "PACKAGE=ON")
        self.must(project, "cmake", "--build", "package")
        self.must(project / "package", "cpack")
        package, = (project / "package").glob("tenon-provider-acme_0.1.0_*.deb")
        self.must(project, "dpkg-deb", "-x", package, "unpacked")
        triplet = self.must(project, "dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
        manifest = project / f"unpacked/usr/lib/{triplet}/tenon/providers.d/acme-0.1.0.tenon.json"
        self.must(project, self.prefix / "bin/tenon-cts", manifest, "--filter", "hygiene.*", "--filter", "R1")
        library = manifest.parent / json.loads(manifest.read_text())["library"]["path"]
        self.assertNotIn(".symtab", self.must(project, "readelf", "-SW", library))

    def test_an_empty_folder_is_filled(self):
        folder = self.work / "here"
        folder.mkdir()
        inode = folder.stat().st_ino
        self.must(folder, self.command, "new-provider", "acme", "--into", ".")
        self.assertEqual(folder.stat().st_ino, inode)
        self.assertTrue((folder / "cases/add.case.json").is_file())
        self.assertEqual([path.name for path in self.work.iterdir()], ["here"])

    def test_the_build_tree_has_the_templates_too(self):
        self.must(self.work, BUILD / "bin/tenon", "new-provider", "acme", "--style", "device")
        self.assertTrue((self.work / "acme/provider.cc").is_file())

    def test_it_works_from_another_place(self):
        moved = self.work / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        self.must(self.work, moved / "bin/tenon", "new-provider", "acme", "--into", "a b/")
        self.assertTrue((self.work / "a b/provider.cc").is_file())

    # ---- What it refuses leaves nothing ----

    def test_names_that_are_no_ids(self):
        for name in ("Acme", "a b", "-acme", "_acme", "a/b", "../a", "a.b", "é", "a" * 64):
            with self.subTest(name):
                self.assert_refused("is no provider id: .*a-z", "--", name)

    def test_reserved_ids(self):
        for name in ("auto", "tenon", "cpu", "cuda", "onednn", "opencl", "image", "vulkan"):
            with self.subTest(name):
                self.assert_refused("is reserved by Tenon: choose another id", name)

    def test_an_id_that_is_installed(self):
        found = BUILD / "fakes/accelerator"
        self.assert_refused(f"is the id of the provider in {found}/.*: choose another", "accelerator",
                            TENON_ADD_PROVIDER_FILES=str(found))

    def test_a_folder_with_something_in_it(self):
        (self.work / "acme").mkdir()
        (self.work / "acme/mine.txt").write_text("mine")
        self.assert_refused("is not empty: .*--into", "acme")
        self.assert_refused("is a file: .*--into", "other", "--into", "acme/mine.txt")
        self.assert_refused("is no folder: make it first", "other", "--into", "absent/other")

    def test_an_unknown_style(self):
        self.assert_refused("--style", "acme", "--style", "big", code=USAGE_ERROR)

    def test_a_template_that_cannot_be_read(self):
        broken = self.templates / "kernel/zz.txt"
        broken.symlink_to("absent")
        self.addCleanup(broken.unlink)
        self.assert_refused("zz.txt: cannot be read: install the SDK again", "acme")
        (self.work / "empty").mkdir()
        self.assert_refused("zz.txt: cannot be read", "acme", "--into", "empty")

    def test_a_prefix_without_the_sdk(self):
        away = self.templates.rename(self.templates.with_name("away"))
        self.addCleanup(away.rename, self.templates)
        self.assert_refused("is missing: it comes with the SDK", "acme")

    # ---- What comes with the SDK ----

    def test_the_pages_for_vendors_lead_to_one_another(self):
        folder = self.prefix / "share/doc/tenon-sdk"
        pages = {path.name for path in folder.iterdir()}
        self.assertLessEqual({"RULES.md", "first-provider.md", "provider-guide.md"}, pages)
        for page in pages:
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", (folder / page).read_text(), flags=re.S | re.M)
            for target in re.findall(r"\]\(([^)#]+)", text):
                self.assertTrue("://" in target or (folder / target).exists(), f"{page} links to {target}")


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
