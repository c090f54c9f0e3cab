"""PX4's commander and navigator as seen by a simulator: arming, flying and landing."""

import math
from dataclasses import dataclass

from controller import Controller
from estimator import Estimator
from fence import Fence
from parameters import Parameters
from vectors import Vector

MANUAL, MISSION, LOITER, RETURN, DESCEND, OFFBOARD, LAND = 0, 3, 4, 5, 12, 14, 18
NAV_LAND, NAV_RETURN, DO_JUMP, DO_CHANGE_SPEED = 21, 20, 177, 178
DO_SET_ROI_LOCATION, DO_SET_ROI_NONE = 195, 197
CAMERA_AND_GIMBAL = (205, 206, 530, 1000, 2000, 2001, 2500, 2501)
AT_ONCE = (DO_CHANGE_SPEED, DO_SET_ROI_LOCATION, DO_SET_ROI_NONE, *CAMERA_AND_GIMBAL)
"""Commands that take no time."""
CRITICAL, WARNING, INFO = 2, 4, 6
"""Severities of status texts."""
READY_US = 3_200_000
"""After the first sensor: the earliest that arming was accepted."""
STALE_US = 1_000_000
GPS_LOST_US = 2_000_000
JUMP_US, LONG_JUMP_US = 500_000, 5_000_000
SETPOINT_LOST_US = 1_000_000
RETURN_M = 15.0
"""At most RTL_RETURN_ALT: near home PX4 climbs less."""
SPEED_M_S = 4.0
LOW_THRUST = 0.3
"""Fraction of the hover thrust below which a descending vehicle stands on the ground (LNDMC_LOW_T_THR)."""
FENCE_MODES = {2: LOITER, 3: RETURN, 5: LAND}
"""Modes of GF_ACTION; 1 only warns."""
RALLY_M, FROM_HOME_M = 2.0, 10.0
"""A rally point counts if it is so much closer than home, and so far away from it."""
BATTERY_LEVELS = ((0.14, "Low battery", None), (0.06, "Critical battery", RETURN), (0.04, "Emergency battery", LAND))
"""Charge, text, and the mode of the failsafe with COM_LOW_BAT_ACT 3."""


