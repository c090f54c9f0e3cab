"""The flight of an experiment: take off, hover, settle, then excite one loop with setpoints.

By default the flight is calm: no wind or gusts, and an estimate without noise and bias, so that every run measures the
same. The delay of the estimate stays, because it is part of the loop. Stock PX4 has its own estimate: a calm flight has
a GPS without errors, and the other sensors keep their noise.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import OFFBOARD_MODE
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.estimation.estimator import BIASES, SIGMAS
from px4lockstep.experiments.loops import ATTITUDE, POSITION, RATE, VELOCITY, Loop
from px4lockstep.flights.parameters import parameters_of
from px4lockstep.flights.run import Run, fly
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.log import Log
from px4lockstep.scenario.setpoints import SetpointTable
from px4lockstep.spec.build import build, build_aircraft
from px4lockstep.spec.load import change_spec
from px4lockstep.spec.spec import Spec

Array = npt.NDArray[np.float64]

ARM_S = 1.0
HEIGHT_M = 20.0
SETTLED_S = 30.0
"""Time at which the vehicle is at rest, with charged integrators, and the setpoints of the loop begin."""
LEAD_S = 1.0
"""Time between the first setpoint of the loop and its excitation."""
AT_REST_M_S, NEAR_M = 0.05, 0.5
"""Speed and distance from its place below which the vehicle hovers, in a calm flight."""
CALM: dict[str, Any] = {"environment.wind": "none", **{f"estimator.{name}": 0.0 for name in (*SIGMAS, *BIASES)}}
CALM_GPS = {
    f"px4.sitl.sensors.gps.{name}": 0.0
    for name in ("horizontal_sigma_m", "vertical_sigma_m", "horizontal_noise_m", "vertical_noise_m", "vel_sigma_m_s")
}
"""The same for an autopilot that estimates itself."""
SLOW_M_S, AROUND_M = 0.5, 3.0
"""The limits of a hover by its own estimate."""
TRIM_S = 5.0
"""Time before `SETTLED_S` from which the trim is averaged, if the autopilot's setpoints are not in the log."""
BATTERY_SCALE_MAX = 1.3


