"""The commander: arming state, mode, and failsafes.

The scenario's requests act on change: arm, disarm (immediately, even in flight), fly the mission, return, land. After a
landing the vehicle disarms automatically after COM_DISARM_LAND (never if 0 or below). A RETURN_TO_LAUNCH item of the
mission changes the mode. Commands (`orders`) write the mode directly. With them, a vehicle that does not take off
disarms COM_DISARM_PRFLT after arming, and holds its position at the end of a takeoff.

Requests for setpoint mode, and the loss of setpoints: `offboard`.

Failsafes in flight, by descending priority; a later one does not override an earlier one:

* position lost for a second: descend with the tilt that has held the vehicle and slightly less thrust, because there is
  no position to hold; at MPC_LAND_SPEED, if the height is still known. The vehicle does the same before that second is
  over, but the mode stays and continues if the position returns;
* motor failure: land (`motor_failure`);
* battery, when its warning level rises, by COM_LOW_BAT_ACT: 0 only warns, 1 returns at critical, 2 lands at critical, 3
  returns at critical and lands at emergency;
* geofence, when the vehicle leaves it (`fence`), by GF_ACTION: 2 holds, 3 returns, 4 stops the motors, 5 lands. 1 is
  no failsafe.

Later requests are obeyed again, so that the pilot can take over. Arming is never denied.

A vehicle that takes commands holds for COM_FAIL_ACT_T before a failsafe of the battery, the geofence or the sticks
(`sticks`) returns or lands, as PX4 does, so that a client can react. It does not hold if a failsafe returns or lands
already, and a vehicle that lands does not return. Others act at once: there is nobody to react.
"""

from typing import Any

import numpy as np

from px4lockstep.autopilots import requests
from px4lockstep.autopilots.area import Area
from px4lockstep.autopilots.builtin.navigator import WORK_START_RETURN
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.vectors import has_position, heading_of
from px4lockstep.autopilots.fence import FENCE, TERMINATE, WARN, leaves, mode_of_action, write_fence
from px4lockstep.jit import kernel, record

# By severity: a failsafe does not override a more severe one.
NO_FAILSAFE, GEOFENCE_FAILSAFE, BATTERY_FAILSAFE, MOTOR_FAILSAFE, POSITION_FAILSAFE = (np.int64(i) for i in range(5))

POSITION_LOSS_US = 1_000_000

LEAST_DELAY_S = 0.1
"""A shorter COM_FAIL_ACT_T is no delay."""

CRITICAL = 2
EMERGENCY = 3

COMMANDER = record(
    [
        ("n_batteries low_battery_action", "i8"),
        ("disarm_land_us", "i8"),  # below 0: never
        ("disarm_preflight_us", "i8"),  # below 0: never
        ("delay_us", "i8"),  # COM_FAIL_ACT_T
        ("fence", FENCE),
        ("is_armed", "i8"),
        ("armed_us", "i8"),  # time of arming
        ("is_armed_in_air mode", "i8"),
        ("failsafe", "i8"),  # last failsafe or battery warning
        ("acted", "i8"),  # last failsafe that acted
        ("missions", "i8"),  # number of mission requests
        ("asked_arm asked_mission asked_return asked_land", "i8"),  # requests at the last tick
        ("has_flown landed_since_us", "i8"),
        ("lost_since_us", "i8"),  # -1: not lost
        ("battery_warning", "i8"),
        ("needs_no_position", "i8"),  # the setpoint in setpoint mode controls neither position nor velocity
        ("takes_commands", "i8"),  # disarms after COM_DISARM_PRFLT
        ("due_us due_mode", "i8"),  # end of the hold before a failsafe, and its mode; 0: none
    ],
    state="is_armed armed_us is_armed_in_air mode failsafe acted missions asked_arm asked_mission asked_return "
    "asked_land has_flown landed_since_us lost_since_us battery_warning needs_no_position takes_commands "
    "due_us due_mode",
)


@kernel
def disarm(c):
    """Stop the motors, and clear failsafes and the requested mode."""
    c.is_armed = 0
    c.mode = requests.MANUAL_MODE
    c.failsafe = NO_FAILSAFE
    c.acted = NO_FAILSAFE
    c.has_flown = 0
    c.battery_warning = 0
    c.fence.is_outside = 0
    c.due_us = 0


@kernel
def obey(c, t_us, bus, is_landed, nav):
    """Act on the scenario's new requests; a mode requested before arming takes effect on arming."""
    asked = requests.new_requests(c, bus.scenario)
    if asked & requests.DISARM:
        disarm(c)
    if asked & requests.ARM and c.is_armed == 0:
        c.is_armed = 1
        c.armed_us = t_us
        c.is_armed_in_air = int(not is_landed)
        nav.home_yaw = heading_of(bus.estimate)
    if asked & requests.MISSION:
        ask(c, requests.MISSION_MODE)
        c.missions += 1
    if asked & requests.RETURN:
        ask(c, requests.RETURN_MODE)
    if asked & requests.LAND:
        ask(c, requests.LAND_MODE)


@kernel
def ask(c, mode):
    """Change the mode on request, and clear failsafes."""
    c.mode = mode
    c.failsafe = NO_FAILSAFE
    c.acted = NO_FAILSAFE
    c.due_us = 0


@kernel
def fail_safe(c, failsafe, mode):
    """Trigger a failsafe, unless a more severe one has acted; `MANUAL_MODE` only warns."""
    if c.acted <= failsafe:
        c.failsafe = failsafe
        if mode != requests.MANUAL_MODE:
            c.mode = mode
            c.acted = failsafe


