"""Tables and files of bench/peers.py. A row is what its --json writes for one model, number of threads and side."""

import json
import re
from pathlib import Path

from sides.figures import geometric_mean, median, spread

MIB = 1 << 20


def summary(processes: list[dict]) -> dict:
    """The figures of one side from those of its processes: medians, the least time of all, and the spread of the medians."""
    medians = [figures["median_ns"] for figures in processes]
    row = {key: median([figures[key] for figures in processes])
           for key in ("median_ns", "load_ns", "first_ns", "peak_bytes", "before_bytes") if key in processes[0]}
    return row | {"min_ns": min(figures["min_ns"] for figures in processes), "spread": spread(medians), "processes": len(processes)}


def model_name(row: dict) -> str:
    path = Path(row["model"])
    return path.parent.name if path.stem == "model" else path.stem


def is_peer(row: dict) -> bool:
    return "runtime" in row


def label(row: dict) -> str:
    return row["runtime"] if is_peer(row) else f"Tenon {row['provider']}"


def short(name: str) -> str:
    """The label of a peer without its version."""
    return re.sub(r" [0-9][0-9.]*", "", name)


def cells(*texts: object) -> str:
    return "| " + " | ".join(str(text) for text in texts) + " |\n"


def labels(rows: list[dict]) -> list[str]:
    return list(dict.fromkeys(label(row) for row in rows if is_peer(row)))


def groups(rows: list[dict]) -> list[tuple[str, int, list[dict], dict[str, dict]]]:
    """(model, threads, rows of Tenon, row of each peer), in the order of the rows."""
    found = {}
    for row in rows:
        ours, peers = found.setdefault((model_name(row), row["threads"]), ([], {}))
        if is_peer(row):
            peers[label(row)] = row
        else:
            ours.append(row)
    return [(*key, *of) for key, of in found.items()]


def speedups(rows: list[dict], by: str) -> dict[tuple[int, str, str], dict[str, float]]:
    """(threads, provider, peer) -> model -> time of the peer divided by that of Tenon."""
    found = {}
    for model, threads, ours, peers in groups(rows):
        for row in ours:
            for peer, other in peers.items():
                found.setdefault((threads, row["provider"], peer), {})[model] = other[by] / row[by]
    return found


def ms(ns: float) -> str:
    return f"{ns / 1e6:.3f}" if ns >= 1e5 else f"{ns / 1e6:.5f}"


def shown_error(row: dict) -> str:
    """The error of the worst output; nothing where the model has no references."""
    known = [error for error in row["errors"] if error is not None]
    return f"{max(known):.1e}" if known else ""


def speed_table(rows: list[dict], by: str) -> str:
    """A line for each model, number of threads and order of providers."""
    peers = labels(rows)
    names = [short(peer) for peer in peers]
    text = cells("model", "threads", "providers", "Tenon ms", *(f"{name} ms" for name in names), *(f"x {name}" for name in names),
                 "spread", "error: Tenon", *names)  # fmt: skip
    text += "|---|---:|---|" + "---:|" * (3 * len(peers) + 3) + "\n"
    for model, threads, ours, others in groups(rows):
        for row in ours:
            sides = [others.get(peer) for peer in peers]
            spreads = [side["spread"] for side in (row, *sides) if side]
            text += cells(model, threads, row["provider"], ms(row[by]),
                          *(ms(side[by]) if side else "" for side in sides),
                          *(f"{side[by] / row[by]:.2f}" if side else "" for side in sides), f"{max(spreads):.0%}",
                          shown_error(row), *(shown_error(side) if side else "" for side in sides))  # fmt: skip
    return text


def means_table(rows: list[dict], by: str) -> str:
    """How many times as fast as each peer Tenon is over all models."""
    text = cells("threads", "providers", "against", "models", "geometric mean", "least", "below 1.0")
    text += "|---:|---|---|---:|---:|---|---|\n"
    for (threads, provider, peer), of in speedups(rows, by).items():
        least = min(of, key=of.get)
        slower = [f"{name} {ratio:.2f}" for name, ratio in sorted(of.items(), key=lambda item: item[1]) if ratio < 1]
        text += cells(threads, provider, short(peer), len(of), f"{geometric_mean(of.values()):.2f}", f"{least} {of[least]:.2f}",
                      f"{len(slower)}: {', '.join(slower)}" if slower else 0)  # fmt: skip
    return text


def cold_table(rows: list[dict]) -> str:
    """What a new process needs: to load, for the first Run, and of memory."""
    text = cells("model", "threads", "side", "load ms", "first Run ms", "peak MiB", "of it before loading MiB", "model MiB",
                 "rest by model")  # fmt: skip
    text += "|---|---:|---|" + "---:|" * 6 + "\n"
    for row in rows:
        before = row.get("before_bytes", 0)
        text += cells(model_name(row), row["threads"], short(label(row)), f"{row['load_ns'] / 1e6:.1f}", f"{row['first_ns'] / 1e6:.2f}",
                      f"{row['peak_bytes'] / MIB:.0f}", f"{before / MIB:.0f}" if before else "", f"{row['file_bytes'] / MIB:.0f}",
                      f"{(row['peak_bytes'] - before) / row['file_bytes']:.1f}")  # fmt: skip
    return text


def page(rows: list[dict], problems: list[str], by: str) -> str:
    what = {"median_ns": "medians of the processes' medians", "min_ns": "least times of all processes"}[by]
    text = f"Other runtimes: {', '.join(labels(rows)) or 'none'}. Times of a Run are {what}. `x`: how many times as fast as that\n"
    text += "runtime Tenon is. `spread`: the widest of the sides, largest less least median of their processes, as a part of the\n"
    text += "median. `error`: the root mean square of the difference from the outputs in float64, as a part of theirs, of the worst\n"
    text += "output. `rest by model`: the peak less what Python and the packages had taken before loading, by the size of the model.\n\n"
    text += speed_table(rows, by) + "\n" + means_table(rows, by) + "\n" + cold_table(rows)
    return text + "".join(f"\n- {problem}" for problem in problems) + ("\n" if problems else "")


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_rows(path: Path | None, rows: list[dict]) -> None:
    if path is not None:
        write_text(path, json.dumps(rows, indent=1) + "\n")
