"""Colours, typography and page layout of all figures, chosen to be distinguishable in greyscale; `looks` has the lines.

Figures have fixed margins in inches instead of one of Matplotlib's layout engines, which take longer than drawing the
figure does. A legend is above its panel, to the right of the title, so that it never covers data.
"""

import gc
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from px4lockstep.plots.looks import AXIS_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

MODE_TINTS = ("#f3f5f8", "#fdf1e3", "#eaf6e2", "#f1eaf8", "#e3f4f6", "#f9f3d8")
"""Backgrounds of modes, light enough for all lines."""
GREY = "0.4"
FAULT = "#b3001b"
EVENT = "0.55"
GOOD, BAD, DARK = "#93b7de", FAULT, AXIS_COLOURS[0]
"""Fill of passed runs, of failed ones, and the outline of both."""

DPI = 100
WIDTH_IN = 17.0
TITLE_PT, TEXT_PT, SMALL_PT = 17.0, 11.0, 10.0
TITLE_SIZE_PT = 12.5
PAD_PT, NUMBERED_PAD_PT = 7.0, 17.0
"""Space between a panel and its title, and where the numbers of events are between them."""
KEPT: dict[str, Any] = {"replace_whitespace": False, "drop_whitespace": False, "break_long_words": False}
"""Options of wrapping that keep the spaces between the entries of a line."""
KEY, SCALE, SAMPLE_IN = "key", "scale", 0.34
NARROW, WIDE = "fijlrt .,:;'|()[]", "mwMW%—±"
LINE_IN = 1.45 * TEXT_PT / 72.0
EDGE_IN, TITLE_IN, BELOW_IN = 0.2, 0.34, 0.62
"""Space at the edges of a figure, for the title of a panel, and for the labels below a panel."""

STYLE: dict[str, Any] = {
    "text.parse_math": False,  # a $ in a user's name must not start a formula
    "font.size": 11.0,
    "axes.titlesize": TITLE_SIZE_PT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": PAD_PT,
    "axes.titley": 1.0,  # a fixed place need not be computed from the tick labels
    "axes.labelsize": 11.0,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.edgecolor": "0.35",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.1,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.0,
    "legend.labelspacing": 0.25,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
    "svg.hashsalt": "px4lockstep",
}


@dataclass(frozen=True)
class Spacing:
    """Space around and between the panels of a figure, in inches."""

    left: float = 0.85
    right: float = 0.3
    bottom: float = 0.6
    between_columns: float = 0.9
    between_rows: float = 0.5


@contextmanager
def figure_style(**changes: Any) -> Iterator[None]:
    """Use the style of all figures, regardless of the user's settings, with changes for one figure.

    Meanwhile the garbage collector is paused: a figure consists of many small objects, none of which is garbage yet.
    """
    from matplotlib import style

    own = {name.replace("_", ".", 1): value for name, value in changes.items()}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with style.context(["default", STYLE, own]):
            yield
    finally:
        if was_enabled:
            gc.enable()


def new_figure(width_in: float, height_in: float) -> "Figure":
    """Return an empty figure that a notebook shows."""
    from px4lockstep.plots.shown import ShownFigure

    return ShownFigure(figsize=(width_in, height_in), dpi=DPI)


def add_head(figure: "Figure", title: str, facts: str = "") -> float:
    """Write the title, and below it the facts of the flight; return the height that they take, in inches."""
    height_in = figure.get_figheight()
    left = EDGE_IN / figure.get_figwidth()
    figure.suptitle(title, fontsize=TITLE_PT, fontweight="bold", x=left, y=1.0 - 0.16 / height_in, ha="left", va="top")
    if not facts:
        return 0.55
    figure.text(left, 1.0 - 0.5 / height_in, facts, fontsize=TEXT_PT, color=GREY, ha="left", va="top")
    return 0.8


def add_notes(figure: "Figure", notes: str, colour: str = "0.2") -> float:
    """Write notes below the panels; return the height that they take, in inches."""
    left, bottom = EDGE_IN / figure.get_figwidth(), 0.12 / figure.get_figheight()
    width = int((figure.get_figwidth() - 2.0 * EDGE_IN) / (0.54 * TEXT_PT / 72.0))
    notes = "\n".join(part.strip() for line in notes.splitlines() for part in textwrap.wrap(line, width, **KEPT))
    place: dict[str, Any] = {"x": left, "y": bottom, "ha": "left", "va": "bottom", "linespacing": 1.45}
    figure.supxlabel(notes, fontsize=TEXT_PT, color=colour, **place)
    return 0.12 + LINE_IN * len(notes.splitlines()) if notes else 0.0


