#!/usr/bin/env python3
"""islands.py TENON PROVIDER...: how often a Run changes hands and waits, read from Chrome traces of `tenon run --trace`.

An island is a row of steps that one provider does without another in between. On an asynchronous provider it must cost one
submission and one wait, on a synchronous one it is one step; a Run of one island does no step of another provider and copies
nothing, except that the host may stage inputs and outputs for what an asynchronous provider recorded. Networks come from bench/make_models.py, published models from TENON_TEST_DATA (default: ../shared); those that are
absent count as not run. First the test itself: an operator that a placement rule sends to the cpu provider must be noticed.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("TENON_TEST_DATA", ROOT.parent / "shared"))
MODELS = [ROOT / "build/bench/models/squeezenet11", ROOT / "build/bench/models/resnet50", DATA / "models/tribuo_tinybert"]
ASYNCHRONOUS = {"opencl", "vulkan", "cuda"}
# Without it a provider leaves a network that is too small to be worth it, as tribuo_tinybert is, to the cpu provider.
SETTINGS = {"onednn": ["provider.onednn.options.claim=all"]}


def trace(tenon: str, model: pathlib.Path, provider: str, *settings: str) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "trace.json"
        command = [tenon, "run", model / "model.onnx", "--provider", f"{provider},cpu", "--trace", file]
        inspected = subprocess.run([tenon, "inspect", model / "model.onnx", "--format", "json"], capture_output=True, text=True, check=True)
        for i, value in enumerate(json.loads(inspected.stdout)["inputs"]):
            command += ["--input", f"{value['name']}={model / 'test_data_set_0' / f'input_{i}.pb'}"]
        for setting in [*SETTINGS.get(provider, []), *settings]:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{model.name} on {provider}: {done.stdout}{done.stderr}")
        return [event for event in json.loads(file.read_text())["traceEvents"] if event["ph"] == "X"]


def problem(events: list[dict], provider: str) -> str | None:
    """Why the Run is not one island of the provider and nothing else."""
    counts = collections.Counter()
    for event in events:
        who = event["args"].get("provider", "host").split("/")[0]
        counts[event["cat"], who == provider] += 1
    if provider in ASYNCHRONOUS:
        wanted = {"submit": 1, "wait": 1}
        found = {kind: counts[kind, True] for kind in wanted}
        if counts["enqueue", True] == 0 or found != wanted:
            return f"{found}, {wanted} is expected, with {counts['enqueue', True]} steps enqueued"
    elif counts["run", True] != 1:
        return f"{counts['run', True]} islands, one is expected"
    foreign = ("run", "fallback", "control flow") if provider in ASYNCHRONOUS else ("run", "copy", "fallback", "control flow")
    others = {kind: counts[kind, own] for kind, own in counts if kind in foreign and not own}
    others["copy"] = others.get("copy", 0) + counts["copy", True]
    if any(others.values()):
        return f"besides the island: {others}"
    return None


def main() -> None:
    tenon, *providers = sys.argv[1:]
    passed, not_run, failed = 0, 0, []
    for model in MODELS:
        for provider in providers:
            if not (model / "model.onnx").is_file():
                print(f"not run: {model.name} on {provider} ({model} is absent)")
                not_run += 1
                continue
            wrong = problem(trace(tenon, model, provider), provider)
            if wrong is None:
                rule = '[{match = {op = ["Softmax", "GlobalAveragePool"]}, provider = "cpu"}]'
                divided = trace(tenon, model, provider, f"placement={rule}")
                wrong = None if problem(divided, provider) else "an island that the cpu provider divides went unnoticed"
            if wrong is None:
                print(f"{model.name} on {provider}: one island")
                passed += 1
            else:
                failed.append(f"failed {model.name}.{provider}: {wrong}")
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed" + (f", {not_run} not run" if not_run else ""))
    sys.exit(1 if failed else 0)


main()
