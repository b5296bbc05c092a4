#!/usr/bin/env python3
"""tenon_add_provider() of the installed SDK: library and manifest of a project outside the repository describe each other."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TENON_BUILD_DIR", ROOT / "build" / "release"))

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(acme LANGUAGES CXX)
find_package(TenonSdk REQUIRED)
tenon_add_provider(ID acme VERSION 1.2.3 SOURCES provider.cc MANIFEST manifest.json.in)
add_library(acme_help SHARED help.cc)
tenon_add_provider(ID acme VERSION 2.0.0 NAME acme2 SOURCES provider.cc LINK acme_help FILES $<TARGET_FILE:acme_help> table.txt
                   MIN_MINOR 3)
"""
SOURCE = """#include <string>
#include "tenon/ep.h"
inline std::string shared_by_accident = TENON_PROVIDER_ID;
tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = TENON_PROVIDER_MIN_MINOR;
  return shared_by_accident == "acme" ? TENON_OK : TENON_UNKNOWN;
}
"""
TEMPLATE = {"provider": {"name": "ACME's accelerator", "vendor": "ACME; Inc."}, "traits": {"unloadable": True}, "priority": 7}


def run(*command: object, cwd: Path | None = None, check: bool = True) -> str:
    result = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if check and result.returncode:
        raise AssertionError(f"{command}: {result.stdout}{result.stderr}")
    return result.stdout + result.stderr


