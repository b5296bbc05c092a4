"""One process of ONNX Runtime or OpenVINO, through their Python packages: loads a model, runs it, and prints its figures."""

import json
import statistics
import time
from importlib import metadata
from pathlib import Path

import numpy as np

from sides.case import named_inputs

WARM_UP, FEWEST = 3, 5  # Runs

# Settings of ONNX Runtime, of which the fastest counts.
ORT_LEVELS = ("all", "basic")


def ort_settings(threads: int) -> list[str]:
    """Optimisation and, with more threads than one, whether they spin: all+spin, all+park, basic+spin ..."""
    return [f"{level}+{wait}" for level in ORT_LEVELS for wait in (("spin", "park") if threads > 1 else ("spin",))]


def memory(key: str) -> int:
    """VmRSS, the resident memory of this process, or VmHWM, its peak, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) << 10
    raise SystemExit(f"/proc/self/status has no {key}")


class Ort:
    def __init__(self, path: Path, threads: int, setting: str):
        import onnxruntime as ort

        level, wait = setting.split("+")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = {"all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
                                            "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC}[level]
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if wait == "spin" else "0")
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names, self.precision = [info.name for info in self.session.get_inputs()], "f32"

    def bind(self, inputs: dict[str, np.ndarray]) -> None:
        self.binding = self.session.io_binding()
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        for info in self.session.get_outputs():
            self.binding.bind_output(info.name)

    def run(self) -> None:
        self.session.run_with_iobinding(self.binding)

    def outputs(self) -> list[np.ndarray]:
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    def __init__(self, path: Path, threads: int, setting: str):
        import openvino

        self.package, core = openvino, openvino.Core()
        config = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        if setting != "default":
            config["INFERENCE_PRECISION_HINT"] = setting
        self.model = core.compile_model(core.read_model(str(path)), "CPU", config)
        self.names = [port.any_name for port in self.model.inputs]
        kind = self.model.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        self.precision = {"f32": "f32", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}.get(kind, kind)

    def bind(self, inputs: dict[str, np.ndarray]) -> None:
        self.request, self.kept = self.model.create_infer_request(), inputs
        for port, value in zip(self.model.inputs, inputs.values(), strict=True):
            self.request.set_tensor(port, self.package.Tensor(value, shared_memory=True))

    def run(self) -> None:
        self.request.infer(share_outputs=True)

    def outputs(self) -> list[np.ndarray]:
        return [self.request.get_output_tensor(i).data.copy() for i in range(len(self.model.outputs))]


RUNTIMES = {"onnxruntime": Ort, "openvino": OpenVino}


def measure(runtime: str, folder: Path, threads: int, setting: str, seconds: float, output: Path | None) -> None:
    """Prints a line of JSON: times in ns, memory in bytes, and the precision. Writes the outputs of the last Run."""
    __import__(runtime)  # not part of loading a model
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew, so that it is not that of the imports
    figures = {"before_bytes": memory("VmRSS"), "version": metadata.version(runtime)}
    start = time.perf_counter_ns()
    side = RUNTIMES[runtime](folder / "model.onnx", threads, setting)
    loaded = time.perf_counter_ns()
    side.bind(named_inputs(folder, side.names))
    first = time.perf_counter_ns()
    side.run()
    figures |= {"load_ns": loaded - start, "first_ns": time.perf_counter_ns() - first, "precision": side.precision}
    for _ in range(WARM_UP):
        side.run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < FEWEST:
        start = time.perf_counter_ns()
        side.run()
        times.append(time.perf_counter_ns() - start)
    figures |= {"median_ns": statistics.median(times), "min_ns": min(times), "peak_bytes": memory("VmHWM")}
    if output:
        np.savez(output, *side.outputs())
    print(json.dumps(figures))
