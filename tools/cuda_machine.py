"""What cuda_run.py needs of the machine: commands that end in time, where NVIDIA's libraries are, and the files with the result."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LINES = 60  # of what a failure printed, in the log

MOST_JOBS = 8  # processes at once: more of them only wait for the driver, which makes one context after another


def minutes(text: str) -> float:
    """For argparse."""
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def output_file(text: str) -> Path:
    """For argparse: the file that gets the table, absolute. The log is beside it."""
    path = Path(text).resolve()
    if path.suffix == ".log" or path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' must be a file in a folder that is there, and not end in .log, which is for the log")
    return path


class Result:
    """The table, and the log of what failed. The files are written again with each row, so that a run that is cut leaves them."""

    def __init__(self, title: str, output: Path | None):
        self.title, self.output = title, output
        self.rows: list[tuple[str, str, str]] = []
        self.failures: list[str] = []
        self.not_done = False
        self.begin = time.monotonic()
        if output:
            output.with_suffix(".log").write_text("")

    def add(self, what: str, result: str, detail: str = "") -> None:
        self.rows.append((what, result, detail))
        print(f"{what}: {result}{'; ' + detail if detail else ''}", flush=True)
        self.write("so far; it has not ended")

    def late(self, what: str, detail: str = "") -> None:
        """A row for what there was no time for. It counts: not everything has passed."""
        self.not_done = True
        self.add(what, "not done in time", detail)

    def fail(self, what: str, why: str, printed: str = "") -> None:
        """`why` is one line in the page and whole in the log, before the first lines of what was printed."""
        self.failures.append(f"{what}: {' '.join(why.split())[:300]}")
        self.log(what, f"{why}\n{printed}" if printed else why)

    def log(self, what: str, text: str) -> None:
        if self.output:
            lines = text.rstrip().splitlines()
            left_out = [f"... {len(lines) - LINES} more lines"] if len(lines) > LINES else []
            with self.output.with_suffix(".log").open("a") as log:
                log.write("\n".join([f"==== {what}", *lines[:LINES], *left_out, "", ""]))

    def page(self, state: str) -> str:
        cell = lambda text: text.replace("|", "\\|").replace("\n", " ")  # noqa: E731
        out = f"# {self.title}\n\n| what | result | detail |\n|---|---|---|\n"
        out += "".join(f"| {' | '.join(map(cell, row))} |\n" for row in self.rows)
        if self.failures:
            out += "\nFailures:\n\n" + "".join(f"- {cell(line)}\n" for line in self.failures)
        return f"{out}\n{(time.monotonic() - self.begin) / 60:.1f} minutes{' ' if state else ''}{state}\n"

    def write(self, state: str = "") -> None:
        if self.output:
            self.output.write_text(self.page(state))


@dataclass
class Done:
    """How a command ended. `code` is None when its time was over."""

    code: int | None
    out: str
    err: str

    def ok(self) -> bool:
        return self.code == 0

    def how(self) -> str:
        if self.code is None:
            return "it was ended when its time was over"
        return f"signal {-self.code}" if self.code < 0 else f"exit code {self.code}"


class Machine:
    """The environment of every command, and the time that is left."""

    def __init__(self, folders: list[str], state: Path, time_for_all: float):
        self.seconds, self.jobs = time_for_all, min(MOST_JOBS, os.cpu_count() or 1)
        self.until = time.monotonic() + time_for_all
        self.environment = os.environ | {
            "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [os.environ.get("LD_LIBRARY_PATH", ""), *folders])),
            "XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state), "XDG_CONFIG_HOME": str(state),
            "TENON_DISCOVERY_TRUST": "none",  # who unpacked this folder may be anybody
        }  # fmt: skip

    def share(self, part: float) -> float:
        """When a step must end that begins now and may take this part of the whole time."""
        return min(self.until, time.monotonic() + part * self.seconds)

    def run(self, *words: object, until: float = 1e12, at_most: float = 1e9, environment: dict[str, str] | None = None) -> Done:
        """Ends the command and all that it started when the time is over. Does not start it when it is over before."""
        seconds = min(at_most, min(until, self.until) - time.monotonic())
        if seconds <= 0:
            return Done(None, "", "")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([str(word) for word in words], env=environment or self.environment, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err, start_new_session=True)  # fmt: skip
            try:
                code: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            texts = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, err)]
        return Done(code, *texts)


def library_folders() -> list[str]:
    """Where a toolkit may be that is not in the loader's way."""
    roots = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    folders = [Path(root, below) for root in filter(None, roots) for below in ("lib64", "lib", f"targets/{platform.machine()}-linux/lib")]
    for packages in map(Path, sys.path):
        folders += sorted(packages.glob("nvidia/*/lib"))
    return list(dict.fromkeys(str(folder) for folder in folders if any(folder.glob("lib*.so.*"))))
