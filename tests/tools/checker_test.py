#!/usr/bin/env python3
"""tests/checker: the cases are what their verdicts say, judged by numpy; the runner sees wrong verdicts."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

CHECKER = Path(__file__).resolve().parents[1] / "checker"
sys.path.insert(0, str(CHECKER))

import run_checker  # noqa: E402
import write_checker_cases  # noqa: E402
from element_types import ALL_TYPES, FLOATS, SMALL_FLOATS, FloatType, SmallFloatType  # noqa: E402

BY_CODE = {element.code: element for element in ALL_TYPES}
CONTAINERS = ("sequence", "optional")


def load(path: Path) -> TensorProto:
    return TensorProto.FromString(path.read_bytes())


def finite_table(element: SmallFloatType) -> np.ndarray:
    """Every finite number of the type, in order, zero once."""
    patterns = write_checker_cases.pack(list(range(1 << element.bits)), element.bits)
    tensor = TensorProto(data_type=element.code, dims=[1 << element.bits], raw_data=patterns)
    values = numpy_helper.to_array(tensor).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def parts(array: np.ndarray) -> np.ndarray:
    """Numbers as float64 in one row, complex ones as two each."""
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1).astype(np.float64)
    return array.astype(np.float64)[..., np.newaxis]


def floats_agree(element: FloatType, given: np.ndarray, expected: np.ndarray) -> bool:
    allowed = element.atol + element.rtol * np.abs(expected.astype(complex))
    with np.errstate(invalid="ignore"):
        error = np.abs(parts(given) - parts(expected)).max(axis=-1)
    same = (parts(given) == parts(expected)) | (np.isnan(parts(given)) & np.isnan(parts(expected)))
    special = ~(np.isfinite(parts(given)) & np.isfinite(parts(expected))).all(axis=-1)
    return bool(np.where(special, same.all(axis=-1), error <= allowed).all())


def small_floats_agree(element: SmallFloatType, given: np.ndarray, expected: np.ndarray) -> bool:
    table, a, e = finite_table(element), given.astype(np.float64), expected.astype(np.float64)
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    finite = np.isfinite(a) & np.isfinite(e)
    steps = np.abs(np.searchsorted(table, a[finite]) - np.searchsorted(table, e[finite]))
    return bool(same[~finite].all() and (steps <= 1).all())


def agree(given: TensorProto, expected: TensorProto) -> bool:
    """A second opinion on a case, from numpy instead of from how the case was made."""
    if given.data_type != expected.data_type or given.dims != expected.dims:
        return False
    if given.data_type == TensorProto.STRING:
        return given.string_data == expected.string_data
    element, a, e = BY_CODE[given.data_type], numpy_helper.to_array(given), numpy_helper.to_array(expected)
    if isinstance(element, FloatType):
        return floats_agree(element, a, e)
    if isinstance(element, SmallFloatType):
        return small_floats_agree(element, a, e)
    return bool((a == e).all())


class Cases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.out = Path(cls.folder.name) / "cases"
        cls.verdicts = write_checker_cases.write_cases(cls.out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_element_type_is_there(self):
        codes = set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}
        self.assertEqual(BY_CODE.keys(), codes)
        for element in ALL_TYPES:
            split = [case["name"].split("-") for case in self.verdicts]
            names = {variant for name, variant in split if name == element.name}
            self.assertLessEqual({"equal", "transposed", "other_type", "output_missing", "nothing_expected"}, names)
            if element in FLOATS:
                self.assertLessEqual({"ten_tolerances_0", "ten_tolerances_3", "nan_for_a_number"}, names)
            if element in SMALL_FLOATS:
                self.assertLessEqual({"one_step_up", "ten_steps"}, names)

    def test_verdicts_agree_with_numpy(self):
        for case in self.verdicts:
            if run_checker.type_of(case["name"]) in CONTAINERS:
                continue
            data = self.out / case["name"] / "test_data_set_0"
            outputs = sorted(data.glob("output_*.pb"))
            with self.subTest(case["name"]):
                right = len(outputs) == 1 and agree(load(data / "input_0.pb"), load(outputs[0]))
                self.assertEqual(case["status"], "passed" if right else "failed")

    def test_verdicts_on_disk_are_those_returned(self):
        self.assertEqual(json.loads((self.out / "expected.json").read_text())["cases"], self.verdicts)
        self.assertEqual(len({case["name"] for case in self.verdicts}), len(self.verdicts))

    def test_models_are_valid(self):
        for element in ALL_TYPES:
            onnx.checker.check_model(onnx.load(self.out / f"{element.name}-equal" / "model.onnx"), full_check=True)


class Verdicts(unittest.TestCase):
    expected = [{"name": "t-equal", "status": "passed", "message": ""},
                {"name": "t-moved", "status": "failed", "message": "element"}]

    def wrong(self, equal: str, moved: str, message: str = "1 of 8 elements differ") -> dict[str, str]:
        reported = [{"name": "t-equal", "status": equal, "message": ""},
                    {"name": "t-moved", "status": moved, "message": message}]
        return run_checker.wrong_verdicts(self.expected, reported)

    def test_right_verdicts(self):
        self.assertEqual(self.wrong("passed", "failed"), {})

    def test_wrong_verdicts(self):
        self.assertEqual(self.wrong("passed", "passed").keys(), {"t-moved"})
        self.assertEqual(self.wrong("passed", "crashed").keys(), {"t-moved"})
        self.assertEqual(self.wrong("passed", "failed", "no provider").keys(), {"t-moved"})
        self.assertEqual(self.wrong("failed", "failed").keys(), {"t-equal", "t-moved"})

    def test_lost_and_foreign_cases(self):
        reported = [{"name": name, "status": "passed", "message": ""} for name in ("t-equal", "x")]
        self.assertEqual(run_checker.wrong_verdicts(self.expected, reported).keys(), {"t-moved", "x"})

    def test_form(self):
        report = {"summary": {"passed": 1, "failed": 1, "declared": 0, "crashed": 0},
                  "cases": [{"status": "passed"}, {"status": "failed"}]}
        junit = "<testsuite><testcase/><testcase><failure/></testcase></testsuite>"
        self.assertEqual(run_checker.form_problems(1, report, junit, self.expected), [])
        self.assertTrue(run_checker.form_problems(0, report, junit, self.expected))
        self.assertTrue(run_checker.form_problems(1, report, "<testsuite><testcase/></testsuite>", self.expected))
        self.assertTrue(run_checker.form_problems(1, report | {"summary": {"passed": 2}}, junit, self.expected))


if __name__ == "__main__":
    unittest.main()
