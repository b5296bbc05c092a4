#!/usr/bin/env python3
"""run.py {windows,arm} [--jobs N] [--build FOLDER]: SDK, kit and the example on another system.

Builds kit and SDK for the system and installs them; builds against that the example, as a vendor does, and a provider with
planted defects; runs the kit on them in an emulator: wine64 or qemu-aarch64. The example must pass, with no fewer checks
than today, and each defect must fail the check that looks for it. Prints "N passed, N failed" at the end.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class System:
    triple: str
    suffix: str  # of a program
    emulator: list[str]
    # Whether the kit must be told how its processes start: on Windows, as Wine shows it, they start by themselves.
    is_told: bool
    passed: int  # by the example, at least
    tools: list[str]


SYSTEMS = {
    "windows": System("x86_64-w64-mingw32", ".exe", ["wine64"], False, 63, ["x86_64-w64-mingw32-g++-posix", "wine64"]),
    "arm": System("aarch64-linux-gnu", "", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], True, 65,
                  ["aarch64-linux-gnu-g++", "qemu-aarch64"]),
}


@dataclasses.dataclass(frozen=True)
class Planted:
    """`check` fails for the provider `name`, with words of `says` in its message. `only`: the system that has it."""

    check: str
    says: str
    defect: str = ""
    name: str = "planted"
    arguments: tuple[str, ...] = ()
    only: str = ""


PLANTED = [
    Planted("R39", "bytes around output 0 were written", "overrun"),  # pages, and the bytes between them
    Planted("R39", "in run", "writes_input"),  # the process crashes there
    Planted("lifecycle.once", "in run", "writes_nowhere"),
    Planted("R8", "exit code 7", "exits"),
    Planted("lifecycle.once", "no answer within", "hangs", arguments=("--time-factor", "0.1")),
    Planted("R9", "working directory", "moves"),
    Planted("R53", "threads", "leaves_thread"),
    Planted("hygiene.imports", "(R8)"),
    Planted("R1", "planted_second", name="exporting", only="windows"),
]


def find(tool: str) -> str | None:
    """Debian keeps wine64 out of the PATH when no other version of Wine is installed."""
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/lib/wine")


class Portable:
    def __init__(self, name: str, folder: pathlib.Path, jobs: int):
        self.name, self.system, self.folder, self.jobs = name, SYSTEMS[name], folder, jobs
        self.prefix = folder / "prefix"
        self.passed = self.failed = 0
        self.environment = {**os.environ, "WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all",
                            "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg.exe="}  # fmt: skip

    def judge(self, what: str, why: str) -> None:
        """Counts one result. `why`: what is wrong; empty: nothing."""
        self.passed += not why
        self.failed += bool(why)
        print(f"failed {what}: {why}" if why else f"passed {what}", flush=True)

    def call(self, what: str, *words: object) -> bool:
        """Runs a step of the build and counts it; the output is shown when it fails."""
        start = time.monotonic()
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        warnings = [line for line in output.splitlines() if re.search(r"\bwarning: ", line)]
        why = f"exit code {done.returncode}" if done.returncode else f"{len(warnings)} warnings" if warnings else ""
        if why:
            print("\n".join(output.splitlines()[-60:]))
        self.judge(f"{what} ({time.monotonic() - start:.0f} s)", why)
        return not why

    def build(self, name: str, source: pathlib.Path, *settings: str) -> bool:
        binary = self.folder / name
        toolchain = ROOT / "ep-sdk" / "cmake" / f"toolchain-{self.system.triple}.cmake"
        if name != "sdk":  # as a vendor: what is installed
            toolchain = self.prefix / "lib" / "cmake" / "TenonSdk" / toolchain.name
        ninja = ["-G", "Ninja"] if shutil.which("ninja") else []
        return self.call(
            f"{name} is configured", "cmake", *ninja, "-S", source, "-B", binary, "--toolchain", toolchain, *settings
        ) and self.call(f"{name} is built", "cmake", "--build", binary, "--parallel", self.jobs)

    def build_all(self) -> bool:
        if not self.build("sdk", ROOT / "ep-sdk", f"-DCMAKE_INSTALL_PREFIX={self.prefix}", "-DCMAKE_INSTALL_LIBDIR=lib"):
            return False
        if not self.call("sdk is installed", "cmake", "--install", self.folder / "sdk"):
            return False
        example = self.prefix / "share" / "tenon" / "examples" / "minimal-provider"
        found = f"-DTenonSdk_DIR={self.prefix / 'lib' / 'cmake' / 'TenonSdk'}"
        return self.build("example", example, found) and self.build("planted", ROOT / "tests/portable/planted", found)

    def run_kit(self, manifest: pathlib.Path, *arguments: object) -> tuple[int, dict]:
        """The exit code of the kit and the results of its checks by name."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        emulator = [find(self.system.emulator[0]), *self.system.emulator[1:]]
        kit = self.prefix / "bin" / f"tenon-cts{self.system.suffix}"
        words = [*emulator, kit, manifest, *arguments, "--output", report, "--format", "json"]
        if self.system.is_told:
            words += ["--launcher", " ".join(emulator)]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                              env=self.environment, cwd=self.folder)  # fmt: skip
        if not report.exists():
            return done.returncode, {"the kit": {"status": "failed", "message": done.stdout + done.stderr}}
        return done.returncode, {row["id"]: row for row in json.loads(report.read_text())["checks"]}

    def manifest(self, project: str, name: str) -> pathlib.Path:
        return self.folder / project / "providers.d" / f"{name}.tenon.json"

    def check_example(self) -> None:
        cases = self.prefix / "share" / "tenon" / "examples" / "minimal-provider" / "cases"
        start = time.monotonic()
        code, checks = self.run_kit(self.manifest("example", "minimal"), "--cases", cases)
        count = {status: 0 for status in ("passed", "failed", "not applicable", "not reached")}
        for row in checks.values():
            count[row["status"]] = count.get(row["status"], 0) + 1
        print(f"the kit on the example, {time.monotonic() - start:.0f} s: {count}")
        wrong = [f"{name}: {row['message']}" for name, row in checks.items() if row["status"] in ("failed", "not reached")]
        if count["passed"] < self.system.passed:
            wrong.append(f"only {count['passed']} checks passed, {self.system.passed} did before")
        self.judge("the example passes the kit", "; ".join(wrong) or (f"exit code {code}" if code else ""))

    def check_planted(self) -> None:
        sound = sorted({p.check for p in PLANTED if p.defect})
        code, checks = self.run_kit(self.manifest("planted", "planted"), *(w for c in sound for w in ("--filter", c)))
        wrong = [name for name in sound if checks.get(name, {}).get("status") != "passed"]
        self.judge("the provider without its defects passes", f"{wrong} do not pass: {checks}" if wrong or code else "")
        for row in PLANTED:
            if row.only not in ("", self.name):
                continue
            option = ("--option", f"defect={row.defect}") if row.defect else ()
            manifest = self.manifest("planted", row.name)
            code, checks = self.run_kit(manifest, "--filter", row.check, *option, *row.arguments)
            found = checks.get(row.check, {})
            fits = found.get("status") == "failed" and row.says in found.get("message", "") and code == 1
            what = f"{row.check} finds {row.defect or 'what the library itself has'}"
            self.judge(what, "" if fits else f"exit code {code}: {found or checks}")
            print(f"    {found.get('message', '')}")
        self.check_broken_files()

    def check_broken_files(self) -> None:
        """The reader of the files, and what the manifest says of them."""
        source = self.manifest("planted", "planted")
        folder = self.folder / "broken"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source.parent, folder)
        manifest = folder / source.name
        data = json.loads(manifest.read_text())
        library = folder / data["library"]["path"]
        whole = library.read_bytes()
        changed = whole.replace(b"id=planted\n", b"id=another\n")
        for check, content in (("hygiene.note", changed), ("hygiene.file", changed), ("hygiene.platform", whole[:500])):
            library.write_bytes(content)
            found = self.run_kit(manifest, "--filter", check)[1].get(check, {})
            what = f"{check} finds a library that was changed"
            self.judge(what, "" if content != whole and found.get("status") == "failed" else str(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=sorted(SYSTEMS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes of the compiler at once")
    parser.add_argument("--build", type=pathlib.Path, help="default: build/portable of the checkout")
    options = parser.parse_args()
    folder = (options.build or ROOT / "build" / "portable").resolve() / options.system
    folder.mkdir(parents=True, exist_ok=True)
    lacking = [tool for tool in SYSTEMS[options.system].tools if find(tool) is None]
    if lacking:
        print(f"failed tools: {', '.join(lacking)} not found; `tools/setup --cross` installs them\n0 passed, 1 failed")
        return 1
    tests = Portable(options.system, folder, options.jobs)
    compiler = find(tests.system.tools[0])
    tests.call("each header alone is compiled", sys.executable, "-B", ROOT / "tests/portable/headers.py", compiler)
    if tests.build_all():
        tests.check_example()
        tests.check_planted()
    print(f"{tests.passed} passed, {tests.failed} failed")
    return 1 if tests.failed else 0


sys.exit(main())
