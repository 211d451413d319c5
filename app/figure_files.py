"""A figure as the content of a file, by the ending of its name."""

from __future__ import annotations

from core.export.figure_svg import to_svg
from core.types.figure import Figure
from widgets.figure_painter import to_pdf, to_png

FILTERS = "SVG, vectors for the web and for editing (*.svg);;PDF (*.pdf);;PNG, pixels (*.png)"
"""The kinds of file, as a dialog asks for them."""


def content(figure: Figure, suffix: str, dpi: float) -> bytes:
    """The content of a file whose name ends in ``suffix``.

    Raises
    ------
    ValueError
        where the ending is none of .svg, .pdf and .png, or the picture would be too large.
    """
    if suffix == ".svg":
        return to_svg(figure).encode()
    if suffix == ".pdf":
        return to_pdf(figure)
    if suffix == ".png":
        return to_png(figure, dpi)
    raise ValueError(f"The name ends in {suffix or 'nothing'}, but must end in .svg, .pdf or .png.")
