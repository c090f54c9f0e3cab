"""The columns of a log in memory: where their values are in the rows, the states and the sensors of a simulation."""

import functools
from collections.abc import Callable, Mapping
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
Arrays = dict[str, Array | Callable[[], Array]]
"""Columns by name: an array, or a function that computes it on first access."""

STATE, SENSORS, DERIVED = "state", "bus.sensors", "derived"
DERIVED_FROM = {"time_s": "time_us", "euler_bn": "q_bn", "rotor_axial_m_s": "air_vel_body"}
"""Columns that are computed from another one."""
COUNTS = {"rotors": "motors", "motors": "motor_commands", "servos": "servo_commands"}
COUNTS |= {"batteries": "batteries", "buses": "buses"}
"""The traits of an aircraft that give the width of a column."""


class _Place(NamedTuple):
    """Where the values of a column are."""

    name: str
    of: str  # `STATE`, `SENSORS`, `DERIVED`, or empty for a field of a row
    source: str  # path of a field
    numbers: int | None = None  # numbers of the field that the column has; None: it is a scalar
    states: slice = slice(0)
    is_fault: bool = False  # the column exists only if a value is not 0


def columns_of(core: Any, rows: Array, state: Array, sensors: Array | None, keeps_faults: bool) -> Arrays:
    """Return the columns of a log in the order of the schema: see `Log.of_rows`."""
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
    starts, stops = plant["group_start"].tolist(), plant["group_stop"].tolist()
    counts = [int(traits[f"n_{name}"]) for name in COUNTS.values()] if is_aircraft else []
    key = tuple(has.items()), tuple(zip(starts, stops, strict=True)), tuple(counts), state.shape[1]
    arrays: Arrays = {}
    for place in _places(rows.dtype, *key):
        if place.of == STATE:
            arrays[place.name] = state[:, place.states]
        elif place.of == SENSORS:
            assert sensors is not None  # otherwise there is no such place
            arrays[place.name] = sensors[place.source]
        elif place.of == DERIVED:
            arrays[place.name] = _derived(place.name, core, rows, arrays)
        elif not place.is_fault or keeps_faults or not len(rows) or _is_set(_field(rows, place.source, None)):
            arrays[place.name] = functools.partial(_field, rows, place.source, place.numbers)
    return arrays


def _derived(name: str, core: Any, rows: Array, arrays: Mapping[str, Any]) -> Callable[[], Array]:
    """Return the function that computes a derived column."""
    if name == "time_s":
        return lambda: seconds_of(in_memory(rows["time_us"]))
    if name == "euler_bn":
        attitude = arrays["q_bn"]
        return lambda: euler_angles(attitude() if callable(attitude) else attitude)
    return lambda: _axial_velocities(core["plant"], rows["bus"]["outputs"]["air_vel_body"])


@functools.lru_cache(maxsize=64)
def _places(
    dtype: np.dtype[Any],
    has: tuple[tuple[str, bool], ...],
    groups: tuple[tuple[int, int], ...],
    counts: tuple[int, ...],
    states: int,
) -> tuple[_Place, ...]:
    """Return where the columns of a log are: see `columns_of`; the runs of a campaign have the same places."""
    exists = {"": True, "fault": True, **dict(has)}
    group_of = {"": slice(0, states)} | {name: slice(*ends) for name, ends in zip(GROUPS, groups, strict=True)}
    sizes = {name: len(ends) for name, ends in COMPONENTS.items()} | dict(zip(COUNTS, counts, strict=False))
    found: dict[str, _Place] = {}
    for column in COLUMNS:
        part, _, path = column.source.partition(".")
        if not exists[column.needs]:
            continue
        if column.source == DERIVED:
            if DERIVED_FROM.get(column.name) in found:
                found[column.name] = _Place(column.name, DERIVED, "")
        elif part == STATE:
            own = group_of[path]
            width = own.stop - own.start
            if width and not (column.shape in COMPONENTS and width != sizes[column.shape]):
                found[column.name] = _Place(column.name, STATE, "", states=own)  # a position may be a single number
        elif column.needs == "sensors":
            found[column.name] = _Place(column.name, SENSORS, column.source.removeprefix(f"{SENSORS}."))
        else:
            count = _numbers_in(dtype, column.source)
            count = count if count is None else min(count, sizes.get(column.shape, count))
            if count != 0:
                found[column.name] = _Place(column.name, "", column.source, count, is_fault=column.needs == "fault")
    return tuple(found.values())


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


def _is_set(values: Array) -> bool:
    """Return whether a value is not 0, without holding a whole file in memory."""
    return any(values[block].any() for block in blocks(values))


def seconds_of(time_us: Array) -> npt.NDArray[np.float64]:
    """Convert microseconds to seconds."""
    return time_us.astype(np.float64) / 1e6


def _axial_velocities(plant: Any, v_air_rel_vehicle: Array) -> npt.NDArray[np.float64]:
    """Return V_ax of each row and rotor, by the function of the plant."""
    columns, axes = in_memory(v_air_rel_vehicle).T, plant["multirotor"]["rotors"]["axis"]
    rotors = [SimpleNamespace(axis=axis) for axis in axes[: int(plant["traits"]["n_motors"])]]
    return np.stack([interpreted(axial_velocity)(rotor, columns) for rotor in rotors], axis=1)
