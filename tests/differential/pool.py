"""Worker processes seen from the parent: a request ends with an answer, or with the way in which the worker died."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASE_SECONDS = 120  # for one stage of a case, far above what a judged Run may take
TOOL = os.environ.get("TENON_WORKER_WRAPPER", "")


def clean_environment(home: Path, extra: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TENON_", "XDG_")) or name.startswith("TENON_FAKE_CUDA_")}  # settings of what stands in for a GPU
    folders = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    return kept | folders | {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "2"} | extra


def compiles(order: str) -> bool:
    """Whether the first provider of an order, such as "opencl,cpu", compiles programs for each case, which takes long."""
    return order.split(",")[0] in ("opencl", "vulkan", "cuda")


class Worker:
    """One process of `script`, started again after each death."""

    def __init__(self, library: Path, home: Path, script: Path = HERE / "worker.py", extra: dict[str, str] | None = None):
        self.command = [sys.executable, "-B", str(script), str(library)]
        self.environment, self.home = clean_environment(home, extra or {}), home
        self.child, self.errors, self.buffer = None, None, b""

    def start(self) -> None:
        self.errors = tempfile.TemporaryFile(dir=self.home)
        self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                      env=self.environment, start_new_session=True)
        self.buffer = b""

    def stop(self) -> None:
        if self.child is None:
            return
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()
        self.errors.close()
        self.child = None

    def line(self, seconds: float) -> dict | None:
        """The next message; None at the end of the worker or when the time is over."""
        until = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                return None
            data = os.read(self.child.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, request: dict, seconds: float = CASE_SECONDS) -> dict:
        """What came of it: {"done": ...} or {"died": how, "stage": where, "errors": text}, with operator and text."""
        if self.child is None:
            self.start()
        facts = {"stage": "starting"}
        try:
            self.child.stdin.write(json.dumps(request).encode() + b"\n")
            self.child.stdin.flush()
            while (message := self.line(seconds)) is not None:
                if "done" in message:
                    return facts | message
                facts |= {"stage": message.pop("begin", facts["stage"])} | message
        except BrokenPipeError:
            pass
        return facts | self.death(seconds)

    def death(self, seconds: float) -> dict:
        try:
            code = self.child.wait(timeout=2)
            end = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        except subprocess.TimeoutExpired:
            end = f"no answer for {seconds:.0f} s"
        self.errors.seek(0)
        errors = self.errors.read().decode(errors="replace")
        self.stop()
        return {"died": end, "errors": errors[-4000:]}
