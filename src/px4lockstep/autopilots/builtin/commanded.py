"""The built-in autopilot as commands find it: its mode, which modes it can fly, and whether it can be armed.

The rules and the words are PX4's.
"""

from collections.abc import Callable
from typing import Any

from px4lockstep.autopilots import requests
from px4lockstep.autopilots.builtin.commander import CRITICAL, NO_FAILSAFE
from px4lockstep.autopilots.builtin.offboard import needs_position
from px4lockstep.autopilots.builtin.sticks import is_piloted
from px4lockstep.autopilots.builtin.vectors import has_position
from px4lockstep.jit import interpreted, view
from px4lockstep.scenario.setpoint_rows import NONE

MODE_NAMES = {
    0: "Manual",
    1: "Altitude",
    2: "Position",
    3: "Mission",
    4: "Hold",
    5: "Return",
    10: "Acro",
    12: "Descend",
    14: "Offboard",
    15: "Stabilized",
    17: "Takeoff",
    18: "Land",
    19: "Follow Target",
    21: "Orbit",
}
"""The modes that it has, with PX4's names."""
NO_ARMING = (
    requests.RETURN_MODE,
    requests.LAND_MODE,
    requests.DESCEND_MODE,
    requests.FOLLOW_MODE,
    requests.ORBIT_MODE,
)
"""Modes in which PX4 refuses to arm."""
NEW_STICKS_US = 150_000
"""Sticks that were lost count after this time; PX4 refuses a pilot's mode up to 0.1 to 0.15 s after the first input."""
LEAST_COSINE = 0.7
"""Of the tilt with which the vehicle can be armed, 45 degrees."""


class Commanded:
    """The state of the autopilot between two ticks.

    Args:
        core: The records of the simulation.
        why_no_mission: Returns why the mission can't be flown; empty if it can.
    """

    def __init__(self, core: Any, why_no_mission: Callable[[], str]) -> None:
        self._core, self._why_no_mission = core, why_no_mission
        self._pilot = view(core["builtin"], writable=True)
        self._bus = view(core["bus"], writable=True)

    @property
    def mode(self) -> int:
        """The mode; while disarmed, the one that is selected."""
        mode = int(self._pilot.commander.mode)
        return mode if mode != requests.MANUAL_MODE else int(requests.LOITER_MODE)

    @property
    def has_position(self) -> bool:
        """Whether the position is known."""
        return bool(interpreted(has_position)(self._bus.estimate))

    @property
    def _is_armed(self) -> bool:
        return bool(self._pilot.commander.is_armed)

    @property
    def _is_airborne(self) -> bool:
        return self._is_armed and not self._pilot.land_detector.landed

    @property
    def is_flying_mission(self) -> bool:
        """Whether the vehicle flies its mission."""
        return self._is_armed and self.mode == requests.MISSION_MODE

    def hold(self) -> None:
        """Stop, and hold the position."""
        self._enter(int(requests.LOITER_MODE))

    def why_not(self, mode: int, time_us: int) -> str:
        """Return why a mode can't be flown at this time; empty if it can."""
        pilot = self._pilot
        if interpreted(is_piloted)(mode):
            sticks = pilot.sticks
            is_lost = sticks.received_us == 0 or time_us - int(sticks.received_us) >= int(sticks.loss_us)
            if is_lost or time_us - int(sticks.since_us) < NEW_STICKS_US:
                return "No manual control input"
            return "" if self.has_position or mode not in (1, 2) else "No valid position estimate"
        if mode == requests.OFFBOARD_MODE:
            setpoint, received_us = pilot.offboard.setpoint, int(pilot.offboard.received_us)
            if setpoint.kind == NONE or time_us - received_us >= int(pilot.offboard.loss_us):
                return "No offboard signal"
            is_blind = interpreted(needs_position)(setpoint) and not self.has_position
            return "No valid position estimate" if is_blind else ""
        if not self.has_position and mode not in (requests.LAND_MODE, requests.DESCEND_MODE):
            return "No valid position estimate"
        return self._why_no_mission() if mode == requests.MISSION_MODE else ""

    def why_not_armable(self, time_us: int) -> str:
        """Return why the vehicle can't be armed at this time; empty if it can, or is armed."""
        if self._is_armed:
            return ""
        if self.mode in NO_ARMING:
            return f"Mode {MODE_NAMES[self.mode]} is not suitable for takeoff"
        n_batteries = int(self._pilot.commander.n_batteries)
        if any(int(self._bus.battery[i].warning) >= CRITICAL for i in range(n_batteries)):
            return "Low battery level"
        q = self._bus.estimate.q_bn
        if 1.0 - 2.0 * (float(q[1]) * float(q[1]) + float(q[2]) * float(q[2])) < LEAST_COSINE:
            return "Attitude failure"
        if self._pilot.station.is_on and self._pilot.station.is_lost:
            return "No connection to the GCS"
        return self.why_not(self.mode, time_us)

    def _enter(self, mode: int) -> None:
        """Change the mode, and clear failsafes and earlier requests of this tick."""
        commander, scenario = self._pilot.commander, self._bus.scenario
        commander.mode, commander.failsafe, commander.acted, commander.due_us = mode, NO_FAILSAFE, NO_FAILSAFE, 0
        commander.asked_mission, commander.asked_return = scenario.mission, scenario.return_home
        commander.asked_land = scenario.land
