#!/usr/bin/env python3
"""Times models on Tenon and on ONNX Runtime in turn, and compares the outputs.

    build/venv/bin/python bench/peers.py build/bench/models/resnet50 --provider onednn,cpu --threads 1,2

A model is a folder as from bench/make_models.py or the ONNX test cases: model.onnx and test_data_set_0/input_*.pb. Both sides
get the same bytes, inputs, threads and cores. They take turns (A B B A ...), each in a new process, because speed varies
between processes. The result of a side is the median of its processes' medians. ONNX Runtime runs with all and with basic
optimisations, with and without spinning threads; its best setting counts. The exit code is 1 if outputs differ. `--json` adds
rows for docs/status.md. Without models, it runs all of build/bench/models.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ROOT / "build/release/bin/tenon"
RTOL, ATOL = 1e-3, 1e-5  # per element; ATOL is scaled by the root mean square of the output


def read_tensor(path: Path) -> tuple[str, np.ndarray]:
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor.name, numpy_helper.to_array(tensor)


def input_files(folder: Path) -> list[Path]:
    files = (folder / "test_data_set_0").glob("input_*.pb")
    return sorted(files, key=lambda path: int(path.stem.split("_")[1]))


# ---- ONNX Runtime, in its own process ----


def worker(folder: Path, threads: int, seconds: float, output: Path) -> None:
    """Prints the median of the best setting in ns, and writes the outputs of the last run."""
    import onnxruntime as ort

    best = None
    for level in (ort.GraphOptimizationLevel.ORT_ENABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC):
        for spinning in ("1", "0") if threads > 1 else ("1",):
            options = ort.SessionOptions()
            options.intra_op_num_threads, options.graph_optimization_level = threads, level
            options.add_session_config_entry("session.intra_op.allow_spinning", spinning)
            session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
            named = dict(read_tensor(path) for path in input_files(folder))
            inputs = {info.name: named.get(info.name, list(named.values())[i])
                      for i, info in enumerate(session.get_inputs())}
            median, answers = time_session(session, inputs, seconds)
            best = median if best is None else min(best, median)
    np.savez(output, *answers)
    print(best)


def time_session(session, inputs: dict[str, np.ndarray], seconds: float) -> tuple[float, list[np.ndarray]]:
    binding = session.io_binding()
    for name, value in inputs.items():
        binding.bind_cpu_input(name, value)
    for info in session.get_outputs():
        binding.bind_output(info.name)
    for _ in range(3):
        session.run_with_iobinding(binding)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter_ns()
        session.run_with_iobinding(binding)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times), binding.copy_outputs_to_cpu()


def pinned(command: list, threads: int) -> list:
    return ["taskset", "-c", f"0-{threads - 1}", *map(str, command)]


def run_peer(folder: Path, threads: int, seconds: float, work: Path) -> tuple[float, list[np.ndarray]]:
    out = work / "peer.npz"
    command = [sys.executable, "-B", __file__, "--worker", out, folder, "--threads", threads, "--seconds", seconds]
    text = subprocess.run(pinned(command, threads), check=True, capture_output=True, text=True).stdout
    with np.load(out) as answers:
        return float(text.split()[-1]), [answers[name] for name in answers.files]


# ---- Tenon ----


def tenon_flags(folder: Path, provider: str) -> list:
    flags = [] if provider == "auto" else ["--provider", *provider.split(",")]
    for path in input_files(folder):
        flags += ["--input", f"{read_tensor(path)[0]}={path}"]
    return flags


def run_tenon(folder: Path, threads: int, seconds: float, provider: str) -> float:
    command = [COMMAND, "bench", folder / "model.onnx", "--threads", threads, "--seconds", seconds, "--format", "json"]
    command += tenon_flags(folder, provider)
    text = subprocess.run(pinned(command, threads), check=True, capture_output=True, text=True).stdout
    return json.loads(text)[0]["median_ns"]


def tenon_outputs(folder: Path, provider: str, work: Path) -> list[np.ndarray]:
    command = [COMMAND, "run", folder / "model.onnx", "--output", work] + tenon_flags(folder, provider)
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    order = json.loads(subprocess.run([COMMAND, "inspect", folder / "model.onnx", "--format", "json"], check=True,
                                      capture_output=True, text=True).stdout)
    return [np.load(work / f"{entry['name'].replace('/', '_')}.npy") for entry in order["outputs"]]


def difference(ours: list[np.ndarray], theirs: list[np.ndarray]) -> str | None:
    """Returns None if all outputs agree, else a text about the first difference."""
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape:
            return f"output {index}: shape {a.shape} against {b.shape}"
        scale = max(1.0, float(np.sqrt(np.mean(np.square(b.astype(np.float64)))))) if b.size else 1.0
        close = np.isclose(a, b, rtol=RTOL, atol=ATOL * scale, equal_nan=True)
        if not close.all():
            return f"output {index}: {np.count_nonzero(~close)} of {close.size} elements differ"
    return None


# ---- Both ----


def compare(folder: Path, provider: str, threads: int, options) -> list[dict]:
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for turn in range(options.restarts):
            sides = [lambda: ours.append(run_tenon(folder, threads, options.seconds, provider)),
                     lambda: theirs.append(run_peer(folder, threads, options.seconds, work))]
            for side in sides if turn % 2 == 0 else reversed(sides):
                side()
        problem = difference(tenon_outputs(folder, provider, work), theirs[0][1])
    if problem:
        raise SystemExit(f"{folder.name} on {provider}: {problem}")
    import onnxruntime
    a, b = statistics.median(ours), statistics.median(median for median, _ in theirs)
    spread = (max(ours) - min(ours)) / a
    print(f"| {folder.name} | {provider} | {threads} | {a / 1e6:.2f} | {b / 1e6:.2f} | {a / b:.2f} | {spread:.0%} |",
          flush=True)
    common = {"model": str(folder / "model.onnx"), "threads": threads}
    return [common | {"provider": provider, "median_ns": a},
            common | {"runtime": f"ONNX Runtime {onnxruntime.__version__} CPU", "median_ns": b}]


def write_rows(path: Path | None, rows: list[dict]) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--provider", action="append", help="order of preference, such as onednn,cpu; auto: the default order; may be repeated")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=3, help="for each process and setting")
    parser.add_argument("--restarts", type=int, default=4, help="processes for each side")
    parser.add_argument("--json", type=Path, help="file for the rows")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.folders[0], int(options.threads), options.seconds, options.worker)
        return 0
    folders = options.folders or sorted(path.parent for path in (ROOT / "build/bench/models").glob("*/model.onnx"))
    if not folders:
        parser.error("no models: build/venv/bin/python bench/make_models.py build/bench/models makes some")
    rows = []
    print("| model | provider | threads | Tenon ms | ONNX Runtime ms | ratio | spread |\n|---|---|---:|---:|---:|---:|---:|")
    for folder in folders:
        for provider in options.provider or ["cpu"]:
            for threads in (int(text) for text in options.threads.split(",")):
                if threads > (os.cpu_count() or 1):
                    print(f"not measured with {threads} threads: there are {os.cpu_count()} cores", file=sys.stderr)
                    continue
                rows += compare(folder, provider, threads, options)
    write_rows(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
