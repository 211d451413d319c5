"""Costs in words: formulas above the same with the numbers in, and tables of what was timed."""

from __future__ import annotations

from html import escape

from core.types import Cost, Measured, MeasuredPoint, Quantity, Term
from core.types.cost import LETTERS, TITLES, figure


def cost_html(found: Cost, quantity: Quantity, muted: str) -> str:
    """Return the terms of a quantity, the facts beside it, and what the letters stand for.

    ``muted`` is the colour of what stands back, such as ``#949CAE``.
    """
    tally = found.tallies[quantity]
    total = Term("total", "", f"{tally.total:,}", tally.total, tally.unit)
    lines, used = [], ""
    for title, terms in ((TITLES[quantity], (*tally.terms, total)), ("and", found.facts)):
        lines.append(f"<p><b>{escape(title)}</b></p>" if terms else "")
        for term in terms:
            used += term.formula
            letters = f"= {escape(term.formula)}<br>" if term.formula else ""
            lines.append(
                f"<p>{escape(term.name)} <b>{solid(term.figure())}</b><br>"
                f'<span style="color:{muted}">{letters}= {escape(term.substituted)}</span></p>'
            )
    words = [
        f"{letter} {found.letters[letter]:,} {word}"
        for letter, word in LETTERS.items()
        if letter in used
    ]
    return "".join([*lines, f'<p style="color:{muted}">{"<br>".join(words)}</p>'])


def measured_html(measured: Measured, *, rates: bool) -> str:
    """Return a line for each length that was timed, in seconds or in FLOP/s, and the notes."""
    rows = [("T", "prefill", "step"), *(_row(point, rates) for point in measured.points)]
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    notes = [f"<p>{escape(note)}</p>" for note in measured.notes]
    return f"<table>{''.join(lines)}</table>{''.join(notes)}"


def solid(text: str) -> str:
    """Return a text that is not broken into lines."""
    return escape(text).replace(" ", "&nbsp;")


def _row(point: MeasuredPoint, rates: bool) -> tuple[str, ...]:
    def told(flops: int, seconds: float | None) -> str:
        if seconds is None:
            return ""
        return figure(flops / seconds, "FLOP/s") if rates else figure(seconds, "seconds")

    prefill = told(point.prefill_flops, point.prefill)
    return f"{point.length:,}", prefill, told(point.decode_flops, point.decode)


def _cell(text: str) -> str:
    return f"<td align=right>{solid(text)}&nbsp;&nbsp;</td>"
