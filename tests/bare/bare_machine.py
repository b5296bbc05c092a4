#!/usr/bin/env python3
"""bare_machine.py TENON PROVIDER...: machines that lack what a provider needs refuse it, say why and what to do, and run the model.

Each machine is made for one command and leaves nothing behind:

  no driver    OpenCL's loader is there and knows no driver; the loader finds an empty file where it looks for NVIDIA's driver
  no /sys      an empty folder is mounted over it; PoCL ends a process that enumerates devices then
  lost /sys    the same after a scan that found everything in place, whose answer is kept and not used
  bare root    a root folder with the command, libtenon, the providers and the C and C++ libraries that these need, nothing else

On each the provider has its code, cause and cure; alone it ends the command with exit code 6; with the cpu provider after it, or
with nobody named, another provider runs the model. The last three need mounts of their own; without they count as not run.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "data/digits"
REFUSED = 6  # exit code


@dataclass
class Machine:
    name: str
    refusals: dict[str, tuple[str, str, str]]  # by provider: code, a word of the cause, a word of the cure
    prefix: tuple[str, ...] = ()  # of every command
    environment: tuple[tuple[str, str], ...] = ()
    root: str = ""  # in front of paths, as this process sees them; the machine sees them without
    scanned_before: bool = False  # on a whole machine, whose answer is kept
    needs_namespaces: bool = True


class Command:
    """`tenon` on a machine, with a state folder that only this test uses."""

    def __init__(self, tenon: str, machine: Machine, state: pathlib.Path):
        self.tenon, self.machine = tenon, machine
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("TENON_")}
        self.environment |= {"XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state)} | dict(machine.environment)

    def __call__(self, *words: str) -> subprocess.CompletedProcess:
        command = [*self.machine.prefix, self.tenon, *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)

    def run_digits(self, *words: str) -> subprocess.CompletedProcess:
        return self("run", str(DIGITS / "digits.onnx"), "--input", str(DIGITS / "digit_3.png"), *words)


def problems(command: Command, provider: str) -> list[str]:
    out = []
    code, cause, cure = command.machine.refusals[provider]
    listed = command("providers", "list", "--format", "json")
    entry = next((entry for entry in json.loads(listed.stdout or "[]") if entry["id"] == provider), {})
    if entry.get("refusal") != code:
        out.append(f"listed as '{entry.get('refusal')}', expected '{code}': {entry.get('reason')} {listed.stderr}")
    elif cause not in entry["reason"]:
        out.append(f"the cause '{entry['reason']}' does not tell of '{cause}'")
    elif cure not in (entry["reason"] if entry["cure"].startswith("see the reason") else entry["cure"]):
        out.append(f"the cure '{entry['cure']}' does not tell of '{cure}'")

    alone = command.run_digits("--provider", provider)
    wanted = [code, cause, cure]
    if alone.returncode != REFUSED:
        out.append(f"alone: exit code {alone.returncode}, expected {REFUSED}: {alone.stderr}")
    out += [f"alone: '{alone.stderr.strip()}' does not tell of '{word}'" for word in wanted if word not in alone.stderr]

    for words in (["--provider", f"{provider},cpu", "--set", "select.fallback=next"], []):
        done = command.run_digits(*words)
        others = ("on cpu/cpu:0",) if words else ("on cpu/cpu:0", "on onednn/cpu:0")
        if done.returncode != 0 or not any(it in done.stdout for it in others) or f"on {provider}" in done.stdout:
            out.append(f"run {' '.join(words)}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return out


def needed_libraries(binary: pathlib.Path) -> set[str]:
    listing = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=True).stdout
    return {word for line in listing.splitlines() for word in line.split() if word.startswith("/")}


def make_root(root: pathlib.Path, tenon: pathlib.Path) -> None:
    """Everything at the paths where it is outside. What accelerators need is left out: only the cpu provider is looked at."""
    build = tenon.parents[1]
    libraries: set[str] = set()
    binaries = [tenon, build / "lib/libtenon.so", build / "lib/tenon-scan"]
    for binary in [*binaries, *(build / "lib/tenon/providers.d/cpu").rglob("*.so")]:
        libraries |= needed_libraries(binary)
    for file in [*map(str, binaries), *libraries]:
        target = root / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(file, target)
    for folder in (build / "lib/tenon", DIGITS):
        shutil.copytree(folder, root / str(folder).lstrip("/"), dirs_exist_ok=True)
    for folder in ("proc", "dev", "tmp"):
        (root / folder).mkdir()
    (root / "dev/null").touch()


# Mounts of its own, for anybody, or for root where user namespaces are refused (in a chroot).
NAMESPACES = (["unshare", "--user", "--map-root-user", "--mount"], ["unshare", "--mount", "--propagation", "unchanged"])
# /sys is cut off from the mounts of others first, so that nothing mounted there or below is seen outside.
HIDE_SYS = "mount --make-rprivate /sys && mount -t tmpfs none /sys"


def enter(root: str) -> str:
    """A script's beginning: the folder is seen below /sys, with what a machine has besides files."""
    return (f"{HIDE_SYS} && mkdir /sys/root && mount --bind '{root}' /sys/root && mount --make-rprivate /sys/root"
            " && mount --rbind /proc /sys/root/proc && mount --bind /dev/null /sys/root/dev/null")  # fmt: skip


