#!/usr/bin/env python3
"""install.py BUILD_DIR: what a stranger does with an installation.

Installs every component into an empty prefix, builds a C and a C++ program outside with find_package(Tenon) and with pkg-config,
runs them on a model, moves the prefix and runs them again; asks for what is not there; and looks at the library's name and symbols.
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
MODEL = REPO / "tests/data/digits/digits.onnx"
LANGUAGES = {"c": "1 inputs\n", "cc": "1 outputs\n"}
BUILD = Path()


def run(*command: object, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **keywords)


def must(*command: object, **keywords) -> str:
    done = run(*command, **keywords)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def plain_environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENON_") or name == "TENON_CACHE_DIR"}
    return kept | changes


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
        cls.folder = tempfile.TemporaryDirectory(dir=BUILD, prefix="install.")
        cls.work = Path(cls.folder.name).resolve()
        cls.prefix = cls.work / "prefix"
        for component in ("runtime", "tools", "devel", "sdk", "cts", "tenon_ep_cpu"):
            must("cmake", "--install", BUILD, "--prefix", cls.prefix, "--component", component)
        cls.lib = next(cls.prefix.rglob("libtenon.so.0")).parent

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_runs(self, program: Path, lib: Path, wanted: str):
        self.assertEqual(must(program, MODEL, env=plain_environment(LD_LIBRARY_PATH=str(lib))), wanted)

    def configure(self, build: Path, prefix: Path, *more: str) -> subprocess.CompletedProcess:
        return run("cmake", "-S", REPO / "tests/install/app", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", *more)

    def test_programs_are_built_with_find_package(self):
        build = self.work / "with-cmake"
        done = self.configure(build, self.prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        must("cmake", "--build", build)
        for language, wanted in LANGUAGES.items():
            self.check_runs(build / f"app_{language}", self.lib, wanted)

    def test_programs_are_built_with_pkg_config_and_follow_a_move(self):
        moved = self.work / "moved to another place"
        shutil.copytree(self.prefix, moved, symlinks=True)
        lib = next(moved.rglob("libtenon.so.0")).parent
        environment = plain_environment(PKG_CONFIG_PATH=str(lib / "pkgconfig"))
        self.assertRegex(must("pkg-config", "--modversion", "tenon", env=environment), r"^\d+\.\d+\.\d+\n$")
        for language, compiler in (("c", ["cc", "-std=c11"]), ("cc", ["c++", "-std=c++20"])):
            program = self.work / f"by-pkg-config-{language}"
            flags = must("sh", "-c", f"for f in $(pkg-config --cflags --libs tenon | sed 's/\\\\ /\\x01/g'); do echo $f; done",
                         env=environment).replace("\x01", " ").splitlines()
            must(*compiler, REPO / f"tests/install/app/main.{language}", "-o", program, *flags)
            self.check_runs(program, lib, LANGUAGES[language])

    def test_a_program_of_a_newer_header_is_told_that_the_library_is_older(self):
        source, made = REPO / "tests/install/older", self.work / "older"
        made.mkdir()
        environment = plain_environment(PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        include = must("pkg-config", "--cflags", "tenon", env=environment).split()
        link = must("pkg-config", "--libs", "tenon", env=environment).split()
        must("c++", "-std=c++20", source / "main.cc", "-o", made / "program", *include, *link)
        must("cc", "-std=c11", "-shared", "-fPIC", "-Wl,-soname,libtenon.so.0", f"-Wl,--version-script={REPO / 'host/libtenon.map'}",
             source / "library.c", "-o", made / "libtenon.so.0", *include)
        self.check_runs(made / "program", self.lib, "new enough\n")
        self.check_runs(made / "program", made, "libtenon is older than the header tenon/tenon.hpp that this program was compiled with\n")

    def test_below_cpp_20_the_first_error_says_so(self):
        program = REPO / "tests/install/app/main.cc"
        done = run("c++", "-std=c++17", "-fsyntax-only", f"-I{self.prefix / 'include'}", program, env=plain_environment(LC_ALL="C"))
        self.assertNotEqual(done.returncode, 0)
        first = next(line for line in done.stderr.splitlines() if "error:" in line)
        self.assertIn("tenon/tenon.hpp needs C++20: compile with -std=c++20", first)

    def test_an_application_has_a_protobuf_of_its_own(self):
        source = REPO / "tests/install/neighbour"
        made = self.work / "neighbour"
        made.mkdir()
        must("protoc", f"--proto_path={source}", f"--cpp_out={made}", "model.proto")
        environment = plain_environment(PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        flags = must("pkg-config", "--cflags", "--libs", "tenon", env=environment).split()
        # The second exports every symbol of its protobuf, so that the loader prefers them to those of any library.
        for name, protobuf in (("shared", ["-lprotobuf"]),
                               ("exported", ["-no-pie", "-rdynamic", "-Wl,--whole-archive,-Bstatic", "-lprotobuf",
                                             "-Wl,--no-whole-archive,-Bdynamic", "-lz"])):
            with self.subTest(name):
                program = made / name
                must("c++", "-std=c++20", "-pthread", f"-I{made}", source / "main.cc", made / "model.pb.cc", "-o", program,
                     *flags, *protobuf)
                self.check_runs(program, self.lib, '1 outputs, title: "the neighbour" numbers: 0 numbers: 1 numbers: 2\n')

    def test_a_component_that_is_not_installed_is_named(self):
        bare = self.work / "bare"
        for component in ("runtime", "devel", "sdk"):
            must("cmake", "--install", BUILD, "--prefix", bare, "--component", component)
        source = self.work / "asks"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(asks LANGUAGES C CXX)\n"
                                               "find_package(Tenon REQUIRED COMPONENTS ${wanted})\n")
        for wanted, words in (("cts", "without its component cts"), ("kit", "without its component kit"), ("sdk", "")):
            done = run("cmake", "-S", source, "-B", self.work / f"asks-{wanted}", f"-Dwanted={wanted}",
                       f"-DCMAKE_PREFIX_PATH={bare}")
            self.assertEqual(done.returncode != 0, bool(words), done.stderr)
            self.assertIn(words, " ".join(done.stderr.split()))

    def test_another_minor_version_is_refused(self):
        source = self.work / "newer"
        source.mkdir()
        (source / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(newer LANGUAGES C CXX)\n"
                                               "find_package(Tenon 0.99 REQUIRED)\n")
        done = run("cmake", "-S", source, "-B", self.work / "newer-build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("0.99", done.stderr)

    def test_the_library_has_a_version_and_only_its_own_symbols(self):
        library = self.lib / "libtenon.so.0"
        self.assertIn("[libtenon.so.0]", must("readelf", "-dW", library))
        defined = must("nm", "-D", "--defined-only", "--with-symbol-versions", library)
        names = [line.split()[-1] for line in defined.splitlines() if not line.split()[-1].startswith("TENON_0")]
        self.assertTrue(names)
        for name in names:
            self.assertRegex(name, r"^tenon_\w+@@TENON_0$")

    def owned_by_another(self, name: str) -> Path:
        """A copy of the installation that belongs to a user of no name."""
        owned = self.work / name
        shutil.copytree(self.prefix, owned, symlinks=True)
        self.give_away(owned)
        return owned

    @staticmethod
    def give_away(folder: Path):
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 4711, 4711, follow_symlinks=False)

    @staticmethod
    def verdict_on_cpu(*command: object, **more: str) -> str:
        listed = json.loads(must(*command, "providers", "list", "--format", "json", env=plain_environment(**more)))
        return next(entry["refusal"] or entry["verdict"] for entry in listed if entry["id"] == "cpu")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_the_owner_of_the_library_may_own_the_providers_beside_it(self):
        owned = self.owned_by_another("owned")
        elsewhere = self.work / "elsewhere"
        shutil.copytree(next(owned.rglob("libtenon.so.0")).parent / "tenon/providers.d", elsewhere)
        self.give_away(elsewhere)
        self.assertEqual(self.verdict_on_cpu(owned / "bin/tenon"), "usable")
        self.assertEqual(self.verdict_on_cpu(owned / "bin/tenon", TENON_PROVIDER_FILES=str(elsewhere)), "E_FILE_MODE")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_providers_are_used_in_a_user_namespace_that_does_not_know_their_owner(self):
        inside = ("unshare", "--user", "--map-root-user")
        if shutil.which("unshare") is None or run(*inside, "true").returncode != 0:
            self.skipTest("this machine makes no user namespaces")
        self.assertEqual(self.verdict_on_cpu(*inside, self.owned_by_another("unknown") / "bin/tenon"), "usable")

    def test_installed_manifests_have_the_version_in_their_names(self):
        found = list((self.lib / "tenon/providers.d").glob("*.tenon.json"))
        self.assertTrue(found)
        for path in found:
            about = json.loads(path.read_text())["provider"]
            self.assertEqual(path.name, f"{about['id']}-{about['version']}.tenon.json")

    def test_man_pages_and_the_schema_of_the_config_come_along(self):
        pages = {path.name for path in (self.prefix / "share/man/man1").iterdir()}
        self.assertLessEqual({"tenon.1", "tenon-bench.1", "tenon-config-check.1", "tenon-cts.1"}, pages)
        self.assertEqual((self.prefix / "share/tenon/config.schema.json").read_text(),
                         must(self.prefix / "bin/tenon", "config", "schema", env=plain_environment()))

    def test_the_licence_comes_along(self):
        found = {path.name for path in (self.prefix / "share/doc/tenon").iterdir()}
        self.assertLessEqual({"LICENSE", "third-party.md"}, found)

    def test_a_parent_project_configures_it_without_tests_and_without_fetching(self):
        parent = self.work / "parent"
        parent.mkdir()
        (parent / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(parent LANGUAGES C CXX)\n"
            "add_library(protobuf INTERFACE)\nset(header mine.h)\n"  # names that a parent may well have
            f"add_subdirectory({REPO} tenon EXCLUDE_FROM_ALL)\n"
            "add_executable(app main.c)\ntarget_link_libraries(app PRIVATE Tenon::tenon)\n")
        shutil.copy(REPO / "tests/install/app/main.c", parent)
        build = self.work / "parent-build"
        must("cmake", "-S", parent, "-B", build, "-G", "Ninja", "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON",
             "-DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON", env=plain_environment())
        targets = must("ninja", "-C", build, "-t", "targets", "all")
        self.assertIn("libtenon.so", targets)
        self.assertIsNone(re.search(r"core_tests|tenon_bench:", targets))
        self.assertFalse((build / "lib" / "tenon").exists() and not (build / "tenon").exists())
        must("ninja", "-C", build, "tenon_core_base")

    def test_nothing_is_fetched_while_configuring(self):
        done = run("cmake", "-S", REPO, "-B", self.work / "no-python", "-DTENON_PYTHON=/nowhere/python",
                   env=plain_environment())
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("tools/setup", done.stderr)


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
