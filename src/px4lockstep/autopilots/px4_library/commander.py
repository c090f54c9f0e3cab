"""The host in the place of PX4's commander, which the library does not have: armed or not, and in which mode.

Requests of the scenario act when they come: to arm, to disarm, to fly the mission, to return, to land.

Starting a mission takes two tries, since the navigator's first answers are of no mission. It is asked for; when it says
that the mission is valid, the host goes back to manual for a navigator period and asks again. `finished` is believed
only after take-off. A vehicle that has flown and stands on the ground again, its mission finished or its return or
landing over, is disarmed: the navigator would begin anew.
"""

from px4lockstep.autopilots import requests
from px4lockstep.jit import kernel


@kernel
def set_mode(c, t_us, mode):
    """Change the mode, and note when."""
    if c.nav_state != mode:
        c.nav_state = mode
        c.mode_us = t_us


@kernel
def disarm(c, t_us):
    """Stop the motors; what was asked for is over."""
    c.is_armed = 0
    c.is_starting = 0
    c.has_flown = 0
    set_mode(c, t_us, requests.MANUAL_MODE)


@kernel
def obey(c, t_us, scenario, outputs):
    """Act on the scenario's requests; those that came together, in the order mission, return, land."""
    asked = requests.new_requests(c, scenario)
    if asked & requests.DISARM:
        disarm(c, t_us)
    if asked & requests.ARM:
        c.is_armed = 1
        c.armed_us = t_us
        c.is_finished = 0
    if asked & requests.MISSION:
        c.is_finished = 0
        if c.is_starting != 2:  # else it is on its way there
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
    """Run the host's commander at a tick, with what PX4 answered at the one before."""
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
