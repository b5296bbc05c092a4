#!/usr/bin/env python3
"""test_cuda.py BUILD_DIR: tools/test-cuda makes a bundle that runs on its own, and says what is wrong where something is.

The bundle is moved and run with an environment of its own: on the stand-ins for NVIDIA's libraries, where all passes; with kernels that
they leave out, which the table must tell; and without them, where it ends with exit code 3 and the cause. Its parts are tried with
commands that hang, time that is over, and what compute-sanitizer prints.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path()
MOST_BYTES = 60 << 20
sys.path.insert(0, str(ROOT / "tools"))

import cuda_bundle  # noqa: E402
from gate_cases import CASE_SETS  # noqa: E402

# Runs the command behind its own arguments, and lets the driver of the stand-ins write a file when a process ends.
SANITIZER = """#!/bin/sh
tool=$2
while [ "${1#/}" = "$1" ]; do echo "$tool: $1" >>"$0.arguments"; shift; done
TENON_FAKE_CUDA_COUNTS="$0.counts.%p" "$@"
code=$?
case $tool in
  racecheck) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
exit $code
"""
# In the place of PyTorch: NAME FOLDER writes a network, NAME FOLDER SECONDS measures it.
EXPORTER = """
import sys, pathlib, numpy as np, onnx
from onnx import TensorProto, helper
name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
if len(sys.argv) > 3: sys.exit(print(1.5))
folder.mkdir()
value = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2]) for each in "xy"]
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], name, value[:1], value[1:])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "model.onnx")
np.save(folder / "x.npy", np.float32([1, 2]))
np.save(folder / "reference.npy", np.float32([1, 2] if name == "right" else [1, 4]))
"""
# An ONNX Runtime for processors only.
ONNX_RUNTIME = """
__version__ = "9.8"
def set_default_logger_severity(level): pass
def get_available_providers(): return ["CPUExecutionProvider"]
"""


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(dir=BUILD, prefix="test-cuda.")
        cls.addClassCleanup(holder.cleanup)
        cls.work = pathlib.Path(holder.name)
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/cuda_bundle.py", "--build", BUILD, "--bundle", "made"],
                              capture_output=True, text=True, cwd=cls.work)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        cls.bundle = (cls.work / "made").rename(cls.work / "a name with spaces")
        sys.path.insert(0, str(cls.bundle))
        loader = importlib.machinery.SourceFileLoader("cuda_run", str(cls.bundle / "run"))
        cls.module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cuda_run", loader))
        loader.exec_module(cls.module)

    def start(self, *words: str, **extra: str) -> tuple[int, str]:
        for name in ("table.md", "table.log"):
            (self.work / name).unlink(missing_ok=True)
        done = subprocess.run([self.bundle / "run", "--output", "table.md", *words], capture_output=True, text=True, cwd=self.work,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.work)} | extra, timeout=900)  # fmt: skip
        self.assertTrue((self.work / "table.md").exists(), done.stdout + done.stderr)
        return done.returncode, (self.work / "table.md").read_text()

    def log(self) -> str:
        return (self.work / "table.log").read_text()

    def test_it_is_small_and_has_no_library_that_a_machine_must_have_itself(self):
        files = [path for path in self.bundle.rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files if not path.is_symlink()), MOST_BYTES)
        foreign = ("libcuda", "libnvrtc", "libcublas", "libcudnn", "libc.so", "libstdc++", "libgcc_s")
        self.assertEqual([path for path in files if path.name.startswith(foreign)], [])
        about = json.loads((self.bundle / "bundle.json").read_text())
        others = len(list((cuda_bundle.BUILD / "conformance/node").glob(f"{cuda_bundle.OF_OTHERS}*")))
        self.assertEqual((about["cases"], others), (CASE_SETS[0].cases - others, 9))

    def test_all_passes_on_the_stand_ins(self):
        tools, packages = self.work / "tools", self.work / "packages"
        for folder, name, text in ((tools, "compute-sanitizer", SANITIZER), (packages, "onnxruntime.py", ONNX_RUNTIME)):
            folder.mkdir()
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        code, page = self.start("--quick", "--on-stand-ins", str(BUILD / "fakes/cuda"),
                                PATH=f"{tools}:/usr/bin:/bin", PYTHONPATH=str(packages))  # fmt: skip
        self.assertEqual(code, 0, page + self.log())
        self.assertRegex(page, r"\| provider cuda \| [0-9.]+ \|")
        self.assertRegex(page, r"\| ONNX node cases \| 40 passed, 0 failed \| [1-9]\d* wholly on cuda")
        self.assertRegex(page, r"\| benchmark rows \| [0-9.]+ ms \| ran on cuda \|")
        self.assertIn("stand-ins", page)
        self.assertIn("| ONNX Runtime | not compared | 9.8 without CUDA: it has CPUExecutionProvider |", page)
        for check in ("memcheck", "racecheck", "synccheck", "initcheck"):
            self.assertRegex(page, rf"\| compute-sanitizer {check} \| clean \| [1-9]\d* cases \|")
        self.assertIn("memcheck: --target-processes\nmemcheck: all\n", (tools / "compute-sanitizer.arguments").read_text())
        self.assertTrue(list(tools.glob("*.counts.*")), "the workers of tenon test were killed before they could report")

    def kernels(self) -> str:
        """Names of kernels of the quick cases, with commas."""
        names: set[str] = set()
        with tempfile.TemporaryDirectory() as folder:
            cases, counts = self.module.unpack("node", pathlib.Path(folder), True), pathlib.Path(folder) / "counts"
            environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "TENON_DISCOVERY_TRUST": "none", "TENON_FAKE_CUDA_COUNTS": str(counts),
                           "LD_LIBRARY_PATH": f"{BUILD}/fakes/cuda:{self.bundle}/lib/foreign"}  # fmt: skip
            for model in sorted(cases.glob("*/model.onnx")):
                command = [self.bundle / "bin/tenon", "run", model, "--input", "random", "--provider", "cuda,cpu"]
                subprocess.run(command, env=environment, capture_output=True, check=False)
                if counts.exists():
                    names |= {line.split(" ")[0] for line in counts.read_text().splitlines()}
        return ",".join(sorted(name for name in names if not name.startswith(("cu", "nvrtc", "mem"))))

    def test_kernels_that_do_nothing_are_told(self):
        names = self.kernels()
        self.assertTrue(names, "no kernel was counted")
        code, page = self.start("--quick", "--on-stand-ins", str(BUILD / "fakes/cuda"), TENON_FAKE_CUDA_BLANK=names)
        self.assertEqual(code, 1, page)
        self.assertIn("Failures:", page)
        self.assertRegex(self.log(), r"==== ONNX node cases: test_\w+\n.*differ")

    def test_without_a_gpu_it_says_why(self):
        nothing = self.work / "no driver"
        nothing.mkdir()
        (nothing / "libcuda.so.1").touch()
        code, page = self.start("--quick", LD_LIBRARY_PATH=str(nothing))
        self.assertEqual(code, 3, page)
        self.assertRegex(page, r"\| provider cuda \| refused \| E_\w+: .*libcuda")
        self.assertIn("==== tenon providers doctor cuda\n", self.log())

    # ---- Parts ----

    def parts(self, seconds: float = 600, **extra: str):
        holder = tempfile.TemporaryDirectory(dir=self.work)
        self.addCleanup(holder.cleanup)
        folder = pathlib.Path(holder.name)
        with unittest.mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": ""}):
            machine = self.module.Machine([f"{BUILD}/fakes/cuda", f"{self.bundle}/lib/foreign"], folder, seconds)
        machine.environment |= extra
        silent = contextlib.redirect_stdout(io.StringIO())
        silent.__enter__()
        self.addCleanup(silent.__exit__, None, None, None)
        return machine, self.module.Result("parts", folder / "table.md"), folder

    def test_what_there_is_no_time_for_is_told(self):
        machine, result, folder = self.parts()
        node = self.module.unpack("node", folder, True)
        whole = self.module.run_cases(machine, result, "cases", node, 0.0)
        self.assertEqual((whole, result.rows, result.not_done), ([], [("cases", "not done in time", "40 of 40 cases")], True))
        machine.until = 0.0
        result.rows.clear()
        self.module.measure(machine, result, [pathlib.Path("a/model.onnx"), pathlib.Path("b/model.onnx")], 1)
        self.assertEqual(result.rows[-1], ("benchmark", "not done in time", "2 of 2 models, from a on"))
        self.assertEqual(result.failures, [])

    def test_exported_networks_are_compared_with_what_exported_them(self):
        machine, result, folder = self.parts()
        self.module.run_exports(machine, result, folder / "none", ("bert",), 0.1)  # this Python has no PyTorch
        self.assertEqual(result.rows, [("exported networks", "none", "PyTorch, torchvision and transformers are not there")])
        exporter = self.bundle / "cuda_exports.py"
        kept = exporter.read_text()
        self.addCleanup(exporter.write_text, kept)
        exporter.write_text(EXPORTER)
        result.rows.clear()
        self.module.run_exports(machine, result, folder / "some", ("right", "wrong"), 0.1)
        (name, time_of, said), wrong = result.rows
        self.assertEqual(name, "exported right")
        self.assertRegex(f"{time_of}; {said}", r"^[\d.]+ ms; ran on cuda, error 0.0e\+00, PyTorch: 1.500 ms$")
        self.assertEqual(wrong[:2], ("exported wrong", "FAILED"))
        self.assertIn("error 5.0e-01", wrong[2])
        self.assertEqual(len(result.failures), 1)

    def test_a_command_ends_with_all_that_it_started(self):
        machine, _, _ = self.parts()
        done = machine.run("sh", "-c", "sleep 300 & echo $!; echo why >&2; wait", at_most=1)
        self.assertEqual((done.code, done.err), (None, "why\n"))
        status = pathlib.Path(f"/proc/{int(done.out)}/stat")
        for _ in range(100):  # until whoever adopted it has seen its end
            if not status.exists() or status.read_text().split()[2] == "Z":
                return
            time.sleep(0.1)
        self.fail("it runs on")

    def test_a_benchmark_that_only_another_provider_can_end_has_failed(self):
        machine, result, folder = self.parts(TENON_FAKE_CUDA_LOST_AFTER="3")
        with unittest.mock.patch.object(self.module, "PEERS", {}):
            self.module.measure(machine, result, [self.bundle / "networks/rows.onnx"], 0.1)
        self.assertEqual(result.rows[0][:2], ("benchmark rows", "FAILED"))
        self.assertIn("cuda", (folder / "table.log").read_text())

    def test_each_kind_of_warning_is_a_row(self):
        _, result, _ = self.parts()
        line = "warning: cuda 0.1.0: no_cudnn: cuDNN is not used: why\n"
        self.module.tell_warnings(result, line + "other\n" + line)
        self.assertEqual(result.rows, [("warning", "no_cudnn", "cuDNN is not used: why")])

    def test_what_else_ran_nodes_is_told(self):
        self.assertEqual(self.module.ran_on("11 cuda/gpu:0"), "ran on cuda")
        self.assertEqual(self.module.ran_on("11 cuda/gpu:0, 2 cpu/cpu:0"), "ran on 11 cuda/gpu:0, 2 cpu/cpu:0")

    def test_what_a_sanitizer_says_is_judged(self):
        machine, result, folder = self.parts()
        done = self.module.Done
        for code, text, row in (
            (0, "========= ERROR SUMMARY: 0 errors", "clean"),
            (9, "========= Program hit CUDA_ERROR_INVALID_VALUE\n========= ERROR SUMMARY: 1 error", "clean"),
            (9, "========= Program hit CUDA_ERROR_INVALID_VALUE\n========= ERROR SUMMARY: 2 errors", "FAILED"),
            (9, "========= Invalid __global__ read\n========= ERROR SUMMARY: 2 errors", "FAILED"),
            (0, "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)", "FAILED"),
            (0, "", "FAILED"),
            (1, "========= ERROR SUMMARY: 0 errors", "FAILED"),
            (1, "========= Error: Device not supported", "not possible"),
            (None, "========= COMPUTE-SANITIZER\n=========", "not done in time"),
            (None, "========= COMPUTE-SANITIZER\n========= Invalid __global__ write", "FAILED"),
        ):
            self.module.judge_watched(result, "check", done(code, f"24 passed, 0 failed, 0 declared\n{text}", ""), 24)
            self.assertEqual(result.rows[-1][1], row, text)
        self.assertEqual(len(result.failures), 6)
        self.module.judge_watched(result, "check", done(0, "========= ERROR SUMMARY: 0 errors", ""), 24)  # and no case ran
        self.assertEqual(result.rows[-1][1], "FAILED")
        self.assertIn("Invalid __global__ read", (folder / "table.log").read_text())

    def test_the_log_has_the_first_lines_of_each_failure(self):
        _, result, folder = self.parts()
        result.fail("what", "why", "\n".join(f"line {n}" for n in range(100)))
        self.assertEqual((folder / "table.log").read_text().splitlines()[:3], ["==== what", "why", "line 0"])
        self.assertIn("line 58\n... 41 more lines\n", (folder / "table.log").read_text())


class Arguments(unittest.TestCase):
    def test_help_comes_before_any_setup(self):
        done = subprocess.run([ROOT / "tools/test-cuda", "--help"], capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--minutes N", done.stdout)

    def test_wrong_ones_are_told_before_any_setup(self):
        for words in (["--bundle", "x", "--quick"], ["--minutes", "0"], ["--output", "nowhere/y"], ["--output", "y.log"], ["--bnudle"]):
            done = subprocess.run([ROOT / "tools/test-cuda", *words], capture_output=True, text=True, cwd=BUILD, timeout=20)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("tools/test-cuda: error:", done.stderr)

    def test_paths_are_relative_to_the_folder_of_whoever_gives_them(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(sys, "argv", ["test-cuda", "--output", "y", "--quick"]):
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            options = cuda_bundle.arguments()
            os.chdir(before)
        self.assertEqual((options.output, options.quick), (pathlib.Path(folder).resolve() / "y", True))

    def test_in_a_checkout_the_users_python_starts_it_with_the_libraries_of_the_setup(self):
        with (unittest.mock.patch.object(sys, "argv", ["test-cuda", "--build", "here", "--minutes", "2"]),
              unittest.mock.patch.object(cuda_bundle, "make"), unittest.mock.patch.object(cuda_bundle.subprocess, "run") as run):  # fmt: skip
            cuda_bundle.main()
        bundle = pathlib.Path("here").resolve() / "test-cuda"
        self.assertEqual(run.call_args.args[0], [f"{bundle}/run", "--minutes", "2.0", "--libraries", str(ROOT / "build/cuda/lib")])

    def test_a_case_that_is_too_large_leaves_room_for_others(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for case, size in ((cuda_bundle.MEASURED[0], 5000), ("small", 100), ("smaller", 50)):
                (folder / case).mkdir()
                (folder / case / "model.onnx").write_bytes(bytes(size))
            self.assertEqual(cuda_bundle.pack(folder, folder / "some.tar.xz", "some", 1000), 2)
            self.assertEqual(cuda_bundle.pack(folder, folder / "some.tar.xz", "some", 10000), 3)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
