"""The host's replacement for PX4's commander, which the library does not contain: arming state and mode.

The scenario's requests act on change: arm, disarm, fly the mission, return, land.

A mission start takes two attempts, because the navigator's first results do not refer to the mission. The host requests
mission mode; when the navigator reports the mission as valid, it returns to manual mode for one navigator period, and
then requests mission mode again. `finished` counts only after takeoff, and in a result that is newer than the mode.

PX4's navigator asks its commander for a change of mode by a `vehicle_command`: a mission whose last item is
RETURN_TO_LAUNCH publishes that command, and ends when the vehicle has returned and landed. A mission that ends in the
air continues in hold mode. The host disarms after a flight once the vehicle has landed and its mission, return or
landing is complete; otherwise the navigator would start over.

The only failsafe is the geofence, with the zones of a plan, which the library can't load (`fence`): it holds, returns,
lands or disarms by GF_ACTION. The next request is obeyed again.
"""

from px4lockstep.autopilots import requests
from px4lockstep.autopilots.fence import TERMINATE, WARN, leaves, mode_of_action
from px4lockstep.jit import kernel

# Commands to change the mode: VEHICLE_CMD_NAV_LOITER_UNLIM and so on.
LOITER_COMMAND, RETURN_COMMAND, LAND_COMMAND, REPOSITION_COMMAND = 17, 20, 21, 192
NO_MODE = requests.MANUAL_MODE
GEOFENCE_FAILSAFE = 1


@kernel
def set_mode(c, t_us, mode):
    """Change the mode, and store the time of the change."""
    if c.nav_state != mode:
        c.nav_state = mode
        c.mode_us = t_us


@kernel
def disarm(c, t_us):
    """Stop the motors, and drop all requests."""
    c.is_armed = 0
    c.is_starting = 0
    c.has_flown = 0
    c.is_returning = 0
    c.failsafe = 0
    c.fence.is_outside = 0
    set_mode(c, t_us, requests.MANUAL_MODE)


@kernel
def obey(c, t_us, scenario, outputs):
    """Act on the scenario's new requests; simultaneous ones in the order mission, return, land."""
    asked = requests.new_requests(c, scenario)
    if asked & requests.DISARM:
        disarm(c, t_us)
    if asked & requests.ARM and c.is_armed == 0:
        c.is_armed = 1
        c.armed_us = t_us
    if asked & (requests.MISSION | requests.RETURN | requests.LAND):
        c.is_returning = 0
        c.failsafe = 0
    if asked & requests.MISSION:
        c.is_finished = 0
        if c.is_starting != 2:  # otherwise the mission is already starting
            c.is_starting = 1 if outputs.mission_valid == 0.0 else 0
            set_mode(c, t_us, requests.MISSION_MODE)
    if asked & requests.RETURN:
        c.is_starting = 0
        set_mode(c, t_us, requests.RETURN_MODE)
    if asked & requests.LAND:
        c.is_starting = 0
        set_mode(c, t_us, requests.LAND_MODE)


@kernel
def mode_of_command(command, change_mode):
    """Return the mode that a `vehicle_command` asks for, or `NO_MODE`; `change_mode` is its second parameter."""
    if command == RETURN_COMMAND:
        return requests.RETURN_MODE
    if command == LAND_COMMAND:
        return requests.LAND_MODE
    if command == LOITER_COMMAND or (command == REPOSITION_COMMAND and change_mode == 1.0):
        return requests.LOITER_MODE
    return NO_MODE


@kernel
def serve(c, t_us):
    """Change to the mode that PX4's navigator has asked for; a return that the mission asked for completes it."""
    if c.is_armed != 0 and c.commanded_mode != NO_MODE:
        c.is_returning = int(c.nav_state == requests.MISSION_MODE and c.commanded_mode == requests.RETURN_MODE)
        set_mode(c, t_us, c.commanded_mode)
    c.commanded_mode = NO_MODE


@kernel
def start_mission(c, t_us, outputs):
    """Continue the start of a mission."""
    if c.is_starting == 2 and t_us >= c.manual_until_us:
        c.is_starting = 0
        set_mode(c, t_us, requests.MISSION_MODE)
    elif c.is_starting == 1 and outputs.mission_valid != 0.0:
        c.is_starting = 2
        c.manual_until_us = t_us + c.navigator_us
        set_mode(c, t_us, requests.MANUAL_MODE)


@kernel
def is_mission_done(c, outputs):
    """Return whether PX4 has reported the end of the mission since its mode began."""
    is_new = outputs.mission_us >= float(c.mode_us)
    is_valid = outputs.mission_valid != 0.0 and c.is_starting == 0
    return c.nav_state == requests.MISSION_MODE and is_new and is_valid and outputs.mission_finished != 0.0


@kernel
def watch_fence(c, t_us, estimate):
    """React when the vehicle leaves the geofence in flight."""
    if c.is_armed == 0 or c.has_flown == 0 or not leaves(c.fence, t_us, estimate) or c.fence.action == WARN:
        return
    mode = mode_of_action(c.fence.action)
    if c.fence.action == TERMINATE:
        disarm(c, t_us)
    else:
        c.is_starting = 0
        c.is_returning = 0
        set_mode(c, t_us, mode)
    c.failsafe = GEOFENCE_FAILSAFE


@kernel
def command(c, t_us, scenario, outputs):
    """Run the host's commander for one tick, with PX4's outputs of the previous tick."""
    start_mission(c, t_us, outputs)
    serve(c, t_us)
    obey(c, t_us, scenario, outputs)
    if c.is_armed == 0:
        return
    is_done = is_mission_done(c, outputs)
    if scenario.landed == 0:
        c.has_flown = 1
        if is_done:
            c.is_finished = 1
            set_mode(c, t_us, requests.LOITER_MODE)
    elif c.has_flown != 0:
        is_over = is_done or c.nav_state == requests.RETURN_MODE or c.nav_state == requests.LAND_MODE
        if is_done or c.is_returning != 0:
            c.is_finished = 1
        if is_over:
            disarm(c, t_us)
