#!/usr/bin/env python3
"""Measures the overhead of a Run: runs tenon_bench in several processes and prints the medians.

    build/venv/bin/python bench/overhead.py [--json build/bench/overhead.json]

Runs chains of 1, 10 and 100 Adds of one element (bench/overhead.cc). The goal for a Run of one node is 40 ns through bound
slots and 500 ns by name, and 20 ns for each further node. Of an island on a device the host's part is measured: the Run without
the time within the provider's functions. The goal is 3000 ns for any number of nodes.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from sides.report import write_rows

ROOT = Path(__file__).resolve().parents[1]
CALLS = {"OverheadSlots": "bound slots", "OverheadByName": "by name", "OverheadIsland": "island, host's part"}


def one_process() -> dict[tuple[str, int], float]:
    command = [ROOT / "build/release/bin/tenon_bench", "--benchmark_filter=Overhead", "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    times = {}
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            raise SystemExit(f"{row['name']}: {row['error_message']}")
        name, nodes = re.fullmatch(r"(\w+)/(\d+)", row["name"]).groups()
        times[CALLS[name], int(nodes)] = row.get("host_ns", row["real_time"])
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    medians = defaultdict(list)
    for _ in range(options.restarts):
        for key, time in one_process().items():
            medians[key].append(time)
    rows = [{"call": call, "nodes": nodes, "median_ns": statistics.median(times)}
            for (call, nodes), times in medians.items()]
    for row in rows:
        print(f"{row['call']:19} {row['nodes']:4} nodes {row['median_ns']:9.1f} ns")
    write_rows(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
