#!/usr/bin/env python3
"""zoo.py TENON_CTS FAKES_DIR [NAME...]: the kit finds what is planted.

Each row is a provider with one thing wrong, and the checks that must fail for it, each asked alone; the same checks must not
fail for the provider that is well. Each row of ROOTS is a cause of many failures: of all checks, one fails with the cause and
a cure, and those behind it say "not reached". Prints what differs; exit code 1 when anything does.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import typing


class Planted(typing.NamedTuple):
    """`provider`: of FAKES_DIR. `fails`: checks that must. `arrange(manifest)`: changes a copy of the provider first."""

    name: str
    provider: str
    fails: list
    arguments: list = []
    arrange: typing.Callable = None
    environment: dict = {}


class Root(typing.NamedTuple):
    """`check`: the only one that fails. `says`: words of its message, `cure`: of its cure."""

    name: str
    provider: str
    check: str
    says: str
    cure: str
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


def patch_library(change):
    """Other bytes in the library, and a manifest that knows of them."""

    def arrange(manifest):
        path = library_of(manifest)
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)
        edit(lambda d: d["library"].update(sha256=hashlib.sha256(data).hexdigest(), size=len(data)))(manifest)

    return arrange


def absolute_runpath(data):
    at = data.index(b"$ORIGIN\0")
    data[at : at + 7] = b"/opt/xy"


def executable_stack(data):
    """PT_GNU_STACK gets PF_X."""
    offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags = struct.unpack_from("<II", data, offset + i * size)
        if kind == 0x6474E551:
            struct.pack_into("<I", data, offset + i * size + 4, flags | 1)


def rule(number, check=None, device="well"):
    """The rule breaker, which the host's tests use too."""
    arguments = ["--device", device, "--option", f"rule={number}"]
    return Planted(f"rule breaker {number}", "rule_breaker", [check or f"R{number}"], arguments)


def kit(what, check=None, device="host"):
    """The kit breaker: the check is the part before the dot."""
    name = check or (what.split(".")[0] if what.startswith("R") else what)
    return Planted(f"kit breaker {what} on {device}", "kit_breaker", [name], ["--device", device],
                   environment={"KIT_BREAKER": what})  # fmt: skip