@dataclass(frozen=True)
class Excitation:
    """A flight that excites one loop.

    Args:
        spec: The aircraft, with the user's changes.
        loop: The loop.
        time_s: Times of the setpoints, from the start of the excitation; the first is 0.
        value: Setpoints relative to the hover, in the loop's unit.
        watched_s: How long the flight lasts from the start of the excitation.
        is_calm: Whether to remove wind, gusts, noise and bias.
    """

    spec: Spec = field(repr=False)
    loop: Loop
    time_s: Array = field(repr=False)
    value: Array = field(repr=False)
    watched_s: float
    is_calm: bool = True

    @property
    def start_s(self) -> float:
        """When the excitation begins, on a tick of the autopilot."""
        tick_s = self.tick_us / 1e6
        return round(math.ceil((SETTLED_S + LEAD_S) / tick_s) * tick_s, 6)

    @property
    def end_s(self) -> float:
        """End of the flight."""
        tick_s = self.tick_us / 1e6
        return round(math.ceil((self.start_s + self.watched_s) / tick_s) * tick_s, 6)

    @property
    def tick_us(self) -> int:
        """Period of the autopilot, and of the log."""
        return self.spec.timeline.tick_us

    @property
    def is_hidden(self) -> bool:
        """Whether the log lacks the autopilot's estimate and setpoints, as for stock PX4."""
        return self.spec.autopilot.capabilities.estimates_itself

    @cached_property
    def params(self) -> dict[str, float | int]:
        """The autopilot's parameters."""
        return parameters_of(self.spec)

    @cached_property
    def flown(self) -> Spec:
        """The spec of the flight, with its setpoints."""
        return self._with_setpoints(self._columns())

    def _with_setpoints(self, columns: dict[str, Any]) -> Spec:
        own = self.spec.autopilot
        if not own.capabilities.takes_setpoints:
            refused = f"autopilot.kind = {own.kind!r}: {own.capabilities.no_setpoints}"
            raise InputError(f"{refused}; the experiment needs setpoints, so fly the built-in autopilot or stock PX4")
        tick_s = self.tick_us / 1e6
        changes: dict[str, Any] = {"timeline.t_end_s": self.end_s, "timeline.dt_log_s": tick_s}
        if self.is_calm:
            changes |= CALM | (CALM_GPS if self.is_hidden else {})
        if self.is_calm and self.spec.environment.gusts:
            changes["environment.gusts"] = []
        changed = change_spec(self.spec, changes)
        # The table is not merged with the spec's own, and the mission is not started.
        news = {"arm_time_s": ARM_S, "mission_time_s": None, "setpoints": SetpointTable(**columns)}
        return changed.model_copy(update={"scenario": changed.scenario.model_copy(update=news)})

    # -- setpoints -------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> tuple[float, float, float]:
        """Where the vehicle hovers."""
        north, east, down = self.spec.airframe.x0.pos_ned
        return north, east, down - HEIGHT_M

    @property
    def _heading(self) -> float:
        attitude = np.array(self.spec.airframe.x0.attitude(), np.float64)
        return float(euler_angles(attitude[None])[0, 2])

    @cached_property
    def hover(self) -> Log:
        """The log of a flight that only hovers: the trim for body rates and attitudes."""
        nothing = Excitation(self.spec, self.loop, np.zeros(0), np.zeros(0), self.watched_s, self.is_calm)
        hover = {"time_s": (ARM_S,), "pos_ned": (self._place,), "yaw_rad": (self._heading,)}
        return fly(build(nothing._with_setpoints(hover))).log

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the setpoint table: position rows, then those of the loop."""
        loop, nan = self.loop, math.nan
        times = np.concatenate([[ARM_S, SETTLED_S], self.start_s + self.time_s])
        offset = np.concatenate([[0.0, 0.0], self.value]) / loop.scale
        vectors = np.zeros((len(times), 3))
        columns: dict[str, Any] = {"time_s": tuple(round(float(time_s), 6) for time_s in times)}
        if loop.kind in (RATE, ATTITUDE):
            trim_at = np.searchsorted(self.hover["time_us"], np.rint(times * 1e6)).clip(max=self.hover.rows - 1)
            if loop.kind == ATTITUDE:
                vectors += self._hover_attitude(trim_at[1])
            vectors[:, loop.axis] += offset
            thrust = self._hover_thrust()[trim_at]
            if loop.kind == ATTITUDE:
                thrust = np.minimum(thrust / (np.cos(vectors[:, 0]) * np.cos(vectors[:, 1])), 1.0)  # keeps the lift
            vectors[0], thrust[0] = nan, nan
            place = np.full((len(times), 3), nan)
            place[0] = self._place
            yaw = np.full(len(times), nan)
            yaw[0] = self._heading
            return columns | {
                "pos_ned": _rows(place),
                "yaw_rad": tuple(yaw.tolist()),
                loop.key: _rows(vectors),
                "thrust": tuple(thrust.tolist()),
            }
        place = np.tile(self._place, (len(times), 1))
        columns["yaw_rad"] = (self._heading,) * len(times)
        if loop.kind == POSITION:
            place[:, loop.axis] += offset
            return columns | {"pos_ned": _rows(place)}
        assert loop.kind == VELOCITY
        axes = [0, 1] if loop.axis < 2 else [2]
        place[1:, axes] = nan
        speed = np.full((len(times), 3), nan)
        speed[1:, axes] = 0.0
        speed[1:, loop.axis] = offset[1:]
        return columns | {"pos_ned": _rows(place), "vel_ned": _rows(speed)}

    @property
    def _trimmed(self) -> slice:
        """The rows of the hover over which its trim is averaged."""
        return slice(int(np.searchsorted(self.hover["time_us"], round((SETTLED_S - TRIM_S) * 1e6))), None)

    def _hover_attitude(self, row: int) -> Array:
        """Return the attitude setpoint of the hover: Euler angles at a row; if it is hidden, the mean attitude."""
        if not self.is_hidden:
            angles: Array = euler_angles(self.hover["q_sp"])[row]
            return angles
        mean: Array = np.unwrap(np.asarray(self.hover["euler_bn"], np.float64)[self._trimmed], axis=0).mean(axis=0)
        return mean

    def _commanded_thrust(self) -> Array:
        """Return the collective thrust of the hover by its motor commands, a line over time: PX4's own is hidden.

        PX4 allocates a collective thrust to all motors alike, and THR_MDL_FAC shapes the command u of each:
        thrust = THR_MDL_FAC u² + (1 - THR_MDL_FAC) u.
        """
        shape = float(self.params.get("THR_MDL_FAC", 0.0))
        motors, time_s = np.asarray(self.hover["motors"], np.float64), np.asarray(self.hover["time_us"]) / 1e6
        thrust = np.nanmean(shape * motors**2 + (1.0 - shape) * motors, axis=1)
        slope, start = np.polyfit(time_s[self._trimmed], thrust[self._trimmed], 1)
        line: Array = start + slope * time_s
        return line

    def _hover_thrust(self) -> Array:
        """Return the collective thrust of the hover at each row of its log, without the scaling with the battery."""
        is_hidden, hover = self.is_hidden, self.hover
        thrust = self._commanded_thrust() if is_hidden else -np.asarray(hover["thrust_sp_body"], np.float64)[:, 2]
        if self.params.get("MC_BAT_SCALE_EN"):
            full_v = build_aircraft(self.spec).batteries[0].full_voltage_v
            thrust /= np.clip(full_v / self.hover["battery_voltage_v"][:, 0], 1.0, BATTERY_SCALE_MAX)
        return thrust.copy()

    # -- results ---------------------------------------------------------------------------------------------------

    def cut(self, log: Log, from_s: float, to_s: float) -> slice:
        """Return the rows of a log between two times since the start of the excitation."""
        start, stop = (round((self.start_s + at_s) * 1e6) for at_s in (from_s, to_s))
        first, last = np.searchsorted(log["time_us"], [start, stop + 1])
        return slice(int(first), int(last))

    def check_flown(self, run: Run) -> None:
        """Raise if the vehicle did not hover, or did not fly in setpoint mode up to the end."""
        log = run.log
        self._check_at_rest(log)
        rows = self.cut(log, 0.0, self.watched_s)
        found = {
            "crashed": log["crashed"][rows] != 0,
            "left setpoint mode": log["nav_state"][rows] != OFFBOARD_MODE,
            "was on the ground": log["landed"][rows] != 0,
        }
        first = {what: int(np.argmax(is_wrong)) for what, is_wrong in found.items() if is_wrong.any()}
        time_us = np.asarray(log["time_us"][rows], np.int64)
        if not first and int(time_us[-1]) + self.tick_us < round((self.start_s + self.watched_s) * 1e6):
            first = {"stopped": len(time_us) - 1}
        if first:
            what = min(first, key=lambda name: first[name])
            reason = f" ({run.summary.reason})" if run.summary.reason else ""
            raise SimulationError(
                f"the vehicle {what} at {time_us[first[what]] / 1e6:.2f} s, before the end of the measurement at "
                f"{self.start_s + self.watched_s:g} s{reason}; choose a smaller excitation or a shorter time"
            )

    def _check_at_rest(self, log: Log) -> None:
        """Raise if the vehicle does not hover when the excitation of a calm flight begins."""
        row = self.cut(log, 0.0, 0.0).start
        if row >= log.rows:
            raise SimulationError(f"the flight ended before the excitation at {self.start_s:g} s")
        speed = float(np.linalg.norm(log["vel_ned"][row]))
        away_m = float(np.linalg.norm(log["pos_ned"][row] - np.array(self._place)))
        slow, near = (SLOW_M_S, AROUND_M) if self.is_hidden else (AT_REST_M_S, NEAR_M)
        if self.is_calm and not (speed < slow and away_m < near):
            raise SimulationError(
                f"the vehicle does not hover: at {self.start_s:g} s it is {away_m:.1f} m from where it should be and "
                f"moves at {speed:.2f} m/s; check that it can take off and hover"
            )


def _rows(vectors: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, vectors.tolist()))
