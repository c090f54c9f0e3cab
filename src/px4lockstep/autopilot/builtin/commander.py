"""The commander: armed or not, in which mode, and what to do when something is wrong.

Requests of the scenario act on their edges: to arm, to disarm (at once, also in flight), to fly the mission, to return,
to land. After a landing the vehicle disarms by itself, COM_DISARM_LAND later (not if below 0).

What it acts on by itself, the first of these that applies:

* position lost for a second: descend, with the tilt and a bit less than the thrust that held the vehicle so far (there
  is nothing to hold a place with); until then likewise, but the mode stays and goes on if the position comes back;
* a motor that fails: land (`motor_failure`);
* battery, when its warning rises: by COM_LOW_BAT_ACT, 0 only warns, 1 returns at critical, 2 lands at critical, 3
  returns at critical and lands at emergency;
* geofence, when the vehicle leaves GF_MAX_HOR_DIST or GF_MAX_VER_DIST around home: by GF_ACTION, 0 and 1 only warn, 2
  holds, 3 returns, 4 stops the motors, 5 lands.

A request after that is obeyed again: the pilot may take over.
"""

import numpy as np

from px4lockstep.autopilot.builtin.navigator import (
    DESCEND_MODE,
    LAND_MODE,
    LOITER_MODE,
    MANUAL_MODE,
    MISSION_MODE,
    RETURN_MODE,
)
from px4lockstep.autopilot.builtin.vectors import norm_xy
from px4lockstep.jit import kernel, record

NO_FAILSAFE = np.int64(0)
BATTERY_FAILSAFE = np.int64(1)
GEOFENCE_FAILSAFE = np.int64(2)
POSITION_FAILSAFE = np.int64(3)
MOTOR_FAILSAFE = np.int64(4)

POSITION_LOSS_US = 1_000_000

CRITICAL = 2
EMERGENCY = 3

COMMANDER = record(
    [
        ("n_batteries", "i8"),
        ("low_battery_action", "i8"),
        ("disarm_land_us", "i8"),  # below 0: never
        ("fence_radius_m", "f8"),  # 0: none
        ("fence_height_m", "f8"),
        ("fence_action", "i8"),
        ("is_armed", "i8"),
        ("armed_us", "i8"),  # when it was
        ("mode", "i8"),
        ("failsafe", "i8"),
        ("asked_arm", "i8"),  # requests as they were at the last tick
        ("asked_mission", "i8"),
        ("asked_return", "i8"),
        ("asked_land", "i8"),
        ("has_flown", "i8"),
        ("landed_since_us", "i8"),
        ("lost_since_us", "i8"),  # -1: not lost
        ("battery_warning", "i8"),
        ("is_outside", "i8"),
    ]
)


@kernel
def disarm(c):
    """Stop the motors, and forget what was wrong."""
    c.is_armed = 0
    c.mode = MANUAL_MODE
    c.failsafe = NO_FAILSAFE
    c.has_flown = 0
    c.battery_warning = 0
    c.is_outside = 0


@kernel
def obey(c, t_us, scenario):
    """Obey the scenario's requests, on their edges."""
    if scenario.arm != c.asked_arm:
        c.asked_arm = scenario.arm
        disarm(c)
        c.is_armed = int(scenario.arm != 0)
        c.armed_us = t_us
        # what was asked for before arming is asked for now
        c.asked_mission, c.asked_return, c.asked_land = 0, 0, 0
    mode = c.mode
    if scenario.mission > c.asked_mission:
        mode = MISSION_MODE
    if scenario.return_home > c.asked_return:
        mode = RETURN_MODE
    if scenario.land > c.asked_land:
        mode = LAND_MODE
    is_asked = mode != c.mode or scenario.mission > c.asked_mission
    if is_asked:
        c.mode = mode
        c.failsafe = NO_FAILSAFE
    c.asked_mission = scenario.mission
    c.asked_return = scenario.return_home
    c.asked_land = scenario.land


@kernel
def fail_safe(c, failsafe, mode):
    """Change the mode for a reason."""
    c.failsafe = failsafe
    if mode != MANUAL_MODE and c.has_flown != 0:
        c.mode = mode


@kernel
def watch_battery(c, bus):
    """React when the worst battery's warning rises."""
    warning = 0
    for j in range(c.n_batteries):
        warning = max(warning, bus.battery[j].warning)
    if warning <= c.battery_warning:
        return
    c.battery_warning = warning
    mode = MANUAL_MODE
    if warning >= CRITICAL and c.low_battery_action != 0:
        lands = c.low_battery_action == 2 or (c.low_battery_action == 3 and warning >= EMERGENCY)
        mode = LAND_MODE if lands else RETURN_MODE
    if c.mode != LAND_MODE and c.mode != DESCEND_MODE:
        fail_safe(c, BATTERY_FAILSAFE, mode)


@kernel
def watch_fence(c, estimate):
    """React when the vehicle leaves the geofence."""
    away, height = norm_xy(estimate.pos_ned[0], estimate.pos_ned[1]), -estimate.pos_ned[2]
    is_outside = (c.fence_radius_m > 0.0 and away > c.fence_radius_m) or (
        c.fence_height_m > 0.0 and height > c.fence_height_m
    )
    if is_outside and c.is_outside == 0:
        if c.fence_action == 4:
            disarm(c)
            c.failsafe = GEOFENCE_FAILSAFE
        elif c.fence_action == 2:
            fail_safe(c, GEOFENCE_FAILSAFE, LOITER_MODE)
        elif c.fence_action == 3:
            fail_safe(c, GEOFENCE_FAILSAFE, RETURN_MODE)
        elif c.fence_action == 5:
            fail_safe(c, GEOFENCE_FAILSAFE, LAND_MODE)
        else:
            fail_safe(c, GEOFENCE_FAILSAFE, MANUAL_MODE)
    c.is_outside = int(is_outside)


@kernel
def watch_position(c, t_us, estimate):
    """React when there has been no position for a while."""
    if estimate.is_valid != 0.0:
        c.lost_since_us = -1
    elif c.lost_since_us < 0:
        c.lost_since_us = t_us
    elif t_us - c.lost_since_us >= POSITION_LOSS_US and c.mode != DESCEND_MODE:
        fail_safe(c, POSITION_FAILSAFE, DESCEND_MODE)


@kernel
def command(c, t_us, bus, is_landed):
    """Decide whether the vehicle is armed, and its mode."""
    scenario, estimate = bus.scenario, bus.estimate
    obey(c, t_us, scenario)
    if c.is_armed == 0:
        return
    if not is_landed:
        c.has_flown = 1
        c.landed_since_us = t_us
    elif c.has_flown != 0 and c.disarm_land_us >= 0 and t_us - c.landed_since_us >= c.disarm_land_us:
        disarm(c)
        return
    watch_battery(c, bus)
    if c.fence_radius_m > 0.0 or c.fence_height_m > 0.0:
        watch_fence(c, estimate)
    watch_position(c, t_us, estimate)
