#!/usr/bin/env python3
"""Runs the rows of tests/cli/errors against a built command: each mistake ends with its exit code and names its cause.

    run_errors.py build/release/bin/tenon [--filter TEXT] [-v]

Prints one line for each row that fails (-v: for each row), then `N passed, N failed`; exits with 1 when one failed.
README.md has the format of a row.
"""

import argparse
import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import command

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "hostile"))


def load_rows() -> list[dict]:
    rows = []
    for path in sorted((HERE / "errors").glob("*.json")):
        rows += [row | {"name": f"{path.stem}.{row['name']}"} for row in json.loads(path.read_text())["rows"]]
    return rows


def npy_bytes(spec: dict) -> bytes:
    """An array file of zeros. Object arrays, which numpy stores as a pickle, get an empty body."""
    shape = "".join(f"{dim}, " for dim in spec["shape"])
    header = f"{{'descr': '{spec['type']}', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    body = 0 if spec["type"] == "|O" else int(spec["type"][2:])
    for dim in spec["shape"]:
        body *= dim
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(body)


def pair_model() -> bytes:
    """y = a + b, two inputs of four numbers."""
    from onnx import TensorProto, helper

    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "aby"]
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"], "sum")], "pair", values[:2], values[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def relu_model() -> bytes:
    from zoo import build

    return build.relu().SerializeToString()


def hostile_model(name: str, target: Path) -> None:
    """A case of tests/hostile, with the files it lays beside the model."""
    import make_hostile
    from zoo import build

    make_hostile.load_cases()
    if name in build.PLACED:
        content = build.PLACED[name](target.parent)
    else:
        content = build.CASES[name]()
    target.write_bytes(make_hostile.to_bytes(content))


def built_manifest(tenon: Path, provider: str) -> Path:
    """The manifest of a provider that was built with this command."""
    build = tenon.resolve().parents[1]
    # Not everything below: other tests make and remove folders there while this one runs.
    for path in sorted([*build.glob("lib/tenon/providers.d/*.tenon.json"), *build.glob("fakes/*/*.tenon.json")]):
        manifest = json.loads(path.read_text())
        if manifest["provider"]["id"] == provider and (path.parent / manifest["library"]["path"]).is_file():
            return path
    raise SystemExit(f"run_errors.py: no provider '{provider}' was built beside {tenon}")


def copy_provider(tenon: Path, spec: dict, folder: Path) -> None:
    """Manifest and library of a provider, the library changed as `spec` says."""
    manifest = built_manifest(tenon, spec["provider"])
    library = Path(json.loads(manifest.read_text())["library"]["path"])
    target = folder / library
    target.parent.mkdir(parents=True)
    shutil.copy(manifest, folder / manifest.name)
    if spec.get("without_library"):
        return
    shutil.copy(manifest.parent / library, target)
    if "append" in spec:
        with target.open("ab") as file:
            file.write(spec["append"].encode())


def file_content(spec: dict) -> bytes:
    if "npy" in spec:
        return npy_bytes(spec["npy"])
    return {"relu": relu_model, "pair": pair_model}[spec["model"]]() if "model" in spec else (ROOT / spec["copy"]).read_bytes()


def make_file(tenon: Path, target: Path, spec: dict) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if spec.get("directory"):
        target.mkdir()
    elif "provider" in spec:
        copy_provider(tenon, spec, target)
    elif "hostile" in spec:
        hostile_model(spec["hostile"], target)
    elif "text" in spec:
        target.write_text(spec["text"])
    else:
        target.write_bytes(file_content(spec)[:spec.get("bytes")])


def expected_exits(row: dict) -> list[int]:
    return row["exit"] if isinstance(row["exit"], list) else [row["exit"]]


def problems_of(row: dict, outcome: command.Outcome) -> list[str]:
    """Why the outcome is not what the row asks for; empty when it is."""
    problems = []
    if outcome.exit not in expected_exits(row):
        problems.append(f"{outcome.end()}, expected {' or '.join(map(str, expected_exits(row)))}")
    problems += command.error_form_problems(outcome)
    for what, pattern in row["stderr"].items():
        if not re.search(pattern, outcome.stderr):
            problems.append(f"the error does not name the {what}: /{pattern}/")
    return problems


def run_row(tenon: Path, row: dict, scratch: Path) -> list[str]:
    # Not in /tmp: a folder above that everybody may write to makes providers untrusted.
    with tempfile.TemporaryDirectory(dir=scratch, prefix="errors-") as name:
        folder = Path(name) / "work"
        folder.mkdir()
        for path, spec in row.get("files", {}).items():
            make_file(tenon, folder / path, spec)
        extra = {key: value.replace("{dir}", str(folder)) for key, value in row.get("env", {}).items()}
        outcome = command.run([tenon, *row["args"]], folder, command.clean_environment(Path(name), extra))
    problems = problems_of(row, outcome)
    if problems:
        problems.append("stderr: " + (outcome.stderr.strip()[:2000] or "(empty)"))
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", type=Path)
    parser.add_argument("--filter", default="", help="only rows with this text in their name")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if not args.tenon.is_file():
        parser.error(f"there is no command at {args.tenon}")
    tenon = args.tenon.resolve()
    rows = [row for row in load_rows() if args.filter in row["name"]]
    failed = 0
    for row in rows:
        try:
            problems = run_row(tenon, row, tenon.parents[1])
        except (OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
            problems = [f"{type(error).__name__}: {error}"]
        failed += bool(problems)
        if problems:
            print(f"failed {row['name']}: " + "\n    ".join(problems), flush=True)
        elif args.verbose:
            print(f"passed {row['name']}", flush=True)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
