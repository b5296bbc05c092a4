#!/usr/bin/env python3
"""Searches wrong results: random small models of every operator, judged by onnx.reference and ONNX Runtime.

    search.py build/release                        1000 cases, the orders cpu / onednn,cpu / opencl,cpu / vulkan,cpu
    search.py build/release --seed 7 --cases 20000 --jobs 2 --save build/differential
    search.py build/release --operators Conv Gemm com.microsoft:Gelu
    search.py build/release --replay build/differential  runs saved cases again
    search.py build/release --list                 which operators have a generator, and which not

A case counts where both references agree, or where one alone knows the operator. Verdicts: mismatch (other numbers, shape or
type), refused (an error although valid), accepted (outputs although a value is out of range), internal (Tenon blames itself), crash, hang, orders (the references do not decide and
orders of providers contradict each other). The first case of each kind is made smaller and saved as an ONNX test folder.
Differences that the specification allows are in dismissed.json, each with the sentence. Case N of a seed is always the same.
"""

import argparse
import collections
import json
import queue
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "support"))

import cases  # noqa: E402
import not_covered  # noqa: E402
from pool import Worker, compiles  # noqa: E402
from shrink import shrink  # noqa: E402

ORDERS = ["cpu", "onednn,cpu", "opencl,cpu", "vulkan,cpu"]
SHOWN_EACH = 2  # findings of one kind that are made smaller and shown; the others are counted
LONG_RUN = 20000  # cases after which an entry of dismissed.json that matched nothing is reported


def processor_flags() -> set[str]:
    """What the processor can do, in Linux's words; empty elsewhere."""
    try:
        return set(re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1].split())
    except (OSError, TypeError):
        return set()


class Dismissed:
    """The entries of dismissed.json. One with `lacks` holds only on processors that have none of the named features."""

    def __init__(self):
        flags = processor_flags()
        self.entries = [entry for entry in json.loads((HERE / "dismissed.json").read_text())
                        if "lacks" not in entry or (flags and not flags & set(entry["lacks"].split()))]
        self.used = [0] * len(self.entries)

    def matches(self, finding: dict) -> bool:
        for i, entry in enumerate(self.entries):
            if all(re.search(entry[key], finding[key]) for key in ("operator", "order", "verdict", "words", "text", "basis") if key in entry):
                self.used[i] += 1
                return True
        return False

    def unused(self) -> list[dict]:
        return [entry for entry, used in zip(self.entries, self.used) if not used]


