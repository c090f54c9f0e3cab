"""How lines that are drawn together are told apart: by dashes and markers, so that no meaning is in a colour alone.

Figures, reports and the viewer take the looks of their lines from here. The line with number i, for example the
component i of a vector, the motor i or the run i, has the same dashes everywhere. A setpoint is thin and dark; those of
the components of a vector have the dashes of their components.
"""

from collections.abc import Sequence
from typing import Any

AXIS_COLOURS = ("#17407f", "#d24a12", "#8cc63f")
"""Colours of north, x, roll; east, y, pitch; down, z, yaw. Their lightness is 28, 50 and 74 of 100."""
SETPOINT_COLOURS = ("#06142b", "#6d2104", "#2f4a0c")
MOTOR_COLOURS = ("#17407f", "#d24a12", "#8cc63f", "#8a5fbf", "#1e9aa8", "#c9a227")
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (4.2, 1.6),
    (1.1, 1.3),
    (6.5, 1.5, 1.1, 1.5),
    (9.0, 2.6),
    (4.2, 1.4, 1.1, 1.4, 1.1, 1.4),
)
"""Lengths of dashes and gaps, in widths of the line."""
SIGNS = ("—", "- -", "···", "-·-", "— —", "-··")
"""The dashes as text."""
MARKERS = (("", ""), ("o", "circle"), ("s", "square"), ("^", "triangle-up"))
"""Markers of Matplotlib and of Plotly: lines after the sixth repeat its dashes, with markers."""
DISTINCT = len(DASHES) * len(MARKERS)
ENDS = (("s", "square"), ("D", "diamond"), ("P", "cross"), ("v", "triangle-down"), ("X", "x"), ("p", "pentagon"))
"""Markers at the ends of the tracks of several runs."""
WIDTH, SETPOINT_WIDTH = 1.8, 0.95
MARKED = 12
"""Markers on a line."""


def colour_of(number: int) -> str:
    """Return the colour of a line."""
    return MOTOR_COLOURS[number % len(MOTOR_COLOURS)]


def number_of(run: int, part: int, parts: int) -> int:
    """Return the number of the line of a component, of one of several runs.

    Components differ in their dashes, runs in their markers; runs of a quantity with one component in their dashes.
    """
    return run if parts == 1 else part + len(DASHES) * -(-parts // len(DASHES)) * run


def dashes_of(number: int) -> tuple[float, ...]:
    """Return the dashes of a line, in widths of the line; empty if it is solid."""
    return DASHES[number % len(DASHES)]


def sign_of(number: int) -> str:
    """Return the dashes of a line as text."""
    return SIGNS[number % len(SIGNS)]


def dashes_px(number: int, width_px: float) -> tuple[float, ...]:
    """Return the dashes of a line with some width in pixels."""
    return tuple(round(width_px * length, 1) for length in dashes_of(number))


def repeat_of(number: int) -> int:
    """Return how often the dashes of a line were used by the lines before it."""
    return number // len(DASHES)


def matplotlib_look(number: int) -> dict[str, Any]:
    """Return dashes and markers of a line as options of Matplotlib."""
    dashes, marker = dashes_of(number), MARKERS[repeat_of(number) % len(MARKERS)][0]
    look: dict[str, Any] = {"ls": (0, dashes) if dashes else "-"}
    return look | ({"marker": marker, "ms": 4.5, "markevery": 1.0 / MARKED} if marker else {})


def plotly_look(number: int, colour: str, width_px: float) -> dict[str, Any]:
    """Return mode, line and markers of a trace of Plotly."""
    dashes, symbol = dashes_px(number, width_px), MARKERS[repeat_of(number) % len(MARKERS)][1]
    line = {"color": colour, "width": width_px, "dash": _dash_list(dashes)}
    if not symbol:
        return {"mode": "lines", "line": line}
    marker = {"symbol": symbol, "size": 6, "color": colour, "maxdisplayed": MARKED}
    return {"mode": "lines+markers", "line": line, "marker": marker}


def _dash_list(dashes: Sequence[float]) -> str:
    return ",".join(f"{length:g}px" for length in dashes) or "solid"


def is_drawn(number: int, pieces: int, piece: float = 0.9) -> list[bool]:
    """Return which of the short pieces of a line belong to its dashes; each is as long as some widths of the line."""
    dashes = dashes_of(number)
    drawn, at, part = [], 0.0, 0
    for _ in range(pieces):
        while dashes and at >= dashes[part]:
            at, part = at - dashes[part], (part + 1) % len(dashes)
        drawn.append(part % 2 == 0)
        at += piece
    return drawn
