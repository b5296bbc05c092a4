#!/usr/bin/env python3
"""count_launches.py TENON COUNTER.json CPU.json CASES: what the OpenCL provider claims is computed by the device.

The ONNX node cases run on a provider that stands in front of the OpenCL provider and of the OpenCL loader and writes down what
is claimed, what is run, and how many kernels are launched meanwhile (tests/fakes/launch_counter). For every part that is run,
a node or two that are fused, at least one kernel must be launched; in every case that runs wholly on opencl every claimed node
must be in a part that is run. Without a launch there may be

  - parts whose outputs have no elements;
  - Identity, Reshape, Flatten, Squeeze and Unsqueeze whose output is where their input is: the same bytes by another name.

First the test itself: a Relu that the counter computes on the host must be reported, and a counter that is not in front of the
loader must be refused.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

VIEWS = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
LEAST = 1000  # cases that must run wholly on opencl
SETTINGS = ["provider.opencl.on_lost=fail", "select.on_compile_failed=error"]  # nothing is mended silently


class Counted:
    """What a run of `tenon test` claimed, launched and passed."""

    def __init__(self, tenon: str, manifests: list[str], folder: str, plant: str = ""):
        with tempfile.TemporaryDirectory() as name:
            report, lines = pathlib.Path(name) / "report.json", pathlib.Path(name) / "launches"
            command = [tenon, "test", folder, "--provider", "opencl", "cpu", "--format", "json", "--output", report]
            for setting in SETTINGS:
                command += ["--set", setting]
            environment = {"TENON_PROVIDER_FILES": os.pathsep.join(manifests), "TENON_LAUNCHES": str(lines)}
            environment["TENON_LAUNCHES_PLANT"] = plant
            done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
            if not report.exists() or not lines.exists():
                sys.exit(f"{done.stdout[-2000:]}{done.stderr[-2000:]}\nno report, or nothing was claimed")
            self.cases = json.loads(report.read_text())["cases"]
            self.rows = [line.split("\t") for line in lines.read_text().splitlines()]

    def launches(self) -> int:
        return sum(int(row[4]) for row in self.rows if row[0] == "ran")

    def whole(self) -> list[dict]:
        return [case for case in self.cases if case["status"] == "passed" and set(case["nodes"]) == {"opencl"}]

    def problems(self) -> list[str]:
        return sorted(set(self.idle_parts()) | set(self.idle_nodes()))

    def idle_parts(self) -> list[str]:
        """Parts of any case that were run without a launch."""
        out = []
        for kind, graph, nodes, operators, *numbers in self.rows:
            if kind != "ran":
                continue
            launches, elements, in_place = map(int, numbers)
            if launches == 0 and elements > 0 and not (in_place and operators in VIEWS):
                out.append(f"{graph}: {operators} '{nodes}' was claimed and run, and no kernel was launched")
        return out

    def idle_nodes(self) -> list[str]:
        """Claimed nodes of cases that run wholly on opencl that were never run, or never seen."""
        claimed, ran = {}, {}
        for kind, graph, nodes, operators, *_ in self.rows:
            (claimed if kind == "claimed" else ran).setdefault(graph, {})[nodes] = operators
        out = []
        for case in self.whole():
            name, parts = case["name"], claimed.get(case["name"], {})
            seen = sum(len(operators.split("+")) for operators in parts.values())
            if seen != case["nodes"]["opencl"]:
                out.append(f"{name}: {case['nodes']['opencl']} nodes are on opencl, the counter saw {seen} claimed")
            for nodes, operators in parts.items():
                if nodes not in ran.get(name, {}):
                    out.append(f"{name}: {operators} '{nodes}' was claimed and never run")
        return out


def check_counter(relu: Counted) -> None:
    """Ends the test when the counter is not between the provider and the loader."""
    if not relu.cases or relu.cases[0]["status"] != "passed":
        sys.exit(f"test_relu does not pass with the counter: {relu.cases}")
    if relu.launches() == 0:
        sys.exit("the counter saw no launch of test_relu: it does not stand between the provider and the OpenCL loader")


def is_refused(relu: Counted) -> bool:
    try:
        check_counter(relu)
    except SystemExit:
        return True
    return False


def main() -> None:
    tenon, counter, cpu, folder = sys.argv[1:5]
    manifests = [counter, cpu]
    if not (pathlib.Path(folder) / "test_relu").is_dir():
        sys.exit(f"{folder} has no cases: write them with tools/conformance/write_cases.py build/conformance")
    check_counter(Counted(tenon, manifests, f"{folder}/test_relu"))

    failed = []
    if not is_refused(Counted(tenon, manifests, f"{folder}/test_relu", plant="aside")):
        failed.append("failed aside: a counter that is not in front of the loader was not noticed")
    planted = Counted(tenon, manifests, f"{folder}/test_relu", plant="host")
    if planted.cases[0]["status"] != "passed" or len(planted.problems()) != 1:
        failed.append(f"failed planted: a Relu computed on the host was not reported: {planted.cases} {planted.problems()}")

    everything = Counted(tenon, manifests, folder)
    failed += [f"failed {problem}" for problem in everything.problems()]
    whole = everything.whole()
    if len(whole) < LEAST:
        failed.append(f"failed whole: {len(whole)} cases run wholly on opencl, {LEAST} are expected")
    print(f"{len(whole)} cases run wholly on opencl, {everything.launches()} launches in all cases")
    for line in failed:
        print(line)
    print(f"{3 if not failed else 0} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
