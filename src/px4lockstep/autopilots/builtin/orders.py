"""Commands to the built-in autopilot in flight, with PX4's rules for what is refused, and its words.

A command changes the state in the autopilot's record before a tick. Arming, mission, return and landing are requests of
the scenario's part of the bus, as those of events are. Selecting a mode while disarmed has no further effect until the
vehicle is armed: a mission is requested then.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from px4lockstep.autopilots import requests
from px4lockstep.autopilots.builtin.commanded import MODE_NAMES, Commanded
from px4lockstep.autopilots.builtin.flight_task import LOITER
from px4lockstep.autopilots.builtin.follow import ABOVE_TARGET
from px4lockstep.autopilots.builtin.guided import INITIAL
from px4lockstep.autopilots.builtin.rally import choose_goal
from px4lockstep.autopilots.builtin.region_of_interest import LOCATION_ROI, NO_ROI
from px4lockstep.autopilots.builtin.sticks import note_motion
from px4lockstep.autopilots.fence import WARN, is_beyond
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.scenario import commands
from px4lockstep.scenario.commands import DENIED, UNSUPPORTED, CommandResult, FlightCommand, Goal, refused
from px4lockstep.scenario.setpoint_rows import NONE, SETPOINT
from px4lockstep.scenario.setpoints import FIELDS, SetpointWriter

OVERRIDABLE = (
    requests.MISSION_MODE,
    requests.LOITER_MODE,
    requests.RETURN_MODE,
    requests.LAND_MODE,
    requests.TAKEOFF_MODE,
    requests.OFFBOARD_MODE,
)
"""Modes in which a pilot takes over by moving the sticks."""
COUNTERS = {
    int(requests.MISSION_MODE): "mission",
    int(requests.RETURN_MODE): "return_home",
    int(requests.LAND_MODE): "land",
}
"""The counter of requests, in the scenario's part of the bus, for each mode that has one."""
UNHEALTHY = "Arming denied: Resolve system health failures first"
LARGEST, LARGEST_YAW_RAD = 1e7, 1e3
SMALLEST_RADIUS_M, LARGEST_RADIUS_M, LARGEST_ACC_M_S2 = 1.0, 1e3, 2.0
"""Limits of PX4's orbit; the smallest radius is its default."""


@dataclass(frozen=True)
class LocalFrame:
    """Where the local frame is: home's latitude and longitude, and its altitude above sea level."""

    projection: MapProjection
    alt_amsl_m: float

    def local(self, lat_deg: float, lon_deg: float, alt_amsl_m: float, here: Any) -> tuple[float, float, float]:
        """Return a place in the local frame; NaN keeps the place or the altitude of `here`."""
        north_m, east_m, down_m = (float(value) for value in here)
        if math.isfinite(lat_deg) and math.isfinite(lon_deg):
            north_m, east_m = self.projection.to_local(lat_deg, lon_deg)
        return north_m, east_m, self.alt_amsl_m - alt_amsl_m if math.isfinite(alt_amsl_m) else down_m


def out_of_range(command: FlightCommand) -> str:
    """Return which number of a command is out of range; empty if none is. NaN means that it is not given."""
    for field in fields(command):
        value, most = getattr(command, field.name), LARGEST_YAW_RAD if field.name == "yaw_rad" else LARGEST
        if isinstance(value, float | int) and abs(value) > most:
            return f"{field.name} = {value} is out of range; at most {most:g} is allowed"
    return ""


