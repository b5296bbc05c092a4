#!/usr/bin/env python3
"""The gate behind tools/test: builds, runs all kinds of tests, and prints in one line how many passed."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gate_cases import (BUILD, CASE_SETS, DATA, DEVICE_MEMORY, LARGE_SET, NOTHING_MENDED, ORDERS, ROOT, CaseSet, Order, part_of,
                        seed_of_gate, stand_ins)

GATE_PRESETS = ["release"]
ALL_PRESETS = ["release", "asan", "tsan"]  # asan has UBSan too, and clang builds tsan
PARTS = 8  # of the tests of a preset


# The labels of ctest that a preset does not run. docs and tools check texts and scripts, which no preset builds differently;
# variants are programs that run once more with other kernels or bad values, on the same threads.
LEFT_OUT = {"asan": ("docs", "tools"), "tsan": ("docs", "tools", "variants")}
DRAWN = 4  # entries that a test of minutes is divided into, by CMake's tenon_test_entry; the seed draws the one that runs


@dataclass
class Counts:
    """The counts of a step. `failures` names the failed tests, for the report at the end."""

    passed: int = 0
    failed: int = 0
    declared: int = 0  # failures listed with a reason in the provider's expectations file
    not_run: int = 0
    failures: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Counts") -> "Counts":
        self.passed += other.passed
        self.failed += other.failed
        self.declared += other.declared
        self.not_run += other.not_run
        self.failures += other.failures
        return self

    def __str__(self) -> str:
        parts = [f"{self.passed} passed", f"{self.failed} failed"]
        parts += [f"{self.declared} declared"] if self.declared else []
        parts += [f"{self.not_run} not run"] if self.not_run else []
        return ", ".join(parts)


class StepFailed(Exception):
    """A step failed that all later steps need. Its message and log have been printed."""


def report(seconds: float, name: str, result: object) -> None:
    print(f"[{seconds:6.1f} s] {name}: {result}", flush=True)


def run_logged(name: str, command: list, log: Path, extra: dict[str, str] | None = None) -> int:
    """Runs a command with its output in `log`, and `extra` in its environment; returns the exit code."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        out.write(f"# {name}: {' '.join(map(str, command))}\n")
        out.flush()
        words = [str(word) for word in command]
        try:
            return subprocess.run(words, cwd=ROOT, stdout=out, stderr=out, check=False, env=os.environ | (extra or {})).returncode
        except OSError as error:
            out.write(f"{error}\n")
            return 127


def must_run(name: str, command: list, log: Path) -> None:
    start = time.monotonic()
    code = run_logged(name, command, log)
    report(time.monotonic() - start, name, "ok" if code == 0 else f"FAILED, see {log.relative_to(ROOT)}")
    if code != 0:
        print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-60:]), file=sys.stderr)
        raise StepFailed(name)


def in_ci() -> bool:
    """Whether a test that is left out is a failure."""
    return os.environ.get("CI") == "true"


def build(preset: str) -> None:
    logs = BUILD / preset / "gate"
    required = "ON" if in_ci() else "OFF"  # where NVIDIA's headers are missing, tests of the provider cuda would be left out
    must_run(f"configure {preset}", ["cmake", "--preset", preset, f"-DTENON_CUDA_REQUIRED={required}"], logs / "configure.log")
    must_run(f"build {preset}", ["cmake", "--build", "--preset", preset], logs / "build.log")
    if warnings := warnings_in((logs / "build.log").read_text(errors="replace")):
        print("\n".join(warnings), file=sys.stderr, flush=True)
        raise StepFailed(f"build {preset}: warnings in {len(warnings)} steps")


def warnings_in(build_log: str) -> list[str]:
    """What ninja printed of each step of this build in which compiler or linker warned: the step's line, which names the file, and
    all that follows. In order, without duplicates."""
    steps = re.split(r"^(?=\[\d+/\d+\] )", build_log, flags=re.MULTILINE)
    return list(dict.fromkeys(step.rstrip() for step in steps if re.search(r"\bwarning: ", step)))


