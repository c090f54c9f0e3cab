"""Events as numbered markers on the time axes, and the list that explains them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.events import FlightEvent, mode_name
from px4lockstep.log.log import Log
from px4lockstep.plots.style import EVENT, FAULT, GREY, MODE_TINTS, SMALL_PT, add_still

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_WIDTH = 0.02
"""Width of a character of a mode's name, as a fraction of the panel."""
Marks = list[tuple[str, list[FlightEvent]]]
"""Marker numbers, each with its events; events close together share a marker."""


def numbered(time_us: npt.NDArray[Any], events: Iterable[FlightEvent]) -> Marks:
    """Return events sorted by time and grouped into numbered markers; events close together share one.

    Events outside the times of the rows, `time_us`, are left out.
    """
    first_us, last_us = int(time_us[0]), int(time_us[-1])
    inside = (event for event in events if first_us <= event.time_us <= last_us)
    groups: list[list[FlightEvent]] = []
    for event in sorted(inside, key=lambda event: event.time_us):
        if groups and event.time_us - groups[-1][0].time_us <= (last_us - first_us) // 35:
            groups[-1].append(event)
        else:
            groups.append([event])
    return [(str(i + 1), group) for i, group in enumerate(groups)]


def draw_marks(axes: "Axes", marks: Marks, *, is_numbered: bool = True) -> None:
    """Draw a line for each event, heavier for faults, and the numbers of the markers above."""
    for is_fault, colour, width in ((False, EVENT, 0.9), (True, FAULT, 1.6)):
        times_s = [event.time_us / 1e6 for _, group in marks for event in group if event.is_fault == is_fault]
        if times_s:  # one line with gaps, which is drawn much faster than many
            x, y = np.repeat(times_s, 3), np.tile([0.0, 1.0, np.nan], len(times_s))
            look: dict[str, Any] = {"color": colour, "lw": width, "ls": (0, (1, 1.5)), "zorder": 1, "label": "_events"}
            add_still(axes, x, y, transform=axes.get_xaxis_transform(), **look)
    for number, group in marks if is_numbered else ():
        is_fault = any(event.is_fault for event in group)
        weight, colour = ("bold", FAULT) if is_fault else ("normal", "0.3")
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        style: dict[str, Any] = {
            "ha": "center",
            "va": "bottom",
            "fontsize": SMALL_PT,
            "color": colour,
            "fontweight": weight,
        }
        axes.annotate(number, (group[0].time_us / 1e6, 1.0), (0, 1), **place, **style, annotation_clip=False)


def draw_modes(axes: "Axes", log: Log, *, named: bool = False) -> None:
    """Draw the modes as bands behind the lines; with names at the bottom, where they fit."""
    if "nav_state" not in log:
        return
    modes, time_s = log["nav_state"], log.time_s
    starts = [0, *(np.flatnonzero(np.diff(modes)) + 1).tolist()]
    tints: dict[int, str] = {}
    for start, stop in zip(starts, [*starts[1:], log.rows - 1], strict=True):
        mode, begin_s, end_s = int(modes[start]), float(time_s[start]), float(time_s[stop])
        tint = tints.setdefault(mode, MODE_TINTS[len(tints) % len(MODE_TINTS)])
        axes.axvspan(begin_s, end_s, color=tint, lw=0.0, zorder=0)
        name = mode_name(mode)
        if named and end_s - begin_s > NAME_WIDTH * len(name) * float(time_s[-1] - time_s[0]):
            place = ((begin_s + end_s) / 2.0, 0.02)
            axes.annotate(name, place, xycoords=("data", "axes fraction"), ha="center", fontsize=SMALL_PT, color=GREY)


def list_of(marks: Marks) -> str:
    """Return the list of markers, wrapped to the width of the figure."""
    lines: list[str] = []
    for number, group in marks:
        item = f"{number}  " + ", ".join(f"{event.label} {event.time_us / 1e6:.2f} s" for event in group)
        if lines and len(lines[-1]) + len(item) < 190:
            lines[-1] += "     " + item
        else:
            lines.append(item)
    return "\n".join(lines)
