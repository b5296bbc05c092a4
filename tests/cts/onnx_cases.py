#!/usr/bin/env python3
"""onnx_cases.py TENON_CTS FAKES_DIR LIBTENON: ONNX cases are run on the provider alone, counted by operator, and survive a crash.

Three cases for the fake accelerator: one that it runs, one that it runs with another result than expected, one that it
declines. The first again with a provider that ends the process.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper


def write_case(folder, op, x, y):
    (folder / "test_data_set_0").mkdir(parents=True)
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in (("x", x), ("y", y))]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], op, info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "model.onnx")
    for name, value in (("input_0", x), ("output_0", y)):
        (folder / "test_data_set_0" / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())


def run(cts, manifest, cases, libtenon, environment=None):
    report = cases.parent / "report.json"
    command = [cts, manifest, "--cases", cases, "--libtenon", libtenon, "--filter", "op.*", "--format", "json", "--output", report]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **(environment or {})})
    print(done.stdout, done.stderr, sep="")
    return done.returncode, json.loads(report.read_text())


def expect(what, actual, wanted):
    if actual != wanted:
        sys.exit(f"{what}: {actual}, expected {wanted}")


def main():
    cts, fakes, libtenon = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as name:
        cases = pathlib.Path(name) / "cases"
        x = numpy.array([1, -2, 3], numpy.float32)
        write_case(cases / "test_relu", "Relu", x, numpy.maximum(x, 0))
        write_case(cases / "test_relu_wrong", "Relu", x, x)
        write_case(cases / "test_relu_int32", "Relu", x.astype(numpy.int32), numpy.maximum(x, 0).astype(numpy.int32))
        write_case(cases / "test_erf", "Erf", x, x)
        code, report = run(cts, fakes / "accelerator" / "accelerator.tenon.json", cases, libtenon)
        expect("exit code", code, 1)
        statuses = {case["name"]: case["status"] for case in report["cases"]}
        wanted = {"test_erf": "declined", "test_relu": "passed", "test_relu_int32": "declined", "test_relu_wrong": "failed"}
        expect("cases", statuses, wanted)
        expect("operators", [check["id"] for check in report["checks"]], ["op.Relu"])
        message = report["checks"][0]["message"]
        expect("numbers", message.split(";")[0], "1 passed, 1 failed, 1 declined")

        # With a provider that aborts in run the worker ends and the next case gets another.
        os.environ["KIT_BREAKER"] = "R8.abort"
        code, report = run(cts, fakes / "kit_breaker" / "kit_breaker.tenon.json", cases, libtenon)
        expect("exit code after crashes", code, 1)
        statuses = {case["name"]: case["status"] for case in report["cases"]}
        expect("crash", (statuses["test_relu"], statuses["test_relu_wrong"]), ("crashed", "crashed"))
        expect("operators of crashed cases", [check["id"] for check in report["checks"]], ["op.Relu"])
        expect("declined all the same", statuses["test_erf"], "declined")
    print("onnx_cases: as expected")


main()