# Suites that other tests of the same program start in a process. They are not tests themselves, so they are not
# counted.
WORKERS = {"DISABLED_HostileWorker"}


def count_gtest(report_file: Path) -> Counts | None:
    """Counts of one GoogleTest executable; None when it wrote no complete report, because it crashed."""
    try:
        suites = ElementTree.parse(report_file).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    counts = Counts()
    for case in suites.iter("testcase"):
        if case.get("classname") in WORKERS:
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed += 1
            counts.failures.append(f"{case.get('classname')}.{case.get('name')}")
        elif case.get("status") == "run" and case.get("result") == "completed":
            counts.passed += 1
        else:
            counts.not_run += 1
    return counts


def count_output(output: str, passed: bool) -> Counts | None:
    """Counts that a script printed: `N passed, N failed[, N not run]` as its last line, or unittest's `Ran N tests`.

    `passed`: whether the exit code was 0. Printed failures count with any exit code. None when there are no counts,
    or when no failure was printed but the exit code is not 0.
    """
    own = re.search(r"^(\d+) passed, (\d+) failed(?:, (\d+) not run)?\s*\Z", output, re.MULTILINE)
    if own and (passed or own[2] != "0"):
        failures = re.findall(r"^failed ([^\s:]+)", output, re.MULTILINE)
        return Counts(int(own[1]), int(own[2]), not_run=int(own[3] or 0), failures=failures)
    unittest = re.search(r"^Ran (\d+) tests? in .*^OK(?: \(skipped=(\d+)\))?\s*\Z", output, re.MULTILINE | re.DOTALL)
    if not unittest or not passed:
        return None
    skipped = int(unittest[2] or 0)
    return Counts(int(unittest[1]) - skipped, not_run=skipped)


def count_ctest(junit: Path, gtest_reports: Path) -> Counts:
    """Counts of a ctest run. For an entry that reports its own cases, these are counted instead of the entry."""
    counts = Counts()
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        name = case.get("name")
        passed = case.get("status") == "run"
        own = count_gtest(gtest_reports / f"{name}.xml")
        own = own or count_output(case.findtext("system-out") or "", passed)
        if own and own.failed:
            own.failures = own.failures or [name]
            counts += own
        elif passed and (own is None or own.passed or own.not_run):
            counts += own or Counts(passed=1)
        else:  # it failed, or its report has no case
            counts += Counts(failed=1, failures=[name])
    if counts == Counts():
        counts = Counts(failed=1, failures=["ctest ran no test"])
    return counts


def print_failed(junit: Path, lines: int = 40) -> None:
    """Prints the last lines of each entry that failed. Of a machine far away, what was printed is all there is."""
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if case.get("status") != "run":
            output = (case.findtext("system-out") or "it printed nothing").strip().splitlines()
            print(f"--- {case.get('name')} failed, its last lines:", *output[-lines:], "---", sep="\n", flush=True)


def parts_of(preset: str) -> list[list[str]]:
    """The names of the ctest entries that `--all` runs, in parts that need nothing of each other."""
    command = ["ctest", "--test-dir", BUILD / preset, "--show-only=json-v1", *labels_left_out(preset, everything=True)]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StepFailed(f"ctest cannot list the tests of {preset}: {done.stderr}")
    tests = json.loads(done.stdout)["tests"]
    tied = [test["name"] for test in tests if any(known["name"].startswith("FIXTURES") for known in test.get("properties", []))]
    free = [test["name"] for test in tests if test["name"] not in tied]  # entries of one kind stand together, each part gets some
    return list(filter(None, [tied, *(free[part::PARTS] for part in range(PARTS))]))


def labels_left_out(preset: str, everything: bool) -> list[str]:
    """What keeps ctest from the entries that this preset does not run, and without `everything` from those that were not drawn."""
    drawn = 1 + seed_of_gate() % DRAWN
    labels = [*LEFT_OUT.get(preset, ()), *(f"drawn_{n}_of_{DRAWN}" for n in range(1, DRAWN + 1) if n != drawn and not everything)]
    return ["-LE", f"^({'|'.join(labels)})$"] if labels else []


