from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.export.figure_svg import to_svg
from core.figure.attention import attention_figure
from core.figure.mask import mask_figure
from core.figure.style import Style
from core.types import MaskKind, MaskSpec
from core.types.figure import Cells, Curve, Figure, Hatch, Polygon, Polyline, Text

SVG = "{http://www.w3.org/2000/svg}"
DC = "{http://purl.org/dc/elements/1.1/}"
WORDS = ["<b>", "&amp;", "fine", "猫", "שלום", " ", "\n", "🙂", "]]>", '"', "a  b", "\x00\x0b"]
SHOWN = ["<b>", "&amp;", "fine", "猫", "שלום", "␣", "⏎", "🙂", "]]>", '"', "a␣␣b", "⟨00⟩⟨0b⟩"]


def parsed(figure: Figure) -> ET.Element:
    return ET.fromstring(to_svg(figure).encode())


def rects_of(path: str) -> list[list[float]]:
    number = r"(-?[\d.e+-]+)"
    found = re.findall(rf"M{number} {number}h{number}v{number}h-[\d.e+-]+z", path)
    return [[float(part) for part in one] for one in found]


def test_every_token_is_text() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, len(WORDS))
    root = parsed(mask_figure(spec, 0, WORDS, WORDS, style=Style(width=500.0)))
    said = [element.text for element in root.iter(f"{SVG}text")]
    for word in SHOWN:
        assert said.count(word) == 2, word
    style = root.find(f"{SVG}style").text
    assert "font-variant-ligatures:none" in style
    assert "'DejaVu Sans'" in style


@given(st.text(max_size=20), st.text(max_size=20), st.dictionaries(st.text(), st.text()))
def test_any_text_makes_valid_xml(word: str, title: str, parameters: dict[str, str]) -> None:
    word, title = (t.encode("utf-8", "ignore").decode() for t in (word, title))
    figure = Figure(50.0, 20.0, (Text(word, 5.0, 9.0, 8.0),), None, title, parameters)
    root = ET.fromstring(to_svg(figure).encode("utf-8", "surrogatepass"))
    legal = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", word)
    (found,) = root.iter(f"{SVG}text")
    assert (found.text or "") == legal.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("length", [1, 2, 17, 256])
def test_cells_are_those_of_the_figure(length: int) -> None:
    figure = mask_figure(MaskSpec(MaskKind.PREFIX, length, prefix=length // 2, window=length))
    text = to_svg(figure)
    assert "<image" not in text
    drawn = [e for e in ET.fromstring(text).iter(f"{SVG}path") if e.get("class") == "cells"]
    cells = [mark for mark in figure.marks if isinstance(mark, Cells)]
    assert len(drawn) == len(cells)
    for element, mark in zip(drawn, cells, strict=True):
        assert element.get("fill") == "#" + bytes(mark.color).hex()
        np.testing.assert_allclose(rects_of(element.get("d")), mark.rects, atol=2e-3)


def test_attention_has_a_path_for_each_colour() -> None:
    pattern = np.random.default_rng(0).random((64, 64))
    text = to_svg(attention_figure(pattern))
    assert "<image" not in text
    paths = re.findall(r'<path class="cells"', text)
    assert len(paths) <= 256 + 70


def test_the_size_is_exact() -> None:
    style = Style(width=252.283, height=200.5)
    root = parsed(mask_figure(MaskSpec(MaskKind.CAUSAL, 4), style=style))
    assert root.get("width") == "252.283pt"
    assert root.get("height") == "200.5pt"
    assert root.get("viewBox") == "0 0 252.283 200.5"


def test_a_transparent_figure_has_no_ground() -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 4)
    assert list(parsed(mask_figure(spec)).iter(f"{SVG}rect"))
    assert not list(parsed(mask_figure(spec, style=Style(background=None))).iter(f"{SVG}rect"))


def test_what_made_it_stands_inside() -> None:
    figure = mask_figure(MaskSpec(MaskKind.PREFIX, 4, prefix=2), style=Style(title="A & <B>"))
    root = parsed(figure)
    assert next(root.iter(f"{DC}title")).text == root.find(f"{SVG}title").text == "A & <B>"
    assert json.loads(next(root.iter(f"{DC}description")).text) == figure.parameters
    assert figure.parameters["prefix"] == "2"


def test_marks_of_every_kind_are_written() -> None:
    red = (255, 0, 0)
    curve = Curve(((0.0, 0.0), (5.0, 0.0), (5.0, 9.0), (9.0, 9.0)), red, 2.0, 0.5)
    marks = (
        Cells(np.array([[1.0, 2.0, 3.0, 4.0]]), red, Hatch.CROSS, (0, 0, 255), 2.0),
        Polyline(((1.0, 2.0), (3.0, 4.0)), red, 0.25),
        curve,
        Polygon(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), red),
        Text("x", 5.0, 6.0, 7.0, "end", -90.0, True, red),
    )
    text = to_svg(Figure(20.0, 20.0, marks))
    for part in (
        'width="7.2" height="7.2" patternTransform="rotate(-45)"',
        'd="M1 2h3v4h-3z" fill="#ff0000"',
        'fill="url(#cross-0000ff-2)"',
        '<pattern id="cross-0000ff-2"',
        'd="M1 2 3 4" fill="none" stroke="#ff0000" stroke-width="0.25"',
        'd="M0 0C5 0 5 9 9 9" fill="none" stroke="#ff0000" stroke-width="2" stroke-opacity="0.5"',
        'd="M0 0 1 0 0 1z" fill="#ff0000"',
        'text-anchor="end" fill="#ff0000" font-weight="bold" transform="rotate(-90 5 6)"',
    ):
        assert part in text, part


def test_a_long_mask_is_a_small_file() -> None:
    spec = MaskSpec(MaskKind.PREFIX, 1024, prefix=256, window=700, documents=(500, 524))
    assert len(to_svg(mask_figure(spec)).encode()) < 2_000_000
