#!/usr/bin/env python3
"""Measures models on Tenon, ONNX Runtime and OpenVINO in turn, and compares the outputs.

    build/torch/bin/python bench/peers.py --threads 1,2 --markdown peers.md --json build/bench/peers.json --plot peers.svg
    build/torch/bin/python bench/peers.py --quick
    build/torch/bin/python bench/peers.py build/bench/models/resnet50 --provider cpu --peers onnxruntime

A model is a folder as from bench/export_models.py, bench/make_models.py or the ONNX test cases: model.onnx and
test_data_set_0/input_*.pb; without models, all of build/bench/exported and build/bench/models. All sides get the same bytes,
inputs, threads and cores, and take turns (A B C C B A ...), each turn in a new process, because speed varies between processes.
Tenon runs as installed (auto), and with each --provider, which may end in +bf16. ONNX Runtime runs with the fastest of its settings (all or basic
optimisation, with more threads spinning or not), OpenVINO with INFERENCE_PRECISION_HINT=f32 and with its default. Load times,
first Runs and peaks of memory (VmHWM) are of the same processes. Errors are against the outputs in float64 that
bench/export_models.py leaves; bench/reference.py writes them for other models. If Tenon fails, or its outputs are not a peer's,
the model has no rows, and the exit code is 1. bench/requirements.txt has the packages.
"""

import argparse
import importlib.util
import itertools
import math
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from sides import processes, report
from sides.case import references
from sides.figures import MOST_ERROR, as_exact, difference, errors, turns
from sides.peer import measure, ort_settings
from sides.plot import plot

ROOT = Path(__file__).resolve().parents[1]
EXPORTED, MADE = ROOT / "build/bench/exported", ROOT / "build/bench/models"
PACKAGES = ("onnxruntime", "openvino")
QUICK = ("mobilenet_v2", "efficientnet_b0", "resnet50", "yolo11n", "bert_base", "minilm", "vit_b_16", "gpt2_decode", "lstm",
         "random_forest", "resnet50_int8", "minilm_dynamic_int8")  # fmt: skip


@dataclass
class Side:
    """What runs a model: Tenon with an order of providers, or a setting of another runtime."""

    name: str
    provider: str = ""
    runtime: str = ""
    setting: str = ""
    figures: list[dict] = field(default_factory=list)  # of each process
    outputs: list | None = None

    def run(self, folder: Path, threads: int, seconds: float, work: Path) -> None:
        if self.provider:
            if self.outputs is None:
                self.outputs = processes.tenon_outputs(folder, threads, self.provider, work)
            self.figures.append(processes.bench_tenon(folder, threads, seconds, self.provider))
            return
        kept = None if self.outputs is not None else work / "outputs.npz"
        self.figures.append(processes.bench_peer(self.runtime, self.setting, folder, threads, seconds, kept))
        if kept:
            self.outputs = processes.load_outputs(kept)

    def precision(self) -> str:
        if not self.provider:
            return self.figures[0]["precision"]
        precision = processes.order_and_precision(self.provider)[1]
        return "f32" if precision == "exact" else precision

    def row(self, folder: Path, threads: int) -> dict:
        row = {"model": str(folder / "model.onnx"), "threads": threads, "file_bytes": file_bytes(folder)}
        if self.provider:
            row["provider"] = self.provider
        else:
            name = {"onnxruntime": "ONNX Runtime {} CPU", "openvino": "OpenVINO {}"}[self.runtime].format(self.figures[0]["version"])
            if self.runtime == "openvino":
                name += " f32" if self.setting == "f32" else f" default ({self.precision()})"
            row |= {"runtime": name, "setting": self.setting, "precision": self.precision()}
        return row | report.summary(self.figures) | {"errors": errors(self.outputs, references(folder))}


def file_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def is_quantised(folder: Path) -> bool:
    """True where rounding to integers makes small differences large."""
    import onnx

    model = onnx.load(folder / "model.onnx", load_external_data=False)
    kinds = ("QuantizeLinear", "DynamicQuantizeLinear", "MatMulNBits")
    return any(node.op_type in kinds or node.op_type.startswith("QLinear") for node in model.graph.node)


def fastest_setting(folder: Path, threads: int, seconds: float) -> str:
    """The setting of ONNX Runtime whose process has the least median; any where it cannot run the model, which its turn tells."""
    def time_of(setting: str) -> float:
        try:
            return processes.bench_peer("onnxruntime", setting, folder, threads, seconds)["median_ns"]
        except processes.Failed:
            return math.inf

    return min(ort_settings(threads), key=time_of)


def sides_of(folder: Path, threads: int, options) -> list[Side]:
    sides = [Side(f"Tenon {provider}", provider=provider) for provider in dict.fromkeys(["auto", *(options.provider or [])])]
    for runtime in options.peers:
        if runtime == "onnxruntime":
            setting = "all+spin" if options.quick else fastest_setting(folder, threads, options.seconds / 2)
            sides.append(Side("ONNX Runtime", runtime=runtime, setting=setting))
        else:
            sides += [Side(f"OpenVINO {setting}", runtime=runtime, setting=setting) for setting in ("f32", "default")]
    return sides