def run_ctest(preset: str, entries: list[str] | None = None, part: str = "") -> Counts:
    """Runs these entries, or without `entries` what the gate runs of the preset. `part` tells in the report which of them these are."""
    start = time.monotonic()
    folder = BUILD / preset / "gate"
    reports = folder / "gtest"
    for old in reports.glob("*.xml"):
        old.unlink()
    junit = folder / "ctest.xml"
    junit.unlink(missing_ok=True)
    jobs = str(os.cpu_count() or 2)
    command = ["ctest", "--test-dir", BUILD / preset, "-j", jobs, "--output-on-failure", "--output-junit", junit]
    command += ["--test-output-size-passed", "1000000", "--test-output-size-failed", "1000000"]
    command += labels_left_out(preset, everything=entries is not None)
    if entries is not None:
        command += ["-R", f"^({'|'.join(map(re.escape, entries))})$"]
    run_logged("ctest", command, folder / "ctest.log")
    if not junit.exists():
        raise StepFailed(f"ctest wrote no {junit}")
    counts = count_ctest(junit, reports)
    report(time.monotonic() - start, f"tests {preset}{part}", counts)
    if counts.failed:
        print_failed(junit)
        print(f"           details: {(folder / 'ctest.log').relative_to(ROOT)}")
    return counts


def write_cases() -> None:
    out = BUILD / "conformance"
    packs = sorted((DATA / "conformance").glob("onnx-node-older-opsets-*.tar.xz"))
    command = [sys.executable, "-B", ROOT / "tools/conformance/write_cases.py", out]
    must_run("write ONNX cases", command + (["--unpack", packs[0]] if packs else []), BUILD / "write_cases.log")
    command = [sys.executable, "-B", ROOT / "bench/make_models.py", BUILD / "bench" / "models"]
    must_run("write networks", command, BUILD / "make_models.log")


def count_cases(summary_file: Path) -> Counts:
    """Counts from the JSON of `tenon test`."""
    answer = json.loads(summary_file.read_text())
    summary = answer["summary"]
    bad = [case["name"] for case in answer["cases"] if case["status"] in ("failed", "crashed")]
    return Counts(summary["passed"], summary["failed"] + summary.get("crashed", 0), summary.get("declared", 0), 0, bad)


def judge_cases(name: str, expected: int, code: int, result: Path) -> Counts:
    """Counts of a run of `tenon test`. A wrong exit code or too few cases are failures, too."""
    if not result.exists():
        return Counts(failed=1, failures=[f"{name}: tenon test wrote no report, exit code {code}"])
    counts = count_cases(result)
    ran = counts.passed + counts.failed + counts.declared
    if ran < expected:
        counts += Counts(failed=1, failures=[f"{name}: only {ran} of {expected} cases ran"])
    if code != (1 if count_cases(result).failed else 0):
        counts += Counts(failed=1, failures=[f"{name}: exit code {code} of tenon test contradicts its report"])
    return counts


def run_cases(preset: str, cases: CaseSet, order: Order = ORDERS[0], everything: bool = False) -> Counts:
    name = order.step(cases)
    providers = BUILD / preset / "lib" / "tenon" / "providers.d"
    absent = [cases.folder] if not cases.folder.is_dir() else []
    absent += [f"provider {id}" for id in order.providers if not (providers / f"{id}.tenon.json").is_file()]
    if absent:
        print(f"not run: {cases.cases} cases of {name} ({absent[0]} is absent)")
        return Counts(not_run=cases.cases)
    start = time.monotonic()
    folder = BUILD / preset / "gate"
    stem = name.replace(" ", "_")
    result = folder / f"{stem}.json"
    result.unlink(missing_ok=True)
    run, expected = cases.folder, cases.cases
    if order.stands_in and not everything and cases.cases >= LARGE_SET:
        run = folder / f"{stem}.cases"
        expected = part_of(cases, run, seed_of_gate())
    command = [BUILD / preset / "bin" / "tenon", "test", run, "--format", "json", "--output", result, "--provider", *order.providers]
    for setting in (*NOTHING_MENDED, *filter(None, [order.setting])):
        command += ["--set", setting]
    command += ["--expectations", *(ROOT / "plugins" / id / "expectations.json" for id in order.providers)]
    code = run_logged(name, command, folder / f"{stem}.log", order.environment(preset))
    counts = judge_cases(name, expected, code, result)
    report(time.monotonic() - start, name, counts)
    return counts


