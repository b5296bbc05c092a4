#!/usr/bin/env python3
"""Runs the rows of tests/cli/behaviour against a built command: what it prints and how it ends, on fake providers.

    run_behaviour.py build/release/bin/tenon [--filter TEXT]

A row runs `args` (default: one Relu, traced) in a new folder that holds relu.onnx, chain.onnx (a = x + x, r = relu(a),
y = r * a), half.onnx (the same in float16), pair.onnx (y = a + b), long.onnx (a Relu with a long name), x.npy, half.npy and c.toml: the fake accelerator first, then cpu, with the row's `config` lines, `on_lost` and `options` of
the accelerator. `stdout` and `stderr` are patterns; `json` are values in the JSON it prints, by path; `trace` are
patterns for events of category fallback in the trace of the Run; `explain` are patterns for `tenon explain --format json` with
the same config. {fakes} in `env` is the folder of the fakes, {dir} that of the row. `copy` puts a provider, with other
`requires` in its manifest, into {dir}/providers. A row with `needs` is not run where one of these providers was not
built, which is said at the end. Prints a line for each failure, then `N passed, N failed`;
ends with 1 when one failed.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import command
import run_errors

ORDER = "select.order = ['accelerator', 'cpu']"
RUN = ["run", "relu.onnx", "--config", "c.toml", "--input", "x=random", "--trace", "trace.json"]


def chain_model(dtype: int) -> bytes:
    nodes = [helper.make_node("Add", ["x", "x"], ["a"], "sum"), helper.make_node("Relu", ["a"], ["r"], "cut"),
             helper.make_node("Mul", ["r", "a"], ["y"], "product")]
    values = [helper.make_tensor_value_info(name, dtype, [4]) for name in "xy"]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def long_model() -> bytes:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "n" * 100)], "long", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def config_text(row: dict, fakes: Path) -> str:
    given = row.get("config", [])
    lines = ["schema = 1", f"discovery.search = [{json.dumps(str(fakes / 'accelerator'))}]", *given]
    if not any(line.startswith("select.order") for line in given):
        lines.append(ORDER)
    if "on_lost" in row:
        lines.append(f"provider.accelerator.on_lost = {json.dumps(row['on_lost'])}")
    lines += [f"provider.accelerator.options.{name} = {json.dumps(value)}" for name, value in row.get("options", {}).items()]
    return "\n".join(lines) + "\n"


def copy_provider(tenon: Path, spec: dict, folder: Path) -> None:
    folder.mkdir()
    run_errors.copy_provider(tenon, {"provider": spec["provider"]}, folder)
    for path in folder.glob("*.tenon.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"requires": spec["requires"]}))


def is_built(tenon: Path, provider: str) -> bool:
    manifest = tenon.parents[1] / "lib/tenon/providers.d" / f"{provider}.tenon.json"
    return manifest.is_file()


def missing(what: str, patterns: dict, text: str) -> list[str]:
    return [f"{what} does not show the {name}: /{pattern}/ in:\n{text.strip()[:1500]}"
            for name, pattern in patterns.items() if not re.search(pattern, text, re.DOTALL)]


def at(document, path: str):
    for step in path.split("."):
        document = document[int(step) if isinstance(document, list) else step]
    return document


def wrong_values(wanted: dict, text: str) -> list[str]:
    document = json.loads(text)
    found = {path: at(document, path) for path in wanted}
    return [f"{path} is {found[path]!r}, expected {value!r}" for path, value in wanted.items() if found[path] != value]


def problems_of(tenon: Path, row: dict, folder: Path) -> list[str]:
    fakes = tenon.parents[1] / "fakes"
    (folder / "relu.onnx").write_bytes(run_errors.relu_model())
    (folder / "chain.onnx").write_bytes(chain_model(TensorProto.FLOAT))
    (folder / "pair.onnx").write_bytes(run_errors.pair_model())
    (folder / "long.onnx").write_bytes(long_model())
    (folder / "half.onnx").write_bytes(chain_model(TensorProto.FLOAT16))
    (folder / "c.toml").write_text(config_text(row, fakes))
    np.save(folder / "x.npy", np.array([1, -2, 3, -4], np.float32))
    np.save(folder / "half.npy", np.array([1, -2, 3, -4], np.float16))
    if "copy" in row:
        copy_provider(tenon, row["copy"], folder / "providers")
    extra = {name: value.replace("{fakes}", str(fakes)).replace("{dir}", str(folder))
             for name, value in row.get("env", {}).items()}

    def start(words: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run([tenon, *words], cwd=folder, env=command.clean_environment(folder.parent, extra),
                              capture_output=True, text=True, timeout=60, check=False)

    done = start(row.get("args", RUN))
    problems = [] if done.returncode == row["exit"] else [f"exit code {done.returncode}, expected {row['exit']}: {done.stderr}"]
    problems += missing("stdout", row.get("stdout", {}), done.stdout) + missing("stderr", row.get("stderr", {}), done.stderr)
    if "json" in row and not problems:
        problems += wrong_values(row["json"], done.stdout)
    if "trace" in row:
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        names = [event["name"] for event in events if event.get("cat") == "fallback"]
        problems += missing("the trace", row["trace"], "\n".join(names))
    if "explain" in row:
        explained = start(["explain", "relu.onnx", "--config", "c.toml", "--format", "json"])
        problems += missing("explain", row["explain"], explained.stdout)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", type=Path)
    parser.add_argument("--filter", default="", help="only rows with this text in their name")
    args = parser.parse_args()
    tenon = args.tenon.resolve()
    rows = [row | {"name": f"{path.stem}.{row['name']}"} for path in sorted((run_errors.HERE / "behaviour").glob("*.json"))
            for row in json.loads(path.read_text())["rows"]]
    rows = [row for row in rows if args.filter in row["name"]]
    left_out = [row["name"] for row in rows if not all(is_built(tenon, needed) for needed in row.get("needs", []))]
    rows = [row for row in rows if row["name"] not in left_out]
    failed = 0
    for row in rows:
        # Not in /tmp: a folder above that everybody may write to makes providers untrusted.
        with tempfile.TemporaryDirectory(dir=tenon.parents[1], prefix="behaviour-") as name:
            folder = Path(name) / "work"
            folder.mkdir()
            try:
                problems = problems_of(tenon, row, folder)
            except (OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                problems = [f"{type(error).__name__}: {error}"]
        failed += bool(problems)
        if problems:
            print(f"failed {row['name']}: " + "\n    ".join(problems), flush=True)
    if left_out:
        print(f"{len(left_out)} not run, their providers were not built: {', '.join(left_out)}")
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
