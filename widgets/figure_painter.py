"""Paint a `core.types.figure.Figure`: on the screen, into PNG and PDF, and for the clipboard.

One function draws it everywhere; `core.export.figure_svg` writes the same list as SVG.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from xml.sax.saxutils import escape

from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QIODevice,
    QMarginsF,
    QMimeData,
    QPointF,
    QRectF,
    QSizeF,
    Qt,
)
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QImageWriter,
    QPageSize,
    QPainter,
    QPainterPath,
    QPdfWriter,
    QPen,
    QPolygonF,
)

from core.types.colors import Rgb
from core.types.figure import FONTS, HATCHES, Cells, Curve, Figure, Mark, Polyline, Text

LEAST_DPI, MOST_DPI = 72, 1200
"""Resolutions that a PNG may have."""

MOST_PIXELS = 100_000_000
"""The largest PNG, in pixels: 400 MB while it is painted."""

_UNIT = 100
"""Pixel size in which text is set before it is scaled, so that it is as wide on every device."""

_PDF_DPI = 1200


@lru_cache(maxsize=2)
def _font(bold: bool) -> QFont:
    font = QFont()
    font.setFamilies(list(FONTS))
    font.setPixelSize(_UNIT)
    font.setBold(bold)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    for tag in ("liga", "clig", "dlig", "calt"):
        font.setFeature(QFont.Tag(tag), 0)
    return font


@lru_cache(maxsize=4096)
def _units(text: str, bold: bool) -> float:
    return QFontMetricsF(_font(bold)).horizontalAdvance(text)


def measure(text: str, size: float) -> float:
    """The width of a string in points as it will be painted, in a font of ``size`` points."""
    return _units(text, False) * size / _UNIT


def paint(figure: Figure, painter: QPainter) -> None:
    """Draw the figure with its corner at the painter's origin; one unit of the painter a point."""
    painter.save()
    if figure.background is not None:
        page = QRectF(0.0, 0.0, figure.width, figure.height)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(page, QColor(*figure.background))
    for mark in figure.marks:
        _paint_mark(painter, mark)
    painter.restore()


def _paint_mark(painter: QPainter, mark: Mark) -> None:
    if isinstance(mark, Cells):
        _paint_cells(painter, mark)
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if isinstance(mark, Text):
        _paint_text(painter, mark)
    elif isinstance(mark, Curve):
        start, *rest = (QPointF(x, y) for x, y in mark.points)
        path = QPainterPath(start)
        path.cubicTo(*rest)
        painter.strokePath(path, _pen(mark.color, mark.width, mark.opacity))
    else:
        points = QPolygonF([QPointF(x, y) for x, y in mark.points])
        if isinstance(mark, Polyline):
            painter.setPen(_pen(mark.color, mark.width, mark.opacity))
            painter.drawPolyline(points)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(*mark.color))
            painter.drawPolygon(points)