class Orders(Commanded):
    """Applies commands that change the state of a flight.

    Args:
        core: The records of the simulation.
        place: Where the local frame is.
        why_no_mission: Returns why the mission can't be flown; empty if it can.
    """

    def __init__(self, core: Any, place: LocalFrame, why_no_mission: Callable[[], str]) -> None:
        super().__init__(core, why_no_mission)
        self._place = place
        self._setpoint = np.zeros(1, SETPOINT)
        self._write_setpoint = SetpointWriter(self._setpoint, "the client")
        self._by_kind: dict[type[FlightCommand], Callable[[Any, int], CommandResult]] = {
            commands.Arm: self._arm,
            commands.Disarm: self._disarm,
            commands.SetMode: lambda command, t_us: self.select(command.nav_state, t_us),
            commands.Takeoff: self._take_off,
            commands.Land: lambda _, t_us: self.select(int(requests.LAND_MODE), t_us),
            commands.Return: lambda _, t_us: self.select(int(requests.RETURN_MODE), t_us),
            commands.Hold: lambda _, t_us: self.select(int(requests.LOITER_MODE), t_us),
            commands.StartMission: lambda _, t_us: self.select(int(requests.MISSION_MODE), t_us),
            commands.GoTo: self._go_to,
            commands.ChangeAltitude: self._change_altitude,
            commands.SetRoi: self._set_roi,
            commands.Orbit: self._orbit,
            commands.ChangeSpeed: self._change_speed,
            commands.SetHome: self._set_home,
            commands.SetCurrentItem: self._set_current,
            commands.FollowTarget: self._take_target,
            commands.Setpoint: self._take_setpoint,
            commands.Sticks: self._take_sticks,
            commands.Heartbeat: self._take_heartbeat,
        }

    def obey(self, command: FlightCommand, time_us: int) -> CommandResult:
        """Apply a command at a tick."""
        self._pilot.commander.takes_commands = 1
        apply = self._by_kind.get(type(command))
        if apply is None:
            return CommandResult(UNSUPPORTED, f"{command.name} is not supported")
        wrong = out_of_range(command)
        return CommandResult(DENIED, wrong) if wrong else apply(command, time_us)

    # -- arming and modes ----------------------------------------------------------------------------------------

    def _arm(self, command: commands.Arm, time_us: int) -> CommandResult:
        commander, scenario = self._pilot.commander, self._bus.scenario
        if self._is_armed:
            return CommandResult()
        if not command.force and (why := self.why_not_armable(time_us)):
            return refused(f"{UNHEALTHY}: {why}")
        commander.mode = self.mode
        scenario.arm += 1
        if self._pilot.land_detector.landed:
            north_m, east_m, _ = self._bus.estimate.pos_ned
            self._move_home(north_m, east_m, 0.0)
        if commander.mode == requests.MISSION_MODE:
            scenario.mission += 1
        return CommandResult()

    def _disarm(self, command: commands.Disarm, _: int) -> CommandResult:
        if self._is_airborne and not command.force:
            return refused("Disarming denied: not landed")
        if self._is_armed:
            self._bus.scenario.arm = 0
        return CommandResult()

    def select(self, mode: int, time_us: int) -> CommandResult:
        """Change the mode, or select it while disarmed."""
        mode = int(requests.STABILIZED_MODE) if mode == requests.MANUAL_MODE else mode
        if mode not in MODE_NAMES or mode in (requests.ORBIT_MODE, requests.DESCEND_MODE):
            return refused(f"Switching to mode {MODE_NAMES.get(mode, mode)} is currently not possible")
        if mode == requests.TAKEOFF_MODE:
            return self._take_off(commands.Takeoff(), time_us)
        if not self._is_armed:
            self._enter(mode)
            return CommandResult()
        why = self.why_not(mode, time_us)
        if why:
            return refused(f"Switching to mode '{MODE_NAMES[mode]}' is currently not possible: {why}")
        scenario = self._bus.scenario
        commander = self._pilot.commander
        if mode in COUNTERS and mode == self.mode and not commander.acted and not commander.failsafe:
            return CommandResult()  # as PX4: it goes on
        places = {int(requests.LOITER_MODE): self._held_ned, int(requests.RETURN_MODE): self._goal_of_return}
        goal = self._goal(places[mode]) if mode in places else None
        self._enter(mode)
        if mode in COUNTERS:
            setattr(scenario, COUNTERS[mode], int(getattr(scenario, COUNTERS[mode])) + 1)
        return CommandResult(goal=goal)

    @property
    def _held_ned(self) -> Any:
        """The place that the vehicle holds or flies to in Hold; in other modes, where it is."""
        leg = self._pilot.navigator.leg
        return leg.target if self.mode == requests.LOITER_MODE and leg.is_valid else self._bus.estimate.pos_ned

    @property
    def _goal_of_return(self) -> Any:
        """The place to which a return leads that begins now."""
        rally = self._pilot.navigator.rally
        fields = {name: getattr(rally, name) for name in ("is_rally_only", "count", "points", "home_ned")}
        chosen = SimpleNamespace(**fields, goal_ned=[0.0, 0.0, 0.0], goal_yaw=0.0)
        interpreted(choose_goal)(chosen, 0.0, self._bus.estimate)
        return chosen.goal_ned

    @staticmethod
    def _goal(place: Any) -> Goal:
        north_m, east_m, down_m = (float(value) for value in place)
        return Goal((north_m, east_m, down_m))

    def _take_off(self, command: commands.Takeoff, time_us: int) -> CommandResult:
        nav, here = self._pilot.navigator, self._bus.estimate.pos_ned
        if self._is_armed and (why := self.why_not(int(requests.TAKEOFF_MODE), time_us)):
            return refused(f"Switching to mode 'Takeoff' is currently not possible: {why}")
        down_m = self._place.local(math.nan, math.nan, command.alt_amsl_m, here)[2]
        if not math.isfinite(command.alt_amsl_m):
            down_m = float(here[2]) - float(self._pilot.guided.takeoff_alt_m)
        nav.takeoff_down_m = min(down_m, float(here[2]))
        nav.takeoff_yaw = command.yaw_rad
        nav.mode = requests.MANUAL_MODE  # also if it is taking off already
        self._enter(int(requests.TAKEOFF_MODE))
        return CommandResult(goal=self._goal((here[0], here[1], nav.takeoff_down_m)))

    # -- guided flight -------------------------------------------------------------------------------------------

    def _go_to(self, command: commands.GoTo, time_us: int) -> CommandResult:
        if not command.changes_mode and self.mode != requests.LOITER_MODE:
            return CommandResult(DENIED)
        if not self._is_armed:  # as PX4: it is accepted, and has no effect
            return self.select(int(requests.LOITER_MODE), time_us)
        if why := self.why_not(int(requests.LOITER_MODE), time_us):
            return refused(f"Reposition is currently not possible: {why}")
        if command.stops:
            self._pilot.navigator.mode = requests.MANUAL_MODE  # hold here, even if it flies to a place
            self._enter(int(requests.LOITER_MODE))
            return CommandResult(goal=self._goal(self._bus.estimate.pos_ned))
        held, here = self._held_ned, self._bus.estimate.pos_ned
        place = self._place.local(
            command.lat_deg, command.lon_deg, command.alt_amsl_m, (held[0], held[1], float(here[2]))
        )
        return self._hold_at(place, command.yaw_rad, command.speed_m_s, "Reposition")

    def _change_altitude(self, command: commands.ChangeAltitude, time_us: int) -> CommandResult:
        if self.mode != requests.LOITER_MODE:
            return refused("")
        if not self._is_armed:
            return CommandResult()
        if why := self.why_not(int(requests.LOITER_MODE), time_us):
            return refused(f"Altitude change is currently not possible: {why}")
        held, here = self._held_ned, self._bus.estimate.pos_ned
        down_m = self._place.local(math.nan, math.nan, command.alt_amsl_m, here)[2]
        return self._hold_at((float(held[0]), float(held[1]), down_m), math.nan, math.nan, "Altitude change")

    def _hold_at(self, place: tuple[float, float, float], yaw_rad: float, speed_m_s: float, what: str) -> CommandResult:
        """Fly to a place and hold there; outside of the geofence, hold and say so, as PX4."""
        nav, leg, fence = self._pilot.navigator, self._pilot.navigator.leg, self._pilot.commander.fence
        is_fenced = bool(fence.is_on) and int(fence.action) not in (0, WARN)
        if is_fenced and interpreted(is_beyond)(fence, place[0], place[1], -place[2]):
            self._enter(int(requests.LOITER_MODE))
            return CommandResult(text=f"{what} is outside geofence", goal=self._goal(place))
        leg.target[:] = place
        leg.kind, leg.is_valid, leg.has_start, leg.has_next = LOITER, 1, 0, 0
        leg.yaw = yaw_rad
        leg.radius_m = nav.acceptance_m
        leg.cruise_m_s = speed_m_s if speed_m_s > 0.0 else math.nan
        nav.mode = requests.LOITER_MODE
        nav.is_reached, nav.is_yaw_reached = 0, 0
        self._enter(int(requests.LOITER_MODE))
        return CommandResult(goal=self._goal(leg.target))

    def _set_roi(self, command: commands.SetRoi, _: int) -> CommandResult:
        """Look at a place in Mission mode; in other modes PX4 turns a gimbal only."""
        nav = self._pilot.navigator
        nav.roi = NO_ROI
        if math.isfinite(command.lat_deg) and math.isfinite(command.lon_deg):
            nav.roi_ne[:] = self._place.projection.to_local(command.lat_deg, command.lon_deg)
            nav.roi, nav.roi_offset = LOCATION_ROI, 0.0
        return CommandResult()

    def _orbit(self, command: commands.Orbit, time_us: int) -> CommandResult:
        if not self._is_airborne or (why := self.why_not(int(requests.LOITER_MODE), time_us)):
            why = why if self._is_airborne else "not in the air"
            return refused(f"Switching to mode 'Orbit' is currently not possible: {why}")
        guided, is_orbiting = self._pilot.guided, self.mode == requests.ORBIT_MODE
        before_m, before_m_s = (
            (float(guided.radius_m), float(guided.orbit_m_s)) if is_orbiting else (SMALLEST_RADIUS_M, 1.0)
        )
        radius_m = command.radius_m if math.isfinite(command.radius_m) else math.copysign(before_m, before_m_s)
        speed_m_s = command.speed_m_s if math.isfinite(command.speed_m_s) else abs(before_m_s)
        if not SMALLEST_RADIUS_M <= abs(radius_m) <= LARGEST_RADIUS_M:
            return self._hover_in_orbit(abs(radius_m), abs(speed_m_s))
        most_m_s = min(math.sqrt(LARGEST_ACC_M_S2 * abs(radius_m)), float(self._pilot.position.speed_max_m_s))
        speed_m_s = max(-most_m_s, min(most_m_s, speed_m_s))
        here = (*guided.centre_ne, guided.orbit_down_m) if is_orbiting else self._bus.estimate.pos_ned
        centre = self._place.local(command.lat_deg, command.lon_deg, command.alt_amsl_m, here)
        guided.centre_ne[0], guided.centre_ne[1], guided.orbit_down_m = centre
        guided.radius_m = abs(radius_m)
        guided.orbit_m_s = math.copysign(speed_m_s, radius_m * speed_m_s)
        guided.yaw_behaviour = command.yaw_behaviour
        self._enter(int(requests.ORBIT_MODE))
        return CommandResult(goal=Goal(centre, abs(radius_m), abs(speed_m_s)))

    def _hover_in_orbit(self, radius_m: float, speed_m_s: float) -> CommandResult:
        """Stay here in orbit mode, or on the circle that is flown, as PX4 does if it can't fly the radius."""
        guided, here = self._pilot.guided, self._bus.estimate.pos_ned
        goal = Goal((float(here[0]), float(here[1]), float(here[2])), max(radius_m, SMALLEST_RADIUS_M), speed_m_s)
        if self.mode != requests.ORBIT_MODE:
            guided.centre_ne[0], guided.centre_ne[1] = float(here[0]) - SMALLEST_RADIUS_M, float(here[1])
            guided.orbit_down_m, guided.radius_m, guided.orbit_m_s = float(here[2]), SMALLEST_RADIUS_M, 0.0
            guided.yaw_behaviour = INITIAL
        self._enter(int(requests.ORBIT_MODE))
        return CommandResult(text="Orbit radius limit exceeded", goal=goal)

    def _change_speed(self, command: commands.ChangeSpeed, _: int) -> CommandResult:
        speed_m_s = command.speed_m_s
        if not math.isfinite(speed_m_s):
            return CommandResult(DENIED, "The speed is not a number")
        self._pilot.navigator.leg.cruise_m_s = speed_m_s if speed_m_s > 0.0 else math.nan
        if self.mode == requests.ORBIT_MODE and speed_m_s > 0.0:
            guided = self._pilot.guided
            guided.orbit_m_s = math.copysign(speed_m_s, float(guided.orbit_m_s))
        return CommandResult()

    def _set_home(self, command: commands.SetHome, _: int) -> CommandResult:
        north_m, east_m, down_m = self._place.local(
            command.lat_deg, command.lon_deg, command.alt_amsl_m, self._bus.estimate.pos_ned
        )
        if not math.isfinite(command.alt_amsl_m):
            down_m = 0.0
        self._move_home(north_m, east_m, down_m)
        return CommandResult()

    def _move_home(self, north_m: float, east_m: float, down_m: float) -> None:
        self._pilot.navigator.rally.home_ned[:] = (north_m, east_m, down_m)
        self._pilot.commander.fence.home_ned[:] = (north_m, east_m, down_m)

    def _set_current(self, command: commands.SetCurrentItem, _: int) -> CommandResult:
        nav = self._pilot.navigator
        if not 0 <= command.item < int(nav.count):
            return CommandResult(DENIED, f"The mission has no item {command.item}")
        nav.first = nav.current = command.item
        nav.is_finished = 0
        if self._is_airborne:
            nav.is_mission_begun = 1
            nav.first = 0
            if self.mode == requests.MISSION_MODE:
                self._bus.scenario.mission += 1  # begins the item
        return CommandResult()

    # -- streams -------------------------------------------------------------------------------------------------

    def _take_setpoint(self, command: commands.Setpoint, time_us: int) -> CommandResult:
        try:
            kind = self._write_setpoint({name: getattr(command, name) for name in FIELDS})
        except InputError as error:
            return CommandResult(DENIED, str(error))
        if kind == NONE:
            return CommandResult(DENIED, "the setpoint has no numbers")
        offboard = self._core["builtin"]["offboard"]
        offboard["setpoint"] = self._setpoint
        offboard["received_us"] = time_us
        offboard["requests"] = self._core["setpoint"]["requests"] = 1  # watch the stream; the mode is set directly
        return CommandResult()

    def _take_target(self, command: commands.FollowTarget, _: int) -> CommandResult:
        given = (command.lat_deg, command.lon_deg, command.alt_amsl_m)
        if not all(map(math.isfinite, given)):
            return CommandResult(DENIED, "the target has no position")
        follow = self._pilot.follow
        place = self._place.local(*given, (0.0, 0.0, 0.0))
        follow.measured_pos[:], follow.measured_vel[:] = place, command.vel_ned
        follow.is_new = 1
        if self.mode != requests.FOLLOW_MODE:
            return CommandResult()
        base_m = place[2] if follow.altitude_mode == ABOVE_TARGET else float(self._pilot.navigator.rally.home_ned[2])
        height_m, distance_m = float(follow.height_m), float(follow.distance_m)
        return CommandResult(goal=Goal((place[0], place[1], base_m - height_m), distance_m))

    def _take_sticks(self, command: commands.Sticks, time_us: int) -> CommandResult:
        values = (command.roll, command.pitch, command.yaw, command.throttle)
        if not all(-1.0 <= value <= 1.0 for value in values):
            return CommandResult(DENIED, "sticks must be within -1 and 1")
        sticks, mode = self._pilot.sticks, self.mode
        moves = interpreted(note_motion)(sticks, time_us, *values)
        sticks.positions[:] = values
        if sticks.received_us == 0 or time_us - int(sticks.received_us) >= int(sticks.loss_us):
            sticks.since_us = time_us
        sticks.received_us = time_us
        if not (moves and self._is_armed and self._may_take_over(mode)):
            return CommandResult()
        self._enter(int(requests.POSITION_MODE if self.has_position else requests.ALTITUDE_MODE))
        return CommandResult(text="Pilot took over using sticks")

    def _take_heartbeat(self, _: commands.Heartbeat, time_us: int) -> CommandResult:
        self._pilot.station.received_us = max(time_us, 1)
        return CommandResult()

    def _may_take_over(self, mode: int) -> bool:
        """Return whether moved sticks change the mode, which PX4 does not allow during the hold before a failsafe."""
        commander = self._pilot.commander
        is_held = bool(commander.due_us) or (bool(commander.acted) and mode == requests.LOITER_MODE)
        return mode in OVERRIDABLE and not is_held and (not commander.acted or bool(commander.delay_us))
