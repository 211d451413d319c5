from __future__ import annotations

import json
import re
import shutil
import subprocess
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QFont, QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import QApplication

from core.export.figure_svg import to_svg
from core.figure.attention import attention_figure
from core.figure.mask import mask_figure
from core.figure.style import PRESETS, Style, estimate
from core.types import MaskKind, MaskSpec
from core.types.colors import WHITE
from core.types.figure import FONTS, Cells, Curve, Figure, Hatch, Polygon, Polyline, Text
from widgets.figure_painter import measure, mime_of, paint, to_image, to_pdf, to_png
from widgets.figure_view import FigureView

TOOLS = {"rsvg-convert": "librsvg2-bin", "pdftoppm": "poppler-utils", "pdftotext": "poppler-utils"}
WORDS = ["<b>", "&amp;", "prefix", "fine", "office", "␣", "⏎", "naïve", "B&W", "A--B"]


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(tool), reason=f"needs {tool} of {TOOLS[tool]}")


def said_by(*words: object) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, check=True, timeout=60)
    return done.stdout.decode()


def figures() -> dict[str, Figure]:
    """A mask with every hatch, and the attention of a head."""
    documents = MaskSpec(
        MaskKind.CAUSAL, 20, left_pad=(2,), right_pad=(1,), documents=(9, 8), window=5, capacity=23
    )
    n = len(WORDS)
    pattern = np.tril(np.random.default_rng(1).random((n, n)))
    pattern /= pattern.sum(axis=1, keepdims=True)
    style = Style(title="Rendered alike", measure=measure)
    return {
        "mask": mask_figure(documents, style=style),
        "attention": attention_figure(
            pattern, MaskSpec(MaskKind.CAUSAL, n), 0, WORDS, WORDS, style=style
        ),
    }


@pytest.fixture(params=["mask", "attention"])
def figure(request: pytest.FixtureRequest, qapp: QApplication) -> Figure:
    return figures()[request.param]


def grey(image: QImage) -> np.ndarray:
    """A picture of a white sheet as numbers from 0 to 255."""
    plain = image.convertToFormat(QImage.Format.Format_Grayscale8)
    rows = np.frombuffer(plain.constBits(), np.uint8).reshape(plain.height(), plain.bytesPerLine())
    return rows[:, : plain.width()].astype(float)


def apart(one: QImage, other: QImage) -> float:
    """How far two pictures differ, from 0 to 1, after the strokes are blurred over 8 pixels."""
    assert abs(one.width() - other.width()) <= 1
    assert abs(one.height() - other.height()) <= 1
    rows, cols = min(one.height(), other.height()) // 8, min(one.width(), other.width()) // 8
    blocks = [
        grey(image)[: rows * 8, : cols * 8].reshape(rows, 8, cols, 8).mean(axis=(1, 3))
        for image in (one, other)
    ]
    return float(np.abs(blocks[0] - blocks[1]).max() / 255)


# -- one list, the same picture everywhere


