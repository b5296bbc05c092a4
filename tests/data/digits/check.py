#!/usr/bin/env python3
"""Checks the accuracy of digits.onnx over the held-out digits against what its metadata states.

    check.py                              evaluates the model with ONNX's reference evaluator
    check.py --held-out DIR               writes heldout_images.npy (float32 [N,1,8,8]) and heldout_labels.npy (int64 [N])
    check.py --probabilities FILE         judges what another runtime computed from heldout_images.npy (.npy or .pb)
    check.py --command build/release/bin/tenon     both at once with the command, and the sample images as PNG

Exits with 1 when the accuracy is below the stated one, or the command names a sample image wrong.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import dataset

HERE = Path(__file__).resolve().parent
MINIMUM = 0.97


def load_array(path: Path) -> np.ndarray:
    return np.load(path) if path.suffix == ".npy" else numpy_helper.to_array(onnx.load_tensor(path))


def reference_probabilities(model: onnx.ModelProto, images: np.ndarray) -> np.ndarray:
    return ReferenceEvaluator(model).run(None, {"image": images})[0]


def stated_accuracy(model: onnx.ModelProto) -> float:
    properties = {entry.key: entry.value for entry in model.metadata_props}
    return float(properties["tenon.heldout.accuracy"])


def judge(probabilities: np.ndarray, labels: np.ndarray, stated: float) -> bool:
    """Prints the verdict. The stated accuracy is rounded to four places, so half a unit of the last is allowed."""
    if probabilities.shape != (len(labels), 10):
        print(f"probabilities have shape {probabilities.shape}, expected {(len(labels), 10)}")
        return False
    right = int((probabilities.argmax(axis=1) == labels).sum())
    reached = right / len(labels)
    passed = reached >= max(stated - 0.00005, MINIMUM)
    print(f"{right} of {len(labels)} held-out digits right: {reached:.4f}, stated {stated:.4f}:"
          f" {'passed' if passed else 'FAILED'}")
    return passed


def write_held_out(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "heldout_images.npy", images)
    np.save(folder / "heldout_labels.npy", labels)
    print(f"{len(labels)} held-out digits written to {folder}")


def command_probabilities(command: Path, model: Path, source: Path) -> np.ndarray:
    """What `tenon run` computes from an image or array file."""
    with tempfile.TemporaryDirectory() as folder:
        words = [command.resolve(), "run", model, "--input", f"image={source}", "--output", folder]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return np.load(Path(folder) / "probabilities.npy")


def judge_samples(command: Path, model: Path) -> bool:
    """The command must name every sample image, and be as sure as the reference is of the same pixels."""
    wrong = []
    reference = onnx.load(model)
    for digit in range(10):
        path = HERE / f"digit_{digit}.png"
        image = dataset.pixels_to_image(dataset.read_png(path))
        expected = reference_probabilities(reference, image[np.newaxis])
        got = command_probabilities(command, model, path)
        if got.argmax() != digit or not np.allclose(got, expected, rtol=1e-3, atol=1e-5):
            wrong.append(f"{path.name}: {got.argmax()} with {got.max():.4f}, reference {expected.max():.4f}")
    print("\n".join(wrong) or "10 of 10 sample images right: passed")
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=HERE / "digits.onnx")
    parser.add_argument("--held-out", type=Path, metavar="DIR")
    parser.add_argument("--probabilities", type=Path, metavar="FILE")
    parser.add_argument("--command", type=Path, metavar="TENON")
    args = parser.parse_args()
    _, (images, labels) = dataset.load_split()
    if args.held_out:
        write_held_out(args.held_out, images, labels)
        return 0
    model = onnx.load(args.model)
    samples_right = True
    if args.command:
        with tempfile.TemporaryDirectory() as folder:
            write_held_out(Path(folder), images, labels)
            probabilities = command_probabilities(args.command, args.model, Path(folder) / "heldout_images.npy")
        samples_right = judge_samples(args.command, args.model)
    elif args.probabilities:
        probabilities = load_array(args.probabilities)
    else:
        probabilities = reference_probabilities(model, images)
    return 0 if judge(probabilities, labels, stated_accuracy(model)) and samples_right else 1


if __name__ == "__main__":
    sys.exit(main())
