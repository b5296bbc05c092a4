#!/usr/bin/env python3
"""Feeds the hostile models of tests/hostile to a built command: each ends typed, at once and in little memory.

    run_hostile.py build/release/bin/tenon [--filter TEXT] [--seconds S] [--sanitized] [-v]

Time and memory are what a case takes above a trivial model, which is measured first with the same verb. A case over its
time is tried again, because another process may have had the processor. --seconds is for builds without optimisation.
--sanitized is for instrumented builds: no limits of time, memory and address space. Prints one line for each failure,
then `N passed, N failed`.
"""

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import command

HERE = Path(__file__).resolve().parent
HOSTILE = HERE.parent / "hostile"
VERBS = {"load": "inspect", "run": "run"}
TRIVIAL = "trivial.onnx"
SECONDS = 0.100
BYTES = 64 << 20
ATTEMPTS = 4
# A bomb that goes off must not take the machine with it; what is refused needs no address space.
ADDRESS_SPACE = 8 << 30


@dataclass(frozen=True)
class Allowed:
    seconds: float
    peak: int


class Runner:
    def __init__(self, tenon: Path, models: Path, home: Path, seconds: float, sanitized: bool):
        self.tenon, self.models, self.seconds, self.sanitized = tenon, models, seconds, sanitized
        self.environment = command.clean_environment(home, {})
        self.allowed = {stage: self.measure(verb) for stage, verb in VERBS.items()}

    def run(self, verb: str, file: str) -> command.Outcome:
        space = None if self.sanitized else ADDRESS_SPACE
        return command.run([self.tenon, verb, file], self.models, self.environment, address_space=space)

    def measure(self, verb: str) -> Allowed:
        """The limits of a verb: what the trivial model takes, and the budget on top."""
        outcomes = [self.run(verb, TRIVIAL) for _ in range(7)]
        if outcomes[0].exit != 0:
            raise SystemExit(f"run_hostile.py: 'tenon {verb} {TRIVIAL}': {outcomes[0].end()}: {outcomes[0].stderr}")
        seconds = statistics.median(outcome.seconds for outcome in outcomes)
        peak = min(outcome.peak for outcome in outcomes)
        own = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        print(f"tenon {verb} of a trivial model: {seconds * 1000:.0f} ms, {peak >> 20} MiB", flush=True)
        if own > peak + BYTES // 4:
            raise SystemExit("run_hostile.py: this process is too large to measure a child's memory")
        return Allowed(seconds + self.seconds, peak + BYTES)

    def problems(self, row: dict) -> list[str]:
        """Why the case fails, after as many attempts as time asks for; empty when it passes."""
        for attempt in range(ATTEMPTS):
            outcome = self.run(VERBS[row["stage"]], row["file"])
            slow = outcome.seconds > self.allowed[row["stage"]].seconds and not self.sanitized
            if not slow or outcome.timed_out:
                break
        problems = verdict_problems(row, outcome)
        if slow:
            problems.append(f"took {outcome.seconds * 1000:.0f} ms,"
                            f" allowed {self.allowed[row['stage']].seconds * 1000:.0f} ms")
        if outcome.peak > self.allowed[row["stage"]].peak and not self.sanitized:
            problems.append(f"took {outcome.peak >> 20} MiB, allowed {self.allowed[row['stage']].peak >> 20} MiB")
        if problems:
            problems.append("stderr: " + (outcome.stderr.strip()[:1000] or "(empty)"))
        return problems


def verdict_problems(row: dict, outcome: command.Outcome) -> list[str]:
    """Exit code, form and content of the error against the row."""
    exits = [command.EXIT_CODES[kind] for kind in row["kinds"]]
    if outcome.exit == 0 and 0 in exits:
        return []
    problems = []
    if outcome.exit not in exits:
        problems.append(f"{outcome.end()}, expected {' or '.join(row['kinds'])}")
    problems += command.error_form_problems(outcome)
    if row["file"] not in outcome.stderr:
        problems.append(f"the error does not name the file {row['file']}")
    # The file's own name says much of what went wrong: it is no proof.
    if not re.search(row["message"], outcome.stderr.replace(row["file"], ""), re.IGNORECASE):
        problems.append(f"the error does not match /{row['message']}/")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", type=Path)
    parser.add_argument("--filter", default="", help="only cases with this text in their name")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="what a case may take above the trivial model")
    parser.add_argument("--sanitized", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if not args.tenon.is_file():
        parser.error(f"there is no command at {args.tenon}")
    tenon = args.tenon.resolve()
    rows = [row for row in json.loads((HOSTILE / "expected.json").read_text())["cases"] if args.filter in row["name"]]
    with tempfile.TemporaryDirectory(dir=tenon.parents[1], prefix="hostile-") as name:
        models = Path(name) / "zoo"
        subprocess.run([sys.executable, "-B", HOSTILE / "make_hostile.py", models], check=True)
        runner = Runner(tenon, models, Path(name), args.seconds, args.sanitized)
        failed = 0
        for row in rows:
            problems = runner.problems(row)
            failed += bool(problems)
            if problems:
                print(f"failed {row['name']} ({row['what']}): " + "\n    ".join(problems), flush=True)
            elif args.verbose:
                print(f"passed {row['name']}", flush=True)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
