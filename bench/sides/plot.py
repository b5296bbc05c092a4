"""The plot of bench/peers.py: an SVG with a line for each model and a dot for each side, at its time by that of the first peer."""

import math
from html import escape

from sides.report import groups, label, labels

COLOURS = ("#d1242f", "#8250df", "#bf8700", "#0969da", "#1a7f37", "#57606a", "#bc4c00")
LEFT, WIDTH, LINE, TOP = 230, 560, 20, 60
RANGE = (0.25, 8)  # times the first peer's; dots outside stand at the border, with their number


def place(ratio: float) -> float:
    low, high = map(math.log, RANGE)
    return LEFT + WIDTH * (min(max(math.log(ratio), low), high) - low) / (high - low)


def text(x: float, y: float, content: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(content)}</text>\n'


def ratios(rows: list[dict], by: str) -> list[tuple[str, dict[str, float]]]:
    """(model and threads, side -> time by that of the first peer) of all models that the first peer ran."""
    first, found = labels(rows)[0], []
    for model, threads, ours, peers in groups(rows):
        if first in peers:
            sides = [*ours, *peers.values()]
            name = f"{model}, {threads} thread{'s' if threads > 1 else ''}"
            found.append((name, {label(row): row[by] / peers[first][by] for row in sides}))
    return found


def plot(rows: list[dict], by: str) -> str:
    lines = ratios(rows, by)
    sides = list(dict.fromkeys(side for _, of in lines for side in of))
    colours = {side: COLOURS[i % len(COLOURS)] for i, side in enumerate(sides)}
    bottom = TOP + LINE * len(lines)
    height = bottom + 30 + LINE * len(sides)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" font-family="sans-serif" '
    svg += 'font-size="12">\n'
    svg += f'<rect width="100%" height="100%" fill="white"/>\n{text(10, 20, f"Time of a Run by that of {labels(rows)[0]}; left is faster")}'
    for mark in (0.25, 0.5, 1, 2, 4, 8):
        x = place(mark)
        svg += f'<line x1="{x:.1f}" y1="{TOP - 10}" x2="{x:.1f}" y2="{bottom}" stroke="{"#24292f" if mark == 1 else "#d0d7de"}"/>\n'
        svg += text(x, TOP - 15, f"{mark:g}", 'text-anchor="middle"')
    for i, (name, of) in enumerate(lines):
        y = TOP + LINE * (i + 0.5)
        svg += text(LEFT - 10, y + 4, name, 'text-anchor="end"')
        for side, ratio in of.items():
            x = place(ratio)
            svg += f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colours[side]}" fill-opacity="0.8"/>\n'
            if not RANGE[0] <= ratio <= RANGE[1]:
                svg += text(x + 8, y + 4, f"{ratio:.2g}", f'fill="{colours[side]}"')
    for i, side in enumerate(sides):
        y = bottom + 25 + LINE * i
        svg += f'<circle cx="{LEFT}" cy="{y - 4}" r="5" fill="{colours[side]}"/>\n{text(LEFT + 12, y, side)}'
    return svg + "</svg>\n"
