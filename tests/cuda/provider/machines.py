#!/usr/bin/env python3
"""machines.py TENON STAND_INS: machines that lack a part of what the provider cuda needs refuse it or do without, and say why.

A machine is a folder of links to the stand-ins, of which one is an empty file, or settings of theirs. (A library that is not there at all
would be found among those of the system, if it has a toolkit.) Where the provider is refused it has its code,
cause and cure, alone it ends the command with exit code 6, and with the cpu provider after it the model runs there. Where a library is
missing that only makes it faster, the model runs on the provider, nothing asks for the library's work, and who insists on it by an
option is told what to install.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "data/digits"
REFUSED = 6  # exit code
DRIVER, NVRTC, CUBLAS_LT, CUDNN = "libcuda.so", "libnvrtc.so", "libcublasLt.so", "libcudnn.so"


@dataclass
class Machine:
    name: str
    without: str = ""  # the beginning of the name of the library that is missing
    settings: tuple[tuple[str, str], ...] = ()  # TENON_FAKE_CUDA_<name>
    refusal: tuple[str, str, str] = ()  # code, a word of the cause, a word of the cure
    insisting: str = ""  # KEY=VALUE that asks for what is missing
    package: str = ""  # that has what is missing
    label: str = ""  # of the work of the missing library


MACHINES = [
    Machine("whole"),
    Machine("no driver", DRIVER, refusal=("E_DEP_MISSING", "libcuda.so.1", "driver")),
    Machine("old driver", settings=(("DRIVER", "12040"),), refusal=("E_SELFTEST", "12.4", "driver 580")),
    Machine("no NVRTC", NVRTC, refusal=("E_SELFTEST", "libnvrtc.so.13", "cuda-nvrtc-13-0")),
    Machine("no GPU", settings=(("DEVICES", "0"),), refusal=("E_NO_DEVICE", "no GPU", "nvidia-smi")),
    Machine("old GPU", settings=(("CC", "7.0"),), refusal=("E_NO_DEVICE", "compute capability 7.0", "7.5 is needed")),
    Machine("oldest GPU", settings=(("CC", "7.5"),)),
    Machine("no pools of memory", settings=(("POOLS", "0"),)),
    Machine("no cuBLASLt", CUBLAS_LT, insisting="provider.cuda.options.products=cublaslt", package="libcublas-13-0", label="cublasLt"),
    Machine("no cuDNN", CUDNN, insisting="provider.cuda.options.convolutions=cudnn", package="cudnn9-cuda-13", label="cudnn"),
]


class Command:
    """`tenon` on a machine, with folders of its own."""

    def __init__(self, tenon: str, machine: Machine, stand_ins: pathlib.Path, folder: pathlib.Path):
        self.tenon, self.folder = tenon, folder
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
        libraries = folder / "libraries"
        libraries.mkdir(parents=True)
        for path in stand_ins.iterdir():
            if machine.without and path.name.startswith(machine.without):
                (libraries / path.name).touch()
            else:
                (libraries / path.name).symlink_to(path)
        self.environment |= {"XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "LD_LIBRARY_PATH": str(libraries)}
        self.environment |= {f"TENON_FAKE_CUDA_{name}": text for name, text in machine.settings}

    def __call__(self, *words: str, **extra: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.tenon, *words], env=self.environment | extra, capture_output=True, text=True, timeout=120)

    def digit(self, *words: str, **extra: str) -> subprocess.CompletedProcess:
        return self("run", str(DIGITS / "digits.onnx"), "--input", str(DIGITS / "digit_3.png"), *words, **extra)

    def counts(self, *words: str) -> tuple[subprocess.CompletedProcess, dict[str, int]]:
        """With what was launched and called, by name."""
        file = self.folder / "counts"
        done = self.digit(*words, TENON_FAKE_CUDA_COUNTS=str(file))
        lines = file.read_text().splitlines() if file.exists() else []
        return done, {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}


def refused(command: Command, machine: Machine) -> list[str]:
    code, cause, cure = machine.refusal
    entry = next(each for each in json.loads(command("providers", "list", "--format", "json").stdout) if each["id"] == "cuda")
    out = []
    if entry.get("refusal") != code:
        out.append(f"listed as '{entry.get('refusal')}', expected '{code}': {entry.get('reason')}")
    elif cause not in entry["reason"] or cure not in entry["reason"] + entry["cure"]:
        out.append(f"the cause '{entry['reason']}' or the cure '{entry['cure']}' does not tell of '{cause}' or '{cure}'")
    doctor = command("providers", "doctor", "cuda")
    if doctor.returncode != 1 or cause not in doctor.stdout or cure not in doctor.stdout:
        out.append(f"doctor: exit code {doctor.returncode}: {doctor.stdout}")
    alone = command.digit("--provider", "cuda")
    if alone.returncode != REFUSED or cause not in alone.stderr:
        out.append(f"alone: exit code {alone.returncode}, expected {REFUSED}: {alone.stderr}")
    mended = command.digit("--provider", "cuda,cpu", "--set", "select.fallback=next")
    if mended.returncode != 0 or "on cpu/cpu:0" not in mended.stdout or "on cuda" in mended.stdout:
        out.append(f"with cpu: exit code {mended.returncode}: {mended.stdout}{mended.stderr}")
    return out


def usable(command: Command, machine: Machine) -> list[str]:
    done, counts = command.counts("--provider", "cuda")
    out = []
    if done.returncode != 0 or "on cuda/" not in done.stdout:
        out.append(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    if not machine.label:
        return out
    if asked := [name for name in counts if name.startswith(machine.label)]:
        out.append(f"asks for the work of a library that is missing: {asked}")
    insisting = command.digit("--provider", "cuda", "--set", machine.insisting)
    option = machine.insisting.partition("=")[0].rpartition(".")[2]
    told = all(word in insisting.stderr for word in (machine.without, machine.package, option))
    if insisting.returncode in (0, REFUSED) or not told:
        out.append(f"{machine.insisting}: exit code {insisting.returncode}: {insisting.stderr}")
    return out


def main() -> None:
    tenon, stand_ins = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    passed, failed = 0, []
    with tempfile.TemporaryDirectory() as name:
        for machine in MACHINES:
            command = Command(tenon, machine, stand_ins, pathlib.Path(name) / machine.name.replace(" ", "_"))
            wrong = (refused if machine.refusal else usable)(command, machine)
            failed += [f"failed {machine.name.replace(' ', '_')}: {problem}" for problem in wrong]
            passed += not wrong
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
