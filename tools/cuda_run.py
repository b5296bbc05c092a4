#!/usr/bin/env python3
"""Tries the provider cuda on this machine, and prints one table.

    ./run [--output result.md] [--minutes 9] [--quick] [--on-stand-ins FOLDER]

Needs an NVIDIA driver, and NVRTC; uses cuBLASLt and cuDNN where they are; looks for them in the loader's way, in CUDA_HOME, in
/usr/local/cuda and in Python's packages. Needs no network and nothing of Tenon but this folder, which tools/test-cuda --bundle made.

The ONNX node cases and the published models run on cuda with the cpu provider behind it, compute-sanitizer watches some of them,
and networks are measured beside ONNX Runtime and PyTorch, if Python has them. Exit code 0: all passed, 1: something failed, 2: there is
no device that the provider can use.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TENON = HERE / "bin" / "tenon"
NVRTC = "libnvrtc.so.13"
QUICK_CASES, QUICK_BYTES = 40, 300_000
WATCHED = 24  # cases that compute-sanitizer watches
UNUSABLE = 2  # exit code
FAULTS = ("select.on_compile_failed=error", "provider.cuda.on_lost=fail")  # nothing is mended silently


@dataclass
class Result:
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, what: str, result: str, detail: str = "") -> None:
        self.rows.append((what, result, detail))
        print(f"{what}: {result}{'; ' + detail if detail else ''}", flush=True)

    def table(self) -> str:
        cell = lambda text: text.replace("|", "\\|").replace("\n", " ")  # noqa: E731
        out = "| what | result | detail |\n|---|---|---|\n"
        out += "".join(f"| {' | '.join(map(cell, row))} |\n" for row in self.rows)
        if self.failures:
            out += "\nFailures:\n\n" + "".join(f"- {cell(line)}\n" for line in self.failures)
        return out


class Machine:
    """The environment of every command, and the time that is left."""

    def __init__(self, options: argparse.Namespace, state: Path):
        self.until = time.monotonic() + options.minutes * 60
        folders = [options.on_stand_ins] if options.on_stand_ins else library_folders()
        folders += [str(HERE / "lib" / "foreign")]
        known = os.environ.get("LD_LIBRARY_PATH", "")
        self.environment = os.environ | {
            "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [*folders, known])),
            "XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state), "XDG_CONFIG_HOME": str(state),
            "TENON_DISCOVERY_TRUST": "none",  # who unpacked this folder may be anybody
        }  # fmt: skip

    def left(self) -> float:
        return max(1.0, self.until - time.monotonic())

    def run(self, *words: object, at_most: float = 1e9) -> subprocess.CompletedProcess | None:
        """None when the time was over."""
        try:
            return subprocess.run([str(word) for word in words], env=self.environment, capture_output=True, text=True,
                                  timeout=min(at_most, self.left()))  # fmt: skip
        except subprocess.TimeoutExpired:
            return None


def library_folders() -> list[str]:
    """Where a toolkit may be that is not in the loader's way."""
    roots = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    folders = [Path(root, below) for root in filter(None, roots) for below in ("lib64", "lib", f"targets/{platform.machine()}-linux/lib")]
    for packages in map(Path, sys.path):
        folders += packages.glob("nvidia/*/lib")
    return list(dict.fromkeys(str(folder) for folder in folders if any(folder.glob("lib*.so.*"))))


# ---- The steps ----


def device(machine: Machine, result: Result) -> bool:
    if smi := shutil.which("nvidia-smi"):
        done = machine.run(smi, "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader", at_most=30)
        if done and done.returncode == 0:
            result.add("nvidia-smi", done.stdout.strip().replace("\n", "; "))
    done = machine.run(TENON, "providers", "list", "--format", "json", at_most=60)
    entries = json.loads(done.stdout) if done and done.returncode == 0 else []
    entry = next((entry for entry in entries if entry["id"] == "cuda"), None)
    if entry is None or entry["verdict"] != "usable":
        why = f"{entry['refusal']}: {entry['reason']}; {entry['cure']}" if entry else f"not listed: {done.stderr if done else 'no answer'}"
        result.add("provider cuda", "refused", why)
        return False
    result.add("provider cuda", entry["version"], "; ".join(f"{each['name']}, {each.get('driver', '')}" for each in entry["devices"]))
    return True


