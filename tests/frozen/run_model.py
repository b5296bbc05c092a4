#!/usr/bin/env python3
"""run_model.py TENON MANIFEST OPERATOR: the provider of MANIFEST runs a model of one node through the command, and nobody else.

OPERATOR: Neg, of the sample (sample.c), or AddVersion, of the example of the SDK.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

X = np.array([1, -2, 0, 4], np.float32)
OPERATORS = {"Neg": ("", -X), "AddVersion": ("com.example", X + 1)}


def main() -> None:
    tenon, manifest, operator = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    domain, expected = OPERATORS[operator]
    provider = json.loads(manifest.read_text())["provider"]["id"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
    environment["TENON_PROVIDER_FILES"] = str(manifest)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        node = helper.make_node(operator, ["x"], ["y"], domain=domain)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
        graph = helper.make_graph([node], "one_node", values[:1], values[1:])
        opsets = [helper.make_opsetid("", 21)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), work / "m.onnx")
        np.save(work / "x.npy", X)
        words = [tenon, "run", "m.onnx", "--input", "x=x.npy", "--output", "out", "--set", f"select.order={provider}",
                 "--set", "select.on_declined=error"]
        done = subprocess.run(words, cwd=work, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"tenon run: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        found = np.load(work / "out" / "y.npy")
    ran = re.search(r"^ran (.*) in ", done.stdout, re.MULTILINE)
    if not np.array_equal(found, expected) or ran is None or provider not in ran[1]:
        sys.exit(f"{provider} gives {found}, expected {expected}; {done.stdout}")
    print(f"libtenon and {provider}: {operator} gives {found}")


main()
