#!/usr/bin/env python3
"""packages.py BUILD_DIR: the Debian packages that tools/package makes.

They hold each file once, in Debian's folders, say what they need, run from where they are unpacked, are upgraded by dpkg under a
running application, and leave nothing behind when they are purged.
"""

import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "tests/data/digits"
SCRIPTLESS = {"control", "md5sums", "shlibs", "triggers"}
BUILD = Path()
WORK = Path()
FILES: dict[str, Path] = {}  # by the package's name
TRIPLET = ""


def run(*command: object, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **keywords)


def must(*command: object, **keywords) -> str:
    done = run(*command, **keywords)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def setUpModule():
    global WORK, TRIPLET
    # Beside the build: a provider in a folder that others may write to, such as one beneath /tmp, is refused.
    folder = tempfile.TemporaryDirectory(dir=BUILD, prefix="packages.")
    unittest.addModuleCleanup(folder.cleanup)
    WORK = Path(folder.name).resolve()
    TRIPLET = must("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    made = must(REPO / "tools/package", "--build", BUILD, "--out", WORK / "made")
    FILES.update({path.name.split("_")[0]: path for path in map(Path, made.split())})


def environment(root: Path, home: Path) -> dict[str, str]:
    """Where the loader finds libtenon as it does in /usr."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
    home.mkdir(exist_ok=True)
    return kept | {"LD_LIBRARY_PATH": str(root / "usr/lib" / TRIPLET), "HOME": str(home)}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = WORK / "unpacked"
        for path in FILES.values():
            must("dpkg-deb", "-x", path, cls.root)
        cls.lib = cls.root / "usr/lib" / TRIPLET

    def field(self, package: str, name: str) -> str:
        return must("dpkg-deb", "-f", FILES[package], name).strip()

    def binaries(self) -> list[Path]:
        found = [path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()
                 and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertTrue(found)
        return found

    def test_there_is_one_for_each_part_and_provider(self):
        self.assertLessEqual({"libtenon0", "libtenon-dev", "tenon-sdk", "tenon-tools", "tenon-provider-cpu"}, set(FILES))
        built = {path.name.split(".")[0] for path in (BUILD / "lib/tenon/providers.d").glob("*.tenon.json")}
        self.assertEqual(built, {name.removeprefix("tenon-provider-") for name in FILES if "-provider-" in name})

    def test_no_file_is_in_two_and_none_outside_of_usr(self):
        owners: dict[str, str] = {}
        for package, path in FILES.items():
            for line in must("dpkg-deb", "-c", path).splitlines():
                mode, owner, name = line.split()[0], line.split()[1], line.split()[5]
                self.assertEqual(owner, "root/root", name)
                self.assertTrue(mode[0] == "l" or (mode[5], mode[8]) == ("-", "-"), f"{name} may be written by others")
                if name.endswith("/"):
                    continue
                self.assertTrue(name.startswith("./usr/"), name)
                self.assertNotIn(name, owners, f"{package} and {owners.get(name)}")
                owners[name] = package

    def test_libraries_are_in_the_folder_of_the_architecture(self):
        self.assertEqual([path.name for path in (self.root / "usr/lib").iterdir()], [TRIPLET])
        for name in ("libtenon.so", "libtenon.so.0", "tenon-scan", "cmake/Tenon/TenonConfig.cmake",
                     "cmake/TenonSdk/TenonSdkConfig.cmake", "pkgconfig/tenon.pc", "tenon/providers.d/cpu-*.tenon.json"):
            self.assertTrue(list(self.lib.glob(name)), name)
        for package in FILES:
            wanted = "same" if package == "libtenon0" or "-provider-" in package else "no"
            self.assertEqual(self.field(package, "Multi-Arch"), wanted, package)

    def test_they_say_what_they_need(self):
        self.assertIn("libre2", self.field("libtenon0", "Depends"))
        self.assertNotIn("protobuf", self.field("libtenon0", "Depends"))  # it is a hidden part of libtenon
        self.assertRegex(self.field("libtenon-dev", "Depends"), r"libtenon0 \(= .*tenon-sdk \(= ")
        self.assertRegex(self.field("tenon-tools", "Depends"), r"libtenon0 \(= ")
        self.assertIn("libtenon0", self.field("tenon-provider-cpu", "Depends"))
        self.assertNotIn("libtenon0", self.field("tenon-sdk", "Depends"))
        if "tenon-provider-onednn" in FILES:
            self.assertIn("libdnnl", self.field("tenon-provider-onednn", "Depends"))

    def test_they_need_no_scripts_and_tell_of_their_library(self):
        for package, path in FILES.items():
            control = WORK / "control" / package
            control.parent.mkdir(exist_ok=True)
            must("dpkg-deb", "-e", path, control)
            names = {entry.name for entry in control.iterdir()}
            self.assertLessEqual({"control", "md5sums"}, names, package)
            self.assertLessEqual(names, SCRIPTLESS, package)
            self.assertEqual({"shlibs", "triggers"} <= names, package == "libtenon0", package)
        control = WORK / "control/libtenon0"
        self.assertEqual((control / "triggers").read_text(), "activate-noawait ldconfig\n")
        version = self.field("libtenon0", "Version").rsplit("-", 1)[0]
        self.assertTrue((control / "shlibs").read_text().startswith(f"libtenon 0 libtenon0 (>= {version})"))

    def test_binaries_are_as_debian_wants_them(self):
        for path in self.binaries():
            is_library = re.search(r"\.so(\.|$)", path.name) is not None
            self.assertEqual(path.stat().st_mode & 0o777, 0o644 if is_library else 0o755, path)
            paths = re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", must("readelf", "-dW", path))
            is_provider = "providers.d" in path.parts
            self.assertEqual([entry for entry in paths if not is_provider or entry != "$ORIGIN"], [], path)
            if not is_provider:  # those may not be changed, as their manifests have their hashes
                self.assertNotIn(".symtab", must("readelf", "-SW", path), path)

    def test_each_has_its_documents(self):
        for package in FILES:
            folder = self.root / "usr/share/doc" / package
            self.assertIn("/usr/share/common-licenses/Apache-2.0", (folder / "copyright").read_text())
            self.assertIn(self.field(package, "Version").rsplit("-", 1)[0], gzip.decompress((folder / "changelog.gz").read_bytes()).decode())
            entry = gzip.decompress((folder / "changelog.Debian.gz").read_bytes()).decode()
            self.assertRegex(entry, rf"^tenon \({re.escape(self.field(package, 'Version'))}\) \w+; urgency=\w+\n")
            self.assertRegex(entry, r"\n -- .+ <.+@.+>  \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000\n$")
        self.assertEqual({path.name for path in (self.root / "usr/share/doc").iterdir()}, set(FILES))
        for package, words in (("libtenon0", ("---- Protocol Buffers", "Redistribution and use in source and binary forms")),
                               ("tenon-tools", ("---- CLI11 ----", "---- stb_image ----", "---- nlohmann/json ----")),
                               ("tenon-sdk", ("---- CLI11 ----",)), ("tenon-provider-cpu", ("Mozilla Public License",))):
            for word in words:
                self.assertIn(word, (self.root / "usr/share/doc" / package / "copyright").read_text(), package)

    def test_what_is_unpacked_runs(self):
        variables = environment(self.root, WORK / "home")
        done = run(self.root / "usr/bin/tenon", "run", DIGITS / "digits.onnx", "--input", f"image={DIGITS / 'digit_7.png'}",
                   "--provider", "cpu", "--format", "json", env=variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = must(self.root / "usr/bin/tenon", "providers", "list", "--format", "json", env=variables)
        verdicts = {entry["id"]: entry["verdict"] for entry in json.loads(listed)
                    if str(self.root) in entry["manifest"]}
        self.assertEqual(verdicts.get("cpu"), "usable", listed)

    def test_providers_of_others_are_installed_where_every_host_looks(self):
        row = re.search(r"^\| 6 \|(.*)\|$", (REPO / "docs/providers.md").read_text(), re.MULTILINE)
        places = [place.replace("<triplet>", TRIPLET) for place in re.findall(r"`([^`]+)`", row[1])]
        source = WORK / "other"
        source.mkdir()
        (source / "other.cc").write_text("")
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(other LANGUAGES CXX)\nfind_package(Tenon REQUIRED)\n"
            'message(STATUS "places: ${Tenon_PROVIDERS_DIR}")\ntenon_add_provider(ID other VERSION 1.0.0 SOURCES other.cc)\n')
        for prefix, more in (("/usr/local", []), ("/usr", ["-DCMAKE_INSTALL_PREFIX=/usr"])):  # the first is CMake's default
            build = WORK / f"other{prefix.replace('/', '-')}"
            said = must("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.root / 'usr'}", *more)
            self.assertIn(f"places: {self.lib / 'tenon/providers.d'}", said)
            found = re.search(r'DESTINATION "\$\{CMAKE_INSTALL_PREFIX\}/(\S+/providers\.d)"', (build / "cmake_install.cmake").read_text())
            self.assertIn(f"{prefix}/{found[1]}", places)

    def test_there_are_man_pages_and_the_schema_of_the_config(self):
        for name in ("tenon.1.gz", "tenon-run.1.gz", "tenon-providers-list.1.gz", "tenon-cts.1.gz"):
            text = gzip.decompress((self.root / "usr/share/man/man1" / name).read_bytes()).decode()
            self.assertIn(".SH SYNOPSIS", text, name)
        self.assertIn("properties", json.loads((self.root / "usr/share/tenon/config.schema.json").read_text()))

    def test_a_folder_that_is_no_build_is_refused_with_the_cure(self):
        done = run(REPO / "tools/package", "--build", WORK, "--out", WORK / "more")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cmake --preset release", done.stderr)


class Machine:
    """A folder that dpkg treats as the root of a system with no other package. The packages have no scripts, so nothing has to run
    inside of it."""

    def __init__(self, folder: Path):
        self.root, self.log = folder / "root", folder / "dpkg.log"
        for name in ("info", "updates", "triggers"):
            (self.root / "var/lib/dpkg" / name).mkdir(parents=True)
        for name in ("status", "available"):
            (self.root / "var/lib/dpkg" / name).touch()

    def dpkg(self, *words: object) -> str:
        # The C library and its like are not packages of this root, and the user may not be root.
        return must("dpkg", f"--root={self.root}", f"--log={self.log}", "--force-depends", "--force-not-root", "--force-bad-path",
                    "--force-unsafe-io", *words)

    def left(self) -> list[str]:
        """What is there except for dpkg's own folders."""
        return sorted(name for name in (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
                      if not f"{name}/".startswith("var/lib/dpkg/") and name not in ("var", "var/lib"))


class Holder:
    """A process with sessions: tests/install/session_holder.cc, built with the packages of the machine."""

    def __init__(self, program: Path, variables: dict[str, str], *settings: str):
        self.process = subprocess.Popen([program, DIGITS / "digits.onnx", *settings], env=variables, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, words: str) -> str:
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def mapped(self, library: str) -> set[str]:
        """The files of that name in its memory; those that were removed end with ' (deleted)'."""
        maps = Path(f"/proc/{self.process.pid}/maps").read_text().splitlines()
        return {line.split(maxsplit=5)[5] for line in maps if f"/{library}" in line}

    def end(self) -> int:
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code


def repacked(provider: str, version: str, revision: str, library: bytes) -> Path:
    """The provider's package, raised, as tools/package would make it of this library."""
    tree = WORK / f"{provider}-{version}-{revision}"
    must("dpkg-deb", "-R", FILES[f"tenon-provider-{provider}"], tree)
    place = tree / "usr/lib" / TRIPLET / "tenon/providers.d"
    manifest = next(place.glob("*.tenon.json"))
    content = json.loads(manifest.read_text())
    manifest.unlink()
    old, new = Path(content["library"]["path"]).parent, Path(provider) / f"{version}-{revision}"
    (place / old).rename(place / new)
    for file in (content["library"], *content.get("files", [])):
        file["path"] = str(new / Path(file["path"]).name)
    (place / content["library"]["path"]).write_bytes(library)
    content["library"] |= {"sha256": hashlib.sha256(library).hexdigest(), "size": len(library)}
    content["provider"]["version"] = version
    (place / f"{provider}-{version}.tenon.json").write_text(json.dumps(content))
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}-{revision}", control.read_text(), flags=re.MULTILINE))
    (tree / "DEBIAN/md5sums").unlink()
    target = WORK / f"{tree.name}.deb"
    must("dpkg-deb", "--root-owner-group", "--build", tree, target)
    return target


class Upgrades(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=WORK, prefix="machine.")
        self.addCleanup(folder.cleanup)
        self.machine, self.home = Machine(Path(folder.name)), Path(folder.name) / "home"
        self.machine.dpkg("--install", *FILES.values())
        self.lib = self.machine.root / "usr/lib" / TRIPLET
        self.variables = environment(self.machine.root, self.home)

    def library(self, provider: str, version: str) -> Path:
        return self.lib / "tenon/providers.d" / provider / version / f"tenon_ep_{provider}.so"

    def hold(self, *settings: str) -> Holder:
        program = self.home / "session_holder"
        flags = must("pkg-config", "--cflags", "--libs", "tenon", env=os.environ | {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig")})
        must("c++", "-std=c++20", "-O1", REPO / "tests/install/session_holder.cc", "-o", program, *flags.split())
        holder = Holder(program, self.variables, *settings)
        self.addCleanup(lambda: holder.process.poll() is None and (holder.process.kill(), holder.end()))
        return holder

    def installed_version(self, provider: str) -> tuple[str, str]:
        found = re.search(r"^Version: (\S+)-(\S+)$", self.machine.dpkg("--status", f"tenon-provider-{provider}"), re.MULTILINE)
        return found[1], found[2]

    def check_upgrade(self, holder: Holder, provider: str, version: str, revision: str, library: bytes):
        """Sessions `first` and `second`, before and after."""
        old_version, old_revision = self.installed_version(provider)
        old, new = self.library(provider, f"{old_version}-{old_revision}"), self.library(provider, f"{version}-{revision}")
        self.assertIn(f"{provider} {old_version} {old};", holder.ask("make first"))
        numbers = holder.ask("run first")
        self.assertRegex(numbers, r"^(-?0x\S+ ?)+$")

        self.machine.dpkg("--install", repacked(provider, version, revision, library))
        self.assertFalse(old.exists())
        self.assertEqual(holder.ask("run first"), numbers)
        self.assertIn(f"{provider} {version} {new};", holder.ask("make second"))
        self.assertEqual(holder.mapped(new.name), {f"{old} (deleted)", str(new)})
        again = [float.fromhex(number) for number in holder.ask("run second").split()]
        for got, wanted in zip(again, map(float.fromhex, numbers.split()), strict=True):
            self.assertAlmostEqual(got, wanted, delta=1e-5 * (1 + abs(wanted)))
        self.assertEqual(holder.ask("run first"), numbers)

    def test_a_package_that_is_installed_again_changes_nothing_for_a_running_process(self):
        holder = self.hold('select.order=["cpu"]')
        instances, numbers = holder.ask("make first"), holder.ask("run first")
        self.machine.dpkg("--install", FILES["tenon-provider-cpu"])
        self.assertEqual(holder.ask("make second"), instances)
        self.assertEqual([holder.ask("run first"), holder.ask("run second")], [numbers, numbers])
        self.assertEqual(holder.end(), 0)

    def test_a_package_that_was_built_again_is_upgraded_under_a_running_process(self):
        version, revision = self.installed_version("cpu")
        old = self.library("cpu", f"{version}-{revision}")
        # Bytes behind the last section change what the file is, not what it does.
        library, revision = old.read_bytes() + b"built again", f"{revision}+again"
        holder = self.hold('select.order=["cpu"]')
        self.check_upgrade(holder, "cpu", version, revision, library)
        self.assertEqual(holder.ask("end first"), "ended")
        self.assertEqual(holder.mapped(old.name), {str(self.library("cpu", f"{version}-{revision}"))})

        numbers = holder.ask("run second")
        self.machine.dpkg("--purge", *FILES)
        self.assertEqual(holder.ask("run second"), numbers)
        self.assertIn("wrong: ", holder.ask("make third"))
        self.assertEqual(holder.end(), 0)
        self.assertEqual(self.machine.left(), [])

    def test_a_new_version_is_upgraded_and_downgraded_under_a_running_process(self):
        if "tenon-provider-onednn" not in FILES:
            self.skipTest("the provider onednn, of which the build has two versions, is not built")
        manifest = BUILD / "fakes/next/onednn-next.tenon.json"
        content = json.loads(manifest.read_text())
        library = manifest.parent / content["library"]["path"]
        holder = self.hold('select.order=["onednn", "cpu"]', 'provider.onednn.options.claim="all"')
        version, revision = self.installed_version("onednn")
        self.check_upgrade(holder, "onednn", content["provider"]["version"], "1", library.read_bytes())

        self.machine.dpkg("--install", FILES["tenon-provider-onednn"])
        self.assertIn(f"onednn {version} {self.library('onednn', f'{version}-{revision}')};", holder.ask("make third"))
        self.assertNotIn("wrong", holder.ask("run third"))
        self.assertNotIn("wrong", holder.ask("run second"))
        self.assertEqual(holder.end(), 0)

    def test_only_what_the_user_has_stays_after_a_purge(self):
        self.assertEqual(self.machine.dpkg("--verify"), "")
        self.assertTrue(self.machine.left())
        must(self.machine.root / "usr/bin/tenon", "run", DIGITS / "digits.onnx", "--input", f"image={DIGITS / 'digit_7.png'}",
             env=self.variables)
        self.assertEqual(self.machine.dpkg("--verify"), "")
        self.machine.dpkg("--purge", *FILES)
        self.assertEqual(self.machine.left(), [])
        self.assertTrue((self.home / ".local/state/tenon").is_dir())
        places = {str(path.relative_to(self.home)) for path in self.home.glob(".*/*")}
        self.assertLessEqual(places, {".local/state", ".cache/tenon", ".cache/pocl"})


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
