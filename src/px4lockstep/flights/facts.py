"""Facts of a flight that decide its outcome, from the log and the simulation: what was requested and what was done.

Heights are those of the centre of mass above its height when the vehicle stands; the ground is flat, at z = 0. A
vehicle is down if its height is at most 5 cm, or if something holds it up: half a second without motion at less thrust
than half its weight. It is at rest if it is down and slower than 0.5 m/s. It stands if it is at rest and tilted by less
than 30 degrees.

A landing may miss its target by 5 m plus the estimate's error at the end, up to 10 m in total. The target of a landing
requested in flight is the place of the request; at a speed v, the stopping distance v · 1 s + v² / (4 m/s²) is added.

A failsafe takes over if it changes the mode of an armed vehicle, other than a mission itself does with its last item.
It is over when the mission continues. A mission that is reported as finished after a takeover is not: the failsafe
landed. What was requested before the last request counts only if it failed: see `missed`.

The batteries are empty when all of them have a charge of 0, or an ESC cuts its motor off at less than 10 % of charge.
"""

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import HOME
from px4lockstep.autopilots.base import Landing
from px4lockstep.autopilots.requests import LOITER_MODE, RETURN_MODE
from px4lockstep.engine.simulation import Simulation
from px4lockstep.environment.gravity import gravity_down_m_s2
from px4lockstep.errors import LockstepError
from px4lockstep.flights.batteries import empty_since_s
from px4lockstep.flights.guided import (
    GUIDED,
    KINDS,
    Guidance,
    given_setpoint,
    guided_rows,
    is_replaced,
    last_guidance,
    without_replaced,
)
from px4lockstep.flights.missed import Missed, first_missed
from px4lockstep.flights.missions import Missions
from px4lockstep.flights.outcome import STANDING_DEG
from px4lockstep.flights.requested import (
    LAND,
    MISSION,
    REQUESTS,
    RETURN,
    SETPOINTS,
    LastSetpoints,
    OrderedDown,
    Target,
    allowed_miss_m,
    estimate_error_m,
    is_last,
    last_setpoints_of,
    requests_of,
    stopping_m,
)
from px4lockstep.flights.takeover import STATUS, Takeover, last_takeover, mode_changes
from px4lockstep.jit import interpreted
from px4lockstep.log.events import FlightEvent, faults_of, mode_name
from px4lockstep.log.log import Log
from px4lockstep.scenario.commands import CommandRow
from px4lockstep.scenario.landing import GROUND_MARGIN_M
from px4lockstep.scenario.signals import tilt_deg

REST_M_S = 0.5
SUPPORTED_US = 500_000
SUPPORTED_M_S = 0.2
END_US = 2_000_000
"""Time within which an autopilot reports the end of its mission after it changes the mode; stock PX4 needs 1 s."""


