"""Whether two outputs are the same: exactly for integers and text, within the element type's tolerance for the rest."""

import ml_dtypes
import numpy as np

# rtol, atol: those of `tenon test`; sums of a chain of nodes are judged against the size of the output as a whole.
TOLERANCES = {"float32": (1e-3, 1e-5), "float64": (1e-3, 1e-5), "complex64": (1e-3, 1e-5), "complex128": (1e-3, 1e-5),
              "float16": (4e-3, 2e-3), "bfloat16": (3e-2, 2e-2)}


def difference(expected, actual, steps: int = 0, scaled: bool = False) -> str | None:
    """What differs, in words; None when nothing does."""
    if isinstance(expected, (list, tuple)) or isinstance(actual, (list, tuple)):
        return difference_of_lists(expected, actual, steps, scaled)
    if isinstance(expected, dict) or isinstance(actual, dict):
        return difference_of_maps(expected, actual, steps, scaled)
    if expected is None or actual is None:
        return None if expected is None and actual is None else "one is an empty optional"
    return difference_of_arrays(np.asarray(expected), np.asarray(actual), steps, scaled)


def difference_of_lists(expected, actual, steps, scaled) -> str | None:
    if not isinstance(expected, (list, tuple)) or not isinstance(actual, (list, tuple)):
        return "one is a sequence"
    if len(expected) != len(actual):
        return f"{len(actual)} elements, expected {len(expected)}"
    return next((text for pair in zip(expected, actual) if (text := difference(*pair, steps, scaled))), None)


def difference_of_maps(expected, actual, steps, scaled) -> str | None:
    if not isinstance(expected, dict) or not isinstance(actual, dict) or set(expected) != set(actual):
        return "other keys"
    return next((text for key in expected if (text := difference(expected[key], actual[key], steps, scaled))), None)


def difference_of_arrays(expected: np.ndarray, actual: np.ndarray, steps: int, scaled: bool) -> str | None:
    if expected.shape != actual.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    if expected.dtype.kind in "OUS" or actual.dtype.kind in "OUS":
        wrong = np.array([str(a) != str(b) for a, b in zip(expected.reshape(-1), actual.reshape(-1))], dtype=bool)
    elif expected.dtype != actual.dtype:
        return f"type {actual.dtype}, expected {expected.dtype}"
    elif expected.dtype.name in TOLERANCES:
        wrong = beyond_tolerance(expected.reshape(-1), actual.reshape(-1), scaled)
    elif expected.dtype.kind in "iub" or "int" in expected.dtype.name:
        a, b = (array.reshape(-1).astype(object if array.dtype.itemsize == 8 else np.int64) for array in (expected, actual))
        wrong = np.abs(a - b) > steps
    else:  # the small floats: the same number, or its neighbour where steps are allowed
        a, b = expected.reshape(-1), actual.reshape(-1)
        wrong = ~((a == b) | (np.isnan(a.astype(np.float32)) & np.isnan(b.astype(np.float32))))
        if steps:
            near = np.abs(a.view(np.uint8).astype(int) - b.view(np.uint8).astype(int)) <= steps
            wrong &= ~near
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    first = int(np.flatnonzero(wrong)[0])
    return f"{count} of {wrong.size} differ, first at {first}: {actual.reshape(-1)[first]!s}, expected {expected.reshape(-1)[first]!s}"


def beyond_tolerance(expected: np.ndarray, actual: np.ndarray, scaled: bool) -> np.ndarray:
    rtol, atol = TOLERANCES[expected.dtype.name]
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = expected.astype(wide), actual.astype(wide)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a)
        size = float(np.sqrt(np.mean(np.abs(a[finite]) ** 2))) if finite.any() else 1.0
        # Where a number is so large that rounding decides whether it still is one, both answers are right.
        limit = 0.99 * float(ml_dtypes.finfo(expected.dtype).max)
        both_huge = (np.abs(a) >= limit) & (np.abs(b) >= limit) & (np.sign(a.real) == np.sign(b.real))
        close = np.abs(a - b) <= atol * (max(size, 1.0) if scaled else 1.0) + rtol * np.abs(a)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | (close & finite & np.isfinite(b)) | both_huge
    return ~same
