#!/usr/bin/env python3
"""validate.py BUILD CASES [--filter GLOB]: Vulkan's validation layer sees no error and no hazard in what the provider does.

    tests/vulkan/validate.py build/release build/conformance/node
    tests/vulkan/validate.py build/release build/conformance/node --filter 'test_conv*'

The node cases run with the checks of the specification, of synchronisation and of best practices, in memory that the host sees and
on a device that has memory of its own, which the test plays. First the test itself: without barriers the layer must report a hazard. Needs Debian's package
vulkan-validationlayers.
"""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Messages that say nothing is wrong, each with the reason why it stays.
ACCEPTED = {
    # The layer waits for its own books of a timeline semaphore, which another thread of the process is writing.
    "UNASSIGNED-VkSemaphore-state-timeout": "the layer itself says that this is most likely its own fault",
}


class Run:
    """The messages of a run of `tenon test`, counted by id."""

    def __init__(self, build: pathlib.Path, cases: pathlib.Path, memory: str, left_out: str = ""):
        providers = build / "lib" / "tenon" / "providers.d"
        manifests = [build / "fakes" / "launch_counter" / "counted_vulkan.tenon.json", providers / "cpu.tenon.json"]
        with tempfile.TemporaryDirectory() as folder:
            messages, report = pathlib.Path(folder) / "messages", pathlib.Path(folder) / "report.json"
            messages.touch()
            command = [build / "bin" / "tenon", "test", cases, "--provider", "vulkan", "cpu", "--format", "json", "--output", report,
                       "--set", "select.on_compile_failed=error"]
            environment = {"TENON_PROVIDER_FILES": os.pathsep.join(map(str, manifests)), "TENON_VULKAN_MESSAGES": str(messages)}
            if memory == "device":
                environment["TENON_DISCRETE"] = "1"
            if left_out:
                environment["TENON_LEFT_OUT"] = left_out
            done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
            if not report.exists():
                sys.exit(f"{done.stdout[-2000:]}{done.stderr[-2000:]}\nno report")
            self.cases = json.loads(report.read_text())["cases"]
            rows = [line.split("\t", 2) for line in messages.read_text(errors="replace").splitlines()]
        self.counts = collections.Counter(f"{kind} {name}" for kind, name, _ in rows)
        self.first = {f"{kind} {name}": text for kind, name, text in reversed(rows)}

    def problems(self) -> list[str]:
        return [f"{name}: {count} times, such as: {self.first[name][:600]}" for name, count in self.counts.items()
                if name.split(" ", 1)[1] not in ACCEPTED]


def selected(cases: pathlib.Path, pattern: str, folder: str) -> pathlib.Path:
    if pattern == "*":
        return cases
    out = pathlib.Path(folder)
    for case in cases.iterdir():
        if fnmatch.fnmatch(case.name, pattern):
            (out / case.name).symlink_to(case.resolve())
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--filter", default="*", help="only cases whose name matches")
    args = parser.parse_args()
    build, cases = args.build.resolve(), args.cases.resolve()

    failed, passed = [], 0
    planted = Run(build, cases / "test_conv_with_strides_padding", "shared", left_out="barriers")
    if not any("SYNC-HAZARD" in name for name in planted.counts):
        sys.exit(f"without barriers the layer reports no hazard: {planted.counts}; is vulkan-validationlayers installed?")
    with tempfile.TemporaryDirectory() as folder:
        for memory in ("shared", "device"):
            run = Run(build, selected(cases, args.filter, folder) if memory == "shared" or args.filter == "*" else pathlib.Path(folder), memory)
            failed += [f"failed {memory}: {problem}" for problem in run.problems()]
            wrong = [case["name"] for case in run.cases if case["status"] == "crashed"]
            failed += [f"failed {memory}: {name} crashes" for name in wrong]
            passed += len(run.cases) - len(wrong)
            print(f"{memory}: {len(run.cases)} cases, messages: {dict(run.counts)}")
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
