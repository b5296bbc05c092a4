#!/usr/bin/env python3
"""allocation_sweep.py FAULT_SWEEP PROVIDERS_FOLDER [--all] [--step K] [--jobs N] [--provider ID] [--seed S] [--model FILE...]

Loads and runs models with each of their allocations failing in turn: see fault_sweep.cc. Without --all each K-th allocation of each
model, the first of them by the seed; with --all the first 3,000 allocations of each model and 5,000 at random of the rest.

Foreign code that is compiled into libtenon (ONNX, what protobuf generates, toml++) is told from ours by the names of its
functions: blocks that it leaves behind and errors that it makes are listed with the function, and no failure. To blame is the
function that allocated a block that nobody freed; for an error, the one whose allocation failed. What ends the process, hangs,
computes something else or fails the next time too is ours wherever it happens: nothing foreign may be called that does that.
A model passes when nothing went wrong that is ours.
"""

import argparse
import collections
import concurrent.futures
import functools
import itertools
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
SECONDS = 100  # of one model, in the sample: far more than it takes


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


NEVER_FOREIGN = "it dies|it hangs|succeeds with other outputs|the next time fails"
FOREIGN = r"\b(?:tenon_onnx|google::protobuf|toml)::"


@functools.cache
def names_at(library: str, address: str) -> list[str]:
    """The functions at a place, the innermost of those inlined there first."""
    command = ["addr2line", "--demangle", "--functions", "--inlines", f"--exe={library}", address]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[::2]


def places_in_libtenon(trace: list[str]) -> list[tuple[str, str]]:
    places = (re.match(r"\s+(\S*libtenon\S*)\+(0x[0-9a-f]+)", line) for line in trace)
    return [(place[1], place[2]) for place in places if place]


def without_arguments(name: str) -> str:
    """"void std::vector<X>::push_back(Y)" -> "void std::vector::push_back"."""
    name = name.replace("(anonymous namespace)::", "").replace("operator()", "operator_call")
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}", "", name)) != name:
        name = shorter
    return name


def foreign_function(trace: list[str]) -> str | None:
    """The function to blame when it is none of ours. Those of the C++ library act for their callers."""
    for name in itertools.chain.from_iterable(names_at(*place) for place in places_in_libtenon(trace)):
        bare = without_arguments(name)
        if re.search(r"\btenon::", bare):
            return None
        # A function object of ONNX, called by the C++ library: its own name is among the arguments.
        if re.search(FOREIGN, bare) or re.search(FOREIGN + r"[^<>]*\{lambda", name):
            return bare
    return None


def blamed(block: list[str]) -> list[list[str]]:
    """The stacks that are to blame, of the lines about one time."""
    stacks: dict[str, list[list[str]]] = {"": [[]], "died in": [], "left over by": []}
    stack = stacks[""][0]
    for line in block:
        if line.startswith("    "):
            stack.append(line)
        elif line.strip() in stacks:
            stack = []
            stacks[line.strip()].append(stack)
    # What the C and C++ libraries keep for themselves has no frame of libtenon.
    left_over = [each for each in stacks["left over by"] if places_in_libtenon(each)]
    return stacks["died in"] or left_over or stacks[""]


def sweep(command: list[str]) -> tuple[str, int, str]:
    """The model, how much went wrong that is ours, and what to print: all of that, and how often in which foreign function."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    heads = [i for i, line in enumerate(lines) if ": allocation " in line]
    model = pathlib.Path(command[1]).stem
    out = []
    ours = 0
    foreign: collections.Counter[tuple[str, str]] = collections.Counter()
    for begin, end in zip(heads, [*heads[1:], len(lines) - 1]):
        functions = [foreign_function(stack) for stack in blamed(lines[begin + 1 : end])]
        if all(functions) and not re.search(NEVER_FOREIGN, lines[begin]):
            wrong = re.sub(r"\d+", "N", lines[begin].split(": ", 2)[2])
            foreign[functions[0] or "", wrong] += 1
        else:
            ours += 1
            out += lines[begin:end]
    if done.returncode != (1 if heads else 0):  # it ended in some other way
        ours += 1
        out.append(f"exit code {done.returncode}: {done.stderr}")
    out += [f"{model}: foreign: {times} x {function}: {wrong}" for (function, wrong), times in foreign.most_common()]
    out.append(f"{lines[-1] if lines else model}; {sum(foreign.values())} of the bad ones in foreign code of libtenon")
    return model, ours, "\n".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", type=pathlib.Path)
    parser.add_argument("providers", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--step", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--provider", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = folder / "tenon.toml"
        config.write_text(
            f"[select]\norder = [{arguments.provider!r}]\n[discovery]\nsearch = [{str(arguments.providers.resolve())!r}]\n"
            "[[placement]]\nmatch = { node = 'nobody/.*' }\n"
            f"provider = {arguments.provider!r}\n[limits]\nmodel_bytes = '1GiB'\n"
        )
        models = list(arguments.model)
        if not models:
            models = [DIGITS]
            for make in (flow, block):
                models.append(folder / f"{make.__name__}.onnx")
                onnx.save(make(), models[-1])
        amount = ["--step", str(arguments.step), "--seconds", str(SECONDS)]
        if arguments.all:
            amount = ["--first", "3000", "--random", "5000"]
        commands = [
            [arguments.sweep.resolve(), model, config, folder / f"state{i}", "--seed", arguments.seed, *amount]
            for i, model in enumerate(models)
        ]
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for model, ours, text in pool.map(sweep, [[str(word) for word in command] for command in commands]):
                print(text)
                if ours:
                    failed += 1
                    print(f"failed {model}: {ours} allocations whose failure goes wrong")
        print(f"{len(models) - failed} passed, {failed} failed")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
