"""The ground at home's altitude: a round grid that gets lighter towards its edge, with an arrow to the north.

Without a graphics card, a frame takes as long as its pixels and lines: viser's grid, which computes each pixel of a
plane, took a third of it. The lines of this one are as many as are seen, and share one node with the north arrow.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.view import colours
from px4lockstep.view.lines import add_lines

Array = npt.NDArray[Any]

CELLS = 4.0
"""Cells over the width of the scene, at least."""
SECTION = 5
"""Cells between two darker lines."""
RADIUS_PART = 1.2
"""Radius of the grid, as a fraction of the width of the scene."""
NORTH_PART = 0.12
"""Length of the north arrow, as a fraction of the width of the scene."""


class Ground:
    """The ground of a scene.

    Args:
        scene: The `scene` of viser.
        name: Name of its node.
        low: Lower corner of the box around the tracks.
        high: Upper corner.
        extent_m: Width of the scene.
        dark: Whether the background is dark.
    """

    def __init__(self, scene: Any, name: str, low: Array, high: Array, extent_m: float, *, dark: bool = False) -> None:
        self._scene, self._name, self._extent_m = scene, name, extent_m
        self._cell_m = round_below(extent_m / CELLS)
        self._middle = np.round(0.5 * (low + high)[:2] / self._cell_m) * self._cell_m
        shades = colours.GROUND_DARK if dark else colours.GROUND
        segments, looks = grid_lines(self._middle, self._cell_m, RADIUS_PART * extent_m, shades)
        self._lines = add_lines(scene, name, segments, looks, 1.0)
        self._plane: Any = None
        north_m = NORTH_PART * extent_m
        arrow = north_m * np.array([[(0.0, 0.0), (0.0, 1.0)], [(0.0, 1.0), (-0.13, 0.72)], [(0.0, 1.0), (0.13, 0.72)]])
        arrow = np.concatenate((arrow, np.zeros((3, 2, 1))), axis=2)
        ink = colours.GHOST if dark else colours.INK
        add_lines(scene, f"{name}-north", arrow, ink, 2.2)
        text = f"N, cell {self._cell_m:g} m"
        scene.add_label(f"{name}-north/label", text, position=(0.0, 1.06 * north_m, 0.0))

    def receive_shadows(self, is_on: bool) -> None:
        """Draw the ground as a plane that shows shadows, which takes a graphics card, or as lines."""
        if is_on and self._plane is None:
            cell_color, section_color, _ = colours.GROUND
            width_m = self._cell_m * float(np.ceil(2.0 * RADIUS_PART * self._extent_m / self._cell_m))
            self._plane = self._scene.add_grid(
                f"{self._name}-plane",
                width_m,
                width_m,
                cell_size=self._cell_m,
                section_size=SECTION * self._cell_m,
                cell_color=cell_color,
                section_color=section_color,
                plane_color=(236, 239, 243),
                plane_opacity=1.0,
                shadow_opacity=0.18,
                fade_distance=4.5 * self._extent_m,
                fade_from="camera",
                position=(*self._middle, 0.0),
            )
        if self._plane is not None:
            self._plane.visible, self._lines.visible = is_on, not is_on


def grid_lines(
    middle: Array, cell_m: float, radius_m: float, shades: tuple[colours.Colour, colours.Colour, colours.Colour]
) -> tuple[Array, Array]:
    """Return the lines of a round grid, (n, 2, 3), and the colours of their ends, towards those of the background.

    Args:
        middle: Middle of the grid, on a multiple of the cell.
        cell_m: Distance of two lines.
        radius_m: Radius of the grid.
        shades: Colours of cells, of sections, and of the background.
    """
    cell, section, paper = np.array(shades, np.float64)
    segments, looks = [], []
    for axis in (0, 1):
        first = int(np.ceil((middle[1 - axis] - radius_m) / cell_m))
        last = int(np.floor((middle[1 - axis] + radius_m) / cell_m))
        for number in range(first, last + 1):
            across_m = number * cell_m - middle[1 - axis]
            half_m = float(np.sqrt(max(0.0, radius_m * radius_m - across_m * across_m)))
            points = np.zeros((3, 3))
            points[:, axis] = middle[axis] + half_m * np.array((-1.0, 0.0, 1.0))
            points[:, 1 - axis] = number * cell_m
            shade = section if number % SECTION == 0 else cell
            faded = shade + abs(across_m) / radius_m * (paper - shade)
            ends = np.stack((paper, faded, paper))
            segments.append(np.stack((points[:-1], points[1:]), axis=1))
            looks.append(np.stack((ends[:-1], ends[1:]), axis=1))
    return np.concatenate(segments), np.rint(np.concatenate(looks)).astype(np.uint8)


def round_below(value: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a value."""
    power = math.pow(10.0, math.floor(math.log10(value)))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= value * (1.0 + 1e-9))
