#!/usr/bin/env python3
"""run_kit.py TENON_CTS MANIFEST CHECKS [ARGUMENTS...]: the kit on one provider, to which some checks apply.

CHECKS are ids separated by commas. Each of them must pass, or fail as the manifest declares: a check that has nothing to
look at would tell nothing. No other check may fail. ARGUMENTS are those of the kit.
"""

import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    cts, manifest, checks, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run([cts, manifest, *arguments, "--format", "json", "--output", report], check=False)
        if not report.exists():
            sys.exit(done.returncode or 1)
        found = {row["id"]: row["status"] for row in json.loads(report.read_text())["checks"]}
    lacking = [name for name in checks.split(",") if found.get(name) not in ("passed", "declared")]
    for name in lacking:
        print(f"{name} must apply to this provider, and is '{found.get(name)}'")
    sys.exit(done.returncode or bool(lacking))


main()
