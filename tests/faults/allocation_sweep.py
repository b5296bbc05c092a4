#!/usr/bin/env python3
"""allocation_sweep.py FAULT_SWEEP PROVIDERS_FOLDER [--all] [--provider ID] [--seed S] [--model FILE...]

Loads and runs models with each of their allocations failing in turn: see fault_sweep.cc. Without --all a sample of each model, whose
beginning the seed decides; with --all the first 3,000 allocations of each model and 5,000 at random of the rest.

Foreign code that is compiled into libtenon (ONNX, what protobuf generates, toml++) is told from ours by the names of its
functions: what goes wrong there is listed, and no failure.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
DIGITS = pathlib.Path(__file__).resolve().parents[1] / "data/digits/digits.onnx"
SECONDS = 18  # of one model, in the sample


def constant(name: str, values) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(values), name)


def flow() -> onnx.ModelProto:
    """Nested graphs, sequences, strings, and shapes that depend on data."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["carried", "x"], ["next"]),
            helper.make_node("Identity", ["condition"], ["go_on"]),
            helper.make_node("ReduceSum", ["next"], ["total"], keepdims=0),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("condition", BOOL, []),
            helper.make_tensor_value_info("carried", FLOAT, [4]),
        ],
        [
            helper.make_tensor_value_info("go_on", BOOL, []),
            helper.make_tensor_value_info("next", FLOAT, [4]),
            helper.make_tensor_value_info("total", FLOAT, []),
        ],
    )
    branches = [
        helper.make_graph([helper.make_node(op, ["looped"], [op])], op, [], [helper.make_tensor_value_info(op, FLOAT, [4])])
        for op in ("Relu", "Neg")
    ]
    nodes = [
        helper.make_node("Loop", ["three", "", "x"], ["looped", "totals"], body=body),
        helper.make_node("ReduceMax", ["totals"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "one"], ["is_more"]),
        helper.make_node("If", ["is_more"], ["chosen"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("SequenceConstruct", ["chosen", "looped"], ["sequence"]),
        helper.make_node("ConcatFromSequence", ["sequence"], ["joined"], axis=0),
        helper.make_node("NonZero", ["joined"], ["places"]),
        helper.make_node("Cast", ["joined"], ["words"], to=TensorProto.STRING),
        helper.make_node("Cast", ["words"], ["back"], to=FLOAT),
    ]
    graph = helper.make_graph(
        nodes,
        "flow",
        [helper.make_tensor_value_info("x", FLOAT, [4])],
        [
            helper.make_tensor_value_info("places", INT64, [1, "many"]),
            helper.make_tensor_value_info("back", FLOAT, ["n"]),
        ],
        [constant("three", np.int64(3)), constant("one", np.float32(1))],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def block() -> onnx.ModelProto:
    """A piece of a transformer: symbolic dims, a function of the model, an operator of com.microsoft, quantised numbers."""
    generator = np.random.default_rng(3)
    weights = {name: generator.standard_normal((8, 8)).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    nodes = [
        helper.make_node("Gather", ["table", "tokens"], ["embedded"]),
        helper.make_node("LayerNormalization", ["embedded", "scale", "bias"], ["normal"]),
        *(helper.make_node("MatMul", ["normal", f"w{letter}"], [letter]) for letter in "qkv"),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "v"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "wo"], ["projected"]),
        helper.make_node("FastGelu", ["projected", "bias"], ["active"], domain="com.microsoft"),
        helper.make_node("Twice", ["active"], ["doubled"], domain="local"),
        helper.make_node("QuantizeLinear", ["doubled", "step", "zero"], ["small"]),
        helper.make_node("DequantizeLinear", ["small", "step", "zero"], ["y"]),
    ]
    twice = helper.make_function(
        "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    initializers = [constant(name, values) for name, values in weights.items()]
    initializers += [
        constant("table", generator.standard_normal((3, 8)).astype(np.float32)),
        constant("scale", np.ones(8, np.float32)),
        constant("bias", np.zeros(8, np.float32)),
        constant("step", np.float32(0.05)),
        constant("zero", np.int8(0)),
    ]
    graph = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("tokens", INT64, ["batch", "length"])],
        [helper.make_tensor_value_info("y", FLOAT, ["batch", "length", 8])],
        initializers,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in (("", 17), ("com.microsoft", 1), ("local", 1))]
    return helper.make_model(graph, functions=[twice], opset_imports=opsets, ir_version=9)


def is_foreign(trace: list[str]) -> bool:
    """The innermost function of libtenon is none of ours."""
    for line in trace:
        place = re.match(r"\s+(\S*libtenon\S*)\+0x([0-9a-f]+)", line)
        if place:
            command = ["addr2line", "--demangle", "--functions", f"--exe={place[1]}", place[2]]
            name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
            return re.search(r"\b(tenon_onnx|google::protobuf|toml)::", name) is not None
    return False


def sweep(command: list[str]) -> int:
    """Failures of our code; prints them, and how many there were in foreign code."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    heads = [i for i, line in enumerate(lines) if ": allocation " in line]
    ours = foreign = 0
    for begin, end in zip(heads, [*heads[1:], len(lines)]):
        trace = [line for line in lines[begin + 1 : end] if line.startswith("    ")]
        if is_foreign(trace):
            foreign += 1
            print(f"foreign: {lines[begin]}")
        else:
            ours += 1
            print("\n".join([lines[begin], *trace]))
    print(f"{lines[-1] if lines else done.stderr}; {foreign} of the bad ones in foreign code of libtenon", flush=True)
    return ours + (not heads and done.returncode != 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", type=pathlib.Path)
    parser.add_argument("providers", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--provider", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = folder / "tenon.toml"
        config.write_text(
            f"[select]\norder = [{arguments.provider!r}]\n[discovery]\nsearch = [{str(arguments.providers)!r}]\n"
            "[[placement]]\nmatch = { node = 'nobody/.*' }\n"
            f"provider = {arguments.provider!r}\n[limits]\nmodel_bytes = '1GiB'\n"
        )
        models = list(arguments.model)
        if not models:
            models = [DIGITS]
            for make in (flow, block):
                models.append(folder / f"{make.__name__}.onnx")
                onnx.save(make(), models[-1])
        amount = ["--first", "3000", "--random", "5000"] if arguments.all else ["--step", "20", "--seconds", str(SECONDS)]
        failed = 0
        for model in models:
            state = folder / "state"
            command = [arguments.sweep, model, config, state, "--seed", str(arguments.seed), *amount]
            failed += sweep([str(word) for word in command])
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