class AddProvider(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.holder.name).resolve()
        cls.source, cls.build, cls.sdk = cls.folder / "acme", cls.folder / "build", cls.folder / "sdk"
        cls.source.mkdir()
        (cls.source / "CMakeLists.txt").write_text(PROJECT)
        (cls.source / "provider.cc").write_text(SOURCE)
        (cls.source / "help.cc").write_text("int help() { return 1; }\n")
        (cls.source / "table.txt").write_text("1 2 3\n")
        (cls.source / "manifest.json.in").write_text(json.dumps(TEMPLATE))
        run("cmake", "--install", BUILD, "--component", "sdk", "--prefix", cls.sdk)
        run("cmake", "-G", "Ninja", "-S", cls.source, "-B", cls.build, f"-DCMAKE_PREFIX_PATH={cls.sdk}")
        run("ninja", "-C", cls.build)
        cls.places = cls.build / "providers.d"

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def manifest(self, name: str, folder: Path | None = None) -> tuple[dict, Path]:
        path = (folder or self.places) / name
        content = json.loads(path.read_text())
        return content, path.parent / content["library"]["path"]

    def assert_describes(self, content: dict, library: Path) -> None:
        data = library.read_bytes()
        self.assertEqual(content["library"]["sha256"], hashlib.sha256(data).hexdigest())
        self.assertEqual(content["library"]["size"], len(data))
        top = library.parents[len(Path(content["library"]["path"]).parts) - 1]
        for entry in content.get("files", []):
            data = (top / entry["path"]).read_bytes()
            self.assertEqual((entry["sha256"], entry["size"]), (hashlib.sha256(data).hexdigest(), len(data)))

    def test_manifest_describes_the_library(self):
        content, library = self.manifest("acme.tenon.json")
        self.assert_describes(content, library)
        self.assertEqual(content["library"]["path"], "acme/1.2.3/tenon_ep_acme.so")
        self.assertEqual(content["library"]["os"], "linux")
        self.assertEqual(content["library"]["arch"], os.uname().machine)
        self.assertEqual(content["provider"]["id"], "acme")
        self.assertEqual(content["provider"]["version"], "1.2.3")
        header = (ROOT / "ep-sdk/include/tenon/ep.h").read_text()
        self.assertIn(f"TENON_EP_ABI_MAJOR {content['abi']['major']}u", header)
        self.assertIn(f"TENON_EP_ABI_MINOR {content['abi']['max_minor']}u", header)
        self.assertIn(f"TENON_EP_ABI_OLDEST_MINOR {content['abi']['min_minor']}u", header)
        self.assertIn(f"TENON_EP_MANIFEST_VERSION {content['manifest_version']}u", header)

    def test_what_the_author_wrote_stays(self):
        content, _ = self.manifest("acme.tenon.json")
        self.assertEqual(content["provider"]["name"], "ACME's accelerator")
        self.assertEqual(content["provider"]["vendor"], "ACME; Inc.")
        self.assertEqual(content["traits"], {"unloadable": True})
        self.assertEqual(content["priority"], 7)

    def test_two_versions_of_one_id(self):
        content, library = self.manifest("acme2.tenon.json")
        self.assert_describes(content, library)
        self.assertEqual((content["provider"]["id"], content["provider"]["version"]), ("acme", "2.0.0"))
        paths = [entry["path"] for entry in content["files"]]
        self.assertEqual(content["abi"]["min_minor"], 3)
        self.assertEqual(paths, ["acme2/2.0.0/libacme_help.so", "acme2/2.0.0/table.txt"])

    def test_one_exported_symbol_and_nothing_unique(self):
        _, library = self.manifest("acme.tenon.json")
        rows = [line.split()[1:] for line in run("nm", "-D", "--defined-only", library).splitlines()]
        self.assertEqual(rows, [["T", "tenon_ep_negotiate"]])

    def test_note_repeats_the_identity(self):
        content, library = self.manifest("acme.tenon.json")
        abi = f"{content['abi']['major']}.{content['abi']['max_minor']}"
        expected = f"id=acme\nversion=1.2.3\nabi={abi}\nmanifest={content['manifest_version']}\n"
        self.assertIn(b"Tenon\0\0\0" + expected.encode(), library.read_bytes())
        self.assertIn("Tenon", run("readelf", "-n", library))

    def test_nothing_came_from_the_repository(self):
        dependencies = run("ninja", "-C", self.build, "-t", "deps")
        self.assertIn(f"{self.sdk}/include/tenon/ep.h", dependencies)
        self.assertNotIn(f"{ROOT}/", dependencies)

    def test_relinking_and_a_changed_template_renew_the_manifest(self):
        copy, build = self.folder / "changing", self.folder / "changing-build"
        shutil.copytree(self.source, copy)
        run("cmake", "-G", "Ninja", "-S", copy, "-B", build, f"-DCMAKE_PREFIX_PATH={self.sdk}")
        run("ninja", "-C", build)
        before, _ = self.manifest("acme.tenon.json", build / "providers.d")
        (copy / "provider.cc").write_text(SOURCE.replace('"acme"', '"changed"'))
        (copy / "manifest.json.in").write_text(json.dumps(TEMPLATE | {"priority": 8}))
        run("ninja", "-C", build)
        after, library = self.manifest("acme.tenon.json", build / "providers.d")
        self.assertNotEqual(before["library"]["sha256"], after["library"]["sha256"])
        self.assert_describes(after, library)
        self.assertEqual(after["priority"], 8)
        (copy / "manifest.json.in").write_text(json.dumps(TEMPLATE | {"priority": 9}))
        run("ninja", "-C", build)
        self.assertEqual(self.manifest("acme.tenon.json", build / "providers.d")[0]["priority"], 9)

    def test_installing_keeps_the_pair_and_versions_apart(self):
        prefix = self.folder / "prefix"
        run("cmake", "--install", self.build, "--prefix", prefix, "--strip")
        manifests = sorted(path.name for path in prefix.rglob("*.tenon.json"))
        self.assertEqual(manifests, ["acme-1.2.3.tenon.json", "acme2-2.0.0.tenon.json"])
        for path in prefix.rglob("*.tenon.json"):
            self.assert_describes(*self.manifest(path.name, path.parent))

    def test_mistakes_are_named(self):
        mistakes = {
            "tenon_add_provider(VERSION 1.0.0 SOURCES provider.cc)": "ID is missing",
            "tenon_add_provider(ID 'A/b' VERSION 1.0.0 SOURCES provider.cc)": "may hold",
            "tenon_add_provider(ID a VERSION 1.0 SOURCES provider.cc)": "VERSION '1.0'",
            "tenon_add_provider(ID a VERSION 1.0.0 SOURCES provider.cc BOGUS x)": "BOGUS",
            "tenon_add_provider(ID a VERSION 1.0.0 SOURCES provider.cc MIN_MINOR 2)": "MIN_MINOR '2' is not one of",
            "tenon_add_provider(ID a VERSION 1.0.0 SOURCES provider.cc MIN_MINOR 999)": "MIN_MINOR '999' is not one of",
            "tenon_add_provider(ID a VERSION 1.0.0 SOURCES provider.cc MIN_MINOR new)": "MIN_MINOR 'new' is not one of",
        }
        head = "\n".join(PROJECT.splitlines()[:3])
        for number, (call, message) in enumerate(mistakes.items()):
            with self.subTest(call):
                folder = self.folder / f"mistake{number}"
                folder.mkdir()
                (folder / "provider.cc").write_text(SOURCE)
                (folder / "CMakeLists.txt").write_text(f"{head}\n{call}\n")
                output = run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "b", f"-DCMAKE_PREFIX_PATH={self.sdk}", check=False)
                self.assertIn(message, output)


if __name__ == "__main__":
    if not (BUILD / "cmake_install.cmake").exists():
        sys.exit(f"no build in {BUILD}; set TENON_BUILD_DIR")
    unittest.main()
