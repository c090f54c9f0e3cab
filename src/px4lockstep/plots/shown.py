"""Figures that a notebook shows, without pyplot and without a magic command.

Import this module only where a figure is made: it imports Matplotlib.
"""

import base64
import io
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from px4lockstep.plots.style import figure_style

NOTEBOOK_DPI = 72
"""Resolution in a notebook: 1,224 pixels across a figure of 17 inches."""
COMPRESSION = 3
"""Of PNG files: higher levels take longer and save a few percent."""


class ShownFigure(Figure):
    """A Matplotlib figure that a notebook shows if it is the last line of a cell."""

    def _repr_png_(self) -> bytes:
        return png_of(self)


def png_of(figure: Figure, dpi: float = NOTEBOOK_DPI) -> bytes:
    """Return a figure as PNG, by default in the resolution of a notebook.

    `Figure.savefig` draws a figure twice, first to lay it out, which the fixed margins of these figures do not need.
    """
    picture, own_dpi = io.BytesIO(), figure.get_dpi()
    with figure_style():
        try:
            figure.set_dpi(dpi)
            canvas: Any = FigureCanvasAgg(figure)  # Matplotlib has no types for it
            canvas.draw()
            image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        finally:
            figure.set_dpi(own_dpi)
    image.save(picture, "png", compress_level=COMPRESSION)
    return picture.getvalue()


def image_tag(figure: Figure) -> str:
    """Return a figure as HTML that contains the image."""
    data = base64.b64encode(png_of(figure)).decode()
    return f'<img src="data:image/png;base64,{data}" style="max-width: 100%" alt="figure">'
