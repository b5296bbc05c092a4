#!/usr/bin/env python3
"""count_launches.py PROVIDER TENON COUNTED.json CPU.json CASES [--all]: what a provider of devices claims is computed by the device.

The ONNX node cases run on a provider that stands in front of the provider and of its loader and writes down what is claimed, what
is run, and which kernels are launched meanwhile (tests/fakes/launch_counter). For every part that is run, at least one kernel must
be launched; in every case that runs wholly on the provider every claimed node must be in a part that is run. Without a launch
there may be

  - parts whose outputs have no elements;
  - Identity, Reshape, Flatten, Squeeze, Unsqueeze, BitCast and Dropout whose output is where their input is: the same bytes by
    another name.

For vulkan also: the counter plays a device with memory of its own, which the host cannot map. Tensors are there; no kernel reads or
writes memory that the host has mapped, but for kernels that report indices out of range, one argument each. With --all each shader
is left out in turn, in each of the forms that the option `variants` forces, which a case must notice.

With --all every case runs, of which LEAST must run wholly on the provider. Without, two fifths do, of which TENON_GATE_SEED draws the
half, and as large a part of LEAST.

First the test itself: a Relu that the counter computes on the host must be reported, and a counter that is not in front of the
loader must be refused.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from gate_cases import CASE_SETS, sample_of  # noqa: E402

PUBLISHED = next(cases.cases for cases in CASE_SETS if cases.name == "onnx node")
VIEWS = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "BitCast", "Dropout"}
LEAST = 1000  # of all cases that must run wholly on the provider
KERNELS = 40  # of Vulkan that the cases launch at least; those for rare types are in no case
ROWS = ("Reduce", "Arg", "Softmax", "LogSoftmax", "Hardmax", "LayerN", "RMSN", "InstanceN", "GroupN", "LpN")  # operators with forms
ROW_KERNELS = 4  # of each form that the cases launch at least
FLAGGED = ("Gather", "Scatter", "ReverseSequence", "RotaryEmbedding", "Attention")  # operators whose kernels report indices


class Counted:
    """What a run of `tenon test` claimed, launched and passed."""

    def __init__(self, setup: "Setup", folder: str, plant: str = "", blank: str = "", form: str = "item"):
        self.provider = setup.provider
        with tempfile.TemporaryDirectory() as name:
            report, lines = pathlib.Path(name) / "report.json", pathlib.Path(name) / "launches"
            settings = [f"provider.{self.provider}.on_lost=fail", "select.on_compile_failed=error"]  # nothing is mended silently
            settings += setup.settings(form)
            command = [setup.tenon, "test", folder, "--provider", self.provider, "cpu", "--format", "json", "--output", report]
            for setting in settings:
                command += ["--set", setting]
            environment = {"TENON_PROVIDER_FILES": os.pathsep.join(setup.manifests), "TENON_LAUNCHES": str(lines),
                           "TENON_LAUNCHES_PLANT": plant} | setup.environment(plant, blank)
            done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
            if not report.exists() or not lines.exists():
                sys.exit(f"{done.stdout[-2000:]}{done.stderr[-2000:]}\nno report, or nothing was claimed")
            self.cases = json.loads(report.read_text())["cases"]
            self.rows = [line.split("\t") for line in lines.read_text().splitlines()]

    def launches(self) -> int:
        return sum(int(row[4]) for row in self.rows if row[0] == "ran")

    def whole(self) -> list[dict]:
        return [case for case in self.cases if case["status"] == "passed" and set(case["nodes"]) == {self.provider}]

    def problems(self) -> list[str]:
        return sorted(set(self.idle_parts()) | set(self.idle_nodes()))

    def idle_parts(self) -> list[str]:
        """Parts of any case that were run without a launch."""
        out = []
        for kind, graph, nodes, operators, *numbers in self.rows:
            if kind != "ran":
                continue
            launches, elements, in_place = map(int, numbers[:3])
            if launches == 0 and elements > 0 and not (in_place and operators in VIEWS):
                out.append(f"{graph}: {operators} '{nodes}' was claimed and run, and no kernel was launched")
        return out

    def idle_nodes(self) -> list[str]:
        """Claimed nodes of cases that run wholly on the provider that were never run, or never seen."""
        claimed, ran = {}, {}
        for kind, graph, nodes, operators, *_ in self.rows:
            (claimed if kind == "claimed" else ran).setdefault(graph, {})[nodes] = operators
        out = []
        for case in self.whole():
            name, parts = case["name"], claimed.get(case["name"], {})
            seen = sum(len(operators.split("+")) for operators in parts.values())
            if seen != case["nodes"][self.provider]:
                out.append(f"{name}: {case['nodes'][self.provider]} nodes are on {self.provider}, the counter saw {seen} claimed")
            for nodes, operators in parts.items():
                if nodes not in ran.get(name, {}):
                    out.append(f"{name}: {operators} '{nodes}' was claimed and never run")
        return out

    def mapped_parts(self) -> list[str]:
        """Parts whose kernels read or write memory that the host has mapped."""
        out = []
        for kind, graph, nodes, operators, *numbers in self.rows:
            if kind == "ran" and int(numbers[3]) > (operators.startswith(FLAGGED) and int(numbers[0])):
                out.append(f"{graph}: {operators} '{nodes}' uses {numbers[3]} arguments in mapped memory")
        return sorted(set(out))

    def kernels(self) -> dict[str, list[str]]:
        """For each kernel the cases that passed and launched it, those with few nodes first."""
        nodes = {case["name"]: sum(case["nodes"].values()) for case in self.cases if case["status"] == "passed"}
        out = {}
        for kind, graph, _, _, *numbers in self.rows:
            for kernel in filter(None, numbers[4].split(",") if kind == "ran" else []):
                if graph in nodes:
                    out.setdefault(kernel, set()).add(graph)
        return {kernel: sorted(names, key=lambda name: (nodes[name], name)) for kernel, names in out.items()}


class Setup:
    def __init__(self, provider: str, tenon: str, manifests: list[str], folder: str):
        self.provider, self.tenon, self.manifests, self.folder = provider, tenon, manifests, folder

    def settings(self, form: str) -> list[str]:
        """No launches that only measure, and the same ones in every process."""
        return [f"provider.vulkan.options.variants={form}"] if self.provider == "vulkan" else []

    def environment(self, plant: str, blank: str) -> dict[str, str]:
        discrete = {} if plant == "host" else {"TENON_DISCRETE": "1"}  # what is computed on the host is in memory that it sees
        return {"TENON_BLANK_KERNEL": blank} | discrete

    def kernels_of_form(self, form: str, item: Counted) -> dict[str, list[str]]:
        """As Counted.kernels(), for the kernels over rows that are launched in this form alone. `item`: what was launched in the
        usual one."""
        with tempfile.TemporaryDirectory() as folder:
            for case in {row[1] for row in item.rows if row[0] == "ran" and row[3].startswith(ROWS)}:
                (pathlib.Path(folder) / case).symlink_to(pathlib.Path(self.folder, case).resolve())
            counted = Counted(self, folder, form=form)
        known = item.kernels()
        return {kernel: cases for kernel, cases in counted.kernels().items() if kernel not in known}

    def missed(self, kernel: str, cases: list[str], form: str) -> str:
        """Empty if one of a few cases that launch a kernel fails without it."""
        tried = cases[:4] + cases[4 :: max(1, len(cases) // 6)]  # those that begin alike may all be indifferent to it
        for name in tried:
            without = Counted(self, f"{self.folder}/{name}", blank=kernel, form=form)
            if without.cases[0]["status"] != "passed":
                return ""
        return f"failed blank: without kernel {kernel} no case fails, of {', '.join(tried)}"


def check_counter(relu: Counted) -> None:
    """Ends the test when the counter is not between the provider and the loader."""
    if not relu.cases or relu.cases[0]["status"] != "passed":
        sys.exit(f"test_relu does not pass with the counter: {relu.cases}")
    if relu.launches() == 0:
        sys.exit("the counter saw no launch of test_relu: it does not stand between the provider and its loader")


def is_refused(relu: Counted) -> bool:
    try:
        check_counter(relu)
    except SystemExit:
        return True
    return False


def published_cases(folder: pathlib.Path) -> list[str]:
    """The names of all node cases of ONNX. Ends the test where some are missing."""
    names = sorted(path.parent.name for path in folder.glob("*/model.onnx"))
    if len(names) < PUBLISHED:
        sys.exit(f"{folder} has {len(names)} cases of {PUBLISHED}: write them with tools/conformance/write_cases.py build/conformance")
    return names


def linked(cases: pathlib.Path, names: list[str], folder: str) -> pathlib.Path:
    """The folder, filled with links to these cases."""
    for name in names:
        (pathlib.Path(folder) / name).symlink_to((cases / name).resolve())
    return pathlib.Path(folder)


def least_of(names: list[str], everything: bool) -> int:
    """How many of these cases must run wholly on the provider. A draw may be unlucky by a twentieth."""
    least = LEAST * len(names) // PUBLISHED
    return least if everything else least - least // 20


def problems_of_test(setup: Setup) -> list[str]:
    """What the test itself would not notice."""
    failed, relu = [], f"{setup.folder}/test_relu"
    check_counter(Counted(setup, relu))
    if not is_refused(Counted(setup, relu, plant="aside")):
        failed.append("failed aside: a counter that is not in front of the loader was not noticed")
    planted = Counted(setup, relu, plant="host")
    if planted.cases[0]["status"] != "passed" or len(planted.problems()) != 1:
        failed.append(f"failed planted: a Relu computed on the host was not reported: {planted.cases} {planted.problems()}")
    return failed


def unnoticed(setup: Setup, everything: Counted) -> tuple[list[str], int]:
    """What fails when each kernel is left out in turn, and the number of checks."""
    failed = []
    kernels = [(kernel, cases, "item") for kernel, cases in sorted(everything.kernels().items())]
    for form in ("shared", "subgroup"):
        found = setup.kernels_of_form(form, everything)
        kernels += [(kernel, cases, form) for kernel, cases in sorted(found.items())]
        if len(found) < ROW_KERNELS:
            failed.append(f"failed {form}: the cases launch {len(found)} kernels in this form, {ROW_KERNELS} are expected")
    with ThreadPoolExecutor(2) as pool:
        failed += filter(None, pool.map(lambda row: setup.missed(*row), kernels))
    print(f"{len(kernels)} kernels, each left out in turn")
    if len(kernels) < KERNELS:
        failed.append(f"failed kernels: the cases launch {len(kernels)} kernels, {KERNELS} are expected")
    return failed, len(kernels)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("provider", "tenon", "counted", "cpu", "folder"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true", help="every case, and leave out each of Vulkan's shaders, which takes minutes")
    given = parser.parse_args()
    seed = int(os.environ.get("TENON_GATE_SEED", "1"))
    setup = Setup(given.provider, given.tenon, [os.path.abspath(given.counted), os.path.abspath(given.cpu)], given.folder)
    failed, checks = problems_of_test(setup), 3
    names = published_cases(pathlib.Path(given.folder))
    if not given.all:
        names = sample_of(names, seed)

    with tempfile.TemporaryDirectory() as folder:
        everything = Counted(setup, str(linked(pathlib.Path(given.folder), names, folder)))
    failed += [f"failed {problem}" for problem in everything.problems()]
    whole, least = len(everything.whole()), least_of(names, given.all)
    if whole < least:
        failed.append(f"failed whole: {whole} cases run wholly on {given.provider}, {least} are expected")
    print(f"seed {seed}: {whole} of {len(names)} cases run wholly on {given.provider}, {everything.launches()} launches in all cases")
    if given.provider == "vulkan":
        failed += [f"failed {problem}" for problem in everything.mapped_parts()]
        checks += 1
        if given.all:
            more, kernels = unnoticed(setup, everything)
            failed += more
            checks += kernels
    for line in failed:
        print(line)
    print(f"{max(0, checks - len(failed))} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
