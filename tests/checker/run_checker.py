#!/usr/bin/env python3
"""Runs the checker's cases through `tenon test` and compares its verdicts with the right ones.

    run_checker.py build/release/bin/tenon [--provider ID]

A wrong output that passes is as bad as a right one that fails. Where the unchanged case of a type does not pass, that
type's other verdicts prove nothing, and all count as failed. Prints a line for each wrong verdict, then
`N passed, N failed`.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent


def type_of(name: str) -> str:
    return name.split("-", 1)[0]


def wrong_verdicts(expected: list[dict], reported: list[dict]) -> dict[str, str]:
    """The cases whose verdict is not the right one, with what is wrong about it."""
    found = {case["name"]: case for case in reported}
    passing = {name for name, case in found.items() if case["status"] == "passed"}
    wrong = {}
    for case in expected:
        name, got = case["name"], found.get(case["name"])
        if got is None:
            wrong[name] = "is not in the report"
        elif got["status"] != case["status"]:
            wrong[name] = f"is reported as {got['status']}, right is {case['status']}: {got['message']}"
        elif f"{type_of(name)}-equal" not in passing:
            wrong[name] = f"proves nothing, since {type_of(name)}-equal does not pass"
        elif not re.search(case["message"], got["message"], re.IGNORECASE):
            wrong[name] = f"the message does not match /{case['message']}/: {got['message']}"
    for name in found.keys() - {case["name"] for case in expected}:
        wrong[name] = "is in the report and is no case"
    return wrong


def form_problems(exit_code: int, report: dict, junit: str, expected: list[dict]) -> list[str]:
    """What is wrong with exit code, summary and JUnit report, given the verdicts that the JSON report lists."""
    statuses = [case["status"] for case in report["cases"]]
    problems = []
    any_failed = "failed" in statuses or "crashed" in statuses
    if exit_code != int(any_failed):
        problems.append(f"exit code {exit_code}, right is {int(any_failed)}")
    for status, count in report["summary"].items():
        if count != statuses.count(status):
            problems.append(f"the summary says {count} {status}, the list of cases {statuses.count(status)}")
    if len(statuses) != len(expected):
        problems.append(f"{len(statuses)} cases are reported of {len(expected)}")
    suite = ElementTree.fromstring(junit)
    failures = sum(case.find("failure") is not None for case in suite.iter("testcase"))
    if (len(list(suite.iter("testcase"))), failures) != (len(statuses), statuses.count("failed")):
        problems.append("the JUnit report counts otherwise than the JSON report")
    return problems


def run_cases(tenon: Path, cases: Path, provider: str | None) -> tuple[int, dict, str]:
    """Exit code, JSON report and JUnit report of `tenon test`."""
    reports = [cases.parent / "report.json", cases.parent / "report.xml"]
    command = [tenon, "test", cases, "--format", "json", "--output", reports[0], "--junit", reports[1]]
    command += ["--provider", provider] if provider else []
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if not all(report.is_file() for report in reports):
        raise SystemExit(f"run_checker.py: tenon test wrote no report, exit code {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(reports[0].read_text()), reports[1].read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", type=Path)
    parser.add_argument("--provider", metavar="ID")
    args = parser.parse_args()
    if not args.tenon.is_file():
        parser.error(f"there is no command at {args.tenon}")
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases"
        subprocess.run([sys.executable, "-B", HERE / "write_checker_cases.py", cases], check=True)
        expected = json.loads((cases / "expected.json").read_text())["cases"]
        exit_code, report, junit = run_cases(args.tenon.resolve(), cases, args.provider)
    wrong = wrong_verdicts(expected, report["cases"])
    problems = form_problems(exit_code, report, junit, expected)
    for name, why in wrong.items():
        print(f"failed {name}: {why}")
    for problem in problems:
        print(f"failed: {problem}")
    failed = len(wrong) + len(problems)
    print(f"{max(len(expected) - len(wrong), 0)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