def compare(folder: Path, threads: int, options) -> tuple[list[dict], list[str], list[str]]:
    """The rows of one model, what is wrong with Tenon, and what other runtimes cannot run."""
    problems, notes = [], []
    sides, failed = sides_of(folder, threads, options), set()
    with tempfile.TemporaryDirectory() as work:
        for side in turns(sides, options.restarts):
            if side.name in failed:
                continue
            try:
                side.run(folder, threads, options.seconds, Path(work))
            except processes.Failed as failure:
                failed.add(side.name)
                (problems if side.provider else notes).append(f"{folder.name}, threads {threads}: {side.name} fails: {failure}")
    sides = [side for side in sides if side.name not in failed]
    quantised, known = is_quantised(folder), references(folder)
    for ours, theirs in itertools.product(sides, sides):
        if ours.provider and theirs.runtime:
            coarse = quantised or {ours.precision(), theirs.precision()} != {"f32"}
            problem = difference(ours.outputs, theirs.outputs, coarse)
            if problem:
                text = f"{folder.name}, threads {threads}: {ours.name} against {theirs.name}: {problem}"
                if known and not coarse and as_exact(ours.outputs, theirs.outputs, known):
                    notes.append(f"{text}; the error against float64 is at most {MOST_ERROR} times as large")
                else:
                    problems.append(text)
    return [] if problems else [side.row(folder, threads) for side in sides], problems, notes


def chosen_folders(options, parser) -> list[Path]:
    folders = options.folders or sorted(path.parent for root in (EXPORTED, MADE) for path in root.glob("*/model.onnx"))
    if options.quick and not options.folders:
        folders = [EXPORTED / name for name in QUICK]
    absent = [str(folder) for folder in folders if not (folder / "model.onnx").exists()]
    if absent or not folders:
        parser.error(f"no model {', '.join(absent) or 'at all'}: bench/export_models.py {EXPORTED} makes those of the benches")
    return folders


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--provider", action="append",
                        help="an order of preference beside auto, such as onednn,cpu; with a precision: auto+bf16; may be repeated")
    parser.add_argument("--peers", default=",".join(PACKAGES), help="other runtimes, of %(default)s")
    parser.add_argument("--threads", help="numbers of threads; 1,2, or with --quick 1")
    parser.add_argument("--seconds", type=float, help="for each process; 2, or with --quick 0.3")
    parser.add_argument("--restarts", type=int, help="processes for each side; 4, or with --quick 2")
    parser.add_argument("--quick", action="store_true", help=f"2 minutes of an idle machine: {len(QUICK)} models, one setting of ONNX Runtime")
    parser.add_argument("--least", action="store_true", help="compare least times, not medians: where others use the machine too")
    parser.add_argument("--json", type=Path, help="file for the rows, for docs/status.md")
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    parser.add_argument("--plot", type=Path, help="file for the plot, an SVG")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.threads = [int(text) for text in (options.threads or ("1" if options.quick else "1,2")).split(",")]
    options.seconds = options.seconds or (0.3 if options.quick else 2)
    options.restarts = options.restarts or (2 if options.quick else 4)
    options.peers = [name for name in options.peers.split(",") if name]
    if options.worker:
        return options
    for name in options.peers:
        if name not in PACKAGES:
            parser.error(f"no peer '{name}'; there are {', '.join(PACKAGES)}")
        if importlib.util.find_spec(name) is None:
            parser.error(f"{sys.executable} has no package {name}; use the Python of bench/requirements.txt, or leave it out of --peers")
    options.folders, cores = chosen_folders(options, parser), len(os.sched_getaffinity(0))
    if max(options.threads) > cores:
        parser.error(f"{max(options.threads)} threads: this process has {cores} cores")
    return options


def main() -> int:
    options = arguments()
    if options.worker:
        runtime, setting, output = options.worker
        measure(runtime, options.folders[0], options.threads[0], setting, options.seconds, Path(output) if output else None)
        return 0
    begun, rows, problems, notes = time.monotonic(), [], [], []
    by = "min_ns" if options.least else "median_ns"
    for folder in options.folders:
        for threads in options.threads:
            more, wrong, cannot = compare(folder, threads, options)
            rows, problems, notes = rows + more, problems + wrong, notes + cannot
            report.write_rows(options.json, rows)
            line = ", ".join(f"{report.label(row)} {report.ms(row[by])}" for row in more)
            print(f"{folder.name}, threads {threads}, ms: {line or 'no rows'}", file=sys.stderr, flush=True)
    text = report.page(rows, problems + notes, by)
    print(text + f"\n{len(rows)} rows, {len(problems)} problems, {time.monotonic() - begun:.0f} s")
    if options.markdown:
        report.write_text(options.markdown, text)
    if options.plot and report.labels(rows):
        report.write_text(options.plot, plot(rows, by))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
