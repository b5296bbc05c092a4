#!/usr/bin/env python3
"""imported_names.py COMPILER STAND_INS INCLUDES [--list]: what the provider cuda looks up in NVIDIA's libraries is there.

The names are those of the provider's tables (the X-macro lists in plugins/cuda/*.h), as the version macros of cuda.h make them, and those it
looks up by a literal. Each has to be exported by the stand-ins in the folder STAND_INS and, where NVIDIA's libraries are beside one of the
folders INCLUDES (separated by colons), by those and the toolkit's stub of the driver, with the same versions of symbols. The stand-ins export
nothing that NVIDIA's libraries lack, and both have the sonames that the provider opens. The stand-in for the driver exports what is in its
list (FUNCTIONS), in which its cuGetProcAddress looks names up, and nothing else. --list prints the names and does nothing else.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugins/cuda"
FUNCTIONS = ROOT / "tests/fakes/cuda/driver/functions.h"
PREFIXES = {"cuda": re.compile(r"cu[A-Z]\w*"), "nvrtc": re.compile(r"nvrtc\w+"), "cublasLt": re.compile(r"cublasLt\w+"),
            "cudnn": re.compile(r"cudnn\w+")}
HEADERS = {"cuda": "cuda.h", "nvrtc": "nvrtc.h", "cublasLt": "cublasLt.h", "cudnn": "cudnn_graph.h"}
MAJORS = {"cublasLt": "CUBLAS_VER_MAJOR", "cudnn": "CUDNN_MAJOR"}
# What each has besides: how stand-ins reach each other, and what the toolkit's stub of the driver does not list.
OWN = re.compile(r"tenon_fake_\w+|_init|_fini|_edata|_end|__bss_start")


def library_of(name: str) -> str | None:
    return next((library for library, pattern in PREFIXES.items() if pattern.fullmatch(name)), None)


def listed_names(text: str) -> list[str]:
    """The names in the lists NAME_FUNCTIONS(X) of a source."""
    lists = re.findall(r"#define \w+_FUNCTIONS\(X\)((?:.*\\\n)*.*)", text)
    return [name for entries in lists for name in re.findall(r"X\((\w+)\)", entries)]


def written_names() -> dict[str, set[str]]:
    """By library: the names in the lists, and those given to load() and symbol() as text."""
    out: dict[str, set[str]] = {library: set() for library in PREFIXES}
    for path in sorted(PLUGIN.glob("*.h")) + sorted(PLUGIN.glob("*.cc")):
        text = path.read_text()
        names = listed_names(text) + re.findall(r'(?:load|symbol)\([^;"]*"(\w+)"', text)
        for name in names:
            library = library_of(name)
            if library is not None:
                out[library].add(name)
    return out


def preprocessed(compiler: str, includes: list[str], library: str, names: list[str]) -> str:
    """A line "imported_name X;" for each name, with the macros of the library's header replaced."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.cc"
        source.write_text(f"#include <{HEADERS[library]}>\n" + "".join(f"imported_name {name};\n" for name in names))
        command = [compiler, "-E", "-P", *(f"-I{include}" for include in includes), str(source)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_names(compiler: str, includes: list[str], library: str, names: set[str]) -> set[str]:
    """The names behind the macros of the library's header: cuMemAlloc is cuMemAlloc_v2."""
    found = set(re.findall(r"imported_name (\w+);", preprocessed(compiler, includes, library, sorted(names))))
    assert len(found) == len(names), f"{library}: {len(names)} names became {len(found)}"
    return found


def exports(path: Path) -> dict[str, str]:
    """The functions of a shared object, each with its version."""
    text = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
    out = {}
    for line in text.splitlines():
        kind, name = line.split()[-2:]
        if kind in "TWiu":
            out[name.split("@")[0]] = name.partition("@@")[2]
    return out


def soname(path: Path) -> str:
    text = subprocess.run(["readelf", "-d", str(path)], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Library soname: \[(.*)\]", text)
    return found.group(1) if found else ""


def opened_name(compiler: str, includes: list[str], library: str) -> str:
    """The soname that the provider opens (plugins/cuda/library.h); some end with the major version in the library's header."""
    text = "\n".join(path.read_text() for path in sorted(PLUGIN.glob("*.cc")))
    if whole := re.search(rf'"(lib{library}\.so\.\d+)"', text):
        return whole.group(1)
    called = re.search(rf'\b(?:numbered_library\("{library}", |{library}_library\()(\w+)\)', text)
    assert called, f"the provider opens no lib{library}"
    version = called.group(1)
    if not version.isdigit():
        assert version == MAJORS[library], f"the major version of lib{library} is {version}, which is not {MAJORS[library]}"
        major = preprocessed(compiler, includes, library, [version])
        version = re.search(r"imported_name (\d+);", major).group(1)
    return f"lib{library}.so.{version}"


def nvidia_library(includes: list[str], library: str, name: str) -> Path | None:
    for include in includes:
        for folder in ("lib", "lib64"):
            place = Path(include).parent / folder
            path = place / "stubs/libcuda.so" if library == "cuda" else place / name
            if path.exists():
                return path.resolve()
    return None


class Check:
    def __init__(self) -> None:
        self.errors: list[str] = []

    def has_all(self, what: str, names: set[str], path: Path) -> bool:
        missing = sorted(names - exports(path).keys())
        self.errors += [f"{what} {path} lacks {name}" for name in missing]
        return not missing

    def same_versions(self, names: set[str], stand_in: Path, nvidia: Path) -> None:
        own, theirs = exports(stand_in), exports(nvidia)
        for name in sorted(names & own.keys() & theirs.keys()):
            if own[name] != theirs[name]:
                self.errors.append(f"{name} has version '{own[name]}' in {stand_in} and '{theirs[name]}' in {nvidia}")
        self.errors += [f"{stand_in} exports {name}, which {nvidia} does not" for name in sorted(own.keys() - theirs.keys())
                        if not OWN.fullmatch(name)]

    def lists_what_it_exports(self, listed: set[str], stand_in: Path) -> bool:
        """The stand-in for the driver and its list have the same functions."""
        own = {name for name in exports(stand_in) if not OWN.fullmatch(name)}
        wrong = [f"{FUNCTIONS} lacks {name}, which {stand_in} exports" for name in sorted(own - listed)]
        wrong += [f"{FUNCTIONS} has {name}, which {stand_in} does not export" for name in sorted(listed - own)]
        self.errors += wrong
        return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("compiler")
    parser.add_argument("stand_ins", type=Path)
    parser.add_argument("includes")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    includes = [include for include in arguments.includes.split(":") if include]
    written, check = written_names(), Check()
    compared = 0
    for library, names in written.items():
        if library == "cudnn" and not any((Path(include) / HEADERS[library]).exists() for include in includes):
            continue
        assert names, f"the provider has no table of {library}"
        names = exported_names(arguments.compiler, includes, library, names)
        if arguments.list:
            print("\n".join(f"{library} {name}" for name in sorted(names)))
            continue
        opened = opened_name(arguments.compiler, includes, library)
        stand_in = arguments.stand_ins / opened
        if not stand_in.exists():
            check.errors.append(f"there is no stand-in {stand_in}")
            continue
        # A name that nobody has is found missing, or nothing below says anything.
        assert not Check().has_all("planted:", {f"{library}NoSuchFunction"}, stand_in)
        check.has_all("the stand-in", names, stand_in)
        nvidia = nvidia_library(includes, library, opened)
        if library == "cuda":
            listed = exported_names(arguments.compiler, includes, library, set(listed_names(FUNCTIONS.read_text())))
            assert not Check().lists_what_it_exports(listed - {min(listed)}, stand_in)
            assert not Check().lists_what_it_exports(listed | {"cuNoSuchFunction"}, stand_in)
            check.lists_what_it_exports(listed, stand_in)
            if nvidia is not None:
                check.has_all("NVIDIA's", listed, nvidia)
        for path in filter(None, (stand_in, nvidia)):
            if soname(path) != opened:
                check.errors.append(f"{path} is '{soname(path)}'; the provider opens {opened}")
        if nvidia is not None:
            compared += 1
            check.has_all("NVIDIA's", names, nvidia)
            check.same_versions(names, stand_in, nvidia)
    for error in check.errors:
        print(error, file=sys.stderr)
    if not arguments.list:
        total = sum(len(names) for names in written.values())
        print(f"{total} names in {len(written)} libraries; {compared} compared with NVIDIA's; {len(check.errors)} errors")
    return 1 if check.errors else 0


if __name__ == "__main__":
    sys.exit(main())
