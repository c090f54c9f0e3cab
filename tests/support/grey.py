"""What is left of figures in grey: pairs of lines, markers or bars that only a colour tells apart."""

import itertools

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D


def look_of(line):
    """Return what is left of a line in grey: its dashes, its marker and its width."""
    marker = str(line.get_marker()) if line.get_marker() not in ("None", None, "") else ""
    dashes = "none" if line.get_linestyle() == "None" else tuple(line._unscaled_dash_pattern[1] or ())
    width = 0.0 if dashes == "none" else round(line.get_linewidth(), 2)
    return dashes, marker, width, to_hex(line.get_markerfacecolor()) == "#ffffff" if marker else False


def is_in_lanes(first, second):
    """Return whether two lines have different parts of the panel, as motors have."""
    (a, b), (c, d) = ((np.nanmin(own), np.nanmax(own)) for own in (first.get_ydata(), second.get_ydata()))
    return b < c or d < a


def bars_of(axes):
    """Return the bars of a panel as colour and what is left in grey: hatching, thickness, and the side of zero."""
    found = []
    for bars in axes.containers:
        is_flat = getattr(bars, "orientation", None) == "horizontal"
        for bar in bars.patches if isinstance(bars, BarContainer) else ():
            thick, along = (bar.get_height(), bar.get_width()) if is_flat else (bar.get_width(), bar.get_height())
            if along:
                found.append((to_hex(bar.get_facecolor()), (bar.get_hatch() or "", round(thick, 3), along > 0.0)))
    return found


def confusions(figure):
    """Return the pairs of lines and of bars of a panel that differ in their colours only."""
    found = []
    for axes in figure.axes:
        for (colour, look), (other, same_look) in itertools.combinations(bars_of(axes), 2):
            if look == same_look and colour != other:
                found.append((axes.get_title(loc="left"), "bar", "bar", look))
        lines = [line for line in axes.lines if isinstance(line, Line2D) and len(np.atleast_1d(line.get_ydata()))]
        for one, other in itertools.combinations(lines, 2):
            same = look_of(one) == look_of(other) and to_hex(one.get_color()) != to_hex(other.get_color())
            is_mark = one.get_label() in ("_grid", "_lanes") or other.get_label() in ("_grid", "_lanes")
            if same and not is_mark and not is_in_lanes(one, other):
                found.append((axes.get_title(loc="left"), one.get_label(), other.get_label(), look_of(one)))
    return found