@kernel
def fail_safe_later(c, t_us, failsafe, mode, can_hold):
    """Trigger a failsafe; if it returns or lands, hold first."""
    if c.takes_commands != 0 and mode == requests.RETURN_MODE and c.mode == requests.LAND_MODE:
        mode = requests.MANUAL_MODE
    is_delayed = c.takes_commands != 0 and c.delay_us > 0 and can_hold and mode != c.mode
    is_delayed = is_delayed and (mode == requests.RETURN_MODE or mode == requests.LAND_MODE)
    if c.acted > failsafe or not (is_delayed and (c.acted == NO_FAILSAFE or c.mode == requests.LOITER_MODE)):
        fail_safe(c, failsafe, mode)
        return
    c.due_mode = requests.LAND_MODE if c.due_us != 0 and c.due_mode == requests.LAND_MODE else mode
    c.due_us = c.due_us if c.due_us != 0 else t_us + c.delay_us
    fail_safe(c, failsafe, requests.LOITER_MODE)


@kernel
def end_hold(c, t_us, can_hold):
    """Return or land at the end of the hold before a failsafe, or when the position to hold is lost."""
    if c.due_us != 0 and (t_us >= c.due_us or not can_hold):
        c.due_us = 0
        c.mode = c.due_mode


@kernel
def watch_battery(c, t_us, bus):
    """React when the worst battery's warning level rises."""
    warning = 0
    for j in range(c.n_batteries):
        warning = max(warning, bus.battery[j].warning)
    if warning <= c.battery_warning:
        return
    c.battery_warning = warning
    mode = requests.MANUAL_MODE
    if warning >= CRITICAL and c.low_battery_action != 0 and c.mode != requests.LAND_MODE:
        lands = c.low_battery_action == 2 or (c.low_battery_action == 3 and warning >= EMERGENCY)
        mode = requests.LAND_MODE if lands else requests.RETURN_MODE
    fail_safe_later(c, t_us, BATTERY_FAILSAFE, mode, has_position(bus.estimate))


@kernel
def watch_position(c, t_us, estimate):
    """React when the position has been invalid for too long."""
    if has_position(estimate):
        c.lost_since_us = -1
    elif c.lost_since_us < 0:
        c.lost_since_us = t_us
    elif c.needs_no_position != 0:
        return
    elif t_us - c.lost_since_us >= POSITION_LOSS_US and c.mode != requests.DESCEND_MODE:
        fail_safe(c, POSITION_FAILSAFE, requests.DESCEND_MODE)


@kernel
def command(c, t_us, bus, is_landed, is_flying, nav):
    """Update arming state and mode; `is_flying` is true once the takeoff is complete."""
    obey(c, t_us, bus, is_landed, nav)
    if c.is_armed == 0:
        return
    if c.mode == requests.MISSION_MODE and nav.mode == requests.MISSION_MODE and nav.work == WORK_START_RETURN:
        c.mode = requests.RETURN_MODE
    if c.mode == requests.TAKEOFF_MODE and nav.mode == requests.TAKEOFF_MODE and nav.is_reached != 0:
        c.mode = requests.LOITER_MODE
    if is_flying and not is_landed:
        c.has_flown = 1
    if not is_landed:
        c.landed_since_us = t_us
    # A vehicle that never left the ground is done if it is to return or land, or if its mission is finished.
    is_finished = c.mode == requests.MISSION_MODE and nav.is_finished != 0 and nav.missions == c.missions
    is_idle = c.has_flown == 0 and (c.mode == requests.RETURN_MODE or c.mode == requests.LAND_MODE or is_finished)
    is_over = c.has_flown != 0 or (is_idle and not is_flying)
    stays = c.takes_commands != 0 and c.has_flown == 0 and c.disarm_preflight_us >= 0
    is_done = is_over and c.disarm_land_us >= 0 and t_us - c.landed_since_us >= c.disarm_land_us
    if is_landed and (is_done or (stays and t_us - c.armed_us >= c.disarm_preflight_us)):
        disarm(c)
    elif c.has_flown != 0:
        end_hold(c, t_us, has_position(bus.estimate))
        watch_battery(c, t_us, bus)
        if c.fence.is_on != 0 and leaves(c.fence, t_us, bus.estimate) and c.fence.action != WARN:
            if c.fence.action == TERMINATE:
                disarm(c)
            fail_safe_later(c, t_us, GEOFENCE_FAILSAFE, mode_of_action(c.fence.action), has_position(bus.estimate))
            if c.mode == requests.LOITER_MODE and c.takes_commands != 0:
                nav.mode = requests.MANUAL_MODE  # hold here, even if it is holding or flying to a place already
        watch_position(c, t_us, bus.estimate)


def write_commander(c: Any, p: Params, n_batteries: int, area: Area) -> None:
    """Write the commander parameters."""
    c["n_batteries"] = n_batteries
    c["low_battery_action"] = p["COM_LOW_BAT_ACT"]
    c["delay_us"] = round(p["COM_FAIL_ACT_T"] * 1e6) if p["COM_FAIL_ACT_T"] > LEAST_DELAY_S else 0
    write_fence(c["fence"], area, p)
    for name, param in (("disarm_land_us", "COM_DISARM_LAND"), ("disarm_preflight_us", "COM_DISARM_PRFLT")):
        c[name] = round(p[param] * 1e6) if p[param] > 0.0 else -1
    c["lost_since_us"] = -1
