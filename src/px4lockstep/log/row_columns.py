"""The columns of a log in memory: where their values are in the rows, the states and the sensors of a simulation."""

import functools
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import NATIVE, PYTHON_WITH_STATUS
from px4lockstep.io import blocks, in_memory
from px4lockstep.jit import interpreted
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.schema import COLUMNS, COMPONENTS
from px4lockstep.plant.layout import GROUPS
from px4lockstep.vehicle.kinematics import axial_velocity

Array = npt.NDArray[Any]
STATE, SENSORS, DERIVED = "state", "bus.sensors", "derived"
DERIVED_FROM = {"time_s": "time_us", "euler_bn": "q_bn", "rotor_axial_m_s": "air_vel_body"}
"""Columns that are computed from another one."""
COUNTS = {"rotors": "motors", "motors": "motor_commands", "servos": "servo_commands"}
COUNTS |= {"batteries": "batteries", "buses": "buses"}
"""The traits of an aircraft that give the width of a column."""
FAULTS = tuple(column.name for column in COLUMNS if column.needs == "fault")
"""Columns that exist only if a value is not 0."""


class _Place(NamedTuple):
    """Where the values of a column are."""

    of: str  # `STATE`, `SENSORS`, `DERIVED`, or empty for a field of a row
    source: str  # path of a field
    numbers: int | None = None  # numbers of the field that the column has; None: it is a scalar
    states: slice = slice(0)


class RowColumns:
    """The columns of rows in memory, each made when it is read: see `Log.of_rows`."""

    def __init__(self, core: Any, rows: Array, state: Array, sensors: Array | None) -> None:
        self._core, self._rows, self._state, self._sensors = core, rows, state, sensors
        plant, modes = core["plant"], core["modes"]
        traits = plant["traits"]
        is_aircraft = bool(traits["is_vehicle"])
        has = {
            "aircraft": is_aircraft,
            "reference": not is_aircraft and state.shape[1] > 0,
            "sensors": sensors is not None,
            "estimator": int(modes["estimator"]) != 0,
            "autopilot": int(modes["autopilot"]) in (NATIVE, PYTHON_WITH_STATUS),
            "home": False,
        }
        counts = [int(traits[f"n_{name}"]) for name in COUNTS.values()] if is_aircraft else []
        groups = tuple(plant["group_start"].tolist()), tuple(plant["group_stop"].tolist())
        self._places = _places(rows.dtype, tuple(has.items()), groups, tuple(counts), state.shape[1])

    def by_name(self, *, keeps_faults: bool) -> dict[str, "RowColumns"]:
        """Return the source of each column, in the order of the schema.

        Without `keeps_faults`, columns of faults that do not occur are left out.
        """
        found = dict.fromkeys(self._places, self)
        for name in () if keeps_faults or not len(self._rows) else FAULTS:
            if name in found and not self._occurs(name):
                del found[name]
        return found

    def __getitem__(self, name: str) -> Array:
        place = self._places[name]
        if place.of == STATE:
            return self._state[:, place.states]
        if place.of == SENSORS:
            assert self._sensors is not None  # otherwise there is no such place
            return self._sensors[place.source]
        if place.of == DERIVED:
            return self._derived(name)
        return _field(self._rows, place.source, place.numbers)

    def _occurs(self, name: str) -> bool:
        """Return whether a fault is not 0 in a row, without holding a whole file in memory."""
        values = _field(self._rows, self._places[name].source, None)
        return any(values[block].any() for block in blocks(values))

    def _derived(self, name: str) -> Array:
        """Compute a derived column."""
        if name == "time_s":
            return seconds_of(in_memory(self._rows["time_us"]))
        if name == "euler_bn":
            return euler_angles(self["q_bn"])
        return _axial_velocities(self._core["plant"], self._rows["bus"]["outputs"]["air_vel_body"])


@functools.lru_cache(maxsize=64)
def _places(
    dtype: np.dtype[Any],
    has: tuple[tuple[str, bool], ...],
    groups: tuple[tuple[int, ...], tuple[int, ...]],
    counts: tuple[int, ...],
    states: int,
) -> dict[str, _Place]:
    """Return where the columns of a log are, by name; the runs of a campaign have the same places."""
    exists = {"": True, "fault": True, **dict(has)}
    group_of = {"": slice(0, states)} | {name: slice(*ends) for name, *ends in zip(GROUPS, *groups, strict=True)}
    sizes = {name: len(ends) for name, ends in COMPONENTS.items()} | dict(zip(COUNTS, counts, strict=False))
    found: dict[str, _Place] = {}
    for column in COLUMNS:
        part, _, path = column.source.partition(".")
        if not exists[column.needs]:
            continue
        if column.source == DERIVED:
            if DERIVED_FROM.get(column.name) in found:
                found[column.name] = _Place(DERIVED, "")
        elif part == STATE:
            own = group_of[path]
            width = own.stop - own.start
            if width and not (column.shape in COMPONENTS and width != sizes[column.shape]):
                found[column.name] = _Place(STATE, "", states=own)  # a position may be a single number
        elif column.needs == "sensors":
            found[column.name] = _Place(SENSORS, column.source.removeprefix(f"{SENSORS}."))
        else:
            count = _numbers_in(dtype, column.source)
            count = count if count is None else min(count, sizes.get(column.shape, count))
            if count != 0:
                found[column.name] = _Place("", column.source, count)
    return found


@functools.cache
def _numbers_in(dtype: np.dtype[Any], source: str) -> int | None:
    """Return the length of a field of a row; None if it is a scalar, 0 if the row does not have it."""
    shape: tuple[int, ...] = ()
    for name in source.split("."):
        if name not in (dtype.names or ()):
            return 0
        shape += dtype[name].shape
        dtype = dtype[name].base
    return shape[0] if shape else None


def _field(rows: Array, source: str, count: int | None) -> Array:
    """Return a field of all rows, cut to its first `count` values."""
    for name in source.split("."):
        rows = rows[name]
    return rows if count is None else rows[:, :count]


def seconds_of(time_us: Array) -> npt.NDArray[np.float64]:
    """Convert microseconds to seconds."""
    return time_us.astype(np.float64) / 1e6


def _axial_velocities(plant: Any, v_air_rel_vehicle: Array) -> npt.NDArray[np.float64]:
    """Return V_ax of each row and rotor, by the function of the plant."""
    columns, axes = in_memory(v_air_rel_vehicle).T, plant["multirotor"]["rotors"]["axis"]
    rotors = [SimpleNamespace(axis=axis) for axis in axes[: int(plant["traits"]["n_motors"])]]
    return np.stack([interpreted(axial_velocity)(rotor, columns) for rotor in rotors], axis=1)
