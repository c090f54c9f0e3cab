"""The first difference of two flights: the first row of their logs that differs, and the field."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.digest import pack_flight, pack_live
from px4lockstep.engine.simulation import Simulation
from px4lockstep.flights.recording.recording import Recording

ROWS_PER_CHUNK = 8_192


@dataclass(frozen=True)
class Difference:
    """The first difference of two flights.

    Args:
        time_us: Time of the difference.
        field: Name of a state, `command.motors[2]`, `wind_ned[0]`, `faults.motor_disabled_mask`,
            `estimate.pos_ned[1]`; or `rows` if one log is longer than the other, `states` if the plants have different
            numbers of states.
        first: Value in the first flight; None if it is only known that the values differ.
        second: Value in the second flight.
    """

    time_us: int
    field: str
    first: float | None
    second: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the difference for JSON, with None for values that are not finite."""
        numbers = asdict(self).items()
        return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in numbers}

    def __str__(self) -> str:
        values = "" if self.first is None else f": {self.first!r} vs {self.second!r}"
        return f"t = {self.time_us / 1e6:.6f} s in {self.field}{values}"


@dataclass(frozen=True)
class FlightRows:
    """The parts of a log that make up a digest: time, plant state and held inputs."""

    time_us: npt.NDArray[np.uint64]
    state: npt.NDArray[np.float64]
    inputs: npt.NDArray[Any]

    @classmethod
    def of(cls, flown: Recording | Simulation, rows: int | None = None) -> "FlightRows":
        """Return the first rows of a flight, or all."""
        log = flown.log[:rows]
        return cls(log["time_us"], flown.log_state[:rows], log["inputs"])

    @classmethod
    def now(cls, simulation: Simulation) -> "FlightRows":
        """Return the state of a simulation before its next boundary, and the inputs held until then."""
        time_us = np.array([simulation.time_us], np.uint64)
        return cls(time_us, simulation.plant.x[np.newaxis].copy(), np.array([simulation.core["inputs"]]))

    def holding(self, time_us: int) -> "FlightRows":
        """Return the inputs alone, stamped with a time, with zeros for the state."""
        return FlightRows(np.full_like(self.time_us, time_us), np.zeros_like(self.state), self.inputs)

    def packed(self, rows: slice) -> npt.NDArray[Any]:
        """Return some rows in the layout of the digest."""
        return pack_flight(self.time_us[rows], self.state[rows], self.inputs[rows])


@dataclass(frozen=True)
class LiveRows:
    """The parts of a log that only a live run has: estimate and status of the autopilot."""

    time_us: npt.NDArray[np.uint64]
    bus: npt.NDArray[Any]

    @classmethod
    def of(cls, flown: Recording | Simulation, rows: int | None = None) -> "LiveRows":
        """Return the first rows of a flight, or all."""
        log = flown.log[:rows]
        return cls(log["time_us"], log["bus"])

    def packed(self, rows: slice) -> npt.NDArray[Any]:
        """Return some rows in the layout of the live digest."""
        return pack_live(self.time_us[rows], self.bus[rows])


def first_live_difference(first: Recording, second: Recording) -> Difference | None:
    """Return the first difference in estimate or setpoints of two flights; None if there is none."""
    return first_difference(LiveRows.of(first), LiveRows.of(second))


def first_difference(
    first: FlightRows | LiveRows, second: FlightRows | LiveRows, state_names: tuple[str, ...] = ()
) -> Difference | None:
    """Return the first bitwise difference of two flights of the same aircraft; None if there is none."""
    common = min(len(first.time_us), len(second.time_us))
    for start in range(0, common, ROWS_PER_CHUNK):
        rows = slice(start, min(start + ROWS_PER_CHUNK, common))
        ours, theirs = first.packed(rows), second.packed(rows)
        if ours.tobytes() != theirs.tobytes():
            row = next(i for i in range(len(ours)) if ours[i].tobytes() != theirs[i].tobytes())
            return _in_row(ours[row], theirs[row], state_names)
    if len(first.time_us) == len(second.time_us):
        return None
    longer = first if len(first.time_us) > common else second
    return Difference(int(longer.time_us[common]), "rows", len(first.time_us), len(second.time_us))


def _in_row(ours: Any, theirs: Any, state_names: tuple[str, ...]) -> Difference:
    """Return the first difference of two rows, in the order of the digest."""
    time_us = int(ours["time_us"])
    for (name, a), (_, b) in zip(_values(ours, ""), _values(theirs, ""), strict=True):
        if a.tobytes() != b.tobytes():
            return Difference(time_us, _readable(name, state_names), a.item(), b.item())
    raise AssertionError("the rows are equal")


def _values(record: Any, name: str) -> list[tuple[str, Any]]:
    """Return all numbers of a record with their names."""
    if record.dtype.names is not None:
        parts = [_values(record[field], f"{name}.{field}" if name else field) for field in record.dtype.names]
        return [value for part in parts for value in part]
    if record.shape:
        return [(f"{name}[{i}]", item) for i, item in enumerate(record)]
    return [(name, record)]


def _readable(name: str, state_names: tuple[str, ...]) -> str:
    if name.startswith("x["):
        return state_names[int(name[2:-1])]
    return f"command.{name}" if name.startswith(("motors", "servos")) else name
