"""Flights as the viewer shows them: the log at any microsecond, and what surrounds the track.

Flights that are shown together share a frame and a clock. The frame is that of the first one, so flights from another
home are shifted by the distance between the homes. If one is imported, the clocks are aligned as in `plot`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import Area
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError, counted
from px4lockstep.flights.alignment import Alignment, alignment_by_clock, alignment_of
from px4lockstep.flights.figure import drawn_name
from px4lockstep.flights.imported import import_report
from px4lockstep.flights.parameters import flown_area
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.saved import SavedRun
from px4lockstep.log.events import FlightEvent, events_of
from px4lockstep.log.log import Log
from px4lockstep.log.resampling import held, interpolated, interpolated_attitude
from px4lockstep.plots.panels.motion import HEADINGS, without_jumps
from px4lockstep.px4.missions import Mission
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec
from px4lockstep.view.frames import yaw_attitude
from px4lockstep.view.shape import VehicleShape, shape_of, usual_shape

Array = npt.NDArray[Any]
Place = tuple[float, float, float]

NO_AREA = Area()
MAX_RUNS = 12
"""Flights at once: more would hide each other."""
SLOWER = 45.0
"""By how much rotors are drawn slower than they turn, so that an eye, and a screen with 30 frames a second, follow."""
USUAL_SPEED_RAD_S = 800.0
"""Speed of a rotor at full command, where the log has no speeds."""
MAX_APART_M = 50_000.0
"""Distance of two homes beyond which flights are drawn around the same origin."""


@dataclass(frozen=True)
class Pose:
    """A vehicle at one time."""

    pos_ned: Array
    q_bn: Array
    spin_rad: Array  # drawn angle of each rotor about its axis
    thrust: Array | None = None  # of each rotor, 1 at hover
    wind_ned: Array | None = None
    target_ned: Array | None = None  # position setpoint
    target_q_bn: Array | None = None


@dataclass(frozen=True)
class ViewedFlight:
    """A flight with its surroundings.

    Args:
        name: Its label.
        log: The log, with at least one row.
        shape: The shape of the vehicle.
        area: Fence and rally points.
        waypoints: North, east and down of mission items [m], by number.
        shift_us: What to add to the times of the log.
        shift_ned: What to add to its positions [m].
    """

    name: str
    log: Log
    shape: VehicleShape
    area: Area = NO_AREA
    waypoints: dict[int, Place] = field(default_factory=dict)
    shift_us: int = 0
    shift_ned: Place = (0.0, 0.0, 0.0)

    @cached_property
    def _headings(self) -> dict[str, Array]:
        return {}

    def table(self, name: str) -> Array:
        """Return a column as it is plotted, (rows, components): with its heading unwrapped, if it has one."""
        if name in self._headings:
            return self._headings[name]
        table = self.log[name].astype(np.float64).reshape(self.log.rows, -1)
        if name in HEADINGS:
            table = self._headings[name] = without_jumps(name, table)
        return table

    def plotted(self, name: str, row: int) -> Array:
        """Return the components of a column in a row, as they are plotted; other rows are read for headings only."""
        return self.table(name)[row] if name in HEADINGS else np.atleast_1d(self.log.part(name, slice(row, row + 1))[0])

    @cached_property
    def _rows(self) -> Array:
        """The rows with a finite position and attitude."""
        is_finite = np.isfinite(self.log["pos_ned"]).all(axis=1) & np.isfinite(self.log["q_bn"]).all(axis=1)
        rows: Array = np.flatnonzero(is_finite)
        return rows

    @cached_property
    def time_us(self) -> npt.NDArray[np.int64]:
        """Times of the rows on the common clock."""
        return self.log.time_us[self._rows].astype(np.int64) + self.shift_us

    @cached_property
    def pos_ned(self) -> Array:
        """Positions in the common frame [m]."""
        pos: Array = self.log["pos_ned"][self._rows] + np.array(self.shift_ned)
        return pos

    @cached_property
    def speed_m_s(self) -> Array:
        """Speed over ground, with its vertical part."""
        if "vel_ned" in self.log:
            return np.asarray(np.linalg.norm(self.log["vel_ned"][self._rows], axis=1))
        return np.zeros(len(self._rows))

    @cached_property
    def error_m(self) -> Array:
        """Distance from the position setpoint; NaN without one."""
        if "pos_sp_ned" not in self.log:
            return np.full(len(self._rows), np.nan)
        return np.asarray(np.linalg.norm((self.log["pos_ned"] - self.log["pos_sp_ned"])[self._rows], axis=1))

    @cached_property
    def events(self) -> tuple[FlightEvent, ...]:
        """Events of the flight, on the common clock."""
        return tuple(
            FlightEvent(event.time_us + self.shift_us, event.label, event.is_fault)
            for event in events_of(self.log, self.area)
        )

    def values(self, name: str, row: int) -> Any:
        """Return the value of a column, or its components, at a row of `time_us`."""
        return self.log.part(name, slice(int(self._rows[row]), int(self._rows[row]) + 1))[0]

    @cached_property
    def _spin_rad(self) -> Array:
        """Drawn angle of each rotor at each row: a function of the time alone, the same after a jump."""
        count, directions = len(self.shape.rotors), np.array([rotor.direction for rotor in self.shape.rotors])
        if "rotor_speed_rad_s" in self.log:
            speed = self.log["rotor_speed_rad_s"][self._rows, :count]
        elif "motors" in self.log:
            speed = USUAL_SPEED_RAD_S * np.nan_to_num(self.log["motors"][self._rows, :count])
        else:
            return np.zeros((len(self._rows), count))
        step_s = np.diff(self.time_us, prepend=self.time_us[:1]) / 1e6
        angles = np.zeros((len(self._rows), count))
        angles[:, : speed.shape[1]] = np.cumsum(np.nan_to_num(speed) * step_s[:, np.newaxis], axis=0) / SLOWER
        return -directions * angles

    @cached_property
    def _thrust(self) -> Array | None:
        """Thrust of each rotor, 1 at hover; or its command, 1 at its mean in the air."""
        count = len(self.shape.rotors)
        if "rotor_thrust_n" in self.log and self.shape.hover_thrust_n is not None:
            return np.asarray(self.log["rotor_thrust_n"][self._rows, :count] / self.shape.hover_thrust_n)
        if "motors" in self.log:
            motors = np.nan_to_num(self.log["motors"][self._rows, :count])
            if motors.shape[1] == count:
                usual = float(np.median(motors[motors > 0.1])) if (motors > 0.1).any() else 1.0
                return np.asarray((motors / usual) ** 2)
        return None

    def pose(self, time_us: int) -> Pose:
        """Return the vehicle at a time; before the first row and after the last, these are held."""
        at_us, rows = np.array([time_us], np.int64), self._rows
        target, target_q = self._target(at_us)
        thrust = None if self._thrust is None else interpolated(self.time_us, self._thrust, at_us)[0]
        wind = held(self.time_us, self.log["wind_ned"][rows], at_us)[0] if "wind_ned" in self.log else None
        return Pose(
            interpolated(self.time_us, self.pos_ned, at_us)[0],
            interpolated_attitude(self.time_us, self._attitude, at_us)[0],
            interpolated(self.time_us, self._spin_rad, at_us)[0],
            thrust,
            wind,
            target,
            target_q,
        )

    @cached_property
    def _attitude(self) -> Array:
        return self.log["q_bn"][self._rows]

    @cached_property
    def _targets(self) -> tuple[Array, Array] | None:
        """Position setpoints and attitudes to draw there: the setpoint of the attitude, or of the yaw."""
        if "pos_sp_ned" not in self.log:
            return None
        rows = self._rows
        if "q_sp" in self.log:
            attitude = self.log["q_sp"][rows]
        else:
            attitude = yaw_attitude(self.log["yaw_sp"][rows] if "yaw_sp" in self.log else np.zeros(len(rows)))
        is_finite = np.isfinite(attitude).all(axis=1, keepdims=True)
        attitude = np.where(is_finite, attitude, self._attitude)
        return self.log["pos_sp_ned"][rows] + np.array(self.shift_ned), attitude

    def _target(self, at_us: npt.NDArray[np.int64]) -> tuple[Array | None, Array | None]:
        if self._targets is None:
            return None, None
        place, attitude = (held(self.time_us, values, at_us)[0] for values in self._targets)
        return (place, attitude) if np.isfinite(place).all() else (None, None)


def viewed_flights(runs: Sequence[SavedRun], *, spread_m: float = 0.0) -> tuple[ViewedFlight, ...]:
    """Return flights to show together.

    Args:
        runs: Run folders, also of imported flights.
        spread_m: Distance to the east by which each flight is moved from the one before it, so that flights over the
            same ground can be told apart.

    Raises:
        InputError: If there is no run or more than 12, or one has no log, no rows, no position or no attitude.
    """
    if not 1 <= len(runs) <= MAX_RUNS:
        raise InputError(f"{counted(len(runs), 'run')} can't be viewed at once; give 1 to {MAX_RUNS}")
    if not np.isfinite(spread_m):
        raise InputError(f"the spread of the flights must be a number of metres, not {spread_m}")
    logs = [_checked(run) for run in runs]
    specs = [_spec_of(run) for run in runs]
    shifts_us = _clocks(runs, logs)
    home = next((spec.home for spec, _ in specs if spec is not None), None)
    flights: list[ViewedFlight] = []
    for i, (run, log, (spec, mission), shift_us) in enumerate(zip(runs, logs, specs, shifts_us, strict=True)):
        name = drawn_name(run.folder)
        name = name if name not in [flight.name for flight in flights] else f"{name} ({i + 1})"
        north_m, east_m, down_m = (0.0, 0.0, 0.0) if spec is None or home is None else _apart(home, spec.home)
        shift: Place = (north_m, east_m + i * spread_m, down_m)
        flights.append(replace(viewed_flight(name, log, spec, mission), shift_us=shift_us, shift_ned=shift))
    return tuple(flights)


def viewed_flight(name: str, log: Log, spec: Spec | None, mission: Mission | None) -> ViewedFlight:
    """Return a flight with the surroundings that its spec and its mission give."""
    if spec is None:
        count = log["motors"].shape[1] if "motors" in log else 4
        return ViewedFlight(name, log, usual_shape(max(count, 1)))
    area = flown_area(spec, mission)
    return ViewedFlight(name, log, shape_of(spec), area, {} if mission is None else _waypoints(mission, spec))


def _checked(run: SavedRun) -> Log:
    log = run.log
    lacks = [name for name in ("pos_ned", "q_bn") if name not in log]
    if lacks:
        raise InputError(f"{run.folder} can't be viewed: its log has no column {' and no column '.join(lacks)}")
    if not (np.isfinite(log["pos_ned"]).all(axis=1) & np.isfinite(log["q_bn"]).all(axis=1)).any():
        raise InputError(f"{run.folder} can't be viewed: its log has no row with a position and an attitude")
    return log


def _spec_of(run: SavedRun) -> tuple[Spec | None, Mission | None]:
    """Return the spec of a run and its mission; None for one that is imported, and for a mission that was removed."""
    if import_report(run.folder) is not None or not (run.folder / SPEC).exists():
        return None, None
    spec = load_spec(run.folder / SPEC, reads_mission=False)
    try:
        return spec, spec.mission
    except InputError:
        return spec, None


def _clocks(runs: Sequence[SavedRun], logs: Sequence[Log]) -> list[int]:
    """Return what to add to the times of each log: 0, unless one of several flights is imported."""
    if len(runs) == 1 or not any(import_report(run.folder) is not None for run in runs):
        return [0] * len(runs)
    found = [Alignment(0, "given")]
    for run, log in zip(runs[1:], logs[1:], strict=True):
        by_clock = alignment_by_clock([runs[0].folder, run.folder], [logs[0], log])
        found.append(by_clock or alignment_of(logs[0], log))
    return [alignment.offset_us for alignment in found]


def _apart(first: Any, second: Any) -> Place:
    """Return the position of a home in the frame of another; zeros if they are far apart."""
    north_m, east_m = MapProjection(first.lat_deg, first.lon_deg).to_local(second.lat_deg, second.lon_deg)
    if max(abs(north_m), abs(east_m)) > MAX_APART_M:
        return 0.0, 0.0, 0.0
    return north_m, east_m, first.alt_msl_m - second.alt_msl_m


def _waypoints(mission: Mission, spec: Spec) -> dict[int, Place]:
    """Return the positions of a mission's items; one without an altitude is on the ground."""
    projection = MapProjection(spec.home.lat_deg, spec.home.lon_deg)
    places: dict[int, Place] = {}
    for number, item in enumerate(mission.items):
        if item.command.has_position:
            height_m = item.alt_m - (0.0 if item.is_relative_alt else spec.home.alt_msl_m)
            place = projection.to_local(item.lat_deg, item.lon_deg)
            places[number] = (*place, -height_m if np.isfinite(height_m) else 0.0)
    return places
