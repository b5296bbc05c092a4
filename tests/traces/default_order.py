#!/usr/bin/env python3
"""default_order.py TENON CASES: who runs what when a user names nobody, and which libraries that takes.

onednn takes what it is faster at, cpu the rest; a provider behind them is loaded only when a node is left for it; opencl waits
to be named. CASES: the published node cases, of which one decodes an image; without them that row counts as not run.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write(path: pathlib.Path, nodes: list, shape: list, weights: dict) -> pathlib.Path:
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def small(folder: pathlib.Path) -> pathlib.Path:
    return write(folder / "small.onnx", [helper.make_node("Add", ["x", "x"], ["y"])], [4], {})


def images(folder: pathlib.Path) -> pathlib.Path:
    weights = {"w": np.random.default_rng(1).standard_normal((64, 64, 3, 3)).astype(np.float32)}
    return write(folder / "images.onnx", [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], [1, 64, 56, 56], weights)


def product(folder: pathlib.Path) -> pathlib.Path:
    weights = {"w": np.random.default_rng(1).standard_normal((1024, 1024)).astype(np.float32)}
    return write(folder / "product.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [512, 1024], weights)


def volumes(folder: pathlib.Path) -> pathlib.Path:
    weights = {"w": np.random.default_rng(1).standard_normal((32, 32, 3, 3, 3)).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["z"]), helper.make_node("CumSum", ["z", "axis"], ["y"])]
    return write(folder / "volumes.onnx", nodes, [1, 32, 16, 28, 28], weights | {"axis": np.int64(1)})


def explain(tenon: str, model: pathlib.Path, *settings: str) -> dict:
    words = [word for setting in settings for word in ("--set", setting)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
    done = subprocess.run(
        [tenon, "explain", model, "--format", "json", *words], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def loaded(tenon: str, model: pathlib.Path, folder: pathlib.Path) -> set[str]:
    """Which of the libraries of interest the loader brings into the process of a Run."""
    log = folder / "loader"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
    environment |= {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(log)}
    command = subprocess.Popen([tenon, "run", model, "--input", "x=random"], env=environment, stdout=subprocess.PIPE)
    command.communicate()
    if command.returncode != 0:
        sys.exit(f"{model}: exit code {command.returncode}")
    said = pathlib.Path(f"{log}.{command.pid}").read_text(errors="replace")
    return {name for name in ("libdnnl", "tenon_ep_onednn", "tenon_ep_image", "tenon_ep_opencl") if name in said}


def providers(explained: dict) -> dict[str, str]:
    return {node["op"]: node["provider"] for node in explained["nodes"]}


def main() -> int:
    tenon, cases = sys.argv[1], pathlib.Path(sys.argv[2])
    failed: list[str] = []
    rows = 0

    def expect(what: str, found, wanted) -> None:
        nonlocal rows
        rows += 1
        if found != wanted:
            failed.append(f"{what}: {found}, expected {wanted}")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        little = explain(tenon, small(folder))
        installed = {manifest["provider"] for manifest in [*little["providers"], *little["passed_over"]]} | set(little["unopened"])
        expect("asked for a small model", [each["provider"] for each in little["providers"]], ["onednn", "cpu"])
        expect("who adds four numbers", providers(little), {"Add": "cpu"})
        expect("not loaded for it", little["unopened"], ["image"] if "image" in installed else [])
        expect("the libraries of a small model", loaded(tenon, small(folder), folder), {"tenon_ep_onednn"})
        waiting = [each["code"] for each in little["passed_over"] if each["provider"] == "opencl"]
        expect("opencl waits to be named", waiting, ["S_BY_NAME"] if "opencl" in installed else [])
        expect("who convolves", providers(explain(tenon, images(folder))), {"Conv": "cpu"})
        expect("who multiplies", providers(explain(tenon, product(folder))), {"MatMul": "cpu"})
        expect("the libraries of a product", loaded(tenon, product(folder), folder), {"tenon_ep_onednn"})
        expect("who convolves volumes", providers(explain(tenon, volumes(folder))), {"Conv": "onednn", "CumSum": "cpu"})
        expect("the libraries of volumes", loaded(tenon, volumes(folder), folder), {"tenon_ep_onednn", "libdnnl"})
        rule = "placement=[{match={op=['Add']}, provider='image'}]"
        if "image" in installed:
            named = explain(tenon, small(folder), rule)
            expect("a rule that names it loads it", named["unopened"], [])
    image = cases / "test_image_decoder_decode_png_rgb/model.onnx"
    if image.exists() and "image" in installed:
        decoded = explain(tenon, image)
        expect("who decodes", providers(decoded), {"ImageDecoder": "image"})
        expect("then nobody is left out", decoded["unopened"], [])
    else:
        print(f"not run: {image} is absent")
    for line in failed:
        print(f"failed {line}")
    print(f"{rows - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
