#!/usr/bin/env python3
"""cuda_bundle.py --build build/release [--bundle DIR] [RUN'S ARGUMENTS]: a folder that tries the provider cuda anywhere, and runs it.

The folder has the command, libtenon, the providers cpu and cuda, the libraries that a machine may lack, the ONNX node cases, published
models where they are present, and small files of networks to measure. Its `run` (tools/cuda_run.py) says what it does. With
--bundle the folder is only made; otherwise it is made in BUILD/test-cuda and run, with the arguments that follow.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import onnx
from gate_cases import BUILD, DATA, ROOT
from onnx import TensorProto, helper, numpy_helper

MOST_BYTES = 60 << 20
MOST_OF_MODELS = 30 << 20  # before they are packed
COMPONENTS = ("runtime", "tools", "tenon_ep_cpu", "tenon_ep_cuda")
MEASURED = ("tribuo_tinybert", "ort_squeezenet_imagescaler_zipmap", "fastestdet", "yolox_nano", "super_resolution_10")  # published models
# The C library belongs to the machine, and NVIDIA's libraries are never copied.
OF_THE_MACHINE = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util)\.so.*|lib(cuda|nvrtc|cublas|cudnn).*)$")


def fail(text: str) -> None:
    sys.exit(f"test-cuda: {text}")


def network(path: Path, nodes: list, shape: list[int], weights: dict, opset: int = 17) -> None:
    graph = helper.make_graph(nodes, path.stem, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in weights.items()])  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), path)


def write_networks(folder: Path) -> None:
    """Those that cuda_run.py has in PyTorch, too. Weights are expanded when the model is loaded, so the files are small."""
    folder.mkdir()
    drawn = np.random.default_rng(7)
    node = helper.make_node

    def small(*shape: int) -> np.ndarray:
        return (drawn.standard_normal(shape) * 0.02).astype(np.float32)

    nodes, weights, x = [], {"square": np.array([1024, 1024]), "b": small(1024)}, "x"
    for n in range(8):
        weights[f"v{n}"] = small(1024, 1)
        y = "y" if n == 7 else f"r{n}"
        nodes += [node("Expand", [f"v{n}", "square"], [f"w{n}"]), node("Gemm", [x, f"w{n}", "b"], [f"g{n}"]), node("Relu", [f"g{n}"], [y])]
        x = y
    network(folder / "products.onnx", nodes, [256, 1024], weights)

    nodes, weights, x = [], {"b": small(64)}, "x"
    for n in range(6):
        weights[f"w{n}"] = small(64, 64, 3, 3)
        y = "y" if n == 5 else f"r{n}"
        nodes += [node("Conv", [x, f"w{n}", "b"], [f"c{n}"], pads=[1, 1, 1, 1]), node("Relu", [f"c{n}"], [y])]
        x = y
    network(folder / "convolutions.onnx", nodes, [1, 64, 112, 112], weights)

    nodes, x = [], "x"
    for n in range(4):
        y = "y" if n == 3 else f"s{n}"
        nodes += [node("LayerNormalization", [x, "scale", "shift"], [f"l{n}"]), node("Softmax", [f"l{n}"], [y])]
        x = y
    network(folder / "rows.onnx", nodes, [4096, 1024], {"scale": small(1024), "shift": small(1024)})

    names = ["x", "a0", "a1", "a2", "y"]
    network(folder / "attention.onnx", [node("Attention", [a, a, a], [b]) for a, b in zip(names, names[1:])], [1, 12, 512, 64], {}, opset=23)


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, words))} exited with {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def install(build: Path, bundle: Path) -> None:
    for component in COMPONENTS:
        run("cmake", "--install", build, "--prefix", bundle, "--component", component)
    for folder in ("share", "include"):
        shutil.rmtree(bundle / folder, ignore_errors=True)
    if not list((bundle / "lib").rglob("cuda*.tenon.json")):
        fail(f"{build} has no provider cuda: it needs NVIDIA's headers (tools/setup --cuda)")
    foreign = bundle / "lib/foreign"
    foreign.mkdir()
    for binary in [bundle / "bin/tenon", *(bundle / "lib").rglob("*.so*"), *(bundle / "lib").rglob("tenon-scan")]:
        if not binary.is_file() or binary.is_symlink():
            continue
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", binary), re.MULTILINE):
            if not OF_THE_MACHINE.match(name) and not Path(path).is_relative_to(bundle) and not (foreign / name).exists():
                shutil.copy2(Path(path).resolve(), foreign / name)


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def pack(folder: Path, archive: Path, name: str, most: int) -> int:
    """An archive of the cases of a folder, and how many are in it: those that are measured, then the smaller ones, up to `most` bytes."""
    packed, left = 0, most
    cases = sorted((path.parent for path in folder.glob("*/model.onnx")), key=lambda case: (case.name not in MEASURED, bytes_of(case), case.name))
    with tarfile.open(archive, "w:xz", preset=3) as out:
        for case in cases:
            left -= bytes_of(case)
            if left < 0:
                break
            out.add(case, f"{name}/{case.name}")
            packed += 1
    return packed


def make(build: Path, bundle: Path) -> None:
    if bundle.exists():
        if not (bundle / "bundle.json").exists() and any(bundle.iterdir()):
            fail(f"{bundle} is there and is no bundle; name another folder")
        shutil.rmtree(bundle)
    bundle.mkdir(parents=True)
    install(build, bundle)
    cases = pack(BUILD / "conformance/node", bundle / "node.tar.xz", "node", 1 << 40)
    if cases == 0:
        fail("there are no node cases: build/venv/bin/python tools/conformance/write_cases.py build/conformance")
    models = pack(DATA / "models", bundle / "models.tar.xz", "models", MOST_OF_MODELS)
    write_networks(bundle / "networks")
    for id in ("cuda", "cpu"):
        shutil.copy2(ROOT / f"plugins/{id}/expectations.json", bundle / f"expectations-{id}.json")
    shutil.copy2(ROOT / "tools/cuda_run.py", bundle / "run")
    (bundle / "run").chmod(0o755)
    version = run(bundle / "bin/tenon", "--version").strip()
    (bundle / "bundle.json").write_text(json.dumps({"version": version, "cases": cases, "models": models, "measured": MEASURED}) + "\n")
    size = bytes_of(bundle)
    if size > MOST_BYTES:
        fail(f"{bundle} has {size >> 20} MiB, at most {MOST_BYTES >> 20} are wanted")
    print(f"test-cuda: {bundle} has {size / (1 << 20):.0f} MiB: {cases} node cases, {models} models")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=BUILD / "release")
    parser.add_argument("--bundle", type=Path, metavar="DIR", help="make the folder, and do not run it")
    parser.add_argument("--on-stand-ins", action="store_true", help="run on what stands in for NVIDIA's libraries in the tests")
    options, rest = parser.parse_known_args()
    build = options.build.resolve()
    bundle = (options.bundle or build / "test-cuda").resolve()
    make(build, bundle)
    if options.bundle:
        return 0
    stand_ins = ["--on-stand-ins", str(build / "fakes/cuda"), "--quick"] if options.on_stand_ins else []
    return subprocess.run([sys.executable, "-B", bundle / "run", *stand_ins, *rest], env=os.environ).returncode


if __name__ == "__main__":
    sys.exit(main())
