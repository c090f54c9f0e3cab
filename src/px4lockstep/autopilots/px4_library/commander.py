"""The host in the place of PX4's commander, which the library does not have: armed or not, and in which mode.

Requests of the scenario act when they come: to arm, to disarm, to fly the mission, to return, to land.

Starting a mission takes two tries, since the navigator's first answers are of no mission. It is asked for; when it says
that the mission is valid, the host goes back to manual for a navigator period and asks again. `finished` is believed
only after take-off. A vehicle that has flown and stands on the ground again, its mission finished or its return or
landing over, is disarmed: the navigator would begin anew.
"""

import numpy as np

from px4lockstep.jit import kernel

MANUAL = np.int64(0)
MISSION = np.int64(3)
RETURN = np.int64(5)
LAND = np.int64(18)


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
    set_mode(c, t_us, MANUAL)


@kernel
def obey(c, t_us, scenario, heard):
    """Act on the scenario's requests; those that came together, in the order mission, return, land."""
    if scenario.arm != c.asked_arm:
        c.asked_arm = scenario.arm
        if scenario.arm != 0:
            c.is_armed = 1
            c.armed_us = t_us
            c.is_finished = 0
        else:
            disarm(c, t_us)
    if scenario.mission > c.asked_mission:
        c.is_finished = 0
        if c.is_starting != 2:  # else it is on its way there
            c.is_starting = 1 if heard.mission_valid == 0.0 else 0
            set_mode(c, t_us, MISSION)
    if scenario.return_home > c.asked_return:
        c.is_starting = 0
        set_mode(c, t_us, RETURN)
    if scenario.land > c.asked_land:
        c.is_starting = 0
        set_mode(c, t_us, LAND)
    c.asked_mission = scenario.mission
    c.asked_return = scenario.return_home
    c.asked_land = scenario.land


@kernel
def command(c, t_us, scenario, heard):
    """Run the host's commander at a tick, with what PX4 answered at the one before."""
    if c.is_starting == 2 and t_us >= c.manual_until_us:
        c.is_starting = 0
        set_mode(c, t_us, MISSION)
    elif c.is_starting == 1 and heard.mission_valid != 0.0:
        c.is_starting = 2
        c.manual_until_us = t_us + c.navigator_us
        set_mode(c, t_us, MANUAL)
    obey(c, t_us, scenario, heard)
    if c.is_armed == 0:
        return
    if scenario.landed == 0:
        c.has_flown = 1
    elif c.has_flown != 0:
        is_over = c.nav_state == RETURN or c.nav_state == LAND
        if c.nav_state == MISSION and heard.mission_finished != 0.0:
            c.is_finished = 1
            is_over = True
        if is_over:
            disarm(c, t_us)