DEFECTS = [
    # The manifest and the file.
    Planted("no JSON", "good", ["hygiene.manifest"], arrange=lambda m: m.write_text("{")),
    Planted("no version", "good", ["hygiene.manifest"], arrange=edit(lambda d: d["provider"].pop("version"))),
    Planted("path with ..", "good", ["hygiene.manifest"], arrange=edit(lambda d: d["library"].update(path="../x.so"))),
    Planted("minors the wrong way", "good", ["hygiene.manifest"], arrange=edit(lambda d: d["abi"].update(min_minor=99))),
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
    Planted("absolute RUNPATH", "good", ["hygiene.runpath"], arrange=patch_library(absolute_runpath)),
    Planted("executable stack", "good", ["hygiene.segments"], arrange=patch_library(executable_stack)),
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
    Planted("accepts its own minor alone", "exact_minor", ["negotiation.minors", "negotiation.tables"]),
    Planted("reads beyond the host's table", "reads_beyond", ["negotiation.tables"]),
    Planted("refuses without a reason", "silent_refusal", ["R4", "negotiation.majors", "negotiation.minors"]),
    Planted("writes beyond the struct", "writes_beyond", ["negotiation.sizes"]),
    Planted("no table", "no_table", ["R5", "negotiation.null_slots"]),
    Planted("short table", "short_struct", ["R5"]),
    Planted("NULL functions", "null_slot", ["R5"]),
    Planted("half a group of functions", "half_stream", ["R5"]),
    Planted("a map without unmap", "half_map", ["R5"]),
    Planted("recordings without streams", "half_record", ["R5"]),
    Planted("times without streams", "half_times", ["R5"]),
    # The provider and its devices.
    Planted("create fails", "create_fails", ["lifecycle.once"]),
    Planted("exception in create", "create_throws", ["R8", "lifecycle.once"]),
    Planted("hang in enumerate", "enumerate_hangs", ["R15"]),
    Planted("SIGSEGV in enumerate", "enumerate_crashes", ["R8", "R15"]),
    Planted("exception in enumerate", "enumerate_throws", ["R8", "R15"]),
    Planted("_exit in enumerate", "enumerate_exits", ["R8", "R15"]),
    Planted("SIGSEGV in destroy", "destroy_crashes", ["R8"]),
    Planted("no device", "no_device", ["lifecycle.once"]),
    Planted("for another system", "good", ["hygiene.system"], arrange=edit(lambda d: d["library"].update(os="plan9"))),
    Planted("for a newer C library", "good", ["hygiene.machine"], arrange=edit(lambda d: d["library"].update(libc="glibc 99.0"))),
    # Rules that the host checks while it runs.
    rule(17, device="crooked-domain"), rule(18, device="crooked-memory"),
    *(rule(number) for number in (22, 23, 24, 25, 26, 27, 28, 32, 33, 34, 35, 36, 40)),
    rule(37, "R33"), rule(41, "R40"),
    # Rules that only the kit can tell.
    kit("R7.null_slots", "R7.null_slots"),
    *(kit(what) for what in (
        "R6", "R8.enumerate", "R8.run", "R8.abort", "R9.rounding", "R9.directory", "R9.environment", "R9.locale",
        "R10.success", "R10.silent", "R11", "R11.out", "R12.flags", "R12.type", "R13", "R14", "R15.order", "R15.double",
        "R15.uuid", "R15.pci", "R16.any",
        "R16.leak", "R21", "R29", "R30.write", "R30.consumed", "R30.early", "R31", "R35.overwrite", "R36.overrun", "R36.stale", "R37",
        "R38", "R39.short", "R39.overrun", "R39.input", "R40", "R41.memory", "R41.lock", "R42", "R43", "R44", "R45", "R46",
        "R47", "R49", "R49.points", "R49.timeout", "R49.unknown", "R50", "R52", "R53", "R54", "R55", "R56.early", "R56.once",
        "R56.dropped", "R56.elsewhere", "R57", "lifecycle.x100", "lifecycle.instances", "injection.host_memory",
        "injection.claim_sink", "injection.device_sink", "operators.probes")),
    *(kit(what, what) for what in ("R13.devices", "R13.recordings", "R13.runs", "R13.streams", "R49.errors")),
    *(kit(what, "R59") for what in ("R59.again", "R59.clock", "R59.id", "R59.name", "R59.order", "R59.turned", "R59.untimed")),
    kit("R59.recordings", "R59.recordings"), *(kit(what) for what in ("R60.future", "R60.past", "R60.turned")),
    *(kit(what, "R49.errors") for what in ("R49.errors.flag", "R49.errors.place")),
    *(kit(what, what, device="own") for what in ("R13.maps", "R13.memory", "R56.copies")),
    *(kit(what, device="own") for what in (
        "R17.staging", "R17.two", "R18", "R18.address", "R19", "R20", "R20.write", "R36.overrun", "R39.overrun", "R39.short",
        "R46", "R48", "R55", "R57", "R58")),
]


def fault(what):
    return ["--option", f"fault={what}"]


