#!/usr/bin/env python3
"""tests/cuda/compile_kernels.py reads what NVIDIA's compiler says, and judges it."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cuda"))

import compile_kernels  # noqa: E402
from compile_kernels import Kernel, Text  # noqa: E402

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'SoftmaxRows' for 'sm_90'
ptxas info    : Function properties for SoftmaxRows
ptxas         .     8 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 4096 bytes smem
ptxas info    : Compiling entry function 'Copy' for 'sm_90'
ptxas info    : Function properties for Copy
ptxas         .     0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 10 registers
"""


class CompileKernels(unittest.TestCase):
    def kernels(self) -> list[Kernel]:
        return compile_kernels.kernels_of(LOG, {"SoftmaxRows": 128})

    def test_each_kernel_has_its_numbers(self):
        self.assertEqual(self.kernels(), [Kernel("SoftmaxRows", 64, 24, 4096, 128), Kernel("Copy", 10, 8, 0, compile_kernels.UNBOUND)])

    def test_occupancy_is_that_of_the_scarcest(self):
        self.assertEqual(Kernel("k", 32, 0, 0, 256).occupancy(90), 1)
        self.assertEqual(Kernel("k", 128, 0, 0, 256).occupancy(90), 0.25)  # registers
        self.assertEqual(Kernel("k", 16, 0, 100 << 10, 256).occupancy(90), 0.25)  # shared memory
        self.assertEqual(Kernel("k", 16, 0, 0, 32).occupancy(90), 0.5)  # blocks
        self.assertEqual(Kernel("k", 16, 0, 48 << 10, 256).occupancy(75), 0.25)
        self.assertEqual(Kernel("k", 255, 0, 0, 1024).occupancy(90), 0)  # cannot be launched

    def judged(self, answer: dict) -> str:
        return "\n".join(compile_kernels.problems(Text("some", b"", ("-DT=float",)), 90, answer))

    def test_what_is_wrong_is_told(self):
        good, spilled, moved = {"kernels": [vars(Kernel("SoftmaxRows", 64, 0, 0, 128))], "log": ""}, *self.kernels()
        self.assertEqual(self.judged(good), "")
        self.assertIn("SoftmaxRows spills 24 bytes", self.judged({"kernels": [vars(spilled)], "log": LOG}))
        self.assertEqual(self.judged({"kernels": [vars(moved)], "log": LOG}), "", "a copy may spill")
        self.assertIn("warning #177", self.judged(good | {"log": "a.cu(2): warning #177-D: never referenced\n"}))
        self.assertIn("refused: a.cu(1): error", self.judged({"log": "a.cu(1): error: no\n"}))
        self.assertIn("no kernel", self.judged({"kernels": [], "log": ""}))
        self.assertIn("fits no multiprocessor", self.judged({"kernels": [vars(Kernel("Copy", 255, 0, 0, 1024))], "log": ""}))

    def test_a_text_is_compiled_once_with_its_options(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for hashed, option in (("01", "-DT=float"), ("02", "-DT=float"), ("03", "-DT=half")):
                (folder / f"some-{hashed}.cu").write_text("x\n")
                (folder / f"some-{hashed}.options").write_text(f"-DN=2\n{option}\n")
            texts = compile_kernels.texts_in(folder)
        self.assertEqual(sorted(text.options for text in texts), [("-DN=2", "-DT=float"), ("-DN=2", "-DT=half")])
        self.assertEqual({(text.name, text.text) for text in texts}, {("some", b"x\n")})
        first = texts[0]
        keys = {first.key(90, "13.0"), first.key(80, "13.0"), first.key(90, "13.1"), texts[1].key(90, "13.0")}
        self.assertEqual(len(keys), 4)

    def test_the_page_has_ranges(self):
        found = {"Copy": {90: [Kernel("Copy", 10, 0, 0, 256), Kernel("Copy", 40, 8, 16, 1024)]}}
        row = compile_kernels.page(found, [90], "13.0").splitlines()[-3]
        self.assertEqual(row, "| Copy | 2 | 0 to 16 | 10 to 40 | 50 % to 100 % | 8 bytes |")


if __name__ == "__main__":
    unittest.main()