def cases(machine: Machine, result: Result, what: str, folder: Path) -> list[str]:
    """Runs test cases and returns the names of those that ran wholly on cuda."""
    report = folder.with_suffix(".json")
    command = [TENON, "test", folder, "--provider", "cuda", "cpu", "--format", "json", "--output", report, "--timeout", "60",
               "--jobs", min(8, os.cpu_count() or 1), "--expectations", HERE / "expectations-cuda.json", HERE / "expectations-cpu.json"]  # fmt: skip
    done = machine.run(*command, *(word for setting in FAULTS for word in ("--set", setting)))
    if not report.exists():
        result.failures.append(f"{what}: " + (done.stderr[-500:] if done else "not done in time"))
        result.add(what, "FAILED", "no report")
        return []
    answer = json.loads(report.read_text())
    bad = [case for case in answer["cases"] if case["status"] in ("failed", "crashed")]
    whole = [case["name"] for case in answer["cases"] if case["status"] == "passed" and set(case["nodes"]) == {"cuda"}]
    result.failures += [f"{what}: {case['name']}: {case['message'][:300]}" for case in bad]
    seconds = sum(case["seconds"] for case in answer["cases"])
    result.add(what, f"{answer['summary']['passed']} passed, {len(bad)} failed", f"{len(whole)} wholly on cuda, {seconds:.0f} s of work")
    return whole


