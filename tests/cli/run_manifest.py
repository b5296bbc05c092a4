#!/usr/bin/env python3
"""A row for every field of a provider's manifest: two values, two effects, or the refusal.

    run_manifest.py build/release/bin/tenon [--filter TEXT]

The fields are the leaves of ep-sdk/manifest.schema.json; one without a row fails. A row gives the cpu provider's own manifest two
values of the field and looks at what `tenon` then does: the provider's verdict, what a Run or a choice comes to, what is shown to
people. The effects must differ. A field that the schema calls "for people" must change nothing, and be refused when its value is of
another type. Prints a line for each failure, then `N passed, N failed`; ends with 1 when one failed.
"""

import argparse
import copy
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import command
import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
FREE = ("For people", "Kept")
EXTRA = b"a table that belongs to the provider\n"


def leaves(schema: dict, path: str = "", people: bool = False) -> dict[str, bool]:
    """{"library.path": whether the schema says that no host looks at it}; lists have [] behind their name."""
    people = people or any(word in schema.get("description", "") for word in FREE)
    inner = schema.get("properties") or (schema.get("items", {}).get("properties") and schema["items"]["properties"])
    if not inner:
        return {path: people}
    name = path + ("[]" if schema.get("type") == "array" else "")
    found = {}
    for key, child in inner.items():
        found |= leaves(child, f"{name}.{key}".lstrip("."), people)
    # One remark on an entry may speak of the whole list: "For people, as is the whole list".
    whole = any("as is the whole list" in child.get("description", "") for child in inner.values())
    return {key: value or whole for key, value in found.items()}


