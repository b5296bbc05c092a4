"""What bench/peers.py computes from times and outputs. Nothing here runs or reads anything."""

import math
import statistics
from collections.abc import Iterable, Sequence

import numpy as np

# Largest differences of two runtimes' outputs. In float32 for each element, beside the root mean square of the output; else the
# root mean square of the difference, as a part of that of the output: rounding to 8 bits or to bfloat16 goes either way.
RTOL, ATOL = 1e-3, 1e-4
ROUGH = 0.2
ROUGH_CLASSES = 0.05  # part of the elements of an output of integers that may differ where the rest is rough
MOST_ERROR = 2  # against float64, as a multiple of the peer's


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def spread(values: Sequence[float]) -> float:
    """The distance of the largest from the least, as a part of the median."""
    return (max(values) - min(values)) / statistics.median(values)


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def root_mean_square(value: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(value.astype(np.float64))))) if value.size else 0.0


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """The root mean square of a - b as a part of that of b: 0 where they are equal, infinite where only one is finite."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return math.inf
    finite = np.isfinite(b)
    apart, size = root_mean_square(a[finite] - b[finite]), root_mean_square(b[finite])
    if apart == 0:
        return 0.0
    return apart / size if size else math.inf


def errors(outputs: list[np.ndarray], references: list[np.ndarray] | None) -> list[float | None]:
    """The distance of each output in floating point from its reference. None for other outputs; empty without references."""
    pairs = zip(outputs, references, strict=True) if references else ()
    return [distance(a, b) if np.issubdtype(b.dtype, np.floating) else None for a, b in pairs]


def difference(ours: list[np.ndarray], theirs: list[np.ndarray], rough: bool = False) -> str | None:
    """None if all outputs agree, else a text about the first difference. `rough`: not both compute in float32."""
    if len(ours) != len(theirs):
        return f"{len(ours)} outputs against {len(theirs)}"
    for index, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            return f"output {index}: shape {a.shape} against {b.shape}"
        if not np.issubdtype(b.dtype, np.floating):
            wrong = np.count_nonzero(a != b)
            if wrong > (ROUGH_CLASSES * b.size if rough else 0):
                return f"output {index}: {wrong} of {b.size} elements differ"
        elif rough:
            apart = distance(a, b)
            if not apart <= ROUGH:
                return f"output {index}: the outputs are {apart:.2g} of their size apart"
        else:
            close = np.isclose(a, b, rtol=RTOL, atol=ATOL * root_mean_square(b[np.isfinite(b)]), equal_nan=True)
            if not close.all():
                return f"output {index}: {np.count_nonzero(~close)} of {close.size} elements differ"
    return None


def as_exact(ours: list[np.ndarray], theirs: list[np.ndarray], references: list[np.ndarray]) -> bool:
    """Whether no output is further from its reference than MOST_ERROR times the peer's. Deep networks enlarge what rounding changes, so
    that outputs differ in single elements though both are as exact as float32 allows."""
    pairs = zip(errors(ours, references), errors(theirs, references), strict=True)
    return all(own is not None and own <= MOST_ERROR * other < math.inf for own, other in pairs)


def turns(sides: Sequence, count: int) -> list:
    """All sides `count` times, forth and back: A B B A A B ..."""
    return [side for turn in range(count) for side in (sides if turn % 2 == 0 else reversed(sides))]
