#!/usr/bin/env python3
"""Runs the cases that were found once (tests/data/findings, tests/data/attacks) by each order of providers.

    own_cases.py build/release [--providers cpu onednn,cpu opencl,cpu vulkan,cpu] [--filter TEXT] [--guard LIBRARY] [-v]

A finding gives the outputs in its folder; one without outputs is refused with a typed error. An attack ends with outputs or a
typed error, in time and within the limits. Prints a line for each failure, then `N passed, N failed`.
"""

import argparse
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
sys.path.insert(0, str(HERE.parent / "differential"))

from pool import Worker  # noqa: E402

ORDERS = ["cpu", "onednn,cpu", "opencl,cpu", "vulkan,cpu"]
PATIENCE = 20  # seconds: the deadline of a Run, ten more, and the start of a worker
KINDS = {"findings": 35, "attacks": 54}  # how many there are: an empty pack must not pass


def unpack(kind: str, home: Path) -> list[Path]:
    with tarfile.open(DATA / kind / f"{kind}.tar.xz") as pack:
        pack.extractall(home / kind)
    return sorted(path.parent for path in (home / kind).glob("*/model.onnx"))


def finding(worker: Worker, folder: Path, order: str) -> str:
    """What is wrong with a finding's outcome; empty when nothing is."""
    answer = worker.ask({"folder": str(folder), "orders": [order], "expected": True})
    if "died" in answer:
        return f"{answer['died']} at {answer['stage']}"
    verdict, words = answer["done"]["verdicts"][order]
    must_fail = not list(folder.glob("test_data_set_0/output_*.pb"))
    if must_fail and verdict in ("ok", "mismatch"):
        return "outputs, although it must be refused"
    return "" if verdict == ("refused" if must_fail else "ok") else f"{verdict}: {words}"


def attack(worker: Worker, folder: Path, order: str) -> str:
    answer = worker.ask({"folder": str(folder), "order": order}, PATIENCE)
    if "died" in answer:
        return f"{answer['died']} at {answer['stage']}"
    done = answer["done"]
    return "" if done["verdict"] == "ok" else f"{done['verdict']}: {done['words']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--providers", nargs="*", default=ORDERS)
    parser.add_argument("--filter", default="", help="only cases with this text in their name")
    parser.add_argument("--guard", type=Path, metavar="LIBRARY", help="preload the guard-page allocator for the attacks")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    library = args.build.resolve() / "lib" / "libtenon.so"
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="own-cases-") as name:
        home = Path(name)
        folders = {kind: unpack(kind, home) for kind in KINDS}
        for kind, count in KINDS.items():
            if len(folders[kind]) != count:
                raise SystemExit(f"own_cases.py: {len(folders[kind])} {kind}, expected {count}")
        extra = {"LD_PRELOAD": str(args.guard.resolve())} if args.guard else {}
        ways = {"findings": (finding, Worker(library, home)), "attacks": (attack, Worker(library, home, HERE / "worker.py", extra))}
        for kind, (judge, worker) in ways.items():
            for folder in folders[kind]:
                for order in args.providers if args.filter in folder.name else ():
                    problem = judge(worker, folder, order)
                    passed, failed = passed + (not problem), failed + bool(problem)
                    if problem:
                        print(f"failed {folder.name} by {order}: {problem[:300]}", flush=True)
                    elif args.verbose:
                        print(f"passed {folder.name} by {order}", flush=True)
            worker.stop()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
