#!/usr/bin/env python3
"""Tries the provider cuda on this machine, and prints one table.

    ./run [--output result.md] [--minutes 9] [--quick] [--libraries FOLDER] [--on-stand-ins FOLDER]

Needs an NVIDIA driver, and NVRTC; uses cuBLASLt and cuDNN where they are; looks for them in the loader's way, in CUDA_HOME, in
/usr/local/cuda and in the packages of the Python that runs this. Needs no network and nothing of Tenon but this folder, which
tools/test-cuda --bundle made.

The ONNX node cases and the published models run on cuda with the cpu provider behind it, compute-sanitizer watches some of them,
networks that this machine's PyTorch exports run too, and networks are measured beside ONNX Runtime and PyTorch, if Python has them
with CUDA. What failures print is in a log beside the file of --output: result.log.

Exit code 0: all passed, 1: something failed, or there was no time for it, 2: wrong arguments, 3: there is no device that the provider
can use.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
from cuda_machine import Done, Machine, Result, library_folders, minutes, output_file  # noqa: E402

HERE = Path(__file__).resolve().parent
TENON = HERE / "bin" / "tenon"
PEERS = {"onnxruntime": "ONNX Runtime", "pytorch": "PyTorch"}
QUICK_CASES, QUICK_BYTES = 40, 300_000
MEMORY_OF_JOB = 1 << 10  # MiB of the device's memory for each process that runs cases
BATCH = 240  # cases of a command: when the time is over, those that ran before are known
WATCHED = 24  # cases that compute-sanitizer watches
ALONE = 10  # crashed cases that run again, each alone
EXPORTED = ("bert", "bert_float16", "gpt2", "vit_b_16", "resnet50", "mobilenet_v2", "lstm")  # of cuda_exports.py
MOST_ERROR = (1e-5, 2e-2)  # of float32 and of float16, as parts of the largest number
UNUSABLE = 3  # exit code
NOT_THERE = 4  # of cuda_exports.py
ERROR_CODE = 9  # of compute-sanitizer, when it found something
# Nothing is mended silently.
STRICT = ("--set", "select.on_compile_failed=error", "--set", "provider.cuda.on_lost=fail")
# Parts of the time that a step may take at most. What is left is for the benchmark.
NODE_PART, MODELS_PART, WATCH_PART = 0.5, 0.1, 0.25


def device(machine: Machine, result: Result) -> bool:
    if smi := shutil.which("nvidia-smi"):
        done = machine.run(smi, "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader", at_most=30,
                           environment=dict(os.environ))  # fmt: skip
        result.add("nvidia-smi", done.out.strip().replace("\n", "; ") if done.ok() else done.how())
        if memory := [int(number) for number in re.findall(r"(\d+) MiB", done.out)]:
            machine.jobs = max(1, min(machine.jobs, min(memory) // MEMORY_OF_JOB))
    result.log("folders of libraries", machine.environment["LD_LIBRARY_PATH"].replace(os.pathsep, "\n"))
    done = machine.run(TENON, "providers", "list", "--format", "json", at_most=60)
    if not done.ok():  # also where its libraries do not fit the machine's
        result.add("provider cuda", "refused", f"tenon providers list: {done.how()}: {' '.join(done.err.split())[-500:]}")
        return False
    entry = next((entry for entry in json.loads(done.out) if entry["id"] == "cuda"), None)
    if entry is None or entry["verdict"] != "usable":
        why = f"{entry['refusal']}: {entry['reason']}; {entry['cure']}" if entry else f"not listed: {done.err}"
        result.add("provider cuda", "refused", why)
        result.log("tenon providers doctor cuda", machine.run(TENON, "providers", "doctor", "cuda", at_most=60).out)
        return False
    result.add("provider cuda", entry["version"], "; ".join(f"{each['name']}, {each.get('driver', '')}" for each in entry["devices"]))
    return True


def test_command(cases: list[Path], *words: object) -> list[object]:
    return [TENON, "test", *cases, "--provider", "cuda", "cpu", *STRICT, *words]


def run_cases(machine: Machine, result: Result, what: str, folder: Path, part: float) -> list[str]:
    """Runs test cases and returns the names of those that ran wholly on cuda."""
    paths, until = sorted(path.parent for path in folder.glob("*/model.onnx")), machine.share(part)
    if not paths:
        result.add(what, "none", "the bundle has none of them")
        return []
    answers, report, failed_before = [], folder.with_suffix(".json"), len(result.failures)
    words = ["--format", "json", "--output", report, "--timeout", "60", "--jobs", machine.jobs,
             "--expectations", HERE / "expectations-cuda.json", HERE / "expectations-cpu.json"]  # fmt: skip
    late = 0
    for begin in range(0, len(paths), BATCH):
        batch = paths[begin : begin + BATCH]
        report.unlink(missing_ok=True)
        done = machine.run(*test_command(batch, *words), until=until)
        if done.code is None:
            late = len(paths) - begin
            result.log(f"{what}, from {batch[0].name} on: no time", done.err)
            break
        if not report.exists():
            result.fail(f"{what}, {batch[0].name} to {batch[-1].name}", f"no report, {done.how()}", done.err)
            continue
        cases = json.loads(report.read_text())["cases"]
        answers += cases
        for case in cases:
            if case["status"] in ("failed", "crashed"):
                result.fail(f"{what}: {case['name']}", case["message"])
        tell_warnings(result, done.err)
        if done.err.strip():
            result.log(f"{what}, {batch[0].name} to {batch[-1].name}: standard error", done.err)
    for case in [case for case in answers if case["status"] == "crashed"][:ALONE]:
        done = machine.run(*test_command([folder / case["name"]], "--jobs", "1"), until=until)
        result.log(f"{what}: {case['name']}, again and alone: {done.how()}", done.out + done.err)
    whole = [case["name"] for case in answers if case["status"] == "passed" and set(case["nodes"]) == {"cuda"}]
    passed, seconds = sum(case["status"] == "passed" for case in answers), sum(case["seconds"] for case in answers)
    if answers or len(result.failures) > failed_before:
        result.add(what, f"{passed} passed, {len(result.failures) - failed_before} failed",
                   f"{len(whole)} wholly on cuda, {seconds:.0f} s of work")  # fmt: skip
    if late:
        result.late(what, f"{late} of {len(paths)} cases")
    return whole


def tell_warnings(result: Result, printed: str) -> None:
    """A row for each kind of warning, such as that of a library that is not used."""
    for kind, why in re.findall(r"^warning: cuda [\d.]+: (\w+): (.*)$", printed, re.MULTILINE):
        if not any(row[:2] == ("warning", kind) for row in result.rows):
            result.add("warning", kind, why)


def watch(machine: Machine, result: Result, folder: Path, names: list[str]) -> None:
    tool = shutil.which("compute-sanitizer") or next(filter(os.path.exists, ["/usr/local/cuda/bin/compute-sanitizer"]), None)
    if not names:
        result.add("compute-sanitizer", "not run", "no case ran wholly on cuda")
        return
    if tool is None:
        result.add("compute-sanitizer", "not there", "it comes with the CUDA toolkit")
        return
    some = [folder / name for name in names[:: max(1, len(names) // WATCHED)][:WATCHED]]
    checks, until = ["memcheck", "racecheck", "synccheck", "initcheck"], machine.share(WATCH_PART)
    for n, check in enumerate(checks):
        at_most = (until - time.monotonic()) / (len(checks) - n)
        done = machine.run(tool, "--tool", check, "--target-processes", "all", "--error-exitcode", ERROR_CODE,
                           *test_command(some, "--jobs", "2", "--timeout", "300"), at_most=at_most)  # fmt: skip
        judge_watched(result, f"compute-sanitizer {check}", done, len(some))


def judge_watched(result: Result, what: str, done: Done, cases: int) -> None:
    lines = (done.out + done.err).splitlines()
    said, others = ["\n".join(line for line in lines if line.startswith("=========") == is_its) for is_its in (True, False)]
    found = [int(number) for number in re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", said)]
    # Calls that CUDA answers with an error, also in NVIDIA's libraries, which try what a device can do. The provider tells its own.
    refused = len(re.findall(r"^========= Program hit ", said, re.MULTILINE))
    errors = sum(found) - refused
    if done.code is None and not said.replace("COMPUTE-SANITIZER", "").strip("= \n"):
        result.late(what, f"{cases} cases")
        result.log(f"{what}: no time", others)
    elif "Device not supported" in said:
        result.add(what, "not possible", "it says: Device not supported")
    elif found and errors <= 0 and done.code in ((0, ERROR_CODE) if refused else (0,)) and re.search(r"\b0 failed\b", others):
        result.add(what, "clean", f"{cases} cases" + (f", {refused} calls that CUDA answered with an error" if refused else ""))
        if refused:
            result.log(what, said)
    else:
        result.add(what, "FAILED", f"{cases} cases, {done.how()}, {errors if found else 'no summary of'} errors")
        result.fail(what, " ".join(said.splitlines()[:8]) or done.how(), said)
        result.log(f"{what}: tenon test", others)


# ---- Measurements ----


def peer(machine: Machine, name: str, *words: object) -> Done:
    # They bring libraries of their own, so they get the environment of whoever started this.
    return machine.run(sys.executable, "-B", HERE / "cuda_peers.py", name, *words, at_most=120, environment=dict(os.environ))


def peers_here(machine: Machine, result: Result) -> list[str]:
    """Those that use the GPU. The others get a row that says why not; that is no failure."""
    here = []
    for name, shown in PEERS.items():
        done = peer(machine, name)
        last = (done.out.strip().splitlines() or [""])[-1]
        if done.ok():
            here.append(name)
        elif done.code not in (3, 4):
            result.log(shown, f"{done.how()}\n{done.err}")
        result.add(shown, {0: last, 3: "not compared", 4: "not there"}.get(done.code, "no answer"),
                   last if done.code == 3 else "" if done.code in (0, 4) else done.how())  # fmt: skip
    return here


def median_of_peer(machine: Machine, result: Result, name: str, what: object, seconds: float) -> str:
    done = peer(machine, name, what, seconds)
    last = ((done.out if done.code in (0, 3) else done.err).strip().splitlines() or [done.how()])[-1]
    if done.ok():
        return f"{float(last):.3f} ms"
    result.log(f"{PEERS[name]} on {what}", f"{done.how()}\n{done.err}")
    return "not done in time" if done.code is None else last[:60]


def ran_on(nodes: str) -> str:
    """Of "11 cuda/gpu:0, 2 cpu/cpu:0"."""
    instances = {part.split(" ", 1)[-1].split("/")[0] for part in nodes.split(", ")}
    return "ran on cuda" if instances == {"cuda"} else f"ran on {nodes or 'nothing'}"


def measure(machine: Machine, result: Result, models: list[Path], seconds: float) -> None:
    peers = peers_here(machine, result)
    for n, model in enumerate(models):
        name = model.stem if model.stem != "model" else model.parent.name
        what = f"benchmark {name}"
        done = machine.run(TENON, "bench", model, "--provider", "cuda,cpu", *STRICT, "--seconds", seconds, "--format", "json", at_most=120)
        if done.code is None and time.monotonic() >= machine.until:
            result.late("benchmark", f"{len(models) - n} of {len(models)} models, from {name} on")
            return
        texts = [median_of_peer(machine, result, "onnxruntime", model, seconds)] if "onnxruntime" in peers else []
        texts = [f"ONNX Runtime: {text}" for text in texts]
        if "pytorch" in peers and model.parent.name == "networks":
            texts.append(f"PyTorch: {median_of_peer(machine, result, 'pytorch', name, seconds)}")
        if done.ok():
            row = json.loads(done.out)[0]
            result.add(what, f"{row['median_ns'] / 1e6:.3f} ms", ", ".join([ran_on(row["ran_on"]), *texts]))
        else:
            result.add(what, "FAILED", ", ".join([f"tenon bench: {done.how()}", *texts]))
            result.fail(what, f"tenon bench: {done.how()}", done.err)


def exporter(machine: Machine, *words: object, at_most: float) -> Done:
    return machine.run(sys.executable, "-B", HERE / "cuda_exports.py", *words, at_most=at_most, environment=dict(os.environ))


def run_exports(machine: Machine, result: Result, work: Path, names: tuple[str, ...], seconds: float) -> None:
    """Networks that this machine's PyTorch exports: their outputs beside PyTorch's on the processor, and both times."""
    work.mkdir()
    with ThreadPoolExecutor(len(names)) as pool:
        exported = dict(zip(names, pool.map(lambda name: exporter(machine, name, work / name, at_most=120), names)))
    if all(done.code == NOT_THERE for done in exported.values()):
        result.add("exported networks", "none", "PyTorch, torchvision and transformers are not there")
        return
    for name, done in exported.items():
        what = f"exported {name}"
        if not done.ok():
            last = (done.out.strip().splitlines() or [done.how()])[-1]
            result.add(what, "not there" if done.code == NOT_THERE else "not exported", last[-100:])
            result.log(what, f"{done.how()}\n{done.err}")
            continue
        folder = work / name
        inputs = [word for file in sorted(folder.glob("*.npy")) if file.stem != "reference" for word in ("--input", f"{file.stem}={file}")]
        model = [folder / "model.onnx", "--provider", "cuda,cpu", *STRICT]
        done = machine.run(TENON, "run", *model, *inputs, "--output", folder / "out")
        if done.code is None and time.monotonic() >= machine.until:
            result.late("exported networks", f"from {name} on")
            return
        error = error_of(folder) if done.ok() else 0.0
        bench = machine.run(TENON, "bench", *model, "--seconds", seconds, "--format", "json", at_most=60)
        if not done.ok() or not bench.ok() or error > MOST_ERROR["float16" in name]:
            result.add(what, "FAILED", f"tenon run: {done.how()}; tenon bench: {bench.how()}; error {error:.1e}")
            result.fail(what, f"tenon run: {done.how()}; tenon bench: {bench.how()}; error {error:.1e}", done.err + bench.err)
            continue
        row = json.loads(bench.out)[0]
        theirs = exporter(machine, name, folder, seconds, at_most=60)
        last = (theirs.out.strip().splitlines() or [theirs.how()])[-1]
        result.add(what, f"{row['median_ns'] / 1e6:.3f} ms", f"{ran_on(row['ran_on'])}, error {error:.1e}, PyTorch: "
                   + (f"{float(last):.3f} ms" if theirs.ok() else last[:60]))  # fmt: skip


def error_of(folder: Path) -> float:
    """The largest difference from the reference, as a part of its largest number. 1 if a number is missing."""
    import numpy as np  # it is there, since the network was exported

    reference = np.load(folder / "reference.npy").astype(np.float64)
    output = np.load(next((folder / "out").glob("*.npy"))).astype(np.float64)
    if output.shape != reference.shape or not np.isfinite(output).all():
        return 1.0
    return float(np.abs(output - reference).max() / np.abs(reference).max())


def unpack(name: str, work: Path, some: bool) -> Path:
    """The folder of an archive of the bundle; with `some` a few of its small cases."""
    folder = work / name
    folder.mkdir()
    archive = HERE / f"{name}.tar.xz"
    if not archive.exists():
        return folder
    with tarfile.open(archive) as pack:
        pack.extractall(work, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    if some:
        sizes = {case: sum(file.stat().st_size for file in case.rglob("*") if file.is_file()) for case in folder.iterdir()}
        small = sorted(case for case, size in sizes.items() if size <= QUICK_BYTES)
        kept = set(small[:: max(1, len(small) // QUICK_CASES)][:QUICK_CASES])
        for case in set(sizes) - kept:
            shutil.rmtree(case)
    return folder


def try_all(machine: Machine, result: Result, work: Path, options: argparse.Namespace, measured: list[str]) -> None:
    quick = options.quick
    node = unpack("node", work, quick)
    whole = run_cases(machine, result, "ONNX node cases", node, NODE_PART)
    models = unpack("models", work, quick)
    run_cases(machine, result, "published models", models, MODELS_PART)
    watch(machine, result, node, sorted(whole))
    if not options.on_stand_ins:  # those take minutes for networks of this size
        run_exports(machine, result, work / "exported", EXPORTED[:1] if quick else EXPORTED, 0.1 if quick else 1)
    networks = sorted((HERE / "networks").glob("*.onnx"))
    published = [models / name / "model.onnx" for name in measured if (models / name / "model.onnx").exists()]
    measure(machine, result, [*published[:1], *networks[-1:]] if quick else [*networks, *published], 0.1 if quick else 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=output_file, metavar="FILE", help="file that gets the table; the log is beside it")
    parser.add_argument("--minutes", type=minutes, default=9, help="when they are over, what is left is not run; default: 9")
    parser.add_argument("--quick", action="store_true", help="a few small cases, and short measurements")
    parser.add_argument("--libraries", action="append", default=[], metavar="FOLDER", help="another folder with NVIDIA's libraries")
    parser.add_argument("--on-stand-ins", metavar="FOLDER", help="what stands in for NVIDIA's libraries, in place of them")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):  # so that what was started is ended, too
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    where = "stand-ins for NVIDIA's libraries, which tell nothing of speed" if options.on_stand_ins else platform.node()
    result = Result(f"Tenon's provider cuda on {where}", options.output)
    about = json.loads((HERE / "bundle.json").read_text())
    folders = [options.on_stand_ins] if options.on_stand_ins else [*library_folders(), *options.libraries]
    with tempfile.TemporaryDirectory(prefix="tenon-cuda-") as name:
        (Path(name) / "state").mkdir()
        machine = Machine([*folders, str(HERE / "lib/foreign")], Path(name) / "state", options.minutes * 60)
        result.add("bundle", about["version"], f"{about['cases']} node cases, {about['models']} models; glibc {platform.libc_ver()[1]}")
        usable = device(machine, result)
        if usable:
            try_all(machine, result, Path(name), options, about["measured"])
    result.write()
    print("\n" + result.page(""), flush=True)
    return UNUSABLE if not usable else 1 if result.failures or result.not_done else 0


if __name__ == "__main__":
    sys.exit(main())