def _pen(color: Rgb, width: float, opacity: float = 1.0) -> QPen:
    ink = QColor(*color)
    ink.setAlphaF(opacity)
    pen = QPen(ink, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    return pen


def _paint_cells(painter: QPainter, mark: Cells) -> None:
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    color = QColor(*mark.color)
    rects = [QRectF(*rect) for rect in mark.rects.tolist()]
    for rect in rects:
        painter.fillRect(rect, color)
    if mark.hatch is None or not rects:
        return
    painter.save()
    outline = QPainterPath()
    for rect in rects:
        outline.addRect(rect)
    painter.setClipPath(outline, Qt.ClipOperation.IntersectClip)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    lines = HATCHES[mark.hatch]
    painter.setPen(_pen(mark.ink, mark.scale * lines.width))
    for angle in lines.angles:
        _rule(painter, outline.boundingRect(), angle, mark.scale * lines.period)
    painter.restore()


def _rule(painter: QPainter, area: QRectF, angle: float, period: float) -> None:
    """Draw parallel lines over an area, one of them through the origin."""
    turn = math.radians(angle)
    along = QPointF(math.cos(turn), -math.sin(turn))
    across = QPointF(-along.y(), along.x())
    corners = (area.topLeft(), area.topRight(), area.bottomLeft(), area.bottomRight())
    offsets = [QPointF.dotProduct(corner, across) for corner in corners]
    spots = [QPointF.dotProduct(corner, along) for corner in corners]
    first, last = math.floor(min(offsets) / period), math.ceil(max(offsets) / period)
    for n in range(first, last + 1):
        foot = across * (n * period)
        painter.drawLine(foot + along * min(spots), foot + along * max(spots))


def _paint_text(painter: QPainter, mark: Text) -> None:
    painter.save()
    painter.setFont(_font(mark.bold))
    painter.setPen(QColor(*mark.color))
    painter.translate(mark.x, mark.y)
    painter.rotate(mark.rotation)
    painter.scale(mark.size / _UNIT, mark.size / _UNIT)
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[mark.anchor]
    painter.drawText(QPointF(-share * _units(mark.string, mark.bold), 0.0), mark.string)
    painter.restore()


# -- files


def to_image(figure: Figure, dpi: float) -> QImage:
    """The figure as pixels, with its resolution and its parameters.

    Raises
    ------
    ValueError
        where ``dpi`` is outside 72 to 1200, or the picture would be too large.
    """
    if not LEAST_DPI <= dpi <= MOST_DPI:
        raise ValueError(f"dpi is {dpi:g}, but must be between {LEAST_DPI} and {MOST_DPI}.")
    wide, high = round(figure.width * dpi / 72), round(figure.height * dpi / 72)
    if wide * high > MOST_PIXELS:
        raise ValueError(
            f"The picture would have {wide:,} x {high:,} pixels, but may have {MOST_PIXELS:,} at"
            " most; take a smaller size or a lower dpi."
        )
    image = QImage(wide, high, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    # The last column and row may be a part of a pixel: they are filled like the rest.
    if figure.background is not None:
        painter.fillRect(image.rect(), QColor(*figure.background))
    painter.scale(dpi / 72, dpi / 72)
    paint(figure, painter)
    painter.end()
    image.setDotsPerMeterX(round(dpi / 0.0254))
    image.setDotsPerMeterY(round(dpi / 0.0254))
    for key, value in _told(figure).items():
        image.setText(key, value)
    return image


def _told(figure: Figure) -> dict[str, str]:
    """Title, program and parameters, as the keys of a PNG name them."""
    plain = json.dumps(figure.parameters, ensure_ascii=False)
    return {"Title": figure.title, "Software": "maskscope", "Description": plain}


def to_png(figure: Figure, dpi: float) -> bytes:
    """The figure as a PNG file; errors as `to_image`."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(to_image(figure, dpi))
    return bytes(buffer.data().data())


def to_pdf(figure: Figure) -> bytes:
    """The figure as a PDF file of one page: vectors, embedded fonts, the parameters as XMP.

    Text can be selected and searched, but for signs beyond U+FFFF, such as emoji: Qt writes their
    shapes alone. The SVG has them as text.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_PDF_DPI)
    # Qt has pages of whole points: take the next larger, and cut it down afterwards.
    whole = QSizeF(math.ceil(figure.width), math.ceil(figure.height))
    exact = QPageSize.SizeMatchPolicy.ExactMatch
    writer.setPageSize(QPageSize(whole, QPageSize.Unit.Point, "figure", exact))
    writer.setPageMargins(QMarginsF(0.0, 0.0, 0.0, 0.0))
    writer.setTitle(figure.title)
    writer.setCreator("maskscope")
    writer.setDocumentXmpMetadata(QByteArray(_xmp(figure)))
    painter = QPainter(writer)
    painter.scale(_PDF_DPI / 72, _PDF_DPI / 72)
    painter.translate(0.0, whole.height() - figure.height)
    paint(figure, painter)
    painter.end()
    return _cut_page(bytes(buffer.data().data()), figure.width, figure.height)


def _cut_page(pdf: bytes, width: float, height: float) -> bytes:
    """The same file with the page's exact size, in as many bytes, so that no offset changes."""

    def exact(match: re.Match[bytes]) -> bytes:
        sides = (
            f"{value:.{len(old)}f}"[: len(old)].encode()
            for value, old in ((width, match[2]), (height, match[3]))
        )
        return match[1] + b" ".join(sides) + b"]"

    return re.sub(rb"(/(?:Media|Trim)Box \[0 0 )(\d+\.\d+) (\d+\.\d+)\]", exact, pdf)


def _xmp(figure: Figure) -> bytes:
    plain = json.dumps(figure.parameters)  # ASCII: safe in XML but for the signs escaped here.
    title = "".join(letter for letter in figure.title if letter.isprintable())
    text = '<rdf:Alt><rdf:li xml:lang="x-default">{}</rdf:li></rdf:Alt>'
    return (
        '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:xmp="http://ns.adobe.com/xap/1.0/">'
        f"<dc:title>{text.format(escape(title))}</dc:title>"
        f"<dc:description>{text.format(escape(plain))}</dc:description>"
        "<xmp:CreatorTool>maskscope</xmp:CreatorTool>"
        '</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    ).encode()


def mime_of(figure: Figure, svg: str, dpi: float) -> QMimeData:
    """The figure for the clipboard: as a picture, as SVG and as PDF; who pastes takes the best."""
    data = QMimeData()
    data.setImageData(to_image(figure, dpi))
    data.setData("image/svg+xml", QByteArray(svg.encode()))
    data.setData("application/pdf", QByteArray(to_pdf(figure)))
    return data
