#!/usr/bin/env python3
"""older_processors.py TENON SCAN OPS_TESTS CPU.json OBJECTS [--tables few|all]: the cpu provider on processors without AVX-512 and AVX2.

qemu-user plays the processors: an instruction that one lacks ends the command with SIGILL, wherever it stands. On each

  scan       the helper that tries libraries finds the device, and the instruction sets that it names are those of the processor
  run        a model runs, its answer is right
  refusal    TENON_CPU_ISA with a set that the processor lacks is refused in words
  operators  with --tables the operator tables pass: a few of every kind, or each row

Where a table ends in a read outside of memory, qemu may be at fault: it reads all lanes of a masked load. The processor itself is asked
then, with that instruction set; tables of which only it can tell are counted and said, and may not be many.

and first, without a processor: objects that are compiled for an instruction set (OBJECTS, the folder they lie in) share no function with
the rest of the library. Of two functions of one name the linker keeps one, which would then be wide code for everybody.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "data/digits"
QEMU = "qemu-x86_64"
# Rows that go through every loop of isa/, and through the processor's own maths and conversions.
FEW = ["Add_*", "Abs_*", "Attention_*", "AveragePool_*", "Cast_*", "Conv_*", "ConvTranspose_*", "CumSum_*", "DFT_*", "Div_*", "Einsum_*",
       "Erf_*", "Exp_*", "GRU_*", "Gather_*", "Gelu_*", "Gemm_*", "HardSwish_*", "LSTM_*", "LayerNormalization_*", "LogSoftmax_*",
       "MatMul_*", "Max_*", "MaxPool_*", "Min_*", "Mul_*", "Neg_*", "QuantizeLinear_*", "ReduceMean_*", "Relu_*", "Resize_*",
       "Sigmoid_*", "Softmax_*", "Sqrt_*", "Sub_*", "Tanh_*", "TopK_*"]  # fmt: skip
REFUSED = 6  # exit code
TOGETHER = 8  # tables of one process


@dataclass
class Processor:
    name: str  # as qemu has it
    features: list[str]  # what the provider names, best first


PROCESSORS = [Processor("Haswell", ["avx2", "generic"]), Processor("Nehalem", ["generic"])]


class Emulated:
    """Commands on one processor, with a state folder that only this test uses."""

    def __init__(self, processor: Processor, state: pathlib.Path):
        self.processor = processor
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("TENON_")}
        self.environment |= {"XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state)}

    def __call__(self, *words: object, timeout: int = 300, **options) -> subprocess.CompletedProcess:
        command = [QEMU, "-cpu", self.processor.name, *map(str, words)]
        environment = self.environment | options.pop("environment", {})
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, **options)


def said(done: subprocess.CompletedProcess) -> str:
    return f"exit code {done.returncode}: {(done.stdout + done.stderr)[-1500:]}"


def scan(emulated: Emulated, helper: str, manifest: pathlib.Path) -> list[str]:
    about = json.loads(manifest.read_text())
    library = manifest.parent / about["library"]["path"]
    with tempfile.TemporaryFile("w+") as verdict:
        # The verdict goes to descriptor 3.
        words = [helper, library, manifest.parent, about["provider"]["id"], about["provider"]["version"], 60]
        command = ["sh", "-c", 'exec "$@" 3>&9', "sh", QEMU, "-cpu", emulated.processor.name, *map(str, words)]
        shell = ["bash", "-c", 'exec 9>&"$0"; exec "$@"', str(verdict.fileno()), *command]
        done = subprocess.run(shell, env=emulated.environment, capture_output=True, text=True, timeout=120, pass_fds=[verdict.fileno()])
        verdict.seek(0)
        text = verdict.read()
    verdict_line = next((line for line in text.splitlines() if line.startswith("verdict ")), "verdict {}")
    features = [feature for device in json.loads(verdict_line[8:]).get("devices", []) for feature in device["features"]]
    if done.returncode != 0 or features != emulated.processor.features:
        return [f"the scan names {features}, expected {emulated.processor.features}: {text}{said(done)}"]
    return []


def run(emulated: Emulated, tenon: str) -> list[str]:
    words = [tenon, "run", DIGITS / "digits.onnx", "--input", DIGITS / "digit_3.png", "--provider", "cpu", "--set", "discovery.scan=off"]
    done = emulated(*words)
    out = []
    if done.returncode != 0 or "on cpu/cpu:0" not in done.stdout:
        out.append(f"run: {said(done)}")
    lacking = [isa for isa in ("avx512_bf16", "avx512_vnni", "avx512", "avx2") if isa not in emulated.processor.features]
    for isa in lacking:
        done = emulated(*words, environment={"TENON_CPU_ISA": isa})
        if done.returncode != REFUSED or f"TENON_CPU_ISA is '{isa}', which this processor does not support" not in done.stderr:
            out.append(f"TENON_CPU_ISA={isa}: {said(done)}")
    return out


def suites(tests: str, environment: dict[str, str]) -> list[str]:
    listing = subprocess.run([tests, "--gtest_list_tests"], env=environment, capture_output=True, text=True, check=True).stdout
    return [f"{line.strip()}*" for line in listing.splitlines() if line.startswith("cpu/")]


def operators(emulated: Emulated, tests: str, manifest: pathlib.Path, whole: bool) -> tuple[list[str], int]:
    """What failed, and how many tables only the processor itself could judge."""
    environment = emulated.environment | {"TENON_OPS_MANIFEST": str(manifest)}
    tables = suites(tests, environment) if whole else [f"cpu/{pattern}" for pattern in FEW]
    out, unjudged = [], 0
    for at in range(0, len(tables), TOGETHER):
        part = tables[at : at + TOGETHER]
        done = emulated(tests, f"--gtest_filter={':'.join(part)}", "--gtest_brief=1", environment=environment)
        if done.returncode == -signal.SIGSEGV:
            for table in part:
                wrong, by_itself = one_table(emulated, tests, table, environment)
                out += wrong
                unjudged += by_itself
        elif done.returncode != 0 or "PASSED" not in done.stdout:
            out.append(f"operators: {said(done)}")
    if unjudged > len(tables) // 4:
        out.append(f"operators: qemu judges only {len(tables) - unjudged} of {len(tables)} tables")
    return out, unjudged


def one_table(emulated: Emulated, tests: str, table: str, environment: dict[str, str]) -> tuple[list[str], bool]:
    words = [f"--gtest_filter={table}", "--gtest_brief=1"]
    done = emulated(tests, *words, environment=environment)
    outside = done.returncode == -signal.SIGSEGV
    if outside:
        environment = environment | {"TENON_CPU_ISA": emulated.processor.features[0]}
        done = subprocess.run([tests, *words], env=environment, capture_output=True, text=True, timeout=300)
    return ([] if done.returncode == 0 and "PASSED" in done.stdout else [f"{table}: {said(done)}"]), outside


def shared_functions(objects: pathlib.Path) -> list[str]:
    """Functions of an instruction set that the linker may take for another's."""
    out = []
    for isa in ("avx2", "avx512", "avx512_vnni", "avx512_bf16"):
        files = sorted(objects.glob(f"tenon_cpu_isa_{isa}.dir/isa/*.o"))
        if not files:
            out.append(f"no objects of {isa} in {objects}")
        for file in files:
            listing = subprocess.run(["nm", "-C", str(file)], capture_output=True, text=True, check=True).stdout
            functions = [line[19:] for line in listing.splitlines() if line[17:18] == "W"]
            out += [f"{isa}/{file.name} shares {name}" for name in functions if f"_{isa}" not in name]
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("tenon", "scan", "ops_tests"):
        parser.add_argument(name)
    parser.add_argument("manifest", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("objects", type=pathlib.Path)
    parser.add_argument("--tables", choices=["few", "all"])
    given = parser.parse_args()
    unjudged = 0
    found = {"objects.shared": shared_functions(given.objects)}
    with tempfile.TemporaryDirectory() as folder:
        for processor in PROCESSORS:
            emulated = Emulated(processor, pathlib.Path(folder))
            found[f"{processor.name}.scan"] = scan(emulated, given.scan, given.manifest)
            found[f"{processor.name}.run"] = run(emulated, given.tenon)
            if given.tables:
                found[f"{processor.name}.operators"], more = operators(emulated, given.ops_tests, given.manifest, given.tables == "all")
                unjudged += more
    failed = [f"failed {name}: {problem}" for name, problems in found.items() for problem in problems]
    for line in failed:
        print(line)
    if unjudged:
        print(f"{unjudged} tables were judged by this processor with the older one's instruction set, because qemu could not")
    print(f"{sum(not problems for problems in found.values())} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
