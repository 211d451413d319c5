"""The results of checks as a table: name, verdict, number, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.figure.page import MARGIN, Block, page, wrapped
from core.figure.style import ONE_COLUMN, Style
from core.types.colors import ERROR, GOOD, MUTED, TEXT, WARNING, Rgb
from core.types.figure import Figure, Mark, Polyline, Text

_SIGNS: dict[str, tuple[str, Rgb]] = {
    "pass": ("✓", GOOD),
    "fail": ("✗", ERROR),
    "skip": ("–", MUTED),
}


@dataclass(frozen=True)
class ReportRow:
    """One check: its name, its verdict ("pass", "fail", "skip" or another word), the number with
    its unit, and a sentence.
    """

    name: str
    verdict: str
    number: str = ""
    sentence: str = ""


def report_figure(rows: Sequence[ReportRow], *, style: Style = ONE_COLUMN) -> Figure:
    """A table with a line for each check; sentences are broken to fit the page.

    Raises
    ------
    ValueError
        where there is no row.
    """
    if not rows:
        raise ValueError("There are no results to draw: run a check first.")
    wide = style.width - 2 * MARGIN
    size, gap = style.label, 1.6 * style.label
    heads = ("check", "verdict", "number")
    cells = [(row.name, f"✓ {row.verdict}", row.number) for row in rows]
    widths = [
        max(style.measure(text, size) * 1.05 for text in (head, *(cell[n] for cell in cells)))
        for n, head in enumerate(heads)
    ]
    widths[0] = min(widths[0], 0.3 * wide)
    edges = [0.0]
    for width in widths:
        edges.append(edges[-1] + width + gap)
    rest = wide - edges[3]
    under = rest < 0.4 * wide  # A narrow page has its sentences below the numbers.
    marks: list[Mark] = [_rule(style, 0.5, wide, 2.0)]
    y = 1.5 * size
    for x, head in zip(edges, (*heads, "" if under else "what it means"), strict=True):
        marks.append(Text(head, x, y, size, bold=True))
    y += 0.6 * size
    marks.append(_rule(style, y, wide, 1.0))
    for row in rows:
        y = _line(style, row, (edges, wide, under), y + 0.5 * size, marks)
    marks.append(_rule(style, y + 0.4 * size, wide, 2.0))
    told = {row.name: " ".join(filter(None, (row.verdict, row.number))) for row in rows}
    return page(style, (Block(tuple(marks), wide, y + 0.4 * size + 1.0),), told)


def _line(
    style: Style,
    row: ReportRow,
    columns: tuple[list[float], float, bool],
    y: float,
    marks: list[Mark],
) -> float:
    """Add one row below ``y``; where it ends."""
    edges, wide, under = columns
    size, line = style.label, 1.3 * style.label
    sign, color = _SIGNS.get(row.verdict.lower(), ("!", WARNING))
    names = wrapped(row.name, size, edges[1] - 1.6 * size, style.measure) or [""]
    for n, text in enumerate(names):
        marks.append(Text(text, 0.0, y + (n + 1) * line, size))
    marks.append(Text(sign, edges[1], y + line, size, bold=True, color=color))
    marks.append(Text(row.verdict, edges[1] + 1.2 * size, y + line, size))
    marks.append(Text(row.number, edges[2], y + line, size))
    x = 0.0 if under else edges[3]
    said = wrapped(row.sentence, size, wide - x, style.measure)
    first = len(names) if under else 0
    for n, text in enumerate(said):
        ink = MUTED if under else TEXT
        marks.append(Text(text, x, y + (first + n + 1) * line, size, color=ink))
    return y + max(first + len(said), len(names)) * line


def _rule(style: Style, y: float, wide: float, weight: float) -> Mark:
    return Polyline(((0.0, y), (wide, y)), TEXT, weight * style.line * 0.8)