# Randomised tests of `--all`, which run longer than their entries in ctest. Seeds are fixed. For each failure the
# script prints the command that repeats it.
SEARCHES = {
    "differential search": ["tests/differential/search.py", "build/release", "--seed", "7", "--cases", "4000", "--jobs", "2",
                            "--save", "build/differential"],
    "mutated models and inputs": ["tests/mutate/mutate.py", "build/release", "--seed", "7", "--cases", "4000", "--jobs", "2",
                                  "--providers", "cpu", "onednn,cpu", "opencl,cpu", "vulkan,cpu", "--sources", "build/conformance/node",
                                  "--save", "build/mutants"],
    "mutated inputs before guard pages": ["tests/mutate/mutate.py", "build/release", "--seed", "7", "--cases", "2000",
                                          "--jobs", "2", "--kinds", "inputs", "--guard",
                                          "build/release/lib/libtenon_guard_alloc.so", "--sources",
                                          "build/conformance/node", "--save", "build/mutants"],
    "planted mutants": ["tests/differential/plant_mutants.py", "build/release"],
    "allocations that fail": ["tests/faults/allocation_sweep.py", "build/release/bin/fault_sweep",
                              "build/release/lib/tenon/providers.d", "--all", "--seed", "7", "--jobs", "2"],
}


CPU = "build/release/lib/tenon/providers.d/cpu.tenon.json"
# What else only `--all` checks, because it takes long. Of clang-tidy, translation units without a finding are counted.
ANALYSES = {
    "clang-tidy": ["tools/tidy"],
    "Vulkan's validation layer": ["tests/vulkan/validate.py", "build/release", "build/conformance/node", "--filter", "test_[rs]*"],
    "launches of opencl": ["tests/devices/count_launches.py", "opencl", "build/release/bin/tenon",
                           "build/release/fakes/launch_counter/counted_opencl.tenon.json", CPU, "build/conformance/node", "--all"],
    "each shader of vulkan left out": ["tests/devices/count_launches.py", "vulkan", "build/release/bin/tenon",
                                       "build/release/fakes/launch_counter/counted_vulkan.tenon.json", CPU, "build/conformance/node", "--all"],
    "kernels of opencl, by Oclgrind": ["tests/opencl/oclgrind.py", "build/release/bin/tenon", "build/release/bin/ops_tests",
                                       "build/release/lib/tenon/providers.d/opencl.tenon.json", CPU, "build/conformance/node", "c++"],
    "older processors, by qemu": ["tests/bare/older_processors.py", "build/release/bin/tenon", "build/release/lib/tenon-scan",
                                  "build/release/bin/ops_tests", CPU, "build/release/plugins/cpu/CMakeFiles", "--tables", "few"],
}

# SDK, kit and example built for other systems, and run by an emulator. `tools/setup --cross` installs what they need.
SYSTEMS = {
    "kit on Windows, by Wine": ["tests/portable/run.py", "windows"],
    "kit on ARM, by qemu": ["tests/portable/run.py", "arm"],
}


# The same with the stand-ins for NVIDIA's libraries, where the provider cuda was built.
CUDA = {
    "node cases on cuda, each kernel left out": ["tests/cuda/provider/node_cases.py", "build/release/bin/tenon",
                                                 "build/release/fakes/launch_counter/counted_cuda.tenon.json",
                                                 CPU, "build/conformance/node", "--all"],
    "differential search on cuda": ["tests/differential/search.py", "build/release", "--seed", "7", "--cases", "4000", "--jobs", "2",
                                    "--rarely", "2", "--providers", "cuda,cpu", "--save", "build/differential"],
    "mutated models and inputs on cuda": ["tests/mutate/mutate.py", "build/release", "--seed", "7", "--cases", "2000", "--jobs", "2",
                                          "--providers", "cuda,cpu", "--sources", "build/conformance/node", "--save", "build/mutants"],
}

