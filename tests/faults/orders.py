#!/usr/bin/env python3
"""orders.py FAULT_ORDERS FAULT_CLOSE WRAPPER PROVIDERS_FOLDER [--times N] [--provider ID...] [--order NAME...]

Every order of fault_orders.cc and fault_close.cc, N times each: no signal, no hang, and what the order says. Prints what went wrong and how often.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SECONDS = 5  # of an order; more is a hang


def write_model(path: pathlib.Path) -> None:
    """Enough work for the threads of a pool."""
    generator = np.random.default_rng(1)
    nodes, last = [], "x"
    for i in range(4):
        nodes += [
            helper.make_node("MatMul", [last, "w"], [f"m{i}"]),
            helper.make_node("Tanh", [f"m{i}"], [f"t{i}"]),
        ]
        last = f"t{i}"
    shape = [192, 256]
    graph = helper.make_graph(
        nodes,
        "wide",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(generator.standard_normal((256, 256)).astype(np.float32), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def end_of(done: subprocess.CompletedProcess) -> str:
    if done.returncode == 0:
        return ""
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit code {done.returncode}"
    return f"{how}: {done.stderr.strip()[-300:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("closer")
    parser.add_argument("wrapper")
    parser.add_argument("providers")
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--provider", nargs="*", default=["cpu"])
    parser.add_argument("--order", nargs="*", default=[])
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.program, "--list"], capture_output=True, text=True, check=True).stdout
    orders = arguments.order or [*(line.split()[0] for line in listed.splitlines()), "close_library", "close_library_live"]
    failed = tried = 0
    with tempfile.TemporaryDirectory() as state:
        model = pathlib.Path(state) / "wide.onnx"
        write_model(model)
        environment = {name: text for name, text in os.environ.items() if not name.startswith("TENON_")}
        environment |= {
            "XDG_STATE_HOME": state,
            "XDG_CACHE_HOME": state,
            "TENON_DISCOVERY_SEARCH": arguments.providers,
        }
        for provider in arguments.provider:
            for order in orders:
                wrong: dict[str, int] = {}
                for _ in range(arguments.times):
                    tried += 1
                    command = [arguments.program, order, provider, str(model)]
                    if order.startswith("close_library"):
                        command = [arguments.closer, order, provider, str(model), arguments.wrapper]
                    try:
                        done = subprocess.run(
                            command, env=environment, capture_output=True, text=True, timeout=arguments.seconds, check=False
                        )
                        how = end_of(done)
                    except subprocess.TimeoutExpired:
                        how = "it hangs"
                    if how:
                        wrong[how] = wrong.get(how, 0) + 1
                for how, times in wrong.items():
                    failed += times
                    print(f"{provider} {order}: {times} of {arguments.times}: {how}", flush=True)
    print(f"{len(orders)} orders, {tried} processes, {failed} of them wrong")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
