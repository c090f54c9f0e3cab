"""Estimate how long a mission takes, from its distances, speeds and holds, and warn if the run ends earlier.

A leg of length d is flown from rest to rest, with limits of speed v, acceleration a and jerk j:

    t = d / v + v / a + a / j,    with v reduced on a short leg, so that v² / a + v a / j ≤ d

The longer of the horizontal and the vertical time counts. Wind, turns and the response of the vehicle are neglected,
and so are acceptance radii. For the built-in mission `simple` the estimate is 66.6 s; real PX4 lands at 67.6 s.
"""

import math
from collections.abc import Mapping

from px4lockstep.autopilots.base import landing_of
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.px4.missions import Command, Mission, MissionItem
from px4lockstep.px4.parameters import known_parameters, resolve
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.spec import Spec

ARM_TIME_S = 1.0
MISSION_TIME_S = 2.0

MAX_VISITS = 10_000
"""Number of visited items after which the estimate stops; it is then too short."""

Params = Mapping[str, float | int]
"""PX4 parameters by name, complete with defaults."""


ENDS_MISSION = ("return", "land", "disarm")
"""Actions of events that end a mission early."""


def short_of_time(spec: Spec) -> tuple[str, ...]:
    """Return a warning if the run probably ends before its mission, or long after it.

    There is none if an override asks for that end.
    """
    mission, timing, scenario = spec.mission, spec.timeline, spec.scenario
    autopilot, actions = spec.autopilot.capabilities, [event.action for event in scenario.events]
    if mission is None or not timing.has_end or not (autopilot.flies and autopilot.has_mission):
        return ()
    starts = [event for _, event in scenario.keyed_events if event.action == "start_mission"]
    name = timing.end_name
    is_override = spec.places.own(("timeline", name)) in spec.places.overrides
    if not starts or is_override or any(action in ENDS_MISSION for action in actions):
        return ()
    known = known_parameters()
    given = {**spec.px4.default_params, **spec.px4_params}
    try:
        params = resolve({name: value for name, value in given.items() if name in known})
        home = MapProjection(spec.home.lat_deg, spec.home.lon_deg)
        time_s = (starts[0].at_s or 0.0) + mission_time_s(mission, home, spec.home.alt_msl_m, params)
    except InputError:  # a mission or parameters that the autopilot refuses, or does not know
        return ()
    end_s = timing.end_us / 1e6
    if time_s * 1e6 > timing.end_us:
        text = f"timeline.{name} = {end_s:g} is probably too short: the mission needs about {time_s:.0f} s"
        return (f"{text}, estimated from its distances, speeds and holds",)
    if timing.ends_after_landing and landing_of(mission, spec.home.lat_deg, spec.home.lon_deg) is None:
        text = f"the mission ends in the air, after about {time_s:.0f} s, but the run ends only after a landing or at"
        return (f"{text} timeline.{name} = {end_s:g}; set timeline.t_end_s, or add a landing to the mission",)
    return ()


def mission_time_s(mission: Mission, home: MapProjection, home_alt_msl_m: float, params: Params) -> float:
    """Return the time from the start of a mission on the ground at home to its end, on the ground or at a loiter."""
    place, total_s, index, cruise = (0.0, 0.0, 0.0), 0.0, 0, float(params["MPC_XY_CRUISE"])
    jumps: dict[int, int] = {}
    for _ in range(MAX_VISITS):
        if index >= len(mission.items):
            break
        item = mission.items[index]
        index += 1
        if item.command is Command.DO_JUMP:
            jumps[index] = jumps.get(index, 0) + 1
            index = item.jump_to if jumps[index] <= item.jump_repeats else index
            continue
        if item.command is Command.DO_CHANGE_SPEED:
            cruise = item.speed_m_s if item.speed_m_s > 0.0 else float(params["MPC_XY_CRUISE"])
            continue
        target = _target(item, place, home, home_alt_msl_m)
        total_s += item.hold_s + _leg_s(place, target, min(cruise, params["MPC_XY_VEL_MAX"]), item, params)
        place = target
        if item.command in (Command.LAND, Command.RETURN_TO_LAUNCH):
            return total_s + _descent_s(place[2], params)
        if item.command is Command.LOITER_UNLIMITED:
            return total_s
    return total_s


