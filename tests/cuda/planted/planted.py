#!/usr/bin/env python3
"""planted.py TENON PLANTED: a mistake of the provider cuda is noticed on the stand-ins for NVIDIA's libraries.

PLANTED is a library that is preloaded and makes one mistake for the provider (planted.cc). A mistake is noticed when `tenon compare`
finds other numbers than those of the cpu provider, or ends with an error, or warns of one that the provider mends, and says so in the
words of ROWS. Without the mistake, with the same library preloaded, it ends well and says none of them.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TWO = ['provider.cuda.devices=["gpu:0", "gpu:1"]',
       'placement=[{match = {node = "a"}, provider = "cuda/gpu:0"}, {match = {node = "b"}, provider = "cuda/gpu:1"},'
       ' {match = {node = "c"}, provider = "cuda/gpu:0"}, {match = {node = "d"}, provider = "cuda/gpu:1"}]']  # fmt: skip
LIBRARY = ["provider.cuda.options.products=cublaslt"]  # whatever is measured to be faster
OTHER_NUMBERS = "first divergence"
# What cannot be captured is enqueued step by step, with a warning.
MENDED = {"capture", "waiting"}
# Mistake: model, settings, environment, and texts of which one is said with the mistake, and none without it.
ROWS = {
    "wait": ("layers", [], {"TENON_FAKE_CUDA_DELAY_US": "20000"}, (OTHER_NUMBERS, "CUDA_ERROR")),
    "order": ("layers", TWO, {"TENON_FAKE_CUDA_DEVICES": "2", "TENON_FAKE_CUDA_DELAY_US": "5000"}, (OTHER_NUMBERS,)),
    "free": ("layers", [], {}, ("that has been freed",)),
    "short": ("large", [], {}, ("behind an allocation",)),
    "capture": ("rows", [], {}, ("CUDA_ERROR_STREAM_CAPTURE",)),
    "waiting": ("rows", [], {}, ("CUDA_ERROR_STREAM_CAPTURE",)),
    "address": ("rows", [], {}, ("CUDA_ERROR_ILLEGAL_ADDRESS",)),
    "leading": ("layers", LIBRARY, {}, ("CUBLAS_STATUS_INVALID_VALUE",)),
    "epilogue": ("layers", LIBRARY, {}, (OTHER_NUMBERS,)),
}


def save(folder: pathlib.Path, name: str, nodes: list, shape: list[int], weights: dict) -> None:
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, key) for key, value in weights.items()])  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / f"{name}.onnx")


def make_models(folder: pathlib.Path) -> None:
    drawn = np.random.default_rng(5)
    weights, nodes, value = {}, [], "x"
    for name in "abcd":
        weights |= {f"w{name}": drawn.standard_normal((64, 64), np.float32) / 8, f"b{name}": drawn.standard_normal(64, np.float32)}
        nodes.append(helper.make_node("Gemm", [value, f"w{name}", f"b{name}"], [f"g{name}"], name=name))
        value = "y" if name == "d" else f"r{name}"
        nodes.append(helper.make_node("Relu", [f"g{name}"], [value], name=f"relu_{name}"))
    save(folder, "layers", nodes, [32, 64], weights)
    save(folder, "large", [helper.make_node("Mul", ["x", "x"], ["z"]), helper.make_node("CumSum", ["z", "axis"], ["y"])], [512, 1024],
         {"axis": np.int64(1)})  # fmt: skip
    save(folder, "rows", [helper.make_node("Softmax", ["x"], ["s"]), helper.make_node("CumSum", ["s", "axis"], ["y"])], [8, 256],
         {"axis": np.int64(1)})  # fmt: skip


class Machine:
    def __init__(self, tenon: str, library: str, folder: pathlib.Path):
        self.tenon, self.library, self.folder = tenon, library, folder

    def compare(self, model: str, settings: list[str], environment: dict[str, str], mistake: str) -> subprocess.CompletedProcess:
        words = [self.tenon, "compare", str(self.folder / f"{model}.onnx"), "--providers", "cuda,cpu", "--seed", "3"]
        for setting in [*settings, "provider.cuda.on_lost=fail", "select.on_compile_failed=error"]:
            words += ["--set", setting]
        kept = {name: text for name, text in os.environ.items() if not name.startswith("XDG_")}
        kept |= {"XDG_CACHE_HOME": str(self.folder / "cache"), "XDG_STATE_HOME": str(self.folder / "state")} | environment
        kept |= {"LD_PRELOAD": self.library, "TENON_PLANTED": mistake}
        return subprocess.run(words, env=kept, capture_output=True, text=True, timeout=300)


def main() -> None:
    tenon, library = sys.argv[1:3]
    passed, failed = 0, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_models(folder)
        machine = Machine(tenon, library, folder)
        for mistake, (model, settings, environment, words) in ROWS.items():
            right = machine.compare(model, settings, environment, "")
            wrong = machine.compare(model, settings, environment, mistake)
            said, said_before = wrong.stdout + wrong.stderr, right.stdout + right.stderr
            if right.returncode != 0:
                failed.append(f"failed {mistake}: without the mistake the exit code is {right.returncode}: {said_before}")
            elif any(word in said_before for word in words):
                failed.append(f"failed {mistake}: {' or '.join(words)} is said without the mistake, too: {said_before}")
            elif (wrong.returncode == 0) != (mistake in MENDED):
                failed.append(f"failed {mistake}: exit code {wrong.returncode}: {said}")
            elif not any(word in said for word in words):
                failed.append(f"failed {mistake}: exit code {wrong.returncode} without {' or '.join(words)}: {said}")
            else:
                passed += 1
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
