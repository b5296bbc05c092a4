#!/usr/bin/env python3
"""agreement.py TENON_CTS TENON FAKES_DIR: host and kit refuse the same providers and the same values of options.

A row changes a copy of a provider. Both look at it: the host by `tenon providers list`, the kit by those of its checks whose
matter a host judges too. Both must come to the verdict of the row. What the kit alone asks for, such as the imports or
a text for each option, is not looked at here.
"""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKS = ["hygiene.manifest", "hygiene.options", "hygiene.file", "hygiene.mode", "hygiene.platform", "hygiene.machine",
          "hygiene.note", "R1", "R3", "R7"]  # fmt: skip
ROWS = []


class Provider:
    """Manifest and library of a fake in a folder of its own."""

    def __init__(self, fakes: Path, name: str, folder: Path):
        source = fakes / "defects" / f"{name}.tenon.json"
        if not source.exists():
            source = fakes / name / f"{name}.tenon.json"
        self.folder = folder
        self.manifest = folder / f"{name}.tenon.json"
        if source.exists():
            data = json.loads(source.read_text())
            library = source.parent / data["library"]["path"]
        else:  # linked by hand, without a manifest
            data = json.loads((fakes / "defects" / "good.tenon.json").read_text())
            library = fakes / "defects" / name / "1.0.0" / f"tenon_ep_{name}.so"
            data["provider"].update(id=name, name=name)
            data["library"]["path"] = f"{name}/1.0.0/{library.name}"
        self.library = folder / data["library"]["path"]
        self.library.parent.mkdir(parents=True)
        shutil.copy2(library, self.library)
        self.id = data["provider"]["id"]
        self.write(data)
        self.seal()

    def read(self) -> dict:
        return json.loads(self.manifest.read_text())

    def write(self, data: dict) -> None:
        self.manifest.write_text(json.dumps(data))
        self.manifest.chmod(0o644)

    def seal(self) -> None:
        data, content = self.read(), self.library.read_bytes()
        data["library"].update(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        self.write(data)

    def add_file(self, content: bytes, said: bytes) -> None:
        """A further file of the provider, and what the manifest says of it."""
        (self.folder / "table.bin").write_bytes(content)
        data = self.read()
        data["files"] = [{"path": "table.bin", "sha256": hashlib.sha256(said).hexdigest(), "size": len(said)}]
        self.write(data)


def row(name: str, refused: bool, change=None, provider: str = "good", root: bool = False) -> None:
    """`root`: only root can arrange it."""
    ROWS.append((name, refused, change, provider, root))


def entry(name: str, refused: bool, key: str, value) -> None:
    """Another value in the manifest; the key has dots."""

    def change(p: Provider):
        data = p.read()
        *path, last = key.split(".")
        at = data
        for word in path:
            at = at.setdefault(word, {})
        at[last] = value
        p.write(data)

    row(name, refused, change)


def text(name: str, refused: bool, change) -> None:
    """Another text of the manifest."""
    row(name, refused, lambda p: (p.manifest.write_text(change(p.manifest.read_text())), p.manifest.chmod(0o644)))


def option(name: str, refused: bool, *options: dict) -> None:
    entry(name, refused, "options", [{"name": "a", "doc": "a", **o} for o in options])


row("nothing changed", False)
# Modes and owners.
row("manifest for all to write", True, lambda p: p.manifest.chmod(0o666))
row("library for all to write", True, lambda p: p.library.chmod(0o777))
row("folder for all to write", True, lambda p: p.folder.chmod(0o777))
row("folder of the library for all to write", True, lambda p: p.library.parent.chmod(0o777))
row("folder that is sticky", False, lambda p: p.folder.chmod(0o1777))
row("library for another group to write", True, lambda p: (os.chown(p.library, -1, 1), p.library.chmod(0o664)), root=True)
row("library for the owner's own group to write", False, lambda p: p.library.chmod(0o664), root=True)
row("library of another user", True, lambda p: os.chown(p.library, 12345, -1), root=True)
row("manifest of another user", True, lambda p: os.chown(p.manifest, 12345, -1), root=True)
row("folder of another user", True, lambda p: os.chown(p.folder, 12345, -1), root=True)
# Files.
row("library with another byte", True, lambda p: p.library.write_bytes(p.library.read_bytes()[:-1] + b"\1"))
row("library with a byte more", True, lambda p: p.library.write_bytes(p.library.read_bytes() + b"x"))
row("library cut short", True, lambda p: p.library.write_bytes(p.library.read_bytes()[:100]))
row("no library", True, lambda p: p.library.unlink())
row("a text as library", True, lambda p: (p.library.write_text("no library"), p.seal()))
entry("another hash", True, "library.sha256", "0" * 64)
entry("a hash in capitals", True, "library.sha256", "A" * 64)
entry("size 0", True, "library.size", 0)
entry("size as text", True, "library.size", "12")
row("another file that is right", False, lambda p: p.add_file(b"1", b"1"))
row("another file with another content", True, lambda p: p.add_file(b"1", b"2"))
row("another file for all to write", True, lambda p: (p.add_file(b"1", b"1"), (p.folder / "table.bin").chmod(0o666)))
row("another file that is absent", True, lambda p: (p.add_file(b"1", b"1"), (p.folder / "table.bin").unlink()))
for path in ("../x.so", "/usr/lib/x.so", "a\\b.so", "a:b.so", ""):
    entry(f"path '{path}'", True, "library.path", path)
# The machine.
entry("another system", True, "library.os", "windows")
entry("another processor", True, "library.arch", "aarch64" if platform.machine() == "x86_64" else "x86_64")
entry("a processor that nobody has", True, "library.arch", "vax")
entry("an unknown feature of processors", True, "library.cpu_features", ["warp_drive"])
entry("features as text", True, "library.cpu_features", "avx2")
if platform.machine() == "x86_64":
    entry("another name of the processor", False, "library.arch", "amd64")
    entry("a known feature of processors", False, "library.cpu_features", ["sse2"])
entry("a newer C library", True, "library.libc", "glibc 99.0")
entry("an older C library", False, "library.libc", "glibc 2.2")
entry("another C library", True, "library.libc", "musl 1.2")
entry("a C library without meaning", True, "library.libc", "glibc two")
entry("an unknown sanitizer", True, "library.sanitizer", "fast")
entry("a required file that is absent", True, "requires.files", ["/nonexistent/firmware"])
entry("a required file", False, "requires.files", ["/"])
# ABI, note and library.
entry("minors the wrong way", True, "abi.min_minor", 99)
entry("another major", True, "abi.major", 7)
entry("a newer minor", True, "abi", {"major": 0, "min_minor": 99, "max_minor": 99})
entry("another id", True, "provider.id", "other")
entry("another version", True, "provider.version", "1.0.1")
entry("a newer manifest", True, "manifest_version", 2)
row("no note", True, provider="no_note")
row("no entry", True, provider="no_entry")
row("two exports", True, provider="two_exports")
row("a unique symbol", True, provider="unique_symbol")
row("needs what is absent", True, provider="needs_absent")
row("answers with another identity", True, provider="other_identity")
row("refuses everybody", True, provider="negotiate_refuses")
# The manifest's text.
text("no JSON", True, lambda t: t[:-1])
text("a list", True, lambda t: "[]")
text("nothing", True, lambda t: "")
text("a key twice", True, lambda t: '{"priority": 1, "priority": 2, ' + t[1:])
text("an integer above 63 bits", True, lambda t: '{"x-big": 9223372036854775808, ' + t[1:])
text("null as a member", False, lambda t: '{"signature": null, ' + t[1:])
text("null in a list", True, lambda t: '{"x-list": [null], ' + t[1:])
text("nested 32 deep", False, lambda t: '{"x-deep": ' + "[" * 31 + "]" * 31 + ", " + t[1:])
text("nested 33 deep", True, lambda t: '{"x-deep": ' + "[" * 32 + "]" * 32 + ", " + t[1:])
text("1 MiB and more", True, lambda t: t + " " * (1 << 20))
entry("an unknown key", False, "x-note", {"a": 1})
entry("an unknown key of a part", False, "library.x-note", 1)
entry("no vendor", True, "provider.vendor", "")
entry("an id in capitals", True, "provider.id", "Good")
entry("a version of two numbers", True, "provider.version", "1.0")
entry("opsets", False, "opsets", {"": [1, 22]})
entry("opsets the wrong way", True, "opsets", {"": [22, 1]})
entry("one opset", True, "opsets", {"": [22]})
entry("an unknown way of isolation", True, "traits.isolation", ["moon"])
entry("a trait as text", True, "traits.unloadable", "yes")
entry("an unknown kind of device", True, "devices", [{"kind": "tpu"}])
entry("a priority out of range", True, "priority", 2000000)
entry("a table outside of the folder", True, "ops_file", "../ops.txt")
# Options in the manifest.
option("an option", False, {"type": "int", "default": 3, "min": 1, "max": 4})
option("an option twice", True, {"type": "int"}, {"type": "int"})
option("an option without a name", True, {"name": "", "type": "int"})
option("an option of unknown type", True, {"type": "list"})
option("a default of another type", True, {"type": "int", "default": "x"})
option("a fraction for an integer", True, {"type": "int", "default": 1.5})
option("an integer for a fraction", False, {"type": "float", "default": 1, "max": 1})
option("a default out of bounds", True, {"type": "int", "default": 5, "max": 4})
option("bounds the wrong way", True, {"type": "int", "min": 5, "max": 4})
option("a bound that is no number", True, {"type": "int", "max": "many"})
option("a bound of a size as text", False, {"type": "size", "default": "4 MiB", "max": "1GiB"})
option("a size out of bounds", True, {"type": "size", "default": "2GiB", "max": "1GiB"})
option("a size without meaning", True, {"type": "size", "default": "4 parsec"})
option("a negative size", True, {"type": "size", "default": -1})
option("a default among the values", False, {"type": "string", "default": "a", "values": ["a", "b"]})
option("a default outside of the values", True, {"type": "string", "default": "c", "values": ["a", "b"]})
option("values of a size as text", False, {"type": "size", "default": 1048576, "values": ["1MiB", "2MiB"]})
option("a value of another type", True, {"type": "int", "values": [1, "two"]})
option("a list as value", True, {"type": "int", "values": [[1]]})

# Values that a user gives: options of the manifest, the kit's --option, and the same in TOML.
OPTIONS = [{"name": "tiles", "type": "int", "min": 1, "max": 64, "doc": "t"},
           {"name": "ratio", "type": "float", "min": 0, "max": 1, "doc": "r"},
           {"name": "pool", "type": "size", "max": "1GiB", "doc": "p"},
           {"name": "fast", "type": "bool", "doc": "f"},
           {"name": "mode", "type": "string", "values": ["a", "b"], "doc": "m"}]  # fmt: skip
GIVEN = [
    ("tiles=64", "tiles = 64", False), ("tiles=99", "tiles = 99", True), ("tiles=0", "tiles = 0", True),
    ("tiles=many", 'tiles = "many"', True), ("tiles=1.5", "tiles = 1.5", True), ("tiles=true", "tiles = true", True),
    ("ratio=1", "ratio = 1", False), ("ratio=0.5", "ratio = 0.5", False), ("ratio=1.01", "ratio = 1.01", True),
    ("pool=1GiB", 'pool = "1GiB"', False), ("pool=1.5 GiB", 'pool = "1.5 GiB"', True), ("pool=4 parsec", 'pool = "4 parsec"', True),
    ("pool=4TB", 'pool = "4TB"', True), ("fast=true", "fast = true", False), ("fast=1", "fast = 1", True),
    ("mode=b", 'mode = "b"', False), ("mode=c", 'mode = "c"', True), ("speed=1", "speed = 1", True),
]  # fmt: skip


class Judges:
    def __init__(self, cts: Path, tenon: Path, home: Path):
        self.cts, self.tenon, self.home = cts, tenon, home

    def environment(self, manifest: Path) -> dict:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
        state = {f"XDG_{name}_HOME": str(self.home) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        return kept | state | {"HOME": str(self.home), "TENON_PROVIDER_FILES": str(manifest), "LC_ALL": "C.UTF-8"}

    def call(self, manifest: Path, *words) -> tuple[int, str]:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300,
                              env=self.environment(manifest), errors="replace")  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def kit(self, p: Provider, *words: str) -> tuple[bool, str]:
        filters = [word for check in CHECKS for word in ("--filter", check)]
        code, said = self.call(p.manifest, self.cts, p.manifest, *filters, *words)
        assert code in (0, 1, 2), (code, said)
        return code != 0, said

    def host(self, p: Provider) -> tuple[bool, str]:
        code, said = self.call(p.manifest, self.tenon, "providers", "list", "--format", "json")
        assert said.startswith("["), (code, said)
        entries = [e for e in json.loads(said) if e["manifest"].startswith(str(p.folder))]
        assert len(entries) == 1, (code, said)
        return entries[0]["verdict"] == "refused", json.dumps(entries[0], indent=1)

    def host_config(self, p: Provider, toml: str) -> tuple[bool, str]:
        config = p.folder / "tenon.toml"
        config.write_text(f"[provider.{p.id}.options]\n{toml}\n")
        code, said = self.call(p.manifest, self.tenon, "config", "check", config)
        assert code in (0, 11), (code, said)
        # That the provider runs nothing on this machine is another matter.
        return f"option '{toml.split(' = ')[0]}'" in said or f"options.{toml.split(' = ')[0]}" in said, said


def main() -> None:
    cts, tenon, fakes = (Path(word).resolve() for word in sys.argv[1:4])
    problems = []

    def compare(name: str, refused: bool, kit: tuple[bool, str], host: tuple[bool, str]) -> None:
        for judge, (verdict, said) in (("kit", kit), ("host", host)):
            if verdict != refused:
                problems.append(f"{name}: the {judge} {'refuses' if verdict else 'accepts'} it, which is wrong:\n{said}")

    # Beside the fakes, not in the folder for temporary files: that one is sticky, and its files may belong to anyone.
    count = 0
    with tempfile.TemporaryDirectory(dir=fakes.parent, prefix="agreement.") as top:
        os.chmod(top, 0o755)

        def fresh(number: int, provider: str) -> tuple[Provider, Judges]:
            folder, home = Path(top) / f"{number}" / "p", Path(top) / f"{number}" / "home"
            folder.mkdir(parents=True)
            home.mkdir()
            return Provider(fakes, provider, folder), Judges(cts, tenon, home)

        for number, (name, refused, change, provider, root) in enumerate(ROWS):
            if root and os.geteuid() != 0:
                continue
            count += 1
            p, judges = fresh(number, provider)
            if change:
                change(p)
            compare(name, refused, judges.kit(p), judges.host(p))
        p, judges = fresh(len(ROWS), "good")
        p.write(p.read() | {"options": OPTIONS})
        for words, toml, refused in GIVEN:
            count += 1
            compare(f"--option {words}", refused, judges.kit(p, "--option", words), judges.host_config(p, toml))
    for problem in problems:
        print(problem)
    print(f"agreement: {count} rows, {len(problems)} problems")
    sys.exit(bool(problems))


main()
