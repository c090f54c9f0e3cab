"""Figures as PNG files, and the imports that drawing one needs."""

import io
import textwrap

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from px4lockstep.plots.shown import ShownFigure, png_of
from px4lockstep.plots.style import figure_style


def test_a_png_file_has_the_pixels_of_the_canvas():
    """Pillow reads it back: size, colours, and rows in order."""
    figure = ShownFigure(figsize=(3.07, 1.01), dpi=100)
    with figure_style():
        axes = figure.add_subplot()
        axes.plot([0.0, 1.0, 2.0], [1.0, 0.0, 3.0], color="tab:red")
        figure.set_facecolor("#eaf6e2")
    data = png_of(figure, 100)
    with figure_style():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    image = Image.open(io.BytesIO(data))
    image.verify()  # checksums
    image = Image.open(io.BytesIO(data))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (307, 101))
    assert np.array_equal(np.asarray(image), np.asarray(canvas.buffer_rgba())[:, :, :3])
    assert len(data) < 20_000


LEAN = """
    import hashlib, sys, warnings
    warnings.simplefilter("error")
    import px4lockstep
    from px4lockstep.plots.lean_import import import_lean
    from px4lockstep.flights.folder import _drawn
    run = px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 5.0})
    if len(sys.argv) > 1:
        import matplotlib.projections
    print(hashlib.sha256(_drawn(run)).hexdigest())
    import matplotlib.lines
    print("linewidth" in str(matplotlib.lines.Line2D.set.__doc__), sys.modules.get("mpl_toolkits.mplot3d") is not None)
"""


@pytest.mark.process
def test_less_of_matplotlib_draws_the_same_figure(python):
    """Without the documentation of its classes and without axes in 3D; if it was imported before, with both."""
    script = textwrap.dedent(LEAN)
    lean, whole = (python("-c", script, *words).stdout.splitlines() for words in ((), ("whole",)))
    assert lean == [whole[0], "False False"]
    assert whole[1] == "True True"