# By NVIDIA's own libraries, which must not find the stand-ins.
NVIDIA = {
    "kernels of cuda by NVIDIA's compiler": ["tests/cuda/compile_kernels.py", "build/release/fakes/cuda/sources", "--all", "--cache",
                                             "build/release/fakes/cuda/compiled"],
}


def run_on_cuda(name: str, *words: str) -> Counts:
    if not (BUILD / "release/lib/tenon/providers.d/cuda.tenon.json").is_file():
        print(f"not run: {name} (provider cuda is absent)")
        return Counts(not_run=1)
    found = stand_ins("release") | {"TENON_FAKE_CUDA_SOURCES": str(BUILD / "release/fakes/cuda/sources")}
    return run_script(name, *words, extra=None if name in NVIDIA else found)


def run_script(name: str, script: str, *arguments: str, extra: dict[str, str] | None = None) -> Counts:
    """Runs a script of the checkout, and returns the counts that it printed."""
    start = time.monotonic()
    log = BUILD / "release" / "gate" / f"{name.replace(' ', '_')}.log"
    code = run_logged(name, [sys.executable, "-B", ROOT / script, *arguments], log, extra)
    counts = count_output(log.read_text(errors="replace"), code == 0)
    if counts is None or counts == Counts():
        counts = Counts(failed=1, failures=[f"{name}: exit code {code}, see {log.relative_to(ROOT)}"])
    report(time.monotonic() - start, name, counts)
    return counts


class Ledger:
    """The steps that passed on the current files, so that an interrupted `--all` can continue where it stopped."""

    def __init__(self, path: Path):
        self.path = path
        self.steps: dict[str, dict] = {}  # by name: the tree of the files that the step reads, and its counts
        try:
            self.steps = {name: {"tree": known["tree"], "counts": known["counts"]}
                          for name, known in json.loads(path.read_text())["steps"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass

    def run(self, name: str, step: Callable[[], Counts], tree: str | None) -> Counts:
        """Runs `step` and returns its counts. Returns the stored counts when it passed completely on the same `tree`.

        `tree`: None runs the step and stores nothing.
        """
        if tree and self.steps.get(name, {}).get("tree") == tree:
            counts = Counts(**self.steps[name]["counts"])
            report(0, name, f"{counts} (passed before on these files)")
            return counts
        counts = step()
        if tree and not counts.failed and not counts.not_run:
            self.steps[name] = {"tree": tree, "counts": vars(counts)}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"steps": self.steps}, indent=1) + "\n")
        return counts


TEXTS = ("docs", "*.md")  # what only the tests of the release read
# What only the tests of the presets and clang-tidy read.
TESTS = tuple(f"tests/{name}" for name in ("cli", "docs", "install", "python", "tools", "unit"))


