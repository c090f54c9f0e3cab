"""PX4's commander and navigator as seen by a simulator: arming, flying and landing."""

import math
from dataclasses import dataclass

from controller import Controller
from estimator import Estimator
from vectors import Vector

MANUAL, MISSION, LOITER, RETURN, DESCEND, OFFBOARD, LAND = 0, 3, 4, 5, 12, 14, 18
CUSTOM_MODES = {
    MANUAL: (1, 0),
    MISSION: (4, 4),
    LOITER: (4, 3),
    RETURN: (4, 5),
    DESCEND: (4, 6),
    OFFBOARD: (6, 0),
    LAND: (4, 6),
}
READY_US = 3_200_000
"""After the first sensor: the earliest that arming was accepted."""
STALE_US = 1_000_000
GPS_LOST_US = 2_000_000
JUMP_US, LONG_JUMP_US = 500_000, 5_000_000
SETPOINT_LOST_US = 1_000_000
RETURN_M = 15.0
SPEED_M_S = 4.0


@dataclass
class Item:
    """A mission item."""

    command: int
    params: tuple[float, float, float, float]
    lat: float
    lon: float
    alt: float


class Watched:
    """Tracks whether a sensor's values arrive, and whether they change."""

    def __init__(self) -> None:
        self.time_us = -(10**12)
        self.changed_us = -(10**12)
        self._value: object = None

    def take(self, time_us: int, value: object) -> float:
        """Store a value; return the time since the previous one [s]."""
        since = time_us - self.time_us
        if value != self._value:
            self.changed_us = time_us
        self.time_us, self._value = time_us, value
        return min(since / 1e6, 1.0)

    def is_live(self, time_us: int) -> bool:
        return time_us - self.time_us < STALE_US and time_us - self.changed_us < STALE_US