def panel_grid(
    figure: "Figure",
    rows: int,
    columns: int,
    *,
    head_in: float,
    foot_in: float = 0.0,
    spacing: Spacing | None = None,
    widths: Sequence[float] | None = None,
    heights: Sequence[float] | None = None,
) -> "GridSpec":
    """Return a grid of panels between the head and the foot of a figure; titles are above their panels."""
    gaps = spacing or Spacing()
    width_in, height_in = figure.get_figwidth(), figure.get_figheight()
    inner_width_in = width_in - gaps.left - gaps.right - (columns - 1) * gaps.between_columns
    inner_height_in = height_in - head_in - TITLE_IN - gaps.bottom - foot_in - (rows - 1) * gaps.between_rows
    return figure.add_gridspec(
        rows,
        columns,
        left=gaps.left / width_in,
        right=1.0 - gaps.right / width_in,
        bottom=(gaps.bottom + foot_in) / height_in,
        top=1.0 - (head_in + TITLE_IN) / height_in,
        wspace=gaps.between_columns * columns / inner_width_in,
        hspace=gaps.between_rows * rows / inner_height_in,
        width_ratios=widths,
        height_ratios=heights,
    )


def panel_row(
    figure: "Figure", top_in: float, height_in: float, columns: Sequence[tuple[float, float]]
) -> list["Axes"]:
    """Return the panels of a row, whose titles begin at a distance from the top of the figure.

    Columns are relative widths, and the space for the labels to the left of each in inches. `height_in` includes the
    title and the labels below.
    """
    width_in, page_in = figure.get_figwidth(), figure.get_figheight()
    unit_in = (width_in - EDGE_IN - sum(left_in for _, left_in in columns)) / sum(width for width, _ in columns)
    x_in, panels = 0.0, []
    for width, left_in in columns:
        x_in += left_in
        bottom_in = page_in - top_in - height_in + BELOW_IN
        size_in = (width * unit_in, height_in - TITLE_IN - BELOW_IN)
        panels.append(
            figure.add_axes((x_in / width_in, bottom_in / page_in, size_in[0] / width_in, size_in[1] / page_in))
        )
        x_in += size_in[0]
    return panels


def panel_size_in(axes: "Axes") -> tuple[float, float]:
    """Return width and height of a panel in inches."""
    box, figure = axes.get_position(), cast("Figure", axes.get_figure())
    width_in, height_in = figure.get_size_inches()
    return float(box.width * width_in), float(box.height * height_in)


def inset(axes: "Axes", *, below_in: float = 0.0, above_in: float = 0.0) -> "Axes":
    """Return a panel with its lower and upper edges moved inwards."""
    box, (_, height_in) = axes.get_position(), panel_size_in(axes)
    below, above = (room_in * box.height / height_in for room_in in (below_in, above_in))
    axes.set_position((box.x0, box.y0 + below, box.width, box.height - below - above))
    return axes


def hold_labels(axes: "Axes", *, left_in: float = 0.6, below_in: float = 0.3) -> None:
    """Put the axis labels at fixed distances, which need not be computed from the tick labels."""
    width_in, height_in = panel_size_in(axes)
    axes.yaxis.set_label_coords(-left_in / width_in, 0.5)
    axes.xaxis.set_label_coords(0.5, -below_in / height_in)


def draw_times(axes: "Axes", ticks: Sequence[float], *, is_labelled: bool) -> None:
    """Draw the grid of the time axis as one line; without labels, ticks are not drawn, which take most of the time."""
    if is_labelled:
        low, high = axes.get_xlim()
        axes.set_xticks([tick for tick in ticks if low <= tick <= high])
    else:
        axes.xaxis.set_visible(False)
    _draw_grid(axes, ticks, [0.0, 1.0], is_upright=True)


def draw_scale(axes: "Axes", bins: int = 4) -> None:
    """Draw the grid, the ticks and the labels of the y axis as two lines and a few texts.

    They look like those of Matplotlib, whose ticks have five parts each and take half of the time to draw a figure. It
    must be called when the limits are final.
    """
    axes.locator_params(axis="y", nbins=bins)
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
    formatter: Any = axes.yaxis.get_major_formatter()
    labels = formatter.format_ticks(ticks)
    if formatter.get_offset():  # such as 1e6, which is drawn with the ticks
        axes.grid(visible=True, axis="y")
        return
    axes.set_yticks([])
    point = 1.0 / (72.0 * panel_size_in(axes)[0])
    _draw_grid(axes, ticks, [0.0, 1.0], is_upright=False)
    _draw_grid(axes, ticks, [-3.5 * point, 0.0], is_upright=False, color="0.15", clip_on=False)
    look: dict[str, Any] = {"ha": "right", "va": "center_baseline", "transform": axes.get_yaxis_transform()}
    for tick, label in zip(ticks, labels, strict=True):
        axes.text(-7.0 * point, tick, label, gid=SCALE, **look)


