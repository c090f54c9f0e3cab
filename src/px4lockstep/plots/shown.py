"""Figures that a notebook shows, without pyplot and without a magic command.

Import this module only where a figure is made: it imports Matplotlib.
"""

import base64
import io

from matplotlib import style
from matplotlib.figure import Figure

from px4lockstep.plots.panels.style import STYLE

NOTEBOOK_DPI = 72
"""Resolution in a notebook: 1,224 pixels across a figure of 17 inches."""


class ShownFigure(Figure):
    """A Matplotlib figure that a notebook shows if it is the last line of a cell."""

    def _repr_png_(self) -> bytes:
        return png_of(self)


def png_of(figure: Figure) -> bytes:
    """Return a figure as PNG, in the resolution of a notebook."""
    picture = io.BytesIO()
    with style.context(["default", STYLE]):
        figure.savefig(picture, format="png", dpi=NOTEBOOK_DPI, metadata={"Software": None})
    return picture.getvalue()


def image_tag(figure: Figure) -> str:
    """Return a figure as HTML that contains the image."""
    data = base64.b64encode(png_of(figure)).decode()
    return f'<img src="data:image/png;base64,{data}" style="max-width: 100%" alt="figure">'
