#!/usr/bin/env python3
"""test_cuda.py BUILD_DIR: tools/test-cuda makes a bundle that runs on its own, and says what is wrong where something is.

The bundle is moved and run with an environment of its own: on the stand-ins for NVIDIA's libraries, where all passes; with kernels that
they leave out, which the table must tell; and without them, where it ends with exit code 2 and the cause.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tools"))

from gate_cases import CASE_SETS  # noqa: E402

BUILD = pathlib.Path()
MOST_BYTES = 60 << 20


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(dir=BUILD, prefix="test-cuda.")
        cls.addClassCleanup(holder.cleanup)
        made = pathlib.Path(holder.name) / "made"
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/cuda_bundle.py", "--build", BUILD, "--bundle", made],
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        cls.bundle = made.rename(pathlib.Path(holder.name) / "a name with spaces")
        cls.work = pathlib.Path(holder.name)

    def start(self, *words: str, **extra: str) -> tuple[int, str]:
        output = self.work / "table.md"
        output.unlink(missing_ok=True)
        done = subprocess.run([self.bundle / "run", "--output", output, *words], capture_output=True, text=True, cwd=self.work,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.work)} | extra, timeout=900)  # fmt: skip
        self.assertTrue(output.exists(), done.stdout + done.stderr)
        return done.returncode, output.read_text()

    def test_it_is_small_and_has_no_library_of_nvidia(self):
        files = [path for path in self.bundle.rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files if not path.is_symlink()), MOST_BYTES)
        self.assertEqual([path for path in files if path.name.startswith(("libcuda", "libnvrtc", "libcublas", "libcudnn"))], [])
        about = json.loads((self.bundle / "bundle.json").read_text())
        self.assertEqual(about["cases"], next(cases.cases for cases in CASE_SETS if cases.name == "onnx node"))

    def test_all_passes_on_the_stand_ins(self):
        code, page = self.start("--quick", "--on-stand-ins", str(BUILD / "fakes/cuda"))
        self.assertEqual(code, 0, page)
        self.assertRegex(page, r"\| provider cuda \| [0-9.]+ \|")
        self.assertRegex(page, r"\| ONNX node cases \| 40 passed, 0 failed \| [1-9]\d* wholly on cuda")
        self.assertRegex(page, r"\| benchmark rows \| [0-9.]+ ms \|")
        self.assertIn("stand-ins", page)

    def kernels(self) -> str:
        """Names of kernels of the quick cases, with commas."""
        loader = importlib.machinery.SourceFileLoader("cuda_run", str(self.bundle / "run"))
        run = importlib.util.module_from_spec(importlib.util.spec_from_loader("cuda_run", loader))
        sys.modules["cuda_run"] = run
        loader.exec_module(run)
        names: set[str] = set()
        with tempfile.TemporaryDirectory() as folder:
            cases, counts = run.unpack("node", pathlib.Path(folder), True), pathlib.Path(folder) / "counts"
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

    def test_without_a_gpu_it_says_why(self):
        code, page = self.start("--quick")
        self.assertEqual(code, 2, page)
        self.assertRegex(page, r"\| provider cuda \| refused \| E_\w+: .*libcuda")


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