def _draw_grid(axes: "Axes", ticks: Sequence[float], ends: list[float], *, is_upright: bool, **changes: Any) -> None:
    """Draw lines across a panel, or parts of them, as one line with gaps."""
    gap = float("nan")
    at, across = [place for tick in ticks for place in (tick, tick, gap)], [*ends, gap] * len(ticks)
    look: dict[str, Any] = {"color": "0.9", "lw": 0.8, "zorder": 0.5, "label": "_grid"} | changes
    transform = axes.get_xaxis_transform() if is_upright else axes.get_yaxis_transform()
    add_still(axes, *((at, across) if is_upright else (across, at)), transform=transform, **look)


def add_still(axes: "Axes", x: Any, y: Any, **look: Any) -> None:
    """Draw a line that does not change the limits of a panel, in a third of the time that `axes.plot` takes."""
    from matplotlib.lines import Line2D

    axes.add_artist(Line2D(x, y, **look))


def add_key(axes: "Axes", *, above_pt: float = PAD_PT) -> None:
    """Explain the labelled lines above a panel, to the right of its title; what does not fit there, above the title.

    It is drawn from lines and texts: nine of Matplotlib's legends take as long as five panels.
    """
    width_in, height_in = panel_size_in(axes)
    first_in = 1.1 * text_width_in(axes.get_title(loc="left"), TITLE_SIZE_PT) + 0.15
    y_pt, right_in = above_pt + 0.5 * SMALL_PT, width_in
    for handle, label in reversed(list(zip(*axes.get_legend_handles_labels(), strict=True))):
        text_in = text_width_in(label, SMALL_PT)
        if right_in - text_in - SAMPLE_IN < first_in and right_in < width_in:
            y_pt, right_in, first_in = y_pt + 1.5 * SMALL_PT, width_in, 0.0
        left_in, y = right_in - text_in, 1.0 + y_pt / 72.0 / height_in
        look: dict[str, Any] = {"va": "center", "fontsize": SMALL_PT, "gid": KEY}
        axes.text(left_in / width_in, y, label, transform=axes.transAxes, **look)
        right_in = left_in - _add_sample(axes, handle, left_in / width_in, y, width_in) - 0.16


def _add_sample(axes: "Axes", handle: Any, right: float, y: float, width_in: float) -> float:
    """Draw a short piece of a line, its marker, or the edge of an area; return its width in inches."""
    from matplotlib.lines import Line2D

    sample = Line2D([], [])
    if isinstance(handle, Line2D):
        sample.update_from(handle)
    else:
        sample.set(color=handle.get_edgecolor(), linestyle=handle.get_linestyle(), linewidth=handle.get_linewidth())
    is_marker = isinstance(handle, Line2D) and handle.get_linestyle() == "None"
    ends_in = (0.12, 0.12) if is_marker else (SAMPLE_IN, 0.06)
    if is_marker:
        sample.set_markersize(min(sample.get_markersize(), 7.0))
    sample.set_data([right - end_in / width_in for end_in in ends_in], [y, y])
    sample.set(transform=axes.transAxes, clip_on=False, label="_key")
    cast("Figure", axes.get_figure()).add_artist(sample)  # not to the panel, whose lines are data
    return ends_in[0]


def scale_of(axes: "Axes") -> list[str]:
    """Return the labels of the y axis of a panel, from below."""
    texts = [text for text in axes.texts if text.get_gid() == SCALE]
    return [text.get_text() for text in sorted(texts, key=lambda text: text.get_position()[1])]


def key_of(axes: "Axes") -> list[str]:
    """Return the labels that a panel explains, from left to right."""
    texts = [text for text in axes.texts if text.get_gid() == KEY]
    return [text.get_text() for text in sorted(texts, key=lambda text: text.get_position()[0])]


def text_width_in(text: str, size_pt: float) -> float:
    """Return the approximate width of text in the font of the figures."""
    return sum(0.34 if char in NARROW else 0.85 if char in WIDE else 0.6 for char in text) * size_pt / 72.0
