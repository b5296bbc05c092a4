#!/usr/bin/env python3
"""Runs mutants of models and of inputs: each must end with outputs or a typed error, in time and within the limits.

    mutate.py build/release                                  1000 mutants of models and 1000 of inputs, the provider cpu
    mutate.py build/release --providers cpu onednn,cpu opencl,cpu vulkan,cpu --seed 7 --cases 50000 --jobs 2 --save build/mutants
    mutate.py build/release --guard build/release/lib/libtenon_guard_alloc.so     reads outside memory are faults
    mutate.py build/release --replay build/mutants

Seeds of mutants are the cases of tests/differential and, where --sources names folders, the ONNX test folders in them. A
signal, more than ten seconds past the deadline or memory far above memory.host_limit is a failure, and is saved. An error of
kind "internal" is one too: Tenon blames itself for what the caller gave it.

Five mutants of inputs share a session. One that does not fail again alone, when it is replayed, is repeated with those
before it: --kinds inputs --first N --cases 5, with N the multiple of five at or below its number.
"""

import argparse
import collections
import queue
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "differential"))

from pool import Worker, compiles  # noqa: E402

ORDERS = ("cpu",)
SECONDS = 14.0  # of the deadline, what a Run may be late, and the making of the case
COMPILING = 90.0  # the same for the first case of a worker, and where a driver compiles a program for each case
SHOWN_EACH = 2
SAME_MODEL = 5  # mutants of inputs that one session gets
FRESH_EACH = 2000  # requests after which a worker is started anew


