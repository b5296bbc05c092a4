"""Where the time of a Run goes."""

from __future__ import annotations

import json
import os
import statistics
from typing import Any, NamedTuple

from ._explain import table


# Categories of docs/debugging.md. A step on a device counts with the time in which the host waits for it.
_OF_RUNS = {"run", "enqueue", "copy", "submit", "wait"}


class Step(NamedTuple):
    """One step of a Run."""

    name: str
    provider: str
    """The instance."""
    median_ns: float
    """Nanoseconds, over the Runs that were measured."""
    share: float
    """Of all steps, 0 to 1."""


class Profile:
    """The answer of ``Session.profile``: ``steps``, the slowest first. ``trace`` is the last Run, for Chrome's trace viewer."""

    def __init__(self, traces: list[dict[str, Any]]) -> None:
        self.trace = traces[-1]
        times: dict[tuple[str, str], list[float]] = {}
        for trace in traces:
            once: dict[tuple[str, str], float] = {}
            for event in trace["traceEvents"]:
                if event["ph"] == "X" and event.get("cat") in _OF_RUNS:
                    key = (event["name"], event.get("args", {}).get("provider", ""))
                    once[key] = once.get(key, 0.0) + event["dur"] * 1e3
            for key, duration in once.items():
                times.setdefault(key, []).append(duration)
        medians = {key: statistics.median(values) for key, values in times.items()}
        total = sum(medians.values()) or 1.0
        self.steps: list[Step] = sorted(
            (Step(name, provider, median, median / total) for (name, provider), median in medians.items()),
            key=lambda step: -step.median_ns,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes ``trace`` as a file for chrome://tracing or ui.perfetto.dev."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.trace, file)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(s.name, s.provider, f"{s.median_ns / 1e3:.1f}", f"{s.share:.1%}") for s in self.steps]

    def __str__(self) -> str:
        rows = [("step", "provider", "µs", "share"), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def __repr__(self) -> str:
        return f"<tenon.Profile of {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        return table(("step", "provider", "µs", "share"), self._rows())
