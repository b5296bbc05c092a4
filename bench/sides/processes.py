"""Starts the processes of each side: Tenon's command, or a process of Python for another runtime."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from sides.case import data_files, read_tensor

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/release/bin/tenon"
AT_MOST = 900  # seconds for one process


class Failed(Exception):
    """A process that ended with an error; the text is the last line that it wrote."""


def pinned(command: list, threads: int) -> list[str]:
    """The command on the first cores that this process may use, one for each thread."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    return ["taskset", "-c", ",".join(map(str, cores)), *map(str, command)]


def output_of(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=AT_MOST)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"no answer in {AT_MOST} s") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise Failed(lines[-1][:300])
    return done.stdout


def order_and_precision(provider: str) -> tuple[str, str]:
    """What a side of Tenon names: an order of providers, and behind a + the precision; exact without it."""
    order, _, precision = provider.partition("+")
    return order, precision or "exact"


def tenon_flags(folder: Path, provider: str) -> list:
    order, precision = order_and_precision(provider)
    flags = [] if order == "auto" else ["--provider", *order.split(",")]
    if precision != "exact":
        flags += ["--set", f"precision.default={precision}"]
    for path in data_files(folder, "input"):
        flags += ["--input", f"{read_tensor(path)[0]}={path}"]
    return flags


def bench_tenon(folder: Path, threads: int, seconds: float, provider: str, settings: tuple[str, ...] = ()) -> dict:
    """The row of `tenon bench`: median_ns, min_ns, load_ns, first_ns, peak_bytes. `settings`: KEY=VALUE."""
    command = [COMMAND, "bench", folder / "model.onnx", "--threads", threads, "--seconds", seconds, "--format", "json"]
    command += [word for setting in settings for word in ("--set", setting)]
    return json.loads(output_of(pinned(command + tenon_flags(folder, provider), threads)))[0]


def tune_tenon(folder: Path, threads: int, seconds: float, provider: str, settings: tuple[str, ...] = ()) -> dict:
    """The report of `tenon tune`."""
    command = [COMMAND, "tune", folder / "model.onnx", "--seconds", seconds, "--format", "json"]
    command += [word for setting in (f"threads.count={threads}", *settings) for word in ("--set", setting)]
    return json.loads(output_of(pinned(command + tenon_flags(folder, provider), threads)))


def tenon_outputs(folder: Path, threads: int, provider: str, work: Path) -> list[np.ndarray]:
    command = [COMMAND, "run", folder / "model.onnx", "--output", work, "--set", f"threads.count={threads}"]
    output_of(pinned(command + tenon_flags(folder, provider), threads))
    order = json.loads(output_of([str(COMMAND), "inspect", str(folder / "model.onnx"), "--format", "json"]))
    return [np.load(work / f"{entry['name'].replace('/', '_')}.npy") for entry in order["outputs"]]


def bench_peer(runtime: str, setting: str, folder: Path, threads: int, seconds: float, output: Path | None = None) -> dict:
    """The figures that sides/peer.py prints; the outputs are written to `output`, an .npz file."""
    command = [sys.executable, "-B", ROOT / "bench/peers.py", folder, "--threads", threads, "--seconds", seconds,
               "--worker", runtime, setting, output or ""]
    return json.loads(output_of(pinned(command, threads)).splitlines()[-1])


def load_outputs(path: Path) -> list[np.ndarray]:
    with np.load(path) as answers:
        return [answers[name] for name in answers.files]