class Facts:
    """Facts of a flight; None for a fact that the plant or the autopilot does not provide.

    Args:
        simulation: The run.
        log: Its log, with all columns.
        error: The error that ended the run, if any.
    """

    def __init__(self, simulation: Simulation, log: Log, error: LockstepError | None = None) -> None:
        self.simulation = simulation
        self.log = log
        self.error = error

    def __repr__(self) -> str:
        return f"<Facts of {self.simulation!r}>"

    # -- requested -----------------------------------------------------------------------------------------------

    @property
    def time_s(self) -> float:
        """Current time of the run, or the time at which it ended."""
        return self.simulation.time_us / 1e6

    @cached_property
    def _guiding(self) -> list[CommandRow]:
        """The commands from outside that may be the last request."""
        return self.simulation.given_commands.of(KINDS)

    @cached_property
    def _requests(self) -> dict[str, npt.NDArray[np.int64]]:
        """The rows at which mission, return, landing, setpoint mode or something else was requested."""
        found = requests_of(self.log) | {GUIDED: guided_rows(self.log, self._guiding)}
        return without_replaced(self.log, self._guiding, found)

    @cached_property
    def guidance(self) -> Guidance | None:
        """The last command from outside, if it is the last request: a takeoff, a place, an orbit, a pilot's mode."""
        return last_guidance(self.log, self._guiding) if is_last(GUIDED, self._requests) else None

    @cached_property
    def missed(self) -> Missed | None:
        """The first request that had failed when a later one replaced it, or finished mission that was not held."""
        return first_missed(self.log, self._missions, self._guiding, self._requests, self._takeover_between)

    @cached_property
    def _missions(self) -> Missions:
        return Missions(self.log, self.simulation.autopilot, self._guiding, self._requests[MISSION])

    @property
    def asks(self) -> bool:
        """Whether anything was requested during the run, or the scenario would have requested it after its end."""
        flight = self.simulation
        return flight.asks_for_mission or flight.asks_for_setpoints or any(map(len, self._requests.values()))

    @cached_property
    def flies_setpoints(self) -> bool:
        """Whether setpoint mode is the last request."""
        return is_last(SETPOINTS, self._requests)

    @property
    def last_setpoints(self) -> LastSetpoints | None:
        """How the setpoints at the end of setpoint mode were followed."""
        return last_setpoints_of(self.log, given_setpoint(self.simulation))

    @property
    def is_arming_asked(self) -> bool:
        """Whether arming was requested of an autopilot that flies."""
        return self.simulation.autopilot.capabilities.flies and bool(self.log["request_arm"].any())

    @cached_property
    def asked(self) -> tuple[str, float] | None:
        """The first request and its time; None if there was none."""
        first = {name: int(rows[0]) for name, rows in self._requests.items() if len(rows)}
        name = min(first, key=lambda name: first[name], default=None)
        return None if name is None else (REQUESTS.get(name, "a command"), int(self.log.time_us[first[name]]) / 1e6)

    @cached_property
    def order(self) -> OrderedDown | None:
        """The last return or landing that was requested, unless mission or setpoints were requested after it."""
        last = {name: int(self._requests[name][-1]) for name in (LAND, RETURN) if len(self._requests[name])}
        others = [int(rows[-1]) for name, rows in self._requests.items() if name not in last and len(rows)]
        if not last or max(last.values()) < max(others, default=0):
            return None
        name, row = max(last.items(), key=lambda request: request[1])  # of both at one tick, the landing
        return OrderedDown(REQUESTS[name], int(self.log.time_us[row]) / 1e6, row)

    @property
    def is_ordered_on_ground(self) -> bool:
        """Whether the vehicle was on the ground at the time of `order`."""
        heights_m = self._heights_m
        return self.order is not None and heights_m is not None and heights_m[self.order.row] <= GROUND_MARGIN_M

    # -- done ----------------------------------------------------------------------------------------------------

    @cached_property
    def takeover(self) -> Takeover | None:
        """The last failsafe that took over after the last request; None if there was none, or if it is over."""
        last_request = max((int(rows[-1]) for rows in self._requests.values() if len(rows)), default=0)
        return self._takeover_between(last_request, self.log.rows)

    @cached_property
    def _mode_changes(self) -> npt.NDArray[np.int64]:
        return mode_changes(self._status)

    def _takeover_between(self, first: int, until: int) -> Takeover | None:
        """Return the last failsafe that took over in some rows, unless it is over."""
        since, end = np.searchsorted(self._mode_changes, (first, until)).tolist()
        return last_takeover(self._status, self._mode_changes[since:end].tolist(), until, self._is_end_of_mission)

    @cached_property
    def _status(self) -> Log:
        return self.log.load((*STATUS, "mission_count", "mission_finished"))

    def _is_end_of_mission(self, row: int) -> bool:
        """Return whether the mission itself changes the mode in this row, with its last item."""
        log = self._status
        if self.flies_setpoints or log["mission_item"][row] != log["mission_count"][row] - 1:
            return False
        mode = log["nav_state"][row]
        if (landing := self._missions.landing_in(row)) is not None:
            return landing.is_return and bool(mode == RETURN_MODE)
        until = int(np.searchsorted(log.time_us, int(log.time_us[row]) + END_US, side="right"))
        return bool(mode == LOITER_MODE) and bool(log["mission_finished"][row:until].any())

    def _is_return_of_mission(self, row: int) -> bool:
        """Return whether the mission that was requested last begins its return, its last item, in this row."""
        is_last, mode = bool((self._requests[MISSION] <= row).all()), self._status["nav_state"][row]
        return is_last and bool(mode == RETURN_MODE) and self._is_end_of_mission(row)

    def _last(self, name: str) -> int:
        values = self.log.get(name)
        return int(values[-1]) if values is not None and len(values) else 0

    @property
    def reports_mission(self) -> bool:
        """Whether the progress of the mission is known: the autopilot reports it, or there is no autopilot."""
        return "mission_finished" in self.log or self.simulation.reports_mission

    @cached_property
    def mission_finished(self) -> bool:
        """Whether the autopilot finished the mission that was requested last, before a failsafe took over."""
        if self._last("mission_finished") == 0 and not is_replaced(self._guiding):
            return False
        finished = self._missions.last_end
        if finished < 0 and is_replaced(self._guiding):  # perhaps while it returned to its end
            finished = max((row for row in self._mode_changes.tolist() if self._is_return_of_mission(row)), default=-1)
        return finished >= 0 and (self.takeover is None or finished <= self.takeover.row)

    @property
    def mission_count(self) -> int:
        """Number of mission items that the autopilot reported."""
        return self._last("mission_count")

    @property
    def mission_item(self) -> int:
        """Current mission item at the end."""
        return self._last("mission_item")

    @cached_property
    def was_armed(self) -> bool | None:
        """Whether the vehicle was ever armed."""
        armed = self.log.get("armed")
        return None if armed is None else bool(armed.any())

    @cached_property
    def crashed_s(self) -> float | None:
        """Time of the first crash, whether or not it ended the run; None without one."""
        if (crashed := self.log["crashed"]).any():
            return int(self.log.time_us[np.flatnonzero(crashed)[0]]) / 1e6
        return self.time_s if self.simulation.is_crashed else None

    @cached_property
    def empty_s(self) -> float | None:
        """Time at which all batteries were empty; None if they were not."""
        return empty_since_s(self.log)

    @cached_property
    def faults(self) -> tuple[FlightEvent, ...]:
        """Faults, and the autopilot's reactions to them."""
        return faults_of(self.log, self.simulation.autopilot.area, has_imposed=self.simulation.may_have_faults)

    @cached_property
    def _heights_m(self) -> npt.NDArray[np.float64] | None:
        if "pos_ned" not in self.log or not self.log.rows:
            return None
        heights: npt.NDArray[np.float64] = -self.log["pos_ned"][:, 2] - float(self.simulation.plant.traits["rest_m"])
        return heights

    @property
    def mode(self) -> str | None:
        """Name of the mode at the end; None if the autopilot reports none."""
        return mode_name(self._last("nav_state")) if "nav_state" in self.log else None

    @property
    def height_m(self) -> float | None:
        """Height at the end [m]."""
        return None if self._heights_m is None else float(self._heights_m[-1])

    @cached_property
    def max_height_m(self) -> float | None:
        """Largest height [m]."""
        return None if self._heights_m is None else float(self._heights_m.max())

    @property
    def max_height_s(self) -> float:
        """Time of the largest height [s]."""
        return 0.0 if self._heights_m is None else int(self.log.time_us[int(self._heights_m.argmax())]) / 1e6

    @cached_property
    def speed_m_s(self) -> float | None:
        """Speed at the end, vertical component included [m/s]."""
        return math.hypot(*self.log["vel_ned"][-1]) if self.log.rows and "vel_ned" in self.log else None

    @property
    def sink_m_s(self) -> float | None:
        """Sink rate at the end [m/s]."""
        return float(self.log["vel_ned"][-1][2]) if self.log.rows and "vel_ned" in self.log else None

    def _tilt_deg(self, row: int) -> float | None:
        if not self.log.rows or "q_bn" not in self.log:
            return None
        _, x, y, _ = self.log["q_bn"][row]
        return float(interpreted(tilt_deg)(float(x), float(y)))

    @cached_property
    def tilt_deg(self) -> float | None:
        """Angle between the body's z axis and down at the end."""
        return self._tilt_deg(-1)

    @cached_property
    def was_upright(self) -> bool:
        """Whether the vehicle was upright enough to stand at the start."""
        return (start_deg := self._tilt_deg(0)) is not None and start_deg < STANDING_DEG

    @cached_property
    def tilted_since_s(self) -> float:
        """Time from which the vehicle was tilted too far to stand until the end [s]."""
        q = self.log["q_bn"]
        upright = np.flatnonzero(1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2) > math.cos(math.radians(STANDING_DEG)))
        row = int(upright[-1]) + 1 if len(upright) else 0
        return int(self.log.time_us[min(row, self.log.rows - 1)]) / 1e6

    @property
    def weight_n(self) -> float | None:
        """Weight of the vehicle at home [N]."""
        is_vehicle = self.simulation.plant.traits["is_vehicle"]
        multirotor = self.simulation.core["plant"]["multirotor"]
        gravity_m_s2 = interpreted(gravity_down_m_s2)(multirotor["gravity"], 0.0)
        return float(multirotor["body"]["mass_kg"]) * float(gravity_m_s2) if is_vehicle else None

    @property
    def thrust_to_weight(self) -> float | None:
        """Full thrust in the air of home relative to the weight."""
        traits = self.simulation.plant.traits
        return float(traits["thrust_to_weight"]) if traits["is_vehicle"] else None

    @cached_property
    def thrusts_n(self) -> npt.NDArray[np.float64] | None:
        """Total thrust of all rotors in each row [N]."""
        thrusts = self.log.get("rotor_thrust_n")
        return None if thrusts is None else thrusts.sum(axis=1)

    @cached_property
    def max_throttle(self) -> float | None:
        """Largest motor command, averaged over the motors."""
        motors = self.log.get("motors")
        return None if motors is None else float(np.nan_to_num(motors).mean(axis=1).max())

    @property
    def _is_held_up(self) -> bool:
        """Whether the vehicle has not moved for a while at too little thrust to hover: something holds it up."""
        weight_n, thrusts_n, time_us = self.weight_n, self.thrusts_n, self.log.time_us
        if weight_n is None or thrusts_n is None or int(time_us[-1]) - int(time_us[0]) < SUPPORTED_US:
            return False
        first = int(np.searchsorted(time_us, int(time_us[-1]) - SUPPORTED_US))
        is_still = bool((np.abs(self.log["vel_ned"][first:]) < SUPPORTED_M_S).all())
        return is_still and bool((thrusts_n[first:] < 0.5 * weight_n).all())

    @cached_property
    def is_down(self) -> bool | None:
        """Whether it is on the ground at the end."""
        return None if self.height_m is None else self.height_m <= GROUND_MARGIN_M or self._is_held_up

    @cached_property
    def down_s(self) -> float:
        """Time from which the vehicle was on the ground until the end; the end if it is in the air."""
        heights_m = self._heights_m
        if heights_m is None or not self.is_down:
            return self.time_s
        row = int(np.flatnonzero(heights_m > GROUND_MARGIN_M).max(initial=-1)) + 1
        return int(self.log.time_us[min(row, self.log.rows - 1)]) / 1e6

    @property
    def is_under_way(self) -> bool:
        """Whether the vehicle moves, is in the air or is armed at the end."""
        return self.is_at_rest is False or bool(self._last("armed"))

    @property
    def is_at_rest(self) -> bool | None:
        """Whether the vehicle is on the ground and not moving at the end."""
        return None if self.is_down is None or self.speed_m_s is None else self.is_down and self.speed_m_s < REST_M_S

    @property
    def is_standing(self) -> bool | None:
        """Whether the vehicle is at rest and upright at the end."""
        return None if self.is_at_rest is None or self.tilt_deg is None else self.is_at_rest and not self.is_tilted

    @property
    def is_tilted(self) -> bool:
        """Whether the vehicle is tilted too far to stand at the end."""
        return self.tilt_deg is not None and self.tilt_deg >= STANDING_DEG

    # -- where ---------------------------------------------------------------------------------------------------

    @cached_property
    def target(self) -> Target | None:
        """Where the flight should end on the ground; None if it should not, or if the place is unknown."""
        if self._heights_m is None:
            return None
        allowed_m = self.allowed_m
        if self.order is None:
            landing = self._landing
            if landing is None or landing.is_return:
                return None if landing is None else self.goal
            name = HOME if landing.place == (0.0, 0.0) else "the mission's landing point"
            return Target(landing.place, name, allowed_m)
        if self.order.name == REQUESTS[RETURN]:
            return self.goal
        north_m, east_m, _ = self.log["pos_ned"][self.order.row].tolist()
        allowed_m += stopping_m(self.log, self.order.row)
        return Target((north_m, east_m), "where the landing was requested", allowed_m)

    @property
    def allowed_m(self) -> float:
        """Allowed distance from home or from the landing point of the mission [m]."""
        return allowed_miss_m(self.log, -1)

    @property
    def is_return(self) -> bool:
        """Whether the flight should end, or a failsafe ended it, with a return."""
        if self.takeover is not None:
            return self.takeover.is_return
        if self.order is not None:
            return self.order.name == REQUESTS[RETURN]
        return self._landing is not None and self._landing.is_return

    @property
    def _landing(self) -> Landing | None:
        """The landing of the mission that was requested last, if it was the last request."""
        is_other = self.flies_setpoints or self.guidance is not None
        return self._missions.landing if self.asks and not is_other else None

    @cached_property
    def goal(self) -> Target | None:
        """Home, or after a return the place that the autopilot chose when the last return began."""
        if self._heights_m is None:
            return None
        place = self._missions.last_goal_of_return(self.simulation.core) if self.is_return else (0.0, 0.0)
        return Target(place, self.simulation.autopilot.area.name_of_goal(place), self.allowed_m)

    @property
    def distance_to_goal_m(self) -> float | None:
        """Horizontal distance from the goal at the end [m]."""
        return None if self.goal is None else math.dist(self.log["pos_ned"][-1][:2].tolist(), self.goal.place)

    @cached_property
    def distance_to_target_m(self) -> float | None:
        """Horizontal distance from the target at the end [m]."""
        return None if self.target is None else math.dist(self.log["pos_ned"][-1][:2].tolist(), self.target.place)

    @cached_property
    def estimate_error_m(self) -> float:
        """Horizontal error of the estimate at the end [m]; 0 without an estimated position."""
        return estimate_error_m(self.log, -1)
