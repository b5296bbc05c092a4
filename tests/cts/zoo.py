#!/usr/bin/env python3
"""zoo.py TENON_CTS FAKES_DIR [NAME...]: the kit finds what is planted.

Each row is a provider with one thing wrong, and the checks that must fail for it; the same checks must not fail for the
provider that is well. Prints what differs; exit code 1 when anything does.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing


class Planted(typing.NamedTuple):
    """`provider`: of FAKES_DIR. `fails`: checks that must. `arrange(folder)`: changes a copy of the provider first."""

    name: str
    provider: str
    fails: list
    arguments: list = []
    arrange: typing.Callable = None


def edit(change):
    """A manifest that says something else."""

    def arrange(manifest):
        data = json.loads(manifest.read_text())
        change(data)
        manifest.write_text(json.dumps(data))

    return arrange


def library_of(manifest):
    return manifest.parent / json.loads(manifest.read_text())["library"]["path"]


def append_byte(manifest):
    with library_of(manifest).open("ab") as file:
        file.write(b"x")


def change_byte(manifest):
    data = bytearray(library_of(manifest).read_bytes())
    data[-1] ^= 1
    library_of(manifest).write_bytes(data)


DEFECTS = [
    # The manifest and the file.
    Planted("no JSON", "good", ["hygiene.manifest"], arrange=lambda m: m.write_text("{")),
    Planted("no version", "good", ["hygiene.manifest"], arrange=edit(lambda d: d["provider"].pop("version"))),
    Planted("path with ..", "good", ["hygiene.manifest"], arrange=edit(lambda d: d["library"].update(path="../x.so"))),
    Planted("minors the wrong way", "good", ["hygiene.manifest"], arrange=edit(lambda d: d["abi"].update(min_minor=2))),
    Planted("double option", "good", ["hygiene.options"],
            arrange=edit(lambda d: d.update(options=[{"name": "a", "type": "int", "doc": "a"}] * 2))),
    Planted("default of another type", "good", ["hygiene.options"],
            arrange=edit(lambda d: d.update(options=[{"name": "a", "type": "int", "default": "x", "doc": "a"}]))),
    Planted("default out of bounds", "good", ["hygiene.options"],
            arrange=edit(lambda d: d.update(options=[{"name": "a", "type": "int", "default": 3, "max": 2, "doc": "a"}]))),
    Planted("one byte more", "good", ["hygiene.file"], arrange=append_byte),
    Planted("another byte", "good", ["hygiene.file"], arrange=change_byte),
    Planted("writable manifest", "good", ["hygiene.mode"], arrange=lambda m: m.chmod(0o666)),
    Planted("writable library", "good", ["hygiene.mode"], arrange=lambda m: library_of(m).chmod(0o777)),
    Planted("another processor", "good", ["hygiene.platform"], arrange=edit(lambda d: d["library"].update(arch="vax"))),
    Planted("stale note", "good", ["hygiene.note"], arrange=edit(lambda d: d["provider"].update(version="1.0.1"))),
    Planted("no note", "no_note", ["hygiene.note"]),
    Planted("imports exit", "negotiate_exits", ["hygiene.imports"]),
    Planted("imports abort", "constructor_aborts", ["hygiene.imports"]),
    # The library.
    Planted("no entry", "no_entry", ["R1"]),
    Planted("two exports", "two_exports", ["R1"]),
    Planted("unique symbol", "unique_symbol", ["R1"]),
    Planted("needs what is absent", "needs_absent", ["R7"]),
    Planted("abort in an initialiser", "constructor_aborts", ["R2"]),
    Planted("exit in an initialiser", "constructor_exits", ["R2"]),
    Planted("hang in an initialiser", "constructor_hangs", ["R2"]),
    Planted("SIGSEGV in negotiation", "negotiate_crashes", ["R2"]),
    Planted("exit in negotiation", "negotiate_exits", ["R2"]),
    Planted("exception in negotiation", "negotiate_throws", ["R2"]),
    Planted("refuses everybody", "negotiate_refuses", ["R3"]),
    Planted("future major", "future_major", ["R3"]),
    Planted("old minor", "old_minor", ["R3"]),
    Planted("another identity", "other_identity", ["R3"]),
    Planted("another sanitizer", "other_sanitizer", ["R3"]),
    Planted("accepts any host", "any_host", ["R4", "negotiation.majors", "negotiation.minors", "negotiation.sizes"]),
    Planted("refuses without a reason", "silent_refusal", ["R4", "negotiation.majors", "negotiation.minors"]),
    Planted("writes beyond the struct", "writes_beyond", ["negotiation.sizes"]),
    Planted("no table", "no_table", ["R5", "negotiation.null_slots"]),
    Planted("short table", "short_struct", ["R5"]),
    Planted("NULL slots", "null_slot", ["R5"]),
    Planted("half a group of slots", "half_stream", ["R5"]),
]


def write_manifest(fakes, provider, library):
    """For a provider that is linked by hand: as its builder would have written it."""
    data = json.loads((fakes / "defects" / "good.tenon.json").read_text())
    content = library.read_bytes()
    data["provider"].update(id=provider, name=provider)
    data["library"].update(path=str(library.relative_to(fakes / "defects")), size=len(content),
                           sha256=hashlib.sha256(content).hexdigest())  # fmt: skip
    path = fakes / "defects" / f"{provider}.kit.json"
    path.write_text(json.dumps(data))
    return path


def find_manifest(fakes, provider):
    library = fakes / "defects" / provider / "1.0.0" / f"tenon_ep_{provider}.so"
    if library.exists() and not (fakes / "defects" / f"{provider}.tenon.json").exists():
        return write_manifest(fakes, provider, library)
    for folder in (fakes / "defects", fakes / provider):
        if (folder / f"{provider}.tenon.json").exists():
            return folder / f"{provider}.tenon.json"
    sys.exit(f"zoo: no provider '{provider}' in {fakes}")


def copy_of(manifest, folder):
    """Manifest and library alone, so that they can be changed."""
    library = json.loads(manifest.read_text())["library"]["path"]
    for name in (manifest.name, library):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(manifest.parent / name, folder / name)
    return folder / manifest.name


class Zoo:
    def __init__(self, cts, fakes):
        self.cts, self.fakes, self.problems, self.count = cts, fakes, [], 0

    def statuses(self, manifest, checks, arguments):
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            filters = [word for check in checks for word in ("--filter", check)]
            command = [self.cts, manifest, *filters, *arguments, "--json", report.name]
            # A hang is told by the time limit, which the good provider shows to be enough.
            done = subprocess.run([*map(str, command), "--time-factor", os.environ.get("TENON_ZOO_TIME_FACTOR", "0.1")],
                                  capture_output=True, text=True)
            if done.returncode not in (0, 1):
                return {}, done.stdout + done.stderr
            rows = json.loads(pathlib.Path(report.name).read_text())["checks"]
            return {row["id"]: row["status"] for row in rows}, done.stdout

    def find(self, planted):
        self.count += 1
        with tempfile.TemporaryDirectory() as folder:
            manifest = find_manifest(self.fakes, planted.provider)
            if planted.arrange:
                manifest = copy_of(manifest, pathlib.Path(folder))
                planted.arrange(manifest)
            found, output = self.statuses(manifest, planted.fails, planted.arguments)
        for check in planted.fails:
            if found.get(check) != "failed":
                self.problems.append(f"{planted.name}: {check} is '{found.get(check)}', not 'failed'\n{output}")

    def keep(self, provider, checks, arguments=()):
        """The control: what is well does not fail."""
        found, output = self.statuses(find_manifest(self.fakes, provider), sorted(checks), arguments)
        bad = [check for check in checks if found.get(check) not in ("passed", "not applicable")]
        if bad:
            self.problems.append(f"{provider}, which is well: {', '.join(bad)}\n{output}")


def main():
    zoo = Zoo(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    names = sys.argv[3:]
    rows = [row for row in DEFECTS if not names or row.name in names]
    for row in rows:
        zoo.find(row)
    zoo.keep("good", {check for row in rows for check in row.fails})
    for problem in zoo.problems:
        print(problem)
    print(f"{zoo.count - len(zoo.problems)} found, {len(zoo.problems)} not")
    sys.exit(1 if zoo.problems or not zoo.count else 0)


main()
