#!/usr/bin/env python3
"""oclgrind.py TENON OPS_TESTS OPENCL.json CPU.json CASES CXX: every kernel of the OpenCL provider, watched by Oclgrind.

Oclgrind interprets kernels and reports accesses outside of buffers, data races and the like. It watches the provider's operator
tables (ops_tests), and two ONNX node cases for each operator; what it counts tells which kernels ran, and one that no case
reaches fails. First the test itself: a copy of the provider in which one kernel writes one element too many must be reported.
"""

import collections
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import onnx

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "plugins/opencl"
PER_OPERATOR = 4
# Rows that are large for the tiles of other providers: interpreted, they would take most of the time.
LARGE = ["Attention_23.*quer*", "Attention_23.tiles*", "CumSum_14.long*", "*.turned_*", "MatMulNBits_1.many_rows*", "MatMul_13.deep",
         "MatMul_13.eight_rows", "MatMul_13.few_*", "Scatter*_18.*_many", "Transpose_13.tiles", "Transpose_13.narrow"]
# In the kernels of one input: an element beyond the last is written.
BOUND, PLANTED = b"const int i = get_global_id(0);                                            \\\n    if (i >= n)", b"if (i >  n)"


class Watched:
    """What Oclgrind said of commands, and which kernels they ran."""

    def __init__(self, folder: pathlib.Path):
        self.state, self.log = folder / "state", folder / "oclgrind.log"
        self.state.mkdir()
        self.said, self.ran, self.failed = "", set(), []

    def run(self, what: str, *command: object, **environment: object) -> None:
        words = ["oclgrind", "--data-races", "--inst-counts", "--log", self.log, *command]
        clean = {name: text for name, text in os.environ.items() if not name.startswith("TENON_")}
        clean |= {name: str(text) for name, text in environment.items()} | {"XDG_STATE_HOME": str(self.state)}
        done = subprocess.run([str(word) for word in words], env=clean | {"XDG_CACHE_HOME": str(self.state)}, capture_output=True, text=True)
        self.ran |= set(re.findall(r"Instructions executed for kernel '(\w+)'", done.stdout))
        self.said += self.log.read_text(errors="replace") if self.log.exists() else ""
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if "FAILED" in line or line.startswith("failed")]
            self.failed.append(f"failed {what}: exit code {done.returncode}: {lines[:5]} {done.stderr[-500:]}")


def kernels(compiler: str) -> set[str]:
    """Names of all kernels in the provider's OpenCL C, whatever a program is built for."""
    names = set()
    for file in sorted(KERNELS.rglob("*.cc")):
        for text in re.findall(r'R"CL\((.*?)\)CL"', file.read_text(), re.S):
            text = re.sub(r"^#\s*(if|ifdef|ifndef|elif|else|endif)\b.*$", "", text, flags=re.M)
            done = subprocess.run([compiler, "-E", "-P", "-w", "-x", "c", "-"], input=text, capture_output=True, text=True)
            names |= set(re.findall(r"__kernel\b[^{;]*?\bvoid\s+(\w+)\s*\(", done.stdout))
    return names


def sample(folder: pathlib.Path) -> list[pathlib.Path]:
    """The first cases of one node for each operator that the provider's page lists."""
    table = (KERNELS / "README.md").read_text().split("<!-- generated: operators -->")[1].split("<!-- end -->")[0]
    wanted = set(re.findall(r"^\| (\w+) \| \d", table, re.M))
    found = collections.defaultdict(list)
    for model in sorted(folder.glob("*/model.onnx")):
        nodes = onnx.load(model).graph.node
        if len(nodes) == 1 and nodes[0].domain == "" and nodes[0].op_type in wanted:
            found[nodes[0].op_type].append(model.parent)
    return [case for cases in found.values() for case in cases[:PER_OPERATOR]]


def unmatched(ops_tests: str, manifest: str) -> list[str]:
    """Patterns of LARGE that leave out no row of the tables."""
    done = subprocess.run([ops_tests, "--gtest_list_tests", "--gtest_filter=opencl/*"], env=os.environ | {"TENON_OPS_MANIFEST": manifest},
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{ops_tests} does not list its tests: {done.stdout[-500:]}{done.stderr[-500:]}")
    rows, table = [], ""
    for line in done.stdout.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith(" "):
            rows.append(table + word)
        elif word.endswith("."):
            table = word.removeprefix("opencl/")
    return [pattern for pattern in LARGE if not fnmatch.filter(rows, pattern)]


def plant(manifest: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A copy of the provider with the fault, and its manifest."""
    content = json.loads(manifest.read_text())
    library = manifest.parent / content["library"]["path"]
    sound = library.read_bytes()
    if sound.count(BOUND) != 1:
        sys.exit(f"{library} has {sound.count(BOUND)} places for the fault, expected is 1: mend BOUND in {__file__}")
    faulty = sound.replace(BOUND, BOUND.replace(b"if (i >= n)", PLANTED))
    copy = folder / library.name
    copy.write_bytes(faulty)
    content["library"] |= {"path": copy.name, "sha256": hashlib.sha256(faulty).hexdigest(), "size": len(faulty)}
    target = folder / manifest.name
    target.write_text(json.dumps(content))
    return target


def main() -> None:
    tenon, ops_tests, manifest, cpu, cases, compiler = sys.argv[1:]
    manifest, cpu = os.path.abspath(manifest), os.path.abspath(cpu)
    if shutil.which("oclgrind") is None:
        print("not run: oclgrind is not installed (tools/setup installs it)")
        print("0 passed, 0 failed, 3 not run")
        return
    failed = [f"failed rows: '{pattern}' of LARGE matches no row of the operator tables" for pattern in unmatched(ops_tests, manifest)]
    passed = 0 if failed else 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("planted", "sound"):
            (folder / part).mkdir()
        planted = Watched(folder / "planted")
        faulty = plant(pathlib.Path(manifest), folder / "planted")
        planted.run("planted", ops_tests, "--gtest_filter=opencl/Relu*", TENON_OPS_MANIFEST=faulty)
        if "Invalid write" in planted.said and "Kernel: Relu" in planted.said:
            passed += 1
        else:
            failed.append(f"failed planted: a write beyond the end was not reported: {planted.said[:500]} {planted.failed}")

        sound = Watched(folder / "sound")
        sound.run("operator tables", ops_tests, "--gtest_brief=1",
                  "--gtest_filter=opencl/*-" + ":".join(f"opencl/{row}" for row in LARGE), TENON_OPS_MANIFEST=manifest)
        files = os.pathsep.join([manifest, cpu])
        chosen = sample(pathlib.Path(cases))
        sound.run("node cases", tenon, "test", *chosen, "--jobs", "1", "--provider", "opencl", "cpu", TENON_PROVIDER_FILES=files)
        missed = sorted(kernels(compiler) - sound.ran)
        failed += sound.failed
        failed += [f"failed reports: {sound.said[:2000]}"] if sound.said.strip() else []
        failed += [f"failed kernels: no case runs {', '.join(missed)}"] if missed else []
        print(f"{len(sound.ran)} kernels in {len(chosen)} node cases and the operator tables")
        passed += not (sound.failed or sound.said.strip() or missed)
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