class Mutations:
    def __init__(self, args, home: Path):
        self.args, self.home, self.lock = args, home, threading.Lock()
        self.counts, self.ends, self.seen, self.failures = collections.Counter(), collections.Counter(), collections.Counter(), []
        self.requests, self.slowest = queue.SimpleQueue(), (0.0, {})

    def serve(self, until: float) -> None:
        extra = {"LD_PRELOAD": str(self.args.guard)} if self.args.guard else {}
        worker, served = Worker(self.args.library, self.home, HERE / "worker.py", extra), 0
        while time.monotonic() < until:
            try:
                together = self.requests.get_nowait()
            except queue.Empty:
                break
            for request in together:
                self.take(worker, request)
                served += 1
                if served % FRESH_EACH == 0:
                    worker.stop()
        worker.stop()

    def take(self, worker: Worker, request: dict) -> None:
        patience = COMPILING if compiles(request["order"]) or worker.child is None else self.args.patience
        answer = worker.ask(request, patience)
        name = answer.get("operator", "?")
        if "died" in answer:
            if answer["stage"] in ("starting", "making"):
                with self.lock:
                    self.counts["not made"] += 1
                    first = self.counts["not made"] == 1
                if first:
                    print(f"not made: {request}: {answer['died']}\n{answer['errors'][-1500:]}", flush=True)
                return
            verdict = "hang" if answer["died"].startswith("no answer") else "crash"
            self.fail(worker, request, name, verdict, answer["died"] + frames(answer["errors"]))
            return
        done = answer["done"]
        with self.lock:
            self.counts["run"] += 1
            self.ends[done["end"]] += 1
            if done["seconds"] > self.slowest[0]:
                self.slowest = done["seconds"], request | {"operator": name}
        if done["verdict"] != "ok":
            self.fail(worker, request, name, done["verdict"], done["words"])

    def fail(self, worker: Worker, request: dict, name: str, verdict: str, words: str) -> None:
        key = request["order"], verdict, re.sub(r"'[^']*'|\d+", "#", words)[:60] if verdict != "crash" else name
        with self.lock:
            self.seen[key] += 1
            self.failures.append((request, verdict))
            shown = self.seen[key] <= SHOWN_EACH
        if not shown:
            return
        where = request.get("folder") or f"{request['kind']} {request['case']}"
        if self.args.save and "folder" not in request:
            label = re.sub(r"[^a-z0-9]+", "_", f"{name} {request['order'].split(',')[0]} {verdict} {where}".lower())
            folder = self.args.save / label
            worker.ask({key: value for key, value in request.items()} | {"save": str(folder), "notes": {
                "order": request["order"], "verdict": verdict, "words": words, "origin": request}}, 60)
            where = str(folder)
        print(f"{verdict}: {name} by {request['order']}, {where}: {words[:300]}", flush=True)

    def run(self) -> None:
        until = time.monotonic() + (self.args.seconds or 1e9)
        for together in self.plan():
            self.requests.put(together)
        threads = [threading.Thread(target=self.serve, args=(until,)) for _ in range(self.args.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.left = sum(len(self.requests.get()) for _ in range(self.requests.qsize())) if not self.args.seconds else 0

    def plan(self):
        """Lists of requests; those of one list are for one worker, which keeps the session from one to the next."""
        if self.args.replay:
            for folder in sorted(path.parent for path in self.args.replay.glob("**/model.onnx")):
                yield from ([{"folder": str(folder), "order": order}] for order in self.args.providers)
            return
        sources = [str(source) for source in self.args.sources]
        last = self.args.first + self.args.cases
        for kind in self.args.kinds:
            together = SAME_MODEL if kind == "inputs" else 1
            for first in range(self.args.first, last, together):
                # An order that compiles a program for each case takes a hundred times as long.
                orders = [o for o in self.args.providers if not compiles(o) or first // together % self.args.rarely == 0]
                for order in orders:
                    yield [{"seed": self.args.seed, "case": case, "kind": kind, "model": case // SAME_MODEL, "sources": sources,
                            "order": order} for case in range(first, min(first + together, last))]

    def summary(self) -> int:
        print(f"seed {self.args.seed}: " + ", ".join(f"{what} {n}" for what, n in sorted(self.counts.items())))
        print("ended with: " + ", ".join(f"{end} {n}" for end, n in self.ends.most_common()))
        print(f"slowest: {self.slowest[0]:.1f} s, {self.slowest[1]}")
        verdicts = collections.Counter(verdict for _, verdict in self.failures)
        print(", ".join(f"{verdict} {n}" for verdict, n in verdicts.items()) or "no failures")
        if self.left:
            print(f"{self.left} mutants were not run")
        print(f"{self.counts['run'] - sum(n for v, n in verdicts.items() if v not in ('crash',))} passed, {len(self.failures)} failed", flush=True)
        return 1 if self.failures or self.left or self.counts["not made"] or not self.counts["run"] else 0


def frames(errors: str) -> str:
    """What a sanitizer or the library said before the end."""
    found = re.findall(r"(?:ERROR: AddressSanitizer|runtime error|terminate called|what\(\)|Assertion|SUMMARY).*", errors)
    return (": " + "; ".join(found[:3])) if found else ""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="a build folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--kinds", nargs="*", default=["models", "inputs"], choices=["models", "inputs"])
    parser.add_argument("--sources", nargs="*", type=Path, default=[], metavar="DIR", help="folders of ONNX test folders")
    parser.add_argument("--providers", nargs="*", default=ORDERS)
    parser.add_argument("--rarely", type=int, default=20, help="opencl, vulkan and cuda get one model in so many")
    parser.add_argument("--guard", type=Path, metavar="LIBRARY", help="preload the guard-page allocator")
    parser.add_argument("--patience", type=float, default=SECONDS, help="seconds until a case counts as hanging")
    parser.add_argument("--save", type=Path, metavar="DIR")
    parser.add_argument("--replay", type=Path, metavar="DIR")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    args.library = args.build.resolve() / "lib" / "libtenon.so"
    if not args.library.is_file():
        parser.error(f"there is no library at {args.library}")
    args.save, args.guard = (path.resolve() if path else None for path in (args.save, args.guard))
    args.sources = [source.resolve() for source in args.sources if source.is_dir()]
    return args


def main() -> int:
    args = parse()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutate-") as home:
        mutations = Mutations(args, Path(home))
        mutations.run()
        return mutations.summary()


if __name__ == "__main__":
    sys.exit(main())
