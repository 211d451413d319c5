"""What a model was checked for: what was checked, and a table with a line for each check."""

from __future__ import annotations

from dataclasses import replace

from core.figure.axes import widest
from core.figure.page import MARGIN, Block, cut, page, paragraphs, wrapped
from core.figure.style import ONE_COLUMN, Style
from core.types import Check, CheckReport, Verdict
from core.types.checks import COLUMNS
from core.types.colors import ERROR, GOOD, MUTED, TEXT, Rgb
from core.types.figure import Figure, Mark, Polyline, Text

_SIGNS: dict[Verdict, tuple[str, Rgb]] = {
    Verdict.PASS: ("✓", GOOD),
    Verdict.FAIL: ("✗", ERROR),
    Verdict.REFUSED: ("–", MUTED),
}

_MOST_LINES = 2
"""Lines that the text takes; the rest of it is cut."""


def report_figure(report: CheckReport, text: str = "", *, style: Style = ONE_COLUMN) -> Figure:
    """Model, engine, mask and ``text`` that were checked, and below them a line for each check.

    Sentences are broken to fit the page, numbers and names of checks are not. The text is cut after
    two lines; the parameters hold all of it.

    Raises
    ------
    ValueError
        where there is no check, or the page is narrower than names and numbers.
    """
    if not report.checks:
        raise ValueError("There are no results to draw: run a check first.")
    told = {"model": report.model, "engine": report.engine, "mask": report.mask}
    if text:
        told["text"] = text
    for check in report.checks:
        name, *cells, _ = check.cells
        told[name] = " ".join(filter(None, cells[:2]))
    blocks = _about(style, report, text), _table(style, report)
    return page(replace(style, labels=False), blocks, told)  # It has none that could be left out.


def _about(style: Style, report: CheckReport, text: str) -> Block:
    """What was checked, what came out, and the text."""
    wide, size = style.width - 2 * MARGIN, style.label
    said = wrapped(f"“{text}”", size, wide, style.measure) if text else []
    first, rest = said[: _MOST_LINES - 1], " ".join(said[_MOST_LINES - 1 :])
    where = f"{report.model} on {report.engine}, {report.mask}: {report.sentence()}."
    lines = [where, *first, cut(rest, size, wide, style.measure)]
    return paragraphs(style, [(line, size, TEXT) for line in lines])


def _table(style: Style, report: CheckReport) -> Block:
    wide = style.width - 2 * MARGIN
    size, gap = style.label, 1.2 * style.label
    columns = list(zip(COLUMNS, *(check.cells for check in report.checks), strict=True))[:-1]
    widths = [1.05 * widest(column, size, style.measure) for column in columns]
    words = [word for name in columns[0] for word in name.split()]
    least = 1.05 * widest(words, size, style.measure)
    widths[0] = max(min(widths[0], 0.3 * wide), least)
    widths[1] += 1.2 * size  # The sign.
    edges = [0.0]
    for width in widths:
        edges.append(edges[-1] + width + gap)
    taken = max(wide, edges[-1] - gap)
    is_narrow = wide - edges[-1] < 0.4 * wide
    marks: list[Mark] = [_rule(style, 0.5, wide, 2.0)]
    y = 1.5 * size
    for x, head in zip(edges, COLUMNS[:-1] if is_narrow else COLUMNS, strict=False):
        marks.append(Text(head, x, y, size, bold=True))
    if is_narrow:  # A narrow page has its sentences below the numbers.
        edges[-1], y = 0.0, y + 1.3 * size
        marks.append(Text(COLUMNS[-1], 0.0, y, size, color=MUTED))
    y += 0.6 * size
    marks.append(_rule(style, y, wide, 1.0))
    for check in report.checks:
        y = _line(style, check, edges, y + 0.5 * size, marks)
    y += 0.6 * size
    marks.append(_rule(style, y, wide, 2.0))
    return Block(tuple(marks), taken, y + 1.0)


def _line(style: Style, check: Check, edges: list[float], y: float, marks: list[Mark]) -> float:
    """Add one check below ``y``; where it ends. ``edges`` are the left ones of the columns."""
    size, line = style.label, 1.3 * style.label
    is_narrow = not edges[-1]
    sign, color = _SIGNS[check.verdict]
    name, verdict, *numbers, sentence = check.cells
    names = wrapped(name, size, edges[1] - 1.2 * size, style.measure) or [""]
    for n, text in enumerate(names):
        marks.append(Text(text, 0.0, y + (n + 1) * line, size))
    marks.append(Text(sign, edges[1], y + line, size, bold=True, color=color))
    marks.append(Text(verdict, edges[1] + 1.2 * size, y + line, size))
    for x, text in zip(edges[2:], numbers, strict=False):
        marks.append(Text(text, x, y + line, size))
    said = wrapped(sentence, size, style.width - 2 * MARGIN - edges[-1], style.measure)
    first, ink = (len(names), MUTED) if is_narrow else (0, TEXT)
    for n, text in enumerate(said):
        marks.append(Text(text, edges[-1], y + (first + n + 1) * line, size, color=ink))
    return y + max(first + len(said), len(names)) * line


def _rule(style: Style, y: float, wide: float, weight: float) -> Mark:
    return Polyline(((0.0, y), (wide, y)), TEXT, weight * style.line * 0.8)
