"""A figure as an SVG file: real text, crisp cells, hatches as patterns, and what made it inside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from core.types.colors import Rgb
from core.types.figure import (
    FONTS,
    HATCHES,
    Cells,
    Curve,
    Figure,
    Hatch,
    Mark,
    Polygon,
    Text,
)

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""

_FAMILIES = ",".join(f"'{name}'" if " " in name else name for name in FONTS)
_STYLE = (
    f"text{{font-family:{_FAMILIES};"
    "font-variant-ligatures:none;white-space:pre}"
    ".cells{shape-rendering:crispEdges}"
)


def to_svg(figure: Figure) -> str:
    """The figure as an SVG 1.1 document, its unit the point.

    Text stays text: it can be selected, searched and edited. Ligatures are off. The parameters
    stand in the metadata as Dublin Core, the whole of them as JSON in its description.
    """
    size = f'width="{figure.width:.6g}pt" height="{figure.height:.6g}pt"'
    box = f'viewBox="0 0 {figure.width:.6g} {figure.height:.6g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" {size} {box}>'
    parts = ['<?xml version="1.0" encoding="UTF-8"?>', head]
    if figure.title:
        parts.append(f"<title>{_plain(figure.title)}</title>")
    parts += [_metadata(figure), f"<style>{_STYLE}</style>", *_patterns(figure.marks)]
    if figure.background is not None:
        fill = _hex(figure.background)
        parts.append(f'<rect width="100%" height="100%" fill="{fill}"/>')
    parts += [_mark(mark) for mark in figure.marks]
    return "\n".join([*parts, "</svg>", ""])


def parameters_json(figure: Figure) -> str:
    """The parameters as one line of JSON."""
    return json.dumps(figure.parameters, ensure_ascii=False)


def _metadata(figure: Figure) -> str:
    return (
        '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Description rdf:about="">'
        f"<dc:title>{_plain(figure.title)}</dc:title><dc:creator>maskscope</dc:creator>"
        f"<dc:description>{_plain(parameters_json(figure))}</dc:description>"
        "</rdf:Description></rdf:RDF></metadata>"
    )


def _mark(mark: Mark) -> str:
    if isinstance(mark, Cells):
        return _cells(mark)
    if isinstance(mark, Text):
        return _text(mark)
    if isinstance(mark, Polygon):
        return f'<path d="M{_points(mark.points)}z" fill="{_hex(mark.color)}"/>'
    path = f"M{_points(mark.points)}"
    if isinstance(mark, Curve):
        path = f"M{_points(mark.points[:1])}C{_points(mark.points[1:])}"
    faint = f' stroke-opacity="{mark.opacity:.3g}"' if mark.opacity < 1.0 else ""
    stroke = f'stroke="{_hex(mark.color)}" stroke-width="{mark.width:.4g}"{faint}'
    return f'<path d="{path}" fill="none" {stroke}/>'


def _cells(mark: Cells) -> str:
    path = "".join(f"M{x:.6g} {y:.6g}h{w:.6g}v{h:.6g}h-{w:.6g}z" for x, y, w, h in mark.rects)
    ground = f'<path class="cells" d="{path}" fill="{_hex(mark.color)}"/>'
    if mark.hatch is None:
        return ground
    name = _pattern_name(mark.hatch, mark.ink, mark.scale)
    return f'{ground}\n<path d="{path}" fill="url(#{name})"/>'


def _text(mark: Text) -> str:
    turn = ""
    if mark.rotation:
        turn = f' transform="rotate({mark.rotation:.6g} {mark.x:.6g} {mark.y:.6g})"'
    bold = ' font-weight="bold"' if mark.bold else ""
    place = f'x="{mark.x:.6g}" y="{mark.y:.6g}" font-size="{mark.size:.6g}"'
    look = f'text-anchor="{mark.anchor}" fill="{_hex(mark.color)}"{bold}{turn}'
    return f'<text {place} {look} xml:space="preserve">{_plain(mark.string)}</text>'


def _patterns(marks: Iterable[Mark]) -> list[str]:
    used = {
        (mark.hatch, mark.ink, mark.scale)
        for mark in marks
        if isinstance(mark, Cells) and mark.hatch is not None
    }
    made = [_pattern(*one) for one in sorted(used)]
    return ["<defs>", *made, "</defs>"] if made else []


def _pattern(hatch: Hatch, ink: Rgb, scale: float) -> str:
    """Level lines in a turned tile; a second direction is a stroke across the same tile."""
    lines = HATCHES[hatch]
    side = scale * lines.period
    first = lines.angles[0]
    strokes = f"M0 0H{side:.6g}M0 {side:.6g}H{side:.6g}"
    if len(lines.angles) > 1:  # At a right angle to the first.
        strokes += f"M0 0V{side:.6g}M{side:.6g} 0V{side:.6g}"
    return (
        f"<pattern id={quoteattr(_pattern_name(hatch, ink, scale))}"
        f' patternUnits="userSpaceOnUse" width="{side:.6g}" height="{side:.6g}"'
        f' patternTransform="rotate({-first:.6g})"><path d="{strokes}" fill="none"'
        f' stroke="{_hex(ink)}" stroke-width="{scale * lines.width:.6g}"/></pattern>'
    )


def _pattern_name(hatch: Hatch, ink: Rgb, scale: float) -> str:
    return f"{hatch.value}-{_hex(ink)[1:]}-{scale:.6g}"


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.6g} {y:.6g}" for x, y in points)


def _hex(color: Rgb) -> str:
    red, green, blue = (int(part) for part in np.clip(color, 0, 255))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _plain(text: str) -> str:
    return escape(_ILLEGAL.sub("", text))