def _target(
    item: MissionItem, place: tuple[float, float, float], home: MapProjection, home_alt_msl_m: float
) -> tuple[float, float, float]:
    """Return where an item leads: north, east and height [m]; a landing begins at the current height."""
    if item.command is Command.RETURN_TO_LAUNCH:
        return 0.0, 0.0, place[2]
    if not item.command.has_position:
        return place
    north_m, east_m = home.to_local(item.lat_deg, item.lon_deg)
    if item.command is Command.LAND:
        return north_m, east_m, place[2]
    return north_m, east_m, item.alt_m - (0.0 if item.is_relative_alt else home_alt_msl_m)


def _leg_s(
    start: tuple[float, float, float], end: tuple[float, float, float], cruise: float, item: MissionItem, params: Params
) -> float:
    climb_m = end[2] - start[2]
    up_m_s = params["MPC_TKO_SPEED"] if item.command is Command.TAKEOFF else params["MPC_Z_V_AUTO_UP"]
    vertical_m_s = up_m_s if climb_m > 0.0 else params["MPC_Z_V_AUTO_DN"]
    acc_vertical = params["MPC_ACC_UP_MAX"] if climb_m > 0.0 else params["MPC_ACC_DOWN_MAX"]
    jerk = float(params["MPC_JERK_AUTO"])
    across_s = _rest_to_rest_s(math.hypot(end[0] - start[0], end[1] - start[1]), cruise, params["MPC_ACC_HOR"], jerk)
    return max(across_s, _rest_to_rest_s(abs(climb_m), vertical_m_s, acc_vertical, jerk))


def _rest_to_rest_s(distance_m: float, speed_m_s: float, acc_m_s2: float, jerk_m_s3: float) -> float:
    if distance_m <= 0.0:
        return 0.0
    ramp_s = acc_m_s2 / jerk_m_s3
    reached_m_s = 0.5 * acc_m_s2 * (math.sqrt(ramp_s * ramp_s + 4.0 * distance_m / acc_m_s2) - ramp_s)
    top_m_s = min(speed_m_s, reached_m_s)
    return distance_m / top_m_s + top_m_s / acc_m_s2 + ramp_s if top_m_s > 0.0 else 0.0


def _descent_s(height_m: float, params: Params) -> float:
    """Return the time of a landing: fast above MPC_LAND_ALT1, slowly below MPC_LAND_ALT2."""
    high_m, low_m = params["MPC_LAND_ALT1"], params["MPC_LAND_ALT2"]
    fast, slow = params["MPC_Z_V_AUTO_DN"], params["MPC_LAND_SPEED"]
    descent_s = max(0.0, height_m - high_m) / fast
    descent_s += max(0.0, min(height_m, high_m) - low_m) / (0.5 * (fast + slow))
    return descent_s + max(0.0, min(height_m, low_m)) / slow


def with_requests(scenario: Scenario, has_mission: bool) -> Scenario:
    """Return a scenario that arms and starts the mission, if it does not request them itself.

    Without a mission it requests nothing; with setpoints it only arms.
    """
    actions = [event.action for event in scenario.events]
    changes = {}
    gives_setpoints = scenario.gives_setpoints
    if scenario.arm_time_s is None and (has_mission or gives_setpoints) and "arm" not in actions:
        changes["arm_time_s"] = ARM_TIME_S
    starts = has_mission and not gives_setpoints and "start_mission" not in actions
    if scenario.mission_time_s is None and starts:
        changes["mission_time_s"] = MISSION_TIME_S
    return scenario.model_copy(update=changes)
