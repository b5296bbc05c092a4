"""Which provider runs which node, and why."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in HTML."""

    def line(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


class Explanation:
    """The answer of ``Session.explain``. ``data`` has everything ("Explain" in docs/json.md)."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """For each node: name, op, provider, instance, part, and ``declines`` of instances that were asked earlier."""
        return self.data["nodes"]

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes each instance runs."""
        return dict(Counter(node["instance"] for node in self.nodes))

    @property
    def passed_over(self) -> list[dict[str, str]]:
        """Providers and builds that were not used: provider, version, code, reason, cure, instead."""
        return self.data["passed_over"]

    @property
    def copies(self) -> list[dict[str, Any]]:
        """Values that are copied between memories."""
        return self.data["copies"]

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [
            (
                node["name"],
                node["op"],
                node["instance"],
                "; ".join(f"{decline['provider']}: {decline['text']}" for decline in node["declines"]),
            )
            for node in self.nodes
        ]

    def _notes(self) -> list[str]:
        notes = [f"{name} runs {count} nodes" for name, count in self.counts.items()]
        for entry in self.passed_over:
            notes.append(f"passed over: {entry['provider']} {entry['version']}: {entry['reason']}. {entry['cure']}".strip())
        for entry in self.data["fallbacks"]:
            notes.append(f"fallback from {entry['provider']}: {entry['text']}")
        return notes + list(self.data["warnings"])

    def __str__(self) -> str:
        rows = [("node", "operator", "runs on", "declined by"), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[3]]).rstrip() for row in rows]
        return "\n".join([*self._notes(), "", *lines])

    def __repr__(self) -> str:
        return f"<tenon.Explanation {self.counts}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self._notes())
        return f"<ul>{notes}</ul>{table(('node', 'operator', 'runs on', 'declined by'), self._rows())}"
