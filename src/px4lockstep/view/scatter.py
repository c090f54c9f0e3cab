"""A scatter of a campaign's runs in the scene: a point per run, that can be clicked.

The points are in a box of 10 x 10 x 10: the horizontal axis to the right, the vertical one up, the third away from the
camera. Balls are runs that passed, cubes those that failed.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.result_rows import PASSED
from px4lockstep.campaigns.results_table import Results, is_numeric, numbers_of
from px4lockstep.flights.outcome import is_success
from px4lockstep.view import colours, meshes
from px4lockstep.view.ground import round_below
from px4lockstep.view.lines import add_lines
from px4lockstep.view.scene import aim
from px4lockstep.view.surroundings import light_scene

Array = npt.NDArray[Any]

NODE = "/scatter"
SIDE = 10.0
POINT = 0.11
"""Radius of a point."""
NO_AXIS = "(none)"


class Axis(NamedTuple):
    """An axis: its title, its ends, and its ticks."""

    title: str
    low: float
    high: float
    ticks: tuple[float, ...]

    def place(self, values: Array) -> Array:
        """Return values as places from 0 to 10."""
        return np.asarray(SIDE * (values - self.low) / (self.high - self.low))


def axis_of(title: str, values: Array) -> Axis:
    """Return an axis around all finite values, with round ticks."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        low, high = low - max(0.5, 0.05 * abs(low)), high + max(0.5, 0.05 * abs(high))
    step = round_below((high - low) / 4.0)
    first, last = int(np.floor(low / step + 1e-9)), int(np.ceil(high / step - 1e-9))
    return Axis(title, first * step, last * step, tuple(k * step for k in range(first, last + 1)))


def titles_of(results: Results) -> dict[str, str]:
    """Return the titles of inputs and metrics: their labels, otherwise names with units; no two are the same."""
    units = {metric.name: metric.unit for metric in results.metrics}
    titles: dict[str, str] = {}
    for name in (*results.inputs, *units):
        unit = f" [{units[name]}]" if units.get(name, "") not in ("", "1") else ""
        title = results.labels.get(name, f"{name}{unit}")
        titles[name] = title if title not in titles.values() else f"{title} ({name})"
    return titles


def numeric_columns(results: Results) -> dict[str, str]:
    """Return the inputs and metrics that can be axes, each with its title."""
    return {name: title for name, title in titles_of(results).items() if is_numeric(results.columns[name])}


def failed_runs(results: Results) -> npt.NDArray[np.bool_]:
    """Return which runs failed: by the criteria, or by the outcome if the campaign has none."""
    passed, status = results.columns[PASSED], results.columns["status"]
    pairs = zip(passed, status, strict=True)
    return np.array([not is_success(word) if verdict is None else not verdict for verdict, word in pairs], np.bool_)


class Scatter:
    """Runs as points.

    Args:
        scene: The `scene` of viser.
        results: The runs.
        choose: Called with the index of a run that is clicked, in a thread of viser.
    """

    def __init__(self, scene: Any, results: Results, choose: Callable[[int], object]) -> None:
        self._scene, self._results, self._choose = scene, results, choose
        self._index = results.columns["index"].astype(np.int64)
        self._failed = failed_runs(results)
        self._places = np.zeros((results.runs, 3))
        self.hidden = 0
        """Runs without a value on an axis."""
        light_scene(scene)

    def draw(self, names: Sequence[str]) -> None:
        """Draw the runs by one, two or three columns."""
        titles = numeric_columns(self._results)
        values = [numbers_of(self._results.columns[name]) for name in names]
        axes = [axis_of(titles[name], column) for name, column in zip(names, values, strict=True)]
        across, up = axes[0].place(values[0]), axes[1].place(values[1])
        deep = axes[2].place(values[2]) if len(axes) > 2 else np.zeros(self._results.runs)
        self._places = np.stack((across, deep, up), axis=1)
        is_shown = np.isfinite(self._places).all(axis=1)
        self.hidden = int(np.count_nonzero(~is_shown))
        self._scene.add_frame(NODE, show_axes=False)
        self._add_axes(axes)
        for name, mesh, colour, which in (
            ("passed", meshes.ball(1), colours.RUNS[0], is_shown & ~self._failed),
            ("failed", meshes.cube(), colours.FAULT, is_shown & self._failed),
        ):
            if which.any():
                count = int(np.count_nonzero(which))
                points = self._scene.add_batched_meshes_simple(
                    f"{NODE}/{name}",
                    *mesh,
                    np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)),
                    self._places[which],
                    batched_scales=np.full(count, POINT),
                    batched_colors=colour,
                    lod="off",
                    cast_shadow=False,
                    receive_shadow=False,
                )
                indexes = self._index[which].tolist()
                points.on_click(lambda event, indexes=indexes: self._choose(indexes[event.instance_index or 0]))

    def mark(self, index: int) -> None:
        """Mark a run with its number."""
        row = int(np.searchsorted(self._index, index))
        place = self._places[row]
        if np.isfinite(place).all():
            ring = {"color": colours.INK, "wireframe": True, "position": place, "cast_shadow": False}
            ball = meshes.ball(1)
            self._scene.add_mesh_simple(f"{NODE}/chosen", 2.4 * POINT * ball.vertices, ball.faces, **ring)
            self._scene.add_label(f"{NODE}/chosen/label", f"run {index}", position=(0.0, 0.0, 3.0 * POINT))

    def aim_camera(self, camera: Any) -> None:
        """Look at the points from the front."""
        aim(camera, SIDE * np.array((0.62, -1.75, 0.62)), SIDE * np.array((0.5, 0.0, 0.46)))

    def _add_axes(self, axes: Sequence[Axis]) -> None:
        across, up = axes[0], axes[1]
        back = SIDE if len(axes) > 2 else 0.0
        lines = []
        for k, tick in enumerate(across.ticks):
            at = float(across.place(np.array(tick)))
            lines.append(((at, back, 0.0), (at, back, SIDE)))
            self._label(f"x{k}", f"{tick:g}", (at, 0.0, -0.3), "top-center")
        for k, tick in enumerate(up.ticks):
            at = float(up.place(np.array(tick)))
            lines.append(((0.0, back, at), (SIDE, back, at)))
            self._label(f"z{k}", f"{tick:g}", (-0.25, 0.0, at), "center-right")
        self._label("x", across.title, (0.5 * SIDE, 0.0, -0.95), "top-center")
        self._label("z", up.title, (0.0, 0.0, SIDE + 0.45), "bottom-left")
        if len(axes) > 2:
            for k, tick in enumerate(axes[2].ticks):
                at = float(axes[2].place(np.array(tick)))
                lines += [((0.0, at, 0.0), (SIDE, at, 0.0)), ((SIDE, at, 0.0), (SIDE, at, SIDE))]
                self._label(f"y{k}", f"{tick:g}", (SIDE + 0.25, at, 0.0), "center-left")
            self._label("y", axes[2].title, (SIDE + 0.9, 0.5 * SIDE, -0.3), "center-left")
        add_lines(self._scene, f"{NODE}/grid", np.array(lines), (185, 192, 203))

    def _label(self, name: str, text: str, place: tuple[float, float, float], anchor: str) -> None:
        self._scene.add_label(f"{NODE}/axis-{name}", text, position=place, anchor=anchor, font_screen_scale=0.9)
