#!/usr/bin/env python3
"""tests/data/digits: the committed model, its samples and its metadata agree with each other and with the data set."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx

DIGITS = Path(__file__).resolve().parents[1] / "data" / "digits"
sys.path.insert(0, str(DIGITS))

import check  # noqa: E402
import dataset  # noqa: E402


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = onnx.load(DIGITS / "digits.onnx")
        _, (cls.images, cls.labels) = dataset.load_split()
        cls.probabilities = check.reference_probabilities(cls.model, cls.images)

    def judge(self, probabilities: np.ndarray) -> bool:
        with contextlib.redirect_stdout(io.StringIO()):
            return check.judge(probabilities, self.labels, check.stated_accuracy(self.model))

    def test_model_is_valid_and_small(self):
        onnx.checker.check_model(self.model, full_check=True)
        self.assertLess((DIGITS / "digits.onnx").stat().st_size, 200_000)

    def test_readme_states_what_the_metadata_states(self):
        stated = f"{100 * check.stated_accuracy(self.model):.2f} %"
        self.assertIn(stated, (DIGITS / "README.md").read_text())

    def test_held_out_accuracy(self):
        self.assertTrue(self.judge(self.probabilities))

    def test_judge_sees_a_worse_model(self):
        worse = self.probabilities.copy()
        worse[:1] = np.roll(worse[:1], 1, axis=1)
        self.assertFalse(self.judge(worse))
        self.assertFalse(self.judge(self.probabilities[:-1]))

    def test_sample_images_are_held_out_digits_and_named_right(self):
        for digit in range(10):
            image = dataset.pixels_to_image(dataset.read_png(DIGITS / f"digit_{digit}.png"))
            distance = np.abs(self.images[self.labels == digit] - image).max(axis=(1, 2, 3)).min()
            self.assertLess(distance, 0.5 / 255 + 1e-6, "not one of the held-out images")
            named = check.reference_probabilities(self.model, image[np.newaxis]).argmax()
            self.assertEqual(named, digit)

    def test_written_held_out_files(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            check.write_held_out(Path(folder), self.images, self.labels)
            self.assertTrue(np.array_equal(np.load(Path(folder) / "heldout_images.npy"), self.images))
            self.assertTrue(np.array_equal(np.load(Path(folder) / "heldout_labels.npy"), self.labels))


if __name__ == "__main__":
    unittest.main()