def watch(machine: Machine, result: Result, folder: Path, names: list[str]) -> None:
    tool = shutil.which("compute-sanitizer") or next(filter(os.path.exists, ["/usr/local/cuda/bin/compute-sanitizer"]), None)
    if tool is None:
        result.add("compute-sanitizer", "not there", "it comes with the CUDA toolkit")
        return
    some = folder.parent / "watched"
    some.mkdir()
    for name in names[:: max(1, len(names) // WATCHED)][:WATCHED]:
        (some / name).symlink_to(folder / name)
    for check in ("memcheck", "racecheck", "synccheck", "initcheck"):
        done = machine.run(tool, "--tool", check, "--target-processes", "all", "--error-exitcode", "9", TENON, "test", some, "--provider",
                           "cuda", "cpu", "--jobs", "2", at_most=machine.left() / 3)  # fmt: skip
        if done is None:
            result.add(f"compute-sanitizer {check}", "not done in time")
            continue
        errors = re.findall(r"ERROR SUMMARY: (\d+)", done.stdout + done.stderr)
        wrong = done.returncode != 0 or any(map(int, errors))
        result.add(f"compute-sanitizer {check}", "FAILED" if wrong else "clean", f"{len(list(some.iterdir()))} cases")
        if wrong:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("=========")]
            result.failures.append(f"compute-sanitizer {check}: {' '.join(lines[:8])[:800]}")


def median_of_tenon(machine: Machine, model: Path, seconds: float) -> float | None:
    done = machine.run(TENON, "bench", model, "--provider", "cuda,cpu", "--seconds", seconds, "--format", "json", at_most=120)
    return json.loads(done.stdout)[0]["median_ns"] / 1e6 if done and done.returncode == 0 else None


# What both measure: the inputs begin in the host's memory, and the outputs end there, as in `tenon bench`.
PEERS = '''
import sys, time, statistics, json
import numpy as np
def measure(call, seconds):
    for _ in range(5): call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter(); call(); times.append(time.perf_counter() - begin)
    print(json.dumps(statistics.median(times) * 1e3))
'''
ONNX_RUNTIME = PEERS + '''
import onnxruntime as ort
ort.set_default_logger_severity(4)
if "CUDAExecutionProvider" not in ort.get_available_providers(): sys.exit("this ONNX Runtime has no CUDA")
session = ort.InferenceSession(sys.argv[1], providers=[("CUDAExecutionProvider", {"use_tf32": 0}), "CPUExecutionProvider"])
draw = np.random.default_rng(1)
def value(i):
    shape = [d if isinstance(d, int) else 1 for d in i.shape]
    return draw.standard_normal(shape).astype(np.float32) if "float" in i.type else np.ones(shape, np.int64 if "64" in i.type else np.int32)
inputs = {i.name: value(i) for i in session.get_inputs()}
measure(lambda: session.run(None, inputs), float(sys.argv[2]))
'''
PYTORCH = PEERS + '''
import torch
import torch.nn.functional as F
if not torch.cuda.is_available(): sys.exit("this PyTorch has no CUDA")
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.set_grad_enabled(False)
def on_device(*shape): return torch.randn(*shape, device="cuda") * 0.02
def products():
    layers = [(on_device(1024, 1024), on_device(1024)) for _ in range(8)]
    def forward(x):
        for w, b in layers: x = F.relu(torch.addmm(b, x, w))
        return x
    return forward, torch.randn(256, 1024)
def convolutions():
    layers = [(on_device(64, 64, 3, 3), on_device(64)) for _ in range(6)]
    def forward(x):
        for w, b in layers: x = F.relu(F.conv2d(x, w, b, padding=1))
        return x
    return forward, torch.randn(1, 64, 112, 112)
def rows():
    scale, shift = on_device(1024), on_device(1024)
    def forward(x):
        for _ in range(4): x = torch.softmax(F.layer_norm(x, (1024,), scale, shift), -1)
        return x
    return forward, torch.randn(4096, 1024)
def attention():
    def forward(x):
        for _ in range(4): x = F.scaled_dot_product_attention(x, x, x)
        return x
    return forward, torch.randn(1, 12, 512, 64)
forward, x = {"products": products, "convolutions": convolutions, "rows": rows, "attention": attention}[sys.argv[1]]()
measure(lambda: forward(x.to("cuda")).cpu(), float(sys.argv[2]))
'''


def median_of_peer(machine: Machine, script: str, what: object, seconds: float) -> str:
    environment = machine.environment | {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}  # they bring libraries of their own
    try:
        done = subprocess.run([sys.executable, "-c", script, str(what), str(seconds)], env=environment, capture_output=True, text=True,
                              timeout=min(120, machine.left()))  # fmt: skip
    except subprocess.TimeoutExpired:
        return "no answer"
    if done.returncode == 0:
        return f"{json.loads(done.stdout.splitlines()[-1]):.3f} ms"
    return "not there" if "No module named" in done.stderr else (done.stderr.strip().splitlines() or ["failed"])[-1][:60]


def measure(machine: Machine, result: Result, models: list[Path], seconds: float) -> None:
    for model in models:
        name = model.stem if model.stem != "model" else model.parent.name
        ours = median_of_tenon(machine, model, seconds)
        if ours is None:
            result.failures.append(f"benchmark {name}: tenon bench failed or took too long")
        peers = {"ONNX Runtime": median_of_peer(machine, ONNX_RUNTIME, model, seconds)}
        if model.parent.name == "networks":
            peers["PyTorch"] = median_of_peer(machine, PYTORCH, name, seconds)
        result.add(f"benchmark {name}", f"{ours:.3f} ms" if ours is not None else "FAILED",
                   ", ".join(f"{peer}: {text}" for peer, text in peers.items()))  # fmt: skip


def unpack(name: str, work: Path, some: bool) -> Path:
    """The folder of an archive of the bundle; with `some` a few of its small cases."""
    folder = work / name
    folder.mkdir()
    archive = HERE / f"{name}.tar.xz"
    if not archive.exists():
        return folder
    with tarfile.open(archive) as pack:
        pack.extractall(work)
    if some:
        sizes = {case: sum(file.stat().st_size for file in case.rglob("*") if file.is_file()) for case in folder.iterdir()}
        small = sorted(case for case, size in sizes.items() if size <= QUICK_BYTES)
        kept = set(small[:: max(1, len(small) // QUICK_CASES)][:QUICK_CASES])
        for case in set(sizes) - kept:
            shutil.rmtree(case)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="file that gets the table")
    parser.add_argument("--minutes", type=float, default=9, help="when they are over, what is left is not run")
    parser.add_argument("--quick", action="store_true", help="a few small cases, and short measurements")
    parser.add_argument("--on-stand-ins", metavar="FOLDER", help="what stands in for NVIDIA's libraries, in place of them")
    options = parser.parse_args()
    result, begin = Result(), time.monotonic()
    about = json.loads((HERE / "bundle.json").read_text())
    with tempfile.TemporaryDirectory(prefix="tenon-cuda-") as name:
        work = Path(name)
        (work / "state").mkdir()
        machine = Machine(options, work / "state")
        result.add("bundle", about["version"], f"{about['cases']} node cases, {about['models']} models; glibc {platform.libc_ver()[1]}")
        usable = device(machine, result)
        if usable:
            node = unpack("node", work, options.quick)
            whole = cases(machine, result, "ONNX node cases", node)
            models = unpack("models", work, options.quick)
            if any(models.iterdir()):
                cases(machine, result, "published models", models)
            watch(machine, result, node, sorted(whole))
            networks = sorted((HERE / "networks").glob("*.onnx"))
            published = [models / name / "model.onnx" for name in about["measured"] if (models / name / "model.onnx").exists()]
            measure(machine, result, [*published[:1], *networks[-1:]] if options.quick else [*published, *networks],
                    0.1 if options.quick else 1)  # fmt: skip
    where = "stand-ins for NVIDIA's libraries, which tell nothing of speed" if options.on_stand_ins else platform.node()
    page = f"# Tenon's provider cuda on {where}\n\n{result.table()}\n{(time.monotonic() - begin) / 60:.1f} minutes\n"
    print("\n" + page, flush=True)
    if options.output:
        options.output.write_text(page)
    return UNUSABLE if not usable else 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