class Bench:
    """A folder with the cpu provider, whose manifest can be changed."""

    def __init__(self, tenon: Path, folder: Path):
        self.tenon, self.folder = tenon, folder
        installed = tenon.parents[1] / "lib" / "tenon" / "providers.d" / "cpu.tenon.json"
        self.manifest = json.loads(installed.read_text())
        library = installed.parent / self.manifest["library"]["path"]
        self.library = folder / self.manifest["library"]["path"]
        self.library.parent.mkdir(parents=True)
        shutil.copy(library, self.library)
        (folder / "table.bin").write_bytes(EXTRA)
        one = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])  # noqa: E731
        nodes = [helper.make_node("Neg", ["c"], ["d"]), helper.make_node("Add", ["x", "d"], ["y"])]
        graph = helper.make_graph(nodes, "g", [one("x")], [one("y")], [numpy_helper.from_array(np.ones(2, np.float32), "c")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        (folder / "m.onnx").write_bytes(model.SerializeToString())

    def write(self, changes: dict) -> None:
        """Dotted names and their values; ... leaves what is there."""
        manifest = copy.deepcopy(self.manifest)
        for name, value in changes.items():
            *path, last = name.split(".")
            at = manifest
            for key in path:
                at = at.setdefault(key, {})
            if value is not ...:
                at[last] = value
        (self.folder / "cpu.tenon.json").write_text(json.dumps(manifest))

    def start(self, *args: str, also: str = "") -> subprocess.CompletedProcess:
        files = f"{self.folder}/cpu.tenon.json" + (f":{also}" if also else "")
        environment = command.clean_environment(self.folder, {"TENON_PROVIDER_FILES": files})
        return subprocess.run([self.tenon, *args], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def entry(self, changes: dict) -> dict:
        """What `providers list` says of it, without the name of the folder."""
        self.write(changes)
        done = self.start("providers", "list", "--format", "json")
        entries = [e for e in json.loads(done.stdout) if e["manifest"].startswith(str(self.folder))]
        return json.loads(json.dumps(entries[0]).replace(str(self.folder), "")) if entries else {"none": done.stderr}

    def verdict(self, changes: dict) -> list[str]:
        entry = self.entry(changes)
        return [entry["verdict"], entry["refusal"]]

    def run(self, changes: dict, *args: str) -> list:
        self.write(changes)
        done = self.start("run", "m.onnx", "--provider", "cpu", "--input", "x=zeros", *args)
        return [done.returncode, done.stderr.replace(str(self.folder), "")]


ROWS, WORDS = {}, {}


def verdicts(field: str, good, bad, refusal: str, **also) -> None:
    """`bad` is refused with this code, `good` is not."""
    def row(bench: Bench):
        key = also.get("key", field)
        effects = [bench.verdict(also.get("with_it", {}) | {key: value}) for value in (good, bad)]
        assert effects == [["usable", ""], ["refused", refusal]], effects
    ROWS[field] = row


def shown(field: str, first, second, look) -> None:
    def row(bench: Bench):
        effects = [look(bench.entry({field: value})) for value in (first, second)]
        assert effects == [first, second], effects
    ROWS[field] = row


def nothing(field: str, first, second, wrong, key: str = "") -> None:
    """For people: no effect, and another type is refused."""
    def row(bench: Bench):
        effects = [bench.entry({key or field: value}) for value in (first, second)]
        assert effects[0] == effects[1], effects
        assert effects[0]["verdict"] == "usable", effects
        refused = bench.verdict({key or field: wrong})
        assert refused == ["refused", "E_MANIFEST_SYNTAX"], refused
    ROWS[field] = row
    WORDS[field] = "people"


verdicts("manifest_version", 1, 2, "E_MANIFEST_VERSION")
verdicts("provider.id", "cpu", "other", "E_NOTE_MISMATCH")
shown("provider.name", "Some CPU", "Another", lambda entry: entry["name"])
shown("provider.vendor", "Some vendor", "Another", lambda entry: entry["vendor"])
verdicts("provider.version", "0.1.0", "0.1.1", "E_NOTE_MISMATCH")
verdicts("abi.major", 0, 9, "E_ABI_TOO_NEW")


def min_minor(bench: Bench):
    good = bench.verdict({})
    bad = bench.verdict({"abi.min_minor": 99, "abi.max_minor": 99})
    assert [good, bad] == [["usable", ""], ["refused", "E_ABI_TOO_NEW"]], (good, bad)


ROWS["abi.min_minor"] = min_minor
verdicts("abi.max_minor", 3, 2, "E_ABI_TOO_OLD", with_it={"abi.min_minor": 2})
verdicts("library.path", "cpu/0.1.0/tenon_ep_cpu.so", "table.bin", "E_SHA_MISMATCH")
verdicts("library.sha256", ..., "0" * 64, "E_SHA_MISMATCH")
verdicts("library.size", ..., 12345, "E_SHA_MISMATCH")
verdicts("library.os", "linux", "windows", "E_ARCH")
verdicts("library.arch", ..., "z80", "E_ARCH")
verdicts("library.libc", "glibc 2.2", "glibc 99.0", "E_LIBC")
verdicts("library.cpu_features", [], ["no-such-feature"], "E_CPU")
verdicts("library.sanitizer", "none", "memory", "E_SANITIZER")
FILE = {"path": "table.bin", "sha256": hashlib.sha256(EXTRA).hexdigest(), "size": len(EXTRA)}
verdicts("files[].path", [FILE], [FILE | {"path": "gone.bin"}], "E_LOAD", key="files")
verdicts("files[].sha256", [FILE], [FILE | {"sha256": "0" * 64}], "E_SHA_MISMATCH", key="files")
verdicts("files[].size", [FILE], [FILE | {"size": 3}], "E_SHA_MISMATCH", key="files")
verdicts("requires.sonames", ["libc.so.6"], ["libno_such_thing.so.9"], "E_DEP_MISSING")
verdicts("requires.files", ["/dev/null"], ["/no/such/file"], "E_DEP_MISSING")


def hint(bench: Bench):
    cures = [bench.entry({"requires.sonames": ["libno_such_thing.so.9"], "requires.hint": text})["cure"] for text in ("install the one", "install the other")]
    assert "install the one" in cures[0] and "install the other" in cures[1], cures


ROWS["requires.hint"] = hint
nothing("devices[].kind", [{"kind": "cpu"}], [{"kind": "other"}], [{"kind": "toaster"}], key="devices")
nothing("devices[].pci_vendor", [{"kind": "cpu"}], [{"kind": "cpu", "pci_vendor": "0x10de"}], [{"kind": "cpu", "pci_vendor": 3}], key="devices")


def completes(bench: Bench):
    """Constants are computed at load by a provider that completes; else the node stays."""
    counts = []
    for value in (True, False):
        bench.write({"traits.completes": value})
        done = bench.start("explain", "m.onnx", "--provider", "cpu", "--format", "json")
        counts.append(done.stdout.count('"op"'))
    assert counts[0] < counts[1], counts


ROWS["traits.completes"] = completes
nothing("traits.isolation", ["inproc"], ["inproc", "process"], ["vacuum"])
ROWS["traits.unloadable"] = "tests/unit/host/provider/registry_test.cc"  # seen inside a process: whether the library stays
nothing("traits.fork_safe", True, False, "yes")


def deterministic(bench: Bench):
    taken, refused = (bench.run({"traits.deterministic": value}, "--set", "precision.deterministic=true") for value in (True, False))
    assert taken[0] == 0, taken
    assert refused[0] == command.EXIT_CODES["unsupported"] and "deterministic" in refused[1], refused


ROWS["traits.deterministic"] = deterministic
nothing("opsets", {"": [7, 21]}, {"": [8, 9]}, {"": [9, 8]})
nothing("ops_file", "table.bin", "gone.txt", "../table.bin")


def option(**fields) -> list[dict]:
    return [{"name": "tiles", "type": "int"} | fields]


def option_row(field: str, first: list, second: list, value: str, words: str):
    """With the first declaration the value is taken by the host; with the second it is refused in these words."""
    def row(bench: Bench):
        taken, refused = (bench.run({"options": declared}, "--set", f"provider.cpu.options.tiles={value}") for declared in (first, second))
        assert words not in taken[1], taken
        assert refused[0] == command.EXIT_CODES["config error"] and words in refused[1], refused
    ROWS[field] = row


option_row("options[].name", option(), option(name="other"), "3", "tiles")
option_row("options[].type", option(), option(type="bool"), "3", "must be")
option_row("options[].min", option(min=1), option(min=5), "3", "5")
option_row("options[].max", option(max=9), option(max=2), "3", "2")
option_row("options[].values", option(values=[3, 4]), option(values=[5, 6]), "3", "5")


def default(bench: Bench):
    effects = [bench.entry({"options": option(default=value)})["options"][0]["default"] for value in (3, 4)]
    assert effects == [3, 4], effects
    assert bench.verdict({"options": option(default=3, max=2)}) == ["refused", "E_MANIFEST_SYNTAX"]


ROWS["options[].default"] = default


def doc(bench: Bench):
    effects = [bench.entry({"options": option(doc=text)})["options"][0]["doc"] for text in ("one", "two")]
    assert effects == ["one", "two"], effects


ROWS["options[].doc"] = doc
nothing("options[].live", option(live=True), option(live=False), option(live=1), key="options")


def priority(bench: Bench):
    accelerator = bench.tenon.parents[1] / "fakes" / "accelerator" / "accelerator.tenon.json"
    orders = []
    for value in (0, 1000000):
        bench.write({"priority": value})
        done = bench.start("config", "check", "--format", "json", also=str(accelerator))
        orders.append(done.stdout.index("cpu/cpu") < done.stdout.index("accelerator/"))
    assert orders == [False, True], orders
    bench.write({"priority": -1})
    done = bench.start("config", "check", "--format", "json", also=str(accelerator))
    assert "cpu/cpu" not in done.stdout and "S_BY_NAME" in done.stdout, done.stdout


ROWS["priority"] = priority
nothing("conformance.kit", "1", "2", 3)
nothing("conformance.classes", ["a"], [], "a")
nothing("conformance.report", "one", "two", [])
nothing("signature", "one", "two", 3)


def schema_of_editors(bench: Bench):
    assert bench.entry({"$schema": "a"}) == bench.entry({"$schema": "b"})


ROWS["$schema"], WORDS["$schema"] = schema_of_editors, "editors"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", type=Path)
    parser.add_argument("--filter", default="")
    args = parser.parse_args()
    tenon = args.tenon.resolve()
    fields = leaves(json.loads((ROOT / "ep-sdk" / "manifest.schema.json").read_text()))
    failures = [f"{field}: no row" for field in fields if field not in ROWS]
    failures += [f"{field}: a row, and the schema has no such field" for field in ROWS if field not in fields]
    failures += [f"{field}: changes nothing, and the schema does not say so" for field in fields
                 if field in WORDS and not fields[field] and field != "$schema"]
    failures += [f"{field}: the schema says that no host looks at it, and its row says one does" for field in fields
                 if fields[field] and field in ROWS and field not in WORDS]
    passed = 0
    for field, row in ROWS.items():
        if args.filter not in field:
            continue
        if isinstance(row, str):
            found = field.rsplit(".", 1)[-1] in (ROOT / row).read_text()
            failures += [] if found else [f"{field}: {row} says nothing of it"]
            passed += found
            continue
        # Not in /tmp: a folder above that everybody may write to makes providers untrusted.
        with tempfile.TemporaryDirectory(dir=tenon.parents[1], prefix="manifest-") as folder:
            os.chmod(folder, 0o755)
            try:
                row(Bench(tenon, Path(folder)))
                passed += 1
            except Exception as error:  # whatever a row trips over is its failure
                failures.append(f"{field}: {type(error).__name__}: {error}")
    for failure in failures:
        print(f"failed {failure}", flush=True)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