class Search:
    def __init__(self, args, home: Path):
        self.args, self.home = args, home
        self.dismissed, self.lock = Dismissed(), threading.Lock()
        self.counts, self.judged, self.bases = collections.Counter(), collections.Counter(), collections.Counter()
        self.operators, self.seen, self.failures = collections.Counter(), collections.Counter(), []
        self.requests = queue.SimpleQueue()

    def worker(self) -> Worker:
        return Worker(self.args.library, self.home, extra=self.args.environment)

    def serve(self, until: float) -> None:
        worker = self.worker()
        while time.monotonic() < until:
            try:
                request = self.requests.get_nowait()
            except queue.Empty:
                break
            self.take(worker, request)
        worker.stop()

    def take(self, worker: Worker, request: dict) -> None:
        """One case by all orders; after a death the orders that are left."""
        orders, bases = self.orders_of(request), set()
        while orders:
            answer = worker.ask(request | {"orders": orders})
            if "died" in answer:
                stage = answer["stage"]
                if stage not in orders:  # the references or this program, not Tenon
                    self.count("not judged: a reference died" if stage == "references" else f"not judged: {stage}: {answer['died']}")
                    if stage != "references":
                        print(answer["errors"][-1500:], flush=True)
                    return
                verdict = "hang" if answer["died"].startswith("no answer") else "crash"
                words = answer["died"] + last_words(answer["errors"])
                self.note(worker, request, answer, stage, verdict, words)
                orders = orders[orders.index(stage) + 1:]
                continue
            done = answer["done"]
            if "skipped" in done:
                self.count("no case")
                return
            bases.add(done["basis"])
            for order, (verdict, words) in done["verdicts"].items():
                self.note(worker, request, answer | done, order, verdict, words)
            orders = []
        with self.lock:
            self.operators[answer.get("operator", "?")] += 1
            self.bases.update(bases)
            if bases & {"both", "onnx.reference", "ONNX Runtime"}:
                self.judged[answer["operator"]] += 1

    def orders_of(self, request: dict) -> list[str]:
        """A provider that compiles a program for each case takes a hundred times as long: it gets every eighth."""
        rare = request.get("case", 0) % self.args.rarely != 0
        chosen = [order for order in self.args.providers if not (rare and compiles(order))]
        return chosen or list(self.args.providers)

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def note(self, worker: Worker, request: dict, answer: dict, order: str, verdict: str, words: str) -> None:
        finding = {"operator": answer["operator"], "order": order, "verdict": verdict, "words": words, "text": answer["text"],
                   "basis": answer.get("basis", ""), "request": request, "remarks": answer.get("remarks", {})}
        with self.lock:
            dismissed = verdict != "ok" and self.dismissed.matches(finding)
            self.counts[order, "dismissed" if dismissed else verdict] += 1
            if verdict == "ok" or dismissed:
                return
            key = finding["operator"], order, verdict, kind_of(words)
            self.seen[key] += 1
            self.failures.append(finding)
            shown = self.seen[key] <= SHOWN_EACH
        if shown:
            self.show(worker, finding)

    def show(self, worker: Worker, finding: dict) -> None:
        if self.args.save and "folder" not in finding["request"]:
            try:
                self.save(worker, finding)
            except ValueError as error:  # ONNX's test layout has no file for a map as an input
                print(f"not saved: {error}")
        name = f"case {finding['request'].get('case', finding['request'].get('folder'))}"
        print(f"{finding['verdict']}: {finding['operator']} by {finding['order']}, {name}: {finding['words'][:300]}\n"
              f"    {finding['text'][:500]}", flush=True)

    def save(self, worker: Worker, finding: dict) -> None:
        request, order = finding["request"], finding["order"]
        name = re.sub(r"[^a-z0-9]+", "_", f"{finding['operator']} {order.split(',')[0]} {finding['verdict']} {request['case']}".lower())
        folder, trial = self.args.save / name, self.home / f"trial-{threading.get_ident()}"
        case = cases.make(request["seed"], request["case"], cases.operator_names(request["operators"]))
        kind, words = kind_of(finding["words"]), finding["words"]

        def still_fails(smaller: cases.Case) -> bool:
            nonlocal words
            cases.save(smaller, trial, None, {})
            answer = worker.ask({"folder": str(trial), "orders": [order] if finding["verdict"] != "orders" else self.args.providers})
            if "died" in answer:
                return answer["stage"] == order and finding["verdict"] in ("crash", "hang")
            verdict, found = answer["done"].get("verdicts", {}).get(order, ["", ""])
            if answer["done"].get("basis") != finding["basis"]:
                return False
            if verdict == finding["verdict"] and kind_of(found) == kind:
                words = found
                return True
            return False

        # Each attempt at a hang takes as long as the hang.
        smallest = shrink(case, still_fails, self.args.shrink if finding["verdict"] != "hang" else 0)
        cases.save(smallest, trial, None, {})
        notes = {"order": order, "verdict": finding["verdict"], "words": words}
        worker.ask({"folder": str(trial), "save": str(folder), "notes": notes})
        finding |= {"text": smallest.text, "words": words, "folder": str(folder)}

    def run(self) -> None:
        until = time.monotonic() + (self.args.seconds or 1e9)
        if self.args.replay:
            for folder in sorted(path.parent for path in self.args.replay.glob("**/model.onnx")):
                self.requests.put({"folder": str(folder)})
        else:
            for index in range(self.args.first, self.args.first + self.args.cases):
                self.requests.put({"seed": self.args.seed, "case": index, "operators": self.args.operators})
        threads = [threading.Thread(target=self.serve, args=(until,)) for _ in range(self.args.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.left = self.requests.qsize() if not self.args.seconds else 0

    def summary(self) -> int:
        total = sum(self.operators.values())
        print(f"seed {self.args.seed}: {total} cases of {len(self.operators)} operators; references: "
              + ", ".join(f"{basis} {n}" for basis, n in self.bases.most_common()))
        for order in self.args.providers:
            print(f"{order}: " + ", ".join(f"{v} {n}" for (o, v), n in sorted(
                (k, n) for k, n in self.counts.items() if isinstance(k, tuple)) if o == order))
        for what, n in self.counts.items():
            if isinstance(what, str):
                print(f"{what}: {n}")
        if total >= LONG_RUN and not self.args.replay:
            for entry in self.dismissed.unused():
                print(f"dismissed.json: nothing matches any more: {entry}")
        never = sorted(set(self.operators) - set(self.judged))
        if never and not self.args.replay:
            print("never judged in this run: " + ", ".join(never))
        if self.args.save:
            self.args.save.mkdir(parents=True, exist_ok=True)
            (self.args.save / "findings.json").write_text(json.dumps(self.failures, indent=1, default=str) + "\n")
        print(f"{total - len({str(f['request']) for f in self.failures})} passed, "
              f"{len({str(f['request']) for f in self.failures})} failed", flush=True)
        if self.left:
            print(f"{self.left} cases were not run")
        broken = sum(n for what, n in self.counts.items() if isinstance(what, str) and what.startswith("not judged: ") and "reference" not in what)
        return 1 if self.failures or self.left or broken or total == 0 else 0


def kind_of(words: str) -> str:
    """Words without names and numbers: what findings of one kind have in common."""
    return re.sub(r"'[^']*'|[-+]?\b[\d.]+(e[-+]?\d+)?|\bnan\b|-?inf\b|True|False|-", "#", words)[:60]


def last_words(errors: str) -> str:
    """What a sanitizer or the library said before the end."""
    found = re.findall(r"(?:ERROR: AddressSanitizer|runtime error|terminate called|what\(\)|Assertion|SUMMARY).*", errors)
    return (": " + "; ".join(found[:3])) if found else ""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="a build folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds, with the cases done so far")
    parser.add_argument("--operators", nargs="*", default=[])
    parser.add_argument("--providers", nargs="*", default=ORDERS, help="orders of providers, such as onednn,cpu")
    parser.add_argument("--save", type=Path, metavar="DIR")
    parser.add_argument("--replay", type=Path, metavar="DIR")
    parser.add_argument("--shrink", type=int, default=60, help="attempts to make one finding smaller")
    parser.add_argument("--rarely", type=int, default=8, help="opencl, vulkan and cuda get each case whose number is a multiple of this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    args.library = args.build.resolve() / "lib" / "libtenon.so"
    if not args.library.is_file():
        parser.error(f"there is no library at {args.library}")
    args.save = args.save.resolve() if args.save else None
    args.environment = {}
    return args


def main() -> int:
    args = parse()
    if args.list:
        return not_covered.report()
    print(f"seed {args.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="differential-") as home:
        search = Search(args, Path(home))
        search.run()
        return search.summary()


if __name__ == "__main__":
    sys.exit(main())