ONCE = "lifecycle.once"
ROOTS = [
    Root("no JSON", "good", "hygiene.manifest", "cannot be read", "write JSON", arrange=lambda m: m.write_text("{")),
    Root("no vendor", "good", "hygiene.manifest", "lacks 'vendor'", "manifest.schema.json",
         arrange=edit(lambda d: d["provider"].pop("vendor"))),
    Root("wrong default", "good", "hygiene.options", "not of type int", "default",
         arrange=edit(lambda d: d.update(options=[{"name": "a", "type": "int", "default": "x", "doc": "a"}]))),
    Root("no library", "good", "hygiene.file", "cannot be read", "install", arrange=lambda m: library_of(m).unlink()),
    Root("library cut short", "good", "hygiene.file", "has 100 bytes", "--seal",
         arrange=lambda m: library_of(m).write_bytes(library_of(m).read_bytes()[:100])),
    Root("manifest of another processor", "good", "hygiene.platform", "the manifest says vax", "build",
         arrange=edit(lambda d: d["library"].update(arch="vax"))),
    Root("another system", "good", "hygiene.system", "this host is", "on a machine",
         arrange=lambda m: (library_of(m).write_bytes(b"MZ"), reseal(m), edit(lambda d: d["library"].update(os="windows"))(m))),
    Root("lacking feature", "good", "hygiene.machine", "warp_drive", "cpu_features",
         arrange=edit(lambda d: d["library"].update(cpu_features=["warp_drive"]))),
    Root("no entry", "no_entry", "R1", "does not export tenon_ep_negotiate", "TENON_PROVIDER"),
    Root("needs what is absent", "needs_absent", "R7", "dynamic loader refuses", "link"),
    Root("refuses everybody", "negotiate_refuses", "R3", "refuses a host", "reason"),
    Root("exception in negotiation", "negotiate_throws", "R3", "an exception came out of tenon_ep_negotiate", "TENON_PROVIDER"),
    Root("no table", "no_table", "R5", "no function table", "api"),
    Root("NULL functions", "null_slot", "R5", "compile", "TENON_PROVIDER"),
    Root("create fails", "create_fails", ONCE, "provider_create: the firmware is too old", "message"),
    Root("exception in create", "create_throws", ONCE, "an exception came out of provider_create", "catch"),
    Root("hang in enumerate", "enumerate_hangs", ONCE, "no answer within", "debugger"),
    Root("exception in enumerate", "enumerate_throws", ONCE, "an exception came out of enumerate_devices", "catch"),
    Root("no device", "no_device", ONCE, "finds no device", "where there is one"),
    Root("another device", "accelerator", ONCE, "no device 'fake-99'", "fake-0", ["--device", "fake-99"]),
    Root("device_open fails", "open_fails", ONCE, "device_open", "--device"),
    Root("instance_create fails", "good", ONCE, "instance_create", "--option"),
    Root("no instance", "accelerator", ONCE, "instance_create", "--option", fault("instance")),
    Root("capability fails", "accelerator", ONCE, "capability", "reject", fault("capability")),
    Root("nothing is claimed", "accelerator", ONCE, "claims no probe", "--cases", ["--option", "ops=Nobody"]),
    Root("nothing compiles", "accelerator", ONCE, "compile", "reject in capability", fault("compile")),
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


def reseal(manifest):
    data = library_of(manifest).read_bytes()
    edit(lambda d: d["library"].update(sha256=hashlib.sha256(data).hexdigest(), size=len(data)))(manifest)


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
    def __init__(self, cts, fakes, sanitized):
        self.cts, self.fakes, self.problems, self.count = cts, fakes, [], 0
        # The kit cannot watch who takes memory where a sanitizer has replaced malloc.
        self.blind = {"R41"} if sanitized else set()
        # A hang is told by the time limit, which the good provider shows to be enough.
        self.time_factor = "0.5" if sanitized else "0.1"
        listing = subprocess.run([cts, "--list"], capture_output=True, text=True, check=True).stdout
        self.all_checks = dict(line.split("\t") for line in listing.splitlines())

    def rows(self, manifest, checks, arguments, environment):
        """The rows of the report by id, and what was printed."""
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            filters = [word for check in checks for word in ("--filter", check)]
            command = [self.cts, manifest, *filters, *arguments, "--format", "json", "--output", report.name]
            done = subprocess.run([*map(str, command), "--time-factor", self.time_factor],
                                  capture_output=True, text=True, env={**os.environ, **environment})
            if done.returncode not in (0, 1):
                return {}, done.stdout + done.stderr
            report = json.loads(pathlib.Path(report.name).read_text())
            rows = {row["id"]: row for row in report["checks"]}
            failed = any(row["status"] == "failed" for row in rows.values())
            if failed != (done.returncode == 1):
                self.problems.append(f"{manifest.name}: exit code {done.returncode}, which is wrong\n{done.stdout}")
            return rows, done.stdout

    def statuses(self, *arguments):
        rows, output = self.rows(*arguments)
        return {name: row["status"] for name, row in rows.items()}, output

    def arranged(self, planted, folder):
        manifest = find_manifest(self.fakes, planted.provider)
        if planted.arrange:
            manifest = copy_of(manifest, pathlib.Path(folder))
            planted.arrange(manifest)
        return manifest

    def find(self, planted):
        self.count += 1
        with tempfile.TemporaryDirectory() as folder:
            manifest = self.arranged(planted, folder)
            for check in planted.fails:
                found, output = self.statuses(manifest, [check], planted.arguments, planted.environment)
                if check in self.blind and found.get(check) == "not applicable":
                    continue
                if found.get(check) != "failed":
                    self.problems.append(f"{planted.name}: {check} is '{found.get(check)}', not 'failed'\n{output}")

    def find_root(self, root):
        self.count += 1
        with tempfile.TemporaryDirectory() as folder:
            rows, output = self.rows(self.arranged(root, folder), [], root.arguments, {})
            late, _ = self.rows(self.arranged(root, folder + "/again"), ["R38"], root.arguments, {})
        wrong = []
        failed = [name for name, row in rows.items() if row["status"] == "failed"]
        if failed != [root.check]:
            wrong.append(f"{failed} fail, not {root.check} alone")
        else:
            row = rows[root.check]
            wrong += [f"'{words}' is not in its {key}" for key, words in (("message", root.says), ("cure", root.cure))
                      if words not in row[key]]  # fmt: skip
        behind = {name: row for name, row in rows.items() if row["status"] == "not reached"}
        wrong += [f"{name} is not reached because of '{row['message']}'" for name, row in behind.items()
                  if row["message"] != root.check]  # fmt: skip
        if "R38" not in behind or len(rows) != len(self.all_checks):
            wrong.append(f"{len(rows)} checks, {len(behind)} not reached")
        if f", {len(behind)} not reached" not in output:
            wrong.append("the summary does not count what is not reached")
        # A check behind the step tells the cause itself when no other one does.
        if root.says not in late.get("R38", {}).get("message", "") or late["R38"]["status"] != "failed":
            wrong.append(f"R38 alone: {late}")
        if wrong:
            self.problems.append(f"{root.name}: {'; '.join(wrong)}\n{output}")

    def keep(self, provider, checks, arguments):
        """The control: what is well does not fail."""
        found, output = self.statuses(find_manifest(self.fakes, provider), sorted(checks), arguments, {})
        bad = [check for check in checks if found.get(check) not in ("passed", "not applicable")]
        if bad:
            self.problems.append(f"{provider}, which is well: {', '.join(bad)}\n{output}")


def gaps(checks):
    """Rules without a check, and checks that nothing here shows to fail."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "ep-sdk" / "RULES.md").read_text()
    rules = re.findall(r"^\| (R\d+)(?: \*)? \|", text, re.MULTILINE)
    testable = {name for name, title in checks.items() if not title.startswith("not testable from outside: ")}
    shown = {check for row in DEFECTS for check in row.fails}
    missing = [f"{name} of RULES.md has no check" for name in rules if name not in checks]
    missing += [f"nothing shows that {name} can fail" for name in sorted(testable - shown)]
    return missing + [f"there is no check {name}" for name in sorted(shown - testable)]


def main():
    zoo = Zoo(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), "--sanitized" in sys.argv)
    names = [word for word in sys.argv[3:] if word != "--sanitized"]
    rows = [row for row in DEFECTS if not names or row.name in names]
    if not names:
        zoo.problems += gaps(zoo.all_checks)
    for row in rows:
        zoo.find(row)
    for root in ROOTS:
        if not names or root.name in names:
            zoo.find_root(root)
    # The provider that is well can do nothing, so only what comes before doing is asked of it.
    early = ("hygiene", "negotiation", "R1", "R2", "R3", "R4", "R5", "R7")
    for provider, arguments in (("good", []), ("rule_breaker", ["--device", "well", "--option", "rule=0"]),
                                ("kit_breaker", ["--device", "host"]), ("kit_breaker", ["--device", "own"])):  # fmt: skip
        checks = {check for row in rows for check in row.fails if row.provider != "kit_breaker" or provider == "kit_breaker"}
        if provider == "good":
            checks = {check for check in checks if check.split(".")[0] in early}
        zoo.keep(provider, checks, arguments)
    for problem in zoo.problems:
        print(problem)
    print(f"{zoo.count} planted, {len(zoo.problems)} problems")
    sys.exit(1 if zoo.problems or not zoo.count else 0)


main()