@needs("rsvg-convert")
def test_svg_is_the_same_picture(figure: Figure, tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(to_svg(figure), encoding="utf-8")
    said_by("rsvg-convert", "-d", 200, "-p", 200, tmp_path / "a.svg", "-o", tmp_path / "a.png")
    assert apart(QImage(str(tmp_path / "a.png")), to_image(figure, 200)) < 0.2


@needs("pdftoppm")
def test_pdf_is_the_same_picture(figure: Figure, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(to_pdf(figure))
    said_by("pdftoppm", "-r", 200, "-png", "-singlefile", tmp_path / "a.pdf", tmp_path / "a")
    assert apart(QImage(str(tmp_path / "a.png")), to_image(figure, 200)) < 0.2


def test_a_shifted_picture_is_not_the_same(qapp: QApplication) -> None:
    """The yardstick of the two tests above sees a shift by a line of text."""
    image = to_image(figures()["mask"], 200)
    moved = image.copy(0, 8, image.width(), image.height() - 8)
    assert apart(moved, image.copy(0, 0, image.width(), image.height() - 8)) > 0.3


def test_marks_lie_where_they_are_said_to(qapp: QApplication) -> None:
    red, blue = (255, 0, 0), (0, 0, 255)
    marks = (
        Cells(np.array([[10.0, 10.0, 20.0, 20.0]]), red),
        Polygon(((40.0, 10.0), (60.0, 10.0), (60.0, 30.0), (40.0, 30.0)), blue),
        Polyline(((10.0, 50.0), (60.0, 50.0)), red, 4.0),
        Curve(((10.0, 70.0), (20.0, 70.0), (50.0, 70.0), (60.0, 70.0)), blue, 4.0),
    )
    image = to_image(Figure(72.0, 90.0, marks, WHITE), 144)

    def at(x: float, y: float) -> tuple[int, ...]:
        return image.pixelColor(int(2 * x), int(2 * y)).getRgb()[:3]

    assert at(10.2, 10.2) == at(29.5, 29.5) == at(35, 50) == red
    assert at(50, 20) == at(35, 70) == blue
    assert at(9.5, 20) == at(30.5, 20) == at(35, 55) == at(5, 5) == WHITE


@pytest.mark.parametrize("hatch", list(Hatch))
def test_a_hatch_stays_inside_and_has_ink(qapp: QApplication, hatch: Hatch) -> None:
    cells = Cells(np.array([[10.0, 10.0, 30.0, 30.0]]), WHITE, hatch, (0, 0, 0))
    seen = grey(to_image(Figure(50.0, 50.0, (cells,), WHITE), 288))
    inside = seen[44:156, 44:156].mean() / 255
    assert 0.5 < inside < 0.92
    seen[36:164, 36:164] = 255
    assert (seen == 255).all()


def test_hatches_differ_in_grey(qapp: QApplication) -> None:
    pictures = []
    for hatch in Hatch:
        cells = Cells(np.array([[0.0, 0.0, 40.0, 40.0]]), WHITE, hatch, (0, 0, 0))
        pictures.append(grey(to_image(Figure(40.0, 40.0, (cells,), WHITE), 144)))
    for n, one in enumerate(pictures):
        for other in pictures[n + 1 :]:
            assert np.abs(one - other).mean() > 20


# -- PNG


@pytest.mark.parametrize("dpi", [72, 300, 1200])
def test_png_has_its_size_resolution_and_parameters(qapp: QApplication, dpi: int) -> None:
    figure = mask_figure(MaskSpec(MaskKind.CAUSAL, 3), style=Style(width=72.0, title="T"))
    image = QImage.fromData(to_png(figure, dpi))
    assert image.width() == dpi
    assert image.height() == round(figure.height * dpi / 72)
    assert round(image.dotsPerMeterX() * 0.0254) == dpi
    assert image.text("Title") == "T"
    assert image.text("Software") == "maskscope"
    assert json.loads(image.text("Description")) == figure.parameters


def test_a_picture_beyond_a_hundred_million_pixels_is_refused(qapp: QApplication) -> None:
    most = Figure(1000.0, 360.0, ())  # At 1200 dpi 16,667 x 6,000, a little more than it may have.
    with pytest.raises(ValueError, match="16,667 x 6,000 pixels, but may have 100,000,000 at most"):
        to_png(most, 1200)
    image = to_image(Figure(999.0, 360.0, ()), 1200)
    assert (image.width(), image.height()) == (16_650, 6_000)


def test_transparent_is_transparent(qapp: QApplication) -> None:
    spec = MaskSpec(MaskKind.CAUSAL, 3)
    for ground, alpha in ((None, 0), (WHITE, 255)):
        png = to_png(mask_figure(spec, style=Style(background=ground)), 72)
        assert QImage.fromData(png).pixelColor(0, 0).alpha() == alpha


@pytest.mark.parametrize("dpi", [71, 1201, 0])
def test_a_resolution_outside_is_refused(qapp: QApplication, dpi: int) -> None:
    with pytest.raises(ValueError, match=f"dpi is {dpi}, but must be between 72 and 1200"):
        to_png(Figure(100.0, 100.0, ()), dpi)


def test_a_picture_too_large_is_refused(qapp: QApplication) -> None:
    with pytest.raises(ValueError, match="take a smaller size or a lower dpi"):
        to_png(Figure(3000.0, 3000.0, ()), 1200)


# -- PDF


@pytest.mark.parametrize("size", [(252.283, 180.607), (99.5, 1000.25), (515.52, 99.999)])
def test_pdf_has_its_size_to_a_thousandth(qapp: QApplication, size: tuple[float, float]) -> None:
    pdf = to_pdf(Figure(*size, (), WHITE))
    boxes = re.findall(rb"/(?:Media|Trim)Box \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert len(boxes) == 2
    for box in boxes:
        assert [float(side) for side in box] == pytest.approx(size, abs=1e-3)
    start = int(re.findall(rb"startxref\s+(\d+)", pdf)[0])
    assert pdf[start : start + 4] == b"xref"


@pytest.mark.parametrize("size", [65, 256])
@pytest.mark.parametrize("preset", ["one-column", "two-column"])
def test_no_picture_is_in_a_vector_file(qapp: QApplication, size: int, preset: str) -> None:
    style = replace(PRESETS[preset], measure=measure)
    spec = MaskSpec(MaskKind.PREFIX, size, prefix=size // 4, left_pad=(3,))
    pattern = np.tril(np.random.default_rng(size).random((size, size)))
    pattern /= pattern.sum(axis=1, keepdims=True)
    causal, words = MaskSpec(MaskKind.CAUSAL, size), [f"w{n}" for n in range(size)]
    for figure in (
        mask_figure(spec, 0, words, words, style=style),
        attention_figure(pattern, causal, 0, words, words, style=style),
    ):
        assert b"/Subtype /Image" not in to_pdf(figure)
        assert "<image" not in to_svg(figure)


def test_pdf_holds_vectors_fonts_and_parameters(figure: Figure) -> None:
    pdf = to_pdf(figure)
    assert b"/Subtype /Image" not in pdf
    assert b"/FontFile2" in pdf or b"/FontFile3" in pdf
    packet = re.search(rb"<x:xmpmeta.*</x:xmpmeta>", pdf, re.DOTALL)
    assert packet is not None
    assert "mask" in figure.parameters
    for key, value in figure.parameters.items():
        assert f'"{key}": "{value}"'.encode() in packet[0].replace(b"&quot;", b'"')


@needs("pdftotext")
def test_tokens_are_text_in_a_pdf(qapp: QApplication, tmp_path: Path) -> None:
    words = [*WORDS, *(word for word in ("猫", "שלום", "قطة") if has_glyphs(word))]
    spec = MaskSpec(MaskKind.CAUSAL, len(words))
    figure = mask_figure(spec, 0, words, words, style=Style(width=400.0, measure=measure))
    (tmp_path / "a.pdf").write_bytes(to_pdf(figure))
    # Joined letters are told in their joined forms, and with gaps between them.
    plain = said_by("pdftotext", tmp_path / "a.pdf", "-")
    said = "".join(unicodedata.normalize("NFKC", plain).split())
    for word in words:
        assert word in said, word
    assert "ﬁ" not in plain


def has_glyphs(word: str) -> bool:
    """True where the fonts of this machine can show a word in vectors."""
    font = QFont()
    font.setFamilies(list(FONTS))
    return all(QFontMetricsF(font).inFontUcs4(ord(letter)) for letter in word)


def test_a_long_mask_is_a_small_file(qapp: QApplication) -> None:
    spec = MaskSpec(MaskKind.PREFIX, 1024, prefix=256, window=700)
    assert len(to_pdf(mask_figure(spec))) < 2_000_000


# -- text


def test_ligatures_are_off(qapp: QApplication) -> None:
    assert measure("fi", 10.0) == pytest.approx(measure("f", 10.0) + measure("i", 10.0), rel=0.02)


@pytest.mark.parametrize(
    "text", ["Once upon a time", "WMm@%", "<extra_id_0>", "prefix", "␣⏎⇥⟨0b⟩", "naïve", "猫", "…—–"]
)
def test_the_estimate_is_not_too_small(qapp: QApplication, text: str) -> None:
    assert measure(text, 7.0) <= estimate(text, 7.0) + 0.05
    assert measure(text, 14.0) == pytest.approx(2 * measure(text, 7.0))


def test_anchors_and_turns(qapp: QApplication) -> None:
    def ink(text: Text) -> tuple[np.ndarray, np.ndarray]:
        seen = grey(to_image(Figure(100.0, 100.0, (text,), WHITE), 144))
        rows, cols = np.nonzero(seen < 128)
        return rows / 2, cols / 2

    _, start = ink(Text("HHHH", 50.0, 50.0, 10.0))
    _, middle = ink(Text("HHHH", 50.0, 50.0, 10.0, "middle"))
    _, end = ink(Text("HHHH", 50.0, 50.0, 10.0, "end"))
    rows, cols = ink(Text("HHHH", 50.0, 50.0, 10.0, rotation=-90.0))
    assert start.min() >= 50
    assert end.max() <= 50
    assert middle.mean() == pytest.approx(50, abs=0.5)
    assert rows.max() <= 50.5
    assert cols.max() <= 50.5


# -- clipboard and screen


def test_the_clipboard_gets_picture_svg_and_pdf(qapp: QApplication) -> None:
    figure = figures()["mask"]
    data = mime_of(figure, to_svg(figure), 100)
    assert data.hasImage()
    assert data.data("image/svg+xml").data().startswith(b"<?xml")
    assert data.data("application/pdf").data().startswith(b"%PDF")


def test_painting_leaves_the_painter_as_it_was(qapp: QApplication) -> None:
    image = QImage(200, 200, QImage.Format.Format_RGB32)
    painter = QPainter(image)
    before = painter.transform(), painter.font(), painter.renderHints()
    paint(figures()["mask"], painter)
    assert (painter.transform(), painter.font(), painter.renderHints()) == before
    painter.end()


def test_the_preview_shows_the_figure_on_a_sheet(shown, pixel_at) -> None:
    view = FigureView()
    shown(view, 400, 300)
    assert view.sheet().isEmpty()
    red = Cells(np.array([[0.0, 0.0, 100.0, 50.0]]), (255, 0, 0))
    view.set_figure(Figure(100.0, 100.0, (red,), WHITE))
    sheet = view.sheet()
    assert sheet.width() == pytest.approx(sheet.height(), abs=1)
    picture = view.grab().toImage()
    assert pixel_at(picture, sheet.center() - (sheet.center() - sheet.topLeft()) / 2) == 0xFFFF0000
    assert pixel_at(picture, sheet.center() + (sheet.center() - sheet.topLeft()) / 2) == 0xFFFFFFFF
    view.set_figure(Figure(100.0, 100.0, (red,), None))
    across = np.linspace(sheet.left() + 4, sheet.right() - 4, 90)
    picture = view.grab().toImage()
    row = int(sheet.top() + 0.8 * sheet.height())
    assert len({picture.pixel(int(x), row) for x in across}) == 2
