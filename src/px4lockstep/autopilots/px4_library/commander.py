"""The host's replacement for PX4's commander, which the library does not contain: arming state and mode.

The scenario's requests act on change: arm, disarm, fly the mission, return, land.

A mission start takes two attempts, because the navigator's first results do not refer to the mission. The host requests
mission mode; when the navigator reports the mission as valid, it returns to manual mode for one navigator period, and
then requests mission mode again. `finished` is ignored until takeoff. The host disarms after a flight once the vehicle
has landed and its mission, return or landing is complete; otherwise the navigator would start over.
"""

from px4lockstep.autopilots import requests
from px4lockstep.jit import kernel


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
    set_mode(c, t_us, requests.MANUAL_MODE)


@kernel
def obey(c, t_us, scenario, outputs):
    """Act on the scenario's new requests; simultaneous ones in the order mission, return, land."""
    asked = requests.new_requests(c, scenario)
    if asked & requests.DISARM:
        disarm(c, t_us)
    if asked & requests.ARM:
        c.is_armed = 1
        c.armed_us = t_us
        c.is_finished = 0
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
def command(c, t_us, scenario, outputs):
    """Run the host's commander for one tick, with PX4's outputs of the previous tick."""
    if c.is_starting == 2 and t_us >= c.manual_until_us:
        c.is_starting = 0
        set_mode(c, t_us, requests.MISSION_MODE)
    elif c.is_starting == 1 and outputs.mission_valid != 0.0:
        c.is_starting = 2
        c.manual_until_us = t_us + c.navigator_us
        set_mode(c, t_us, requests.MANUAL_MODE)
    obey(c, t_us, scenario, outputs)
    if c.is_armed == 0:
        return
    if scenario.landed == 0:
        c.has_flown = 1
    elif c.has_flown != 0:
        is_over = c.nav_state == requests.RETURN_MODE or c.nav_state == requests.LAND_MODE
        if c.nav_state == requests.MISSION_MODE and outputs.mission_finished != 0.0:
            c.is_finished = 1
            is_over = True
        if is_over:
            disarm(c, t_us)
