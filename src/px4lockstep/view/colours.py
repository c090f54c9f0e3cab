"""Colours of the scene, readable in grey: a scale whose lightness grows, and looks that also differ in form."""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.plots.looks import MOTOR_COLOURS

Array = npt.NDArray[Any]
Colour = tuple[int, int, int]

SCALE = np.array(
    [
        (68, 1, 84), (72, 40, 120), (62, 74, 137), (49, 104, 142), (38, 130, 142),
        (31, 158, 137), (53, 183, 121), (109, 205, 89), (180, 222, 44), (253, 231, 37),
    ]
)  # fmt: skip
"""Viridis (Smith and van der Walt, CC0) at ten points: lightness grows evenly from dark to light."""
NO_VALUE = (150, 150, 150)
INK, PAPER = (38, 50, 66), (247, 248, 250)
ACCENT, GHOST, WIND, FENCE, FAULT = (210, 74, 18), (70, 90, 120), (30, 154, 168), (60, 60, 60), (179, 0, 27)
EVENT, RALLY = (90, 100, 115), (23, 64, 127)
GROUND: tuple[Colour, Colour, Colour] = (205, 211, 219), (160, 169, 182), (255, 255, 255)
"""Cells and sections of the grid, and the background of viser's page into which they fade."""
GROUND_DARK: tuple[Colour, Colour, Colour] = (58, 62, 68), (88, 94, 103), (20, 20, 20)


def rgb(text: str) -> tuple[int, int, int]:
    """Return the channels of a colour such as #17407f."""
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


RUNS = tuple(rgb(colour) for colour in MOTOR_COLOURS)
"""Colours of several runs, as in figures."""


def scaled(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return the colours of values on the scale from `low` to `high`; grey where there is no value."""
    part = np.clip((values - low) / max(high - low, 1e-9), 0.0, 1.0)
    at = np.nan_to_num(part) * (len(SCALE) - 1)
    below = np.minimum(at.astype(np.int64), len(SCALE) - 2)
    mixed = SCALE[below] + (at - below)[:, np.newaxis] * (SCALE[below + 1] - SCALE[below])
    mixed[~np.isfinite(values)] = NO_VALUE
    return np.asarray(np.rint(mixed), np.uint8)


def css_gradient() -> str:
    """Return the scale as a gradient of CSS, from left to right."""
    return f"linear-gradient(90deg, {', '.join('rgb' + str(tuple(int(part) for part in colour)) for colour in SCALE)})"


def linear(shades: Array) -> npt.NDArray[np.uint8]:
    """Return sRGB colours as linear ones, which viser takes for the points of lines."""
    part = shades.astype(np.float64) / 255.0
    mixed = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.rint(255.0 * mixed), np.uint8)