@dataclass
class Item:
    """A mission item."""

    command: int
    params: tuple[float, float, float, float]
    lat: float
    lon: float
    alt: float

    @property
    def has_position(self) -> bool:
        return self.command not in (NAV_RETURN, DO_JUMP, *AT_ONCE)


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

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.now = Estimator()
        self.control = Controller(parameters)
        self.mag, self.baro, self.gps = Watched(), Watched(), Watched()
        self.is_gps_good = False
        self.is_armed = False
        self.mode = LOITER
        self.items: list[Item] = []
        self.item = 0
        self.is_finished = False
        self.is_valid = True  # of the mission
        self.is_failsafe = False
        self.mode_after_disarming = LOITER
        self.jumps: dict[int, int] = {}
        self.fence = Fence()
        self.rally_points: list[tuple[float, float]] = []
        self._goal = (0.0, 0.0)
        self.warned = 0
        self.said: list[tuple[int, str]] = []
        self.reached = -1
        self.first_us: int | None = None
        self.landed_us: int | None = None
        self.has_flown = False
        self.is_lost = False
        self.is_terminated = False
        self.setpoint_us = -(10**12)
        self._setpoint: Vector = (0.0, 0.0, 0.0)
        self._armed_us = 0
        self._hold_until_us: int | None = None
        self._target: Vector = (0.0, 0.0, 0.0)
        self._yaw = 0.0
        self._roi: tuple[float, float] | None = None
        self._step_s = 0.004
        self._still_us = 0
        self._is_over_landing = False

    def say(self, severity: int, text: str) -> None:
        """Say something; like many of PX4's texts, it ends with a tab."""
        self.said.append((severity, f"{text}\t"))

    def fail_safe(self, mode: int, why: str) -> None:
        """Change the mode as a failsafe."""
        self.is_failsafe = True
        self.set_mode(mode)
        self.say(CRITICAL, why)
        self.say(CRITICAL, "Failsafe activated")

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
            self.say(CRITICAL, "Attitude failure")
        else:
            self.fail_safe(DESCEND, "Sensors were silent")

    # -- commands ------------------------------------------------------------------------------------------------

    def not_ready(self, time_us: int) -> str | None:
        """Return why it can't be armed, or None."""
        if self.first_us is None or time_us - self.first_us < READY_US:
            return "system is booting"
        if not self.mag.is_live(time_us):
            return "Compass sensor 0 missing or stale"
        if not self.baro.is_live(time_us) and self.parameters.get("SYS_HAS_BARO") != 0:
            return "Barometer 0 missing or stale"
        if not self.is_gps_good or time_us - self.gps.time_us > GPS_LOST_US:
            return "no valid global position"
        return None

    def arm(self, time_us: int) -> bool:
        reason = self.not_ready(time_us)
        if reason is not None:
            self.said.append((CRITICAL, f"Preflight Fail: {reason}"))
            self.say(CRITICAL, "Arming denied: Resolve system health failures first")
            return False
        if not self.is_armed:
            self.is_armed, self._armed_us, self.landed_us, self.has_flown = True, time_us, None, False
            self.is_failsafe = False
            self.control.reset()
            self._target, self._yaw = self.now.pos, self.now.yaw
            if self.mode == MISSION:  # it flies the mission again
                self.set_mode(MISSION)
            self.say(INFO, "Armed by external command")
        return True

    def disarm(self, force: bool) -> bool:
        if self.is_armed and self.has_flown and self.landed_us is None and not force:
            self.say(CRITICAL, "Disarming denied: not landed")
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

    def command_mode(self, mode: int, time_us: int) -> bool:
        """Change the mode by a command; without a valid mission, it can be armed or in mission mode, but not both."""
        if mode == OFFBOARD and self.is_armed and not self.has_setpoints(time_us):
            self.say(CRITICAL, "Switching to Offboard is currently not available")
            return False
        if mode == MISSION and self.is_armed and not (self.items and self.is_valid):
            self.say(CRITICAL, "Switching to Mission is currently not available")
            return False
        self.is_failsafe = False
        self._intend(mode)
        return True

    def _intend(self, mode: int) -> None:
        """Change the mode other than by a failsafe; after disarming, the last one that allows arming is shown."""
        if mode in (MANUAL, MISSION, LOITER):
            self.mode_after_disarming = mode
        self.set_mode(mode)

    def set_mode(self, mode: int) -> None:
        self.mode = mode
        self._hold_until_us = None
        self._is_over_landing = False
        self._target, self._yaw = self.now.pos, self.now.yaw
        if mode in (MISSION, LAND):
            self.is_finished = False
        if mode == MISSION:
            self.item, self.reached, self.jumps = 0, -1, {}
        if mode == RETURN:
            height_m = min(RETURN_M, self.parameters.get("RTL_RETURN_ALT"))
            self._target = (self.now.pos[0], self.now.pos[1], min(self.now.pos[2], -height_m))
            self._goal, here = (0.0, 0.0), self.now.pos[:2]
            for point in self.rally_points:
                if math.hypot(*point) > FROM_HOME_M and math.dist(here, point) + RALLY_M < math.dist(here, self._goal):
                    self._goal = point

    def new_mission(self, items: list[Item]) -> None:
        """Store a mission, and check it against the geofence."""
        self.items, self.item, self.is_valid, self.is_finished, self.reached = items, 0, True, False, -1
        fence_m = self.parameters.get("GF_MAX_HOR_DIST")
        for number, item in enumerate(items, 1):
            place = self.now.local(item.lat, item.lon)
            is_outside = (fence_m and math.hypot(*place) > fence_m) or not self.fence.allows(place)
            if item.has_position and is_outside:
                self.is_valid = False
                self.say(CRITICAL, f"Geofence violation for waypoint {number}")
                break

    def new_fence(self, items: list[Item]) -> None:
        """Load a fence, and check the mission again."""
        if not self.fence.load(items, self.now.local):
            self.say(CRITICAL, "Geofence invalid, doesn't contain Home position")
        self.new_mission(self.items)

    def new_rally_points(self, items: list[Item]) -> None:
        self.rally_points = [self.now.local(item.lat, item.lon) for item in items]

    def _watch_fence(self, time_us: int) -> None:
        """React to a breach of the fence by GF_ACTION."""
        action = self.parameters.get("GF_ACTION")
        if action == 0 or not self.fence.is_left(time_us, self.now.pos[:2]):
            return
        why = "Geofence: approaching or outside geofence"
        if action in FENCE_MODES:
            self.fail_safe(FENCE_MODES[action], why)
        else:
            self.say(WARNING, why)

    def new_charge(self, remaining: float) -> None:
        """React to a battery's charge."""
        for level, (least, text, mode) in enumerate(BATTERY_LEVELS, 1):
            if remaining < least and self.warned < level:
                self.warned = level
                acts = mode is not None and self.is_armed and self.parameters.get("COM_LOW_BAT_ACT") == 3
                self.say(WARNING, text)
                if acts:
                    self.fail_safe(mode, "Battery")

    # -- flying --------------------------------------------------------------------------------------------------

    def motors(self, time_us: int) -> list[float]:
        """Fly one step; return four zeros when disarmed."""
        if not self.is_armed:
            return [0.0] * 4
        if self.is_lost:
            return [0.05] * 4
        if self.mode != DESCEND and time_us - self.gps.time_us > GPS_LOST_US:
            self.fail_safe(DESCEND, "No valid global position")
        if self.is_without_setpoints(time_us):
            self.fail_safe(LAND, "No offboard setpoints")
        if self.has_flown:
            self._watch_fence(time_us)
        flies = self.mode in (MISSION, RETURN, LAND, DESCEND, OFFBOARD) or self.has_flown
        if not flies:
            if time_us - self._armed_us > 10_000_000:  # COM_DISARM_PRFLT
                self.is_armed = False
                self.say(INFO, "Disarmed by auto preflight disarming")
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
                self._target = (*self._goal, self._target[2])
            if self._target[:2] == self._goal and self._distance(*self._goal) < 1.0:
                self._is_over_landing = True
            if self._is_over_landing:
                return self._descent()
        return None

    def _distance(self, north: float, east: float) -> float:
        return math.hypot(self.now.pos[0] - north, self.now.pos[1] - east)

    def _fly_mission(self, time_us: int) -> float | None:
        while self.items[self.item].command in AT_ONCE and self.mode == MISSION:
            self._look(self.items[self.item])
            self._next_item()
        if self._roi is not None:
            self._yaw = math.atan2(self._roi[1] - self.now.pos[1], self._roi[0] - self.now.pos[0])
        item = self.items[self.item]
        if self.mode != MISSION:
            return None
        if item.command == NAV_RETURN:
            self._next_item()
            self._intend(RETURN)
            return None
        north, east = self.now.local(item.lat, item.lon)
        if item.command == NAV_LAND:
            self._target = (north, east, self.now.pos[2] if self._is_over_landing else self._target[2])
            if not self._is_over_landing and self._distance(north, east) < 2.0:
                self._is_over_landing = True
                self.reached = self.item  # although it has not landed
            return self._descent() if self._is_over_landing else None
        self._target = (north, east, -item.alt)
        off = math.dist(self.now.pos, self._target)
        if self._hold_until_us is None and off < (item.params[1] or 2.0):
            self._hold_until_us = time_us + int(1e6 * (item.params[0] if item.command in (16, 19) else 0.0))
        if self._hold_until_us is not None and time_us >= self._hold_until_us:
            self._next_item()
        return None

    def _look(self, item: Item) -> None:
        """Turn to a region of interest, or end that; other commands that take no time have no effect here."""
        if item.command in (DO_SET_ROI_LOCATION, DO_SET_ROI_NONE):
            self._roi = self.now.local(item.lat, item.lon) if item.command == DO_SET_ROI_LOCATION else None

    def _next_item(self) -> None:
        self.reached = self.item
        self._hold_until_us = None
        number = self.item + 1
        while number < len(self.items) and self.items[number].command == DO_JUMP:
            target, repeats = self.items[number].params[:2]
            done = self.jumps.get(number, 0)
            self.jumps[number] = done + 1
            number = int(target) if done < repeats else number + 1
        if number < len(self.items):
            self.item = number
            return
        self.is_finished = True  # the current item stays the last one that was flown
        if self.landed_us is None:
            self._intend(LOITER)
            self.is_finished = True

    def _descent(self) -> float:
        return 1.0 if -self.now.pos[2] > 5.0 else 0.6

    def _lands(self, time_us: int, descend: float | None) -> bool:
        """Return whether it has landed; then it disarms automatically. Landing finishes the mission in any mode."""
        if descend is None or not self.has_flown:
            self.landed_us = None
            return False
        if self.landed_us is None and self.control.thrust > LOW_THRUST * self.parameters.get("MPC_THR_HOVER"):
            self._still_us = time_us
        elif self.landed_us is None and time_us - self._still_us > 500_000:
            self.landed_us = time_us
            self.say(INFO, "Landing detected")
            if self.mode == MISSION:
                self._next_item()
            self.is_finished = True
        if self.landed_us is None or time_us - self.landed_us < 2_000_000:
            return self.landed_us is not None
        self.is_armed = False
        self.mode = self.mode_after_disarming
        self.say(INFO, "Disarmed by landing")
        return True
