#!/usr/bin/env python3
"""Writes the zoo of hostile models: files that break ONNX's rules, lie about their layout or ask for terabytes.

    make_hostile.py OUT_DIR          writes every case; needs no rights, follows no network, takes a few seconds
    make_hostile.py --list           names them, with what each is

What has to happen with each file stands in expected.json beside this script. The cases are made by the modules of zoo/;
a case without a row, or a row without a case, is an error.
"""

import argparse
import importlib
import json
import shutil
import sys
from pathlib import Path

import onnx

from zoo import build

HERE = Path(__file__).resolve().parent
MODULES = ("files", "graphs", "tensors", "attributes", "operands", "functions", "control_flow", "external", "bombs")
OUTSIDE_FILE = "outside.bin"
TRIVIAL_FILE = "trivial.onnx"  # right and without inputs: what time and memory are measured against


def load_rows() -> list[dict]:
    return json.loads((HERE / "expected.json").read_text())["cases"]


def load_cases() -> None:
    for module in MODULES:
        importlib.import_module(f"zoo.{module}")


def check_rows(rows: list[dict]) -> None:
    named = [row["name"] for row in rows]
    made = build.CASES.keys() | build.PLACED.keys()
    problems = [f"'{name}' is twice in expected.json" for name in sorted({n for n in named if named.count(n) > 1})]
    problems += [f"'{name}' has no case" for name in sorted(set(named) - made)]
    problems += [f"'{name}' has no row in expected.json" for name in sorted(made - set(named))]
    if problems:
        raise SystemExit("make_hostile.py: " + "; ".join(problems))


def to_bytes(content: build.Content) -> bytes:
    return content.SerializeToString() if isinstance(content, onnx.ModelProto) else content


def model_path(name: str) -> str:
    """Where the case's model lies under OUT_DIR."""
    return f"{name}/model.onnx" if name in build.PLACED else f"{name}.onnx"


def trivial_model() -> onnx.ModelProto:
    return build.closed([build.node("Relu", ["c"], ["y"])], [build.constant("c", [1.0, -1.0])])


def write_cases(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / OUTSIDE_FILE).write_bytes(bytes(8))
    (out / TRIVIAL_FILE).write_bytes(to_bytes(trivial_model()))
    for name, make in build.CASES.items():
        (out / model_path(name)).write_bytes(to_bytes(make()))
    for name, make in build.PLACED.items():
        folder = out / name
        folder.mkdir()
        content = make(folder)
        if content is not None:
            (out / model_path(name)).write_bytes(to_bytes(content))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=Path, nargs="?")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    load_cases()
    rows = load_rows()
    check_rows(rows)
    if args.list:
        for row in rows:
            print(f"{row['name']:44} {row['what']}")
        return 0
    if args.out_dir is None:
        parser.error("OUT_DIR is needed")
    write_cases(args.out_dir)
    print(f"{len(rows)} hostile models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
