"""Runs the `tenon` command for tests: a clean environment, a time limit, limits on memory, and what came of it.

Imports little on purpose: a child starts out as a copy of this process, and the kernel counts that copy as the child's
first peak of memory.
"""

import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

EXIT_CODES = {
    "ok": 0,
    "failed": 1,
    "usage": 2,
    "invalid model": 3,
    "unsupported": 4,
    "limit exceeded": 5,
    "provider missing or refused": 6,
    "device lost": 7,
    "out of memory": 8,
    "cancelled or deadline": 9,
    "invalid input": 10,
    "config error": 11,
    "internal": 12,
}
LONGEST_ERROR = 16 * 1024
ALLOWED_CONTROLS = {"\n", "\t"}


@dataclass(frozen=True)
class Outcome:
    """`exit` is negative for a signal; `peak`, in bytes, is at least the size of this process when it started the child."""

    exit: int
    stderr: str
    seconds: float
    peak: int
    timed_out: bool

    def end(self) -> str:
        """How it ended, for a person."""
        if self.timed_out:
            return f"no answer after {self.seconds:.1f} s"
        if self.exit < 0:
            return f"killed by {signal.Signals(-self.exit).name}"
        names = {code: name for name, code in EXIT_CODES.items()}
        return f"exit code {self.exit} ({names.get(self.exit, 'undocumented')})"


def clean_environment(home: Path, extra: dict[str, str]) -> dict[str, str]:
    """No TENON_ variable, and no user's config or providers, can change a test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "XDG_"))}
    return kept | {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home),
                   "XDG_STATE_HOME": str(home), "LC_ALL": "C.UTF-8"} | extra


def limits(address_space: int | None):
    def apply() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    return apply


def run(command: list, folder: Path, environment: dict[str, str], timeout: float = 20,
        address_space: int | None = None) -> Outcome:
    """Runs `command` in `folder`. A child that does not end in time is killed with its process group."""
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        child = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True,
                                 preexec_fn=limits(address_space))
        status, usage, timed_out = wait(child.pid, start + timeout)
        seconds = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read(LONGEST_ERROR * 4).decode(errors="replace")
    return Outcome(child.returncode, text, seconds, usage.ru_maxrss * 1024, timed_out)


def wait(pid: int, deadline: float) -> tuple[int, resource.struct_rusage, bool]:
    pause = 0.0005
    while time.monotonic() < deadline:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage, False
        time.sleep(pause)
        pause = min(pause * 1.2, 0.01)
    os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage, True


def error_form_problems(outcome: Outcome) -> list[str]:
    """What is wrong with the form of an error, whatever it says."""
    problems = []
    if not outcome.stderr.startswith("error: "):
        problems.append("stderr does not begin with 'error: '")
    if len(outcome.stderr) > LONGEST_ERROR:
        problems.append(f"the error is longer than {LONGEST_ERROR} bytes")
    if any(ord(c) < 32 and c not in ALLOWED_CONTROLS or ord(c) == 127 for c in outcome.stderr):
        problems.append("the error holds control characters")
    return problems