class Commander:
    """The vehicle's state, updated with each sensor message."""

    def __init__(self, parameters: dict[str, str]) -> None:
        self.parameters = parameters
        self.now = Estimator()
        self.control = Controller()
        self.mag, self.baro, self.gps = Watched(), Watched(), Watched()
        self.is_gps_good = False
        self.is_armed = False
        self.mode = LOITER
        self.items: list[Item] = []
        self.item = 0
        self.is_finished = False
        self.said: list[str] = []
        self.reached: list[int] = []
        self.first_us: int | None = None
        self.landed_us: int | None = None
        self.has_flown = False
        self.is_lost = False
        self.setpoint_us = -(10**12)
        self._setpoint: Vector = (0.0, 0.0, 0.0)
        self._armed_us = 0
        self._hold_until_us: int | None = None
        self._target: Vector = (0.0, 0.0, 0.0)
        self._yaw = 0.0
        self._step_s = 0.004
        self._still_us = 0

    # -- sensors -------------------------------------------------------------------------------------------------

    @property
    def is_at_rest(self) -> bool:
        return not self.is_armed

    def imu(self, time_us: int, acc: Vector, gyro: Vector, dt: float) -> None:
        if self.first_us is None:
            self.first_us = time_us
        self._step_s = min(dt, 0.02)
        self.now.imu(acc, gyro, self._step_s, self.is_at_rest)

    def new_mag(self, time_us: int, field: Vector) -> None:
        self.now.mag(field, self.mag.take(time_us, field))

    def new_baro(self, time_us: int, pressure: float) -> None:
        self.now.baro(pressure, self.baro.take(time_us, pressure), self.is_at_rest)

    def new_gps(self, time_us: int, told) -> None:
        self.is_gps_good = told.fix_type >= 3 and told.satellites_visible >= 6
        if not self.is_gps_good:
            return
        since = self.gps.take(time_us, (told.lat, told.lon, told.alt))
        velocity = (told.vn / 100.0, told.ve / 100.0, told.vd / 100.0)
        self.now.gps(told.lat / 1e7, told.lon / 1e7, told.alt / 1e3, velocity, since, self.is_at_rest)

    def jumped(self, step_us: int) -> None:
        """Handle a jump of the clock: after a second the attitude is lost, after ten a failsafe triggers."""
        if not self.is_armed or step_us < JUMP_US:
            return
        if step_us < LONG_JUMP_US:
            self.is_lost = True
            self.said.append("Attitude failure")
        else:
            self.mode = DESCEND
            self.said.append("Failsafe activated: sensors were silent, descending")

    # -- commands ------------------------------------------------------------------------------------------------

    def not_ready(self, time_us: int) -> str | None:
        """Return why it can't be armed, or None."""
        if self.first_us is None or time_us - self.first_us < READY_US:
            return "system is booting"
        if not self.mag.is_live(time_us):
            return "Compass sensor 0 missing or stale"
        if not self.baro.is_live(time_us) and self.parameters.get("SYS_HAS_BARO") != "0":
            return "Barometer 0 missing or stale"
        if not self.is_gps_good or time_us - self.gps.time_us > GPS_LOST_US:
            return "no valid global position"
        return None

    def arm(self, time_us: int) -> bool:
        reason = self.not_ready(time_us)
        if reason is not None:
            self.said += [f"Preflight Fail: {reason}", "Arming denied: Resolve system health failures first"]
            return False
        if not self.is_armed:
            self.is_armed, self._armed_us, self.landed_us, self.has_flown = True, time_us, None, False
            self.control.reset()
            self._target, self._yaw = self.now.pos, self.now.yaw
            self.said.append("Armed by external command")
        return True

    def disarm(self, force: bool) -> bool:
        if self.is_armed and self.has_flown and self.landed_us is None and not force:
            self.said.append("Disarming denied: not landed")
            return False
        self.is_armed = False
        return True

    def new_setpoint(self, time_us: int, position: Vector) -> None:
        self.setpoint_us, self._setpoint = time_us, position

    def has_setpoints(self, time_us: int) -> bool:
        return time_us - self.setpoint_us < SETPOINT_LOST_US

    def is_without_setpoints(self, time_us: int) -> bool:
        """Return whether no controller runs, so that there are no motor commands."""
        return self.mode == OFFBOARD and not self.has_setpoints(time_us)

    def set_mode(self, mode: int, time_us: int) -> bool:
        if mode == OFFBOARD and self.is_armed and not self.has_setpoints(time_us):
            self.said.append("Switching to Offboard is currently not available")
            return False
        if mode == MISSION and not self.items:
            self.said.append("Mission mode is not available: no valid mission")
            return False
        self.mode = mode
        self._hold_until_us = None
        self._target, self._yaw = self.now.pos, self.now.yaw
        if mode == MISSION:
            self.item, self.is_finished = 0, False
        if mode == RETURN:
            self._target = (self.now.pos[0], self.now.pos[1], min(self.now.pos[2], -RETURN_M))
        return True

    # -- flying --------------------------------------------------------------------------------------------------

    def motors(self, time_us: int) -> list[float]:
        """Fly one step; return four zeros when disarmed."""
        if not self.is_armed:
            return [0.0] * 4
        if self.is_lost:
            return [0.05] * 4
        if self.mode != DESCEND and time_us - self.gps.time_us > GPS_LOST_US:
            self.mode = DESCEND
            self.said.append("Failsafe activated: no global position, descending")
        if self.is_without_setpoints(time_us):
            self.mode = LAND
            self.said.append("Failsafe activated: no offboard setpoints, landing")
        flies = self.mode in (MISSION, RETURN, LAND, DESCEND, OFFBOARD) or self.has_flown
        if not flies:
            if time_us - self._armed_us > 10_000_000:  # COM_DISARM_PRFLT
                self.is_armed = False
                self.said.append("Disarmed by auto preflight disarming")
            return [0.05] * 4
        descend = self._navigate(time_us)
        height = -self.now.pos[2]
        self.has_flown = self.has_flown or height > 1.0
        if self._lands(time_us, descend):
            return [0.0] * 4
        return self.control.motors(self.now, self._target, SPEED_M_S, descend, self._yaw, self._step_s)

    def _navigate(self, time_us: int) -> float | None:
        """Select the target; return the descent speed for a landing."""
        if self.mode == MISSION:
            return self._fly_mission(time_us)
        if self.mode in (LAND, DESCEND):
            return self._descent()
        if self.mode == OFFBOARD:
            self._target = self._setpoint
        if self.mode == RETURN:
            if abs(self.now.pos[2] - self._target[2]) < 1.0:
                self._target = (0.0, 0.0, self._target[2])
            if math.hypot(self.now.pos[0], self.now.pos[1]) < 1.0 and self._target[:2] == (0.0, 0.0):
                self.mode = LAND
        return None

    def _fly_mission(self, time_us: int) -> float | None:
        item = self.items[self.item]
        north, east = self.now.local(item.lat, item.lon)
        if item.command == 21:
            self._target = (north, east, self.now.pos[2])
            return self._descent()
        self._target = (north, east, -item.alt)
        off = math.dist(self.now.pos, self._target)
        if self._hold_until_us is None and off < (item.params[1] or 2.0):
            self._hold_until_us = time_us + int(1e6 * (item.params[0] if item.command in (16, 19) else 0.0))
        if self._hold_until_us is not None and time_us >= self._hold_until_us:
            self._next_item()
        return None

    def _next_item(self) -> None:
        self.reached.append(self.item)
        self._hold_until_us = None
        if self.item + 1 < len(self.items):
            self.item += 1
        else:
            self.is_finished = True
            self.mode = LOITER

    def _descent(self) -> float:
        return 1.0 if -self.now.pos[2] > 5.0 else 0.6

    def _lands(self, time_us: int, descend: float | None) -> bool:
        """Return whether it has landed; then it disarms automatically."""
        if descend is None or not self.has_flown:
            self.landed_us = None
            return False
        if self.landed_us is None and self.control.thrust > 0.15:
            self._still_us = time_us
        elif self.landed_us is None and time_us - self._still_us > 500_000:
            self.landed_us = time_us
            self.said.append("Landing detected")
        if self.landed_us is None or time_us - self.landed_us < 2_000_000:
            return self.landed_us is not None
        if self.mode == MISSION:
            self._next_item()
        self.is_armed = False
        self.mode = LOITER
        self.said.append("Disarmed by landing")
        return True
