#!/usr/bin/env python3
"""losses.py TENON: whatever fails under the provider cuda, and whenever, a Run ends with the right answer or a typed error.

The stand-ins fail the n-th launch, lose the device at it, or have no memory from the n-th allocation on; n goes up, by an eighth at a time,
until nothing fails any more. With on_lost = "next" the cpu provider answers, with "fail" the error names the call, the cause and the cure. A lost device is lost for
the process, so "restart" ends with an error that says so.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "data/digits"
ANSWER = re.compile(r"^\s*3\b", re.MULTILINE)
LOST, OUT_OF_MEMORY, INTERNAL = 7, 8, 12  # exit codes
MOST = 2000  # of n

# What fails: the stand-in's setting, the exit codes that it may lead to with on_lost = fail, and words of which the error has one.
KINDS = {
    "lost": ("TENON_FAKE_CUDA_LOST_AFTER", {LOST}, ("CUDA_ERROR_",)),
    "launch": ("TENON_FAKE_CUDA_FAIL_LAUNCH", {LOST, INTERNAL}, ("CUDA_ERROR_", "CUDNN_STATUS_", "CUBLAS_STATUS_")),
    "memory": ("TENON_FAKE_CUDA_OOM_AFTER", {OUT_OF_MEMORY}, ("CUDA_ERROR_OUT_OF_MEMORY",)),
}


class Command:
    def __init__(self, tenon: str, folder: str):
        self.tenon = tenon
        self.environment = os.environ | {"XDG_STATE_HOME": folder, "XDG_CACHE_HOME": folder}

    def __call__(self, order: str, on_lost: str, **extra: str) -> subprocess.CompletedProcess:
        words = [self.tenon, "run", str(DIGITS / "digits.onnx"), "--input", str(DIGITS / "digit_3.png"), "--provider", order, "--profile"]
        words += ["--set", f"provider.cuda.on_lost={on_lost}", "--set", "provider.cuda.options.variants=thread"]
        words += ["--set", "select.on_compile_failed=error"] if on_lost == "fail" else []
        return subprocess.run(words, env=self.environment | extra, capture_output=True, text=True, timeout=120)


def is_right(done: subprocess.CompletedProcess) -> bool:
    return done.returncode == 0 and ANSWER.search(done.stdout) is not None


def sweep(command: Command, kind: str) -> tuple[int, list[str]]:
    """How many failures there were, and what was wrong with them."""
    setting, codes, words = KINDS[kind]
    wrong, times, n = [], 0, 1
    while n < MOST:
        failing = command("cuda", "fail", **{setting: str(n)})
        if is_right(failing):
            return times, wrong
        times += 1
        if failing.returncode not in codes or not any(word in failing.stderr for word in words):
            wrong.append(f"{kind} {n}: exit code {failing.returncode}, expected {codes} and {words}: {failing.stdout}{failing.stderr}")
        if kind == "lost" and "new process" not in failing.stderr and "start a new one" not in failing.stderr:
            wrong.append(f"{kind} {n}: the error does not say what helps: {failing.stderr}")
        mended = command("cuda,cpu", "next", **{setting: str(n)})
        # A Run that runs out of memory is told so; another provider is asked only while the session is made.
        if not is_right(mended) and not (kind == "memory" and mended.returncode == OUT_OF_MEMORY):
            wrong.append(f"{kind} {n} with cpu: exit code {mended.returncode}: {mended.stdout}{mended.stderr}")
        if kind == "lost" and n == 1:
            again = command("cuda", "restart", **{setting: str(n)})
            if again.returncode != LOST:
                wrong.append(f"{kind} {n} with restart: exit code {again.returncode}, expected {LOST}: {again.stdout}{again.stderr}")
        n += max(1, n // 8)
    return times, [*wrong, f"{kind}: fails for ever"]


def main() -> None:
    passed, failed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        command = Command(sys.argv[1], folder)
        whole = command("cuda", "fail")
        if not is_right(whole):
            sys.exit(f"nothing fails, and yet: exit code {whole.returncode}: {whole.stdout}{whole.stderr}")
        for kind in KINDS:
            times, wrong = sweep(command, kind)
            print(f"{kind}: {times} failures")
            if times == 0 and not wrong:
                wrong = [f"{kind}: never fails: the stand-ins do not do what is asked"]
            failed += [f"failed {text}" for text in wrong]
            passed += times if not wrong else 0
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
