#!/usr/bin/env python3
"""The build and tools/setup find NVIDIA's headers in the same places, and pass over toolkits that are too old."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "tools/cmake/TenonCudaHeaders.cmake"
# plugins/cuda in a project where nothing was found.
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(none LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH {ROOT}/tools/cmake)
set(tenon_SOURCE_DIR {ROOT})
add_library(TenonSdk::sdk INTERFACE IMPORTED)
function(tenon_accelerator)
  include(TenonCuda)
endfunction()
add_subdirectory({ROOT}/plugins/cuda cuda)
"""


class CudaHeaders(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()

    def toolkit(self, name: str, version: int, *headers: str, include: str = "include") -> Path:
        folder = self.folder / name / include
        folder.mkdir(parents=True)
        (folder / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
        for header in headers:
            (folder / header).touch()
        return self.folder / name

    def find(self, *roots: Path) -> tuple[str, str]:
        """What was found, and what was said of it."""
        script = self.folder / "find.cmake"
        script.write_text(f"""include({HEADERS})
tenon_find_cuda_headers({" ".join(map(str, roots))})
message(NOTICE "[${{cuda_headers}}] [${{cuda_version}}] [${{cudnn_headers}}]")
""")
        done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
        return done.stderr.strip().replace("/]", "]"), done.stdout

    def test_toolkits_that_are_too_old_or_not_complete_are_passed_over(self):
        old = self.toolkit("old", 12040, "nvrtc.h", "cublasLt.h", "cudnn_graph.h")
        part = self.toolkit("part", 13000, "nvrtc.h")
        good = self.toolkit("good", 13010, "nvrtc.h", "cublasLt.h", "cudnn_graph.h", include="targets/x86_64-linux/include")
        found, said = self.find(self.folder / "nowhere", old, part, good)
        place = good / "targets/x86_64-linux/include"
        self.assertEqual(found, f"[{place}] [13.1] [{place}]")
        self.assertIn(f"CUDA: passed over {old}, which is of version 12.4; 13.0 or later is needed", said)
        self.assertIn(f"CUDA: passed over {part}, which has no cublasLt.h", said)
        self.assertEqual(self.find(old, part)[0].split("] ")[:2], ["[", "["])

    def test_headers_of_cudnn_may_be_elsewhere(self):
        toolkit = self.toolkit("toolkit", 13000, "nvrtc.h", "cublasLt.h")
        other = self.toolkit("other", 13000, "nvrtc.h", "cublasLt.h", "cudnn_graph.h")
        self.assertEqual(self.find(toolkit, other)[0], f"[{toolkit}/include] [13.0] [{other}/include]")

    def test_without_headers_only_who_requires_them_gets_an_error(self):
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        for required, code in (("OFF", 0), ("ON", 1)):
            command = ["cmake", "-S", self.folder, "-B", self.folder / "build", "-DTENON_CUDA_ROOT=OFF", f"-DTENON_CUDA_REQUIRED={required}"]
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"CI": "true"}, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("tools/setup --cuda" in " ".join(done.stderr.split()), bool(code))


if __name__ == "__main__":
    unittest.main()