def tree_of_sources(without: tuple[str, ...] = ()) -> str | None:
    """The hash of the current content of all files that are not ignored; None outside a git checkout.

    `without`: patterns of files that do not count.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = {**os.environ, "GIT_INDEX_FILE": str(Path(folder) / "index")}
        added = subprocess.run(["git", "add", "-A", "--", ".", *(f":!{pattern}" for pattern in without)], cwd=ROOT, env=index,
                               capture_output=True, check=False)
        tree = subprocess.run(["git", "write-tree"], cwd=ROOT, env=index, capture_output=True, text=True, check=False)
    return tree.stdout.strip() if added.returncode == 0 and tree.returncode == 0 else None


def not_read_by(step: str) -> tuple[str, ...]:
    """Patterns of the files that cannot change the result of this step."""
    if step == "tests release":
        return ()
    return TEXTS if step.startswith("tests ") or step == "clang-tidy" else TEXTS + TESTS


def test_in_parts(preset: str, ledger: Ledger, tree: str | None) -> Counts:
    """All entries, one part after the other: those that passed in a run that was cut do not run again."""
    parts, counts = parts_of(preset), Counts()
    for number, entries in enumerate(parts, start=1):
        part = f", part {number} of {len(parts)}"
        counts += ledger.run(f"tests {preset}{part}", partial(run_ctest, preset, entries, part), tree)
    return counts


def build_and_test(preset: str, ledger: Ledger, tree: str | None, everything: bool) -> Counts:
    """Tests in parts with `everything`; where `tree` names the files of a run that may be cut, those parts that it has not run.

    A preset that cannot be built is a failure; only without the release the other steps have nothing to run."""
    try:
        build(preset)
        return test_in_parts(preset, ledger, tree) if everything else run_ctest(preset)
    except StepFailed as step:
        if preset in GATE_PRESETS:
            raise
        return Counts(failed=1, failures=[str(step)])


def run_gate(presets: list[str], everything: bool, ledger: Ledger, resume: bool) -> dict[str, Counts]:
    """Runs all steps; returns counts by the names in docs/status.md.

    `everything`: all that --all adds. `resume`: not those that `ledger` knows.
    """
    trees = {left_out: tree_of_sources(left_out) if resume else None for left_out in ((), TEXTS, TEXTS + TESTS)}
    steps: dict[str, Callable[[], Counts]] = {}
    for preset in GATE_PRESETS:
        steps[f"tests {preset}"] = partial(build_and_test, preset, ledger, trees[()], everything)
    for order in ORDERS:
        for cases in CASE_SETS:
            if order is ORDERS[0] or cases.everywhere or everything:
                steps[order.step(cases)] = partial(run_cases, "release", cases, order, everything)
    for preset in presets:  # after all that the release runs, because they take longest
        steps.setdefault(f"tests {preset}", partial(build_and_test, preset, ledger, trees[TEXTS], everything))
    if everything:
        steps[DEVICE_MEMORY.step(CASE_SETS[0])] = partial(run_cases, "release", CASE_SETS[0], DEVICE_MEMORY)
        steps |= {name: partial(run_script, name, *command) for name, command in (ANALYSES | SYSTEMS | SEARCHES).items()}
        steps |= {name: partial(run_on_cuda, name, *command) for name, command in (CUDA | NVIDIA).items()}
    write_cases()  # some tests read the cases
    return {name: ledger.run(name, step, trees[not_read_by(name)]) for name, step in steps.items()}


def write_results(results: dict[str, Counts]) -> None:
    (BUILD / "gate.json").write_text(json.dumps({name: vars(counts) for name, counts in results.items()}, indent=1) + "\n")


def verdict(total: Counts, ci: bool) -> int:
    """The exit code."""
    return 1 if total.failed or (ci and total.not_run) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true",
                        help="also clang, sanitizers, clang-tidy and other systems; writes docs/status.md; cut, it goes on with what is left")
    parser.add_argument("--afresh", action="store_true", help="with --all: also what passed before on the same files")
    options = parser.parse_args()
    print(f"TENON_GATE_SEED={seed_of_gate()}", flush=True)
    start = time.monotonic()
    total = Counts()
    try:
        ledger = Ledger(BUILD / "gate-passed.json")
        results = run_gate(ALL_PRESETS if options.all else GATE_PRESETS, options.all, ledger, options.all and not options.afresh)
        for counts in results.values():
            total += counts
        write_results(results)
        if options.all:
            must_run("docs/status.md", [sys.executable, "-B", ROOT / "tools/write_status.py"], BUILD / "status.log")
    except StepFailed as step:
        total += Counts(failed=1, failures=[str(step)])
    for failure in total.failures[:50]:
        print(f"failed: {failure}")
    if len(total.failures) > 50:
        print(f"failed: ... {len(total.failures) - 50} more")
    code = verdict(total, in_ci())
    if total.not_run and code and not total.failed:
        print("CI=true: cases that were not run are a failure")
    print(f"{total} in {(time.monotonic() - start) / 60:.1f} minutes")
    return code


if __name__ == "__main__":
    sys.exit(main())