def namespaces() -> tuple[list[str], str]:
    """The words in front of a command that may mount, or why there are none."""
    why_not = []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "proc").mkdir()
        (pathlib.Path(folder) / "dev").mkdir()
        (pathlib.Path(folder) / "dev/null").touch()
        for words in NAMESPACES:
            try:
                done = subprocess.run([*words, "sh", "-c", enter(folder)], capture_output=True, text=True, timeout=20)
            except (OSError, subprocess.TimeoutExpired) as error:
                return [], str(error)
            if done.returncode == 0:
                return words, ""
            why_not.append(done.stderr.strip() or f"exit code {done.returncode}")
    return [], "; ".join(why_not)


def machines(folder: pathlib.Path, unshare: list[str]) -> list[Machine]:
    empty, hidden, root = folder / "empty", folder / "hidden", folder / "root"
    empty.mkdir()
    hidden.mkdir()
    (hidden / "libcuda.so.1").touch()
    hide = (*unshare, "sh", "-c", f'{HIDE_SYS} && exec "$@"', "sh")
    mounts = f'{enter(str(root))} && exec chroot /sys/root "$@"'
    opencl, onednn, vulkan, cuda = "ocl-icd-libopencl1", "libdnnl", "mesa-vulkan-drivers", "NVIDIA driver"
    sys_hidden = {"opencl": ("E_SELFTEST", "cannot see /sys", "mount /sys")}
    missing = {"opencl": ("E_DEP_MISSING", "libOpenCL.so.1", opencl), "onednn": ("E_DEP_MISSING", "libdnnl.so", onednn),
               "vulkan": ("E_DEP_MISSING", "libvulkan.so.1", vulkan), "cuda": ("E_DEP_MISSING", "libcuda.so.1", cuda)}
    no_driver = {"opencl": ("E_NO_DEVICE", "finds no driver", opencl), "vulkan": ("E_NO_DEVICE", "finds no driver", vulkan),
                 "cuda": ("E_DEP_MISSING", "libcuda.so.1", cuda)}
    libraries = os.pathsep.join(filter(None, (str(hidden), os.environ.get("LD_LIBRARY_PATH"))))
    none = (("OCL_ICD_VENDORS", str(empty)), ("VK_DRIVER_FILES", str(empty / "none.json")), ("LD_LIBRARY_PATH", libraries))
    return [
        Machine("no driver", no_driver, environment=none, needs_namespaces=False),
        Machine("no /sys", sys_hidden, prefix=hide),
        Machine("lost /sys", sys_hidden, prefix=hide, scanned_before=True),
        Machine("bare root", missing, prefix=(*unshare, "sh", "-c", mounts, "sh"), root=str(root)),
    ]


def main() -> None:
    tenon, *providers = sys.argv[1:]
    passed, not_run, failed = 0, 0, []
    unshare, why_not = namespaces()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for machine in machines(folder, unshare):
            wanted = [provider for provider in machine.refusals if provider in providers]
            if machine.needs_namespaces and not unshare:
                print(f"not run: {machine.name} (no mounts of its own here: {why_not})")
                not_run += len(wanted)
                continue
            if machine.root:
                make_root(pathlib.Path(machine.root), pathlib.Path(tenon).resolve())
            for provider in wanted:
                state = folder / f"{machine.name} {provider}".replace("/", "")
                state.mkdir()
                if machine.scanned_before:
                    Command(tenon, Machine("whole", {}), state)("providers", "list")
                wrong = problems(Command(tenon, machine, state), provider)
                failed += [f"failed {machine.name.replace(' ', '_')}.{provider}: {problem}" for problem in wrong]
                passed += 0 if wrong else 1
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed" + (f", {not_run} not run" if not_run else ""))
    sys.exit(1 if failed else 0)


main()
