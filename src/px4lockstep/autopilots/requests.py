"""Requests from a scenario to an autopilot, which act on change, and the modes that they lead to.

A commander's record holds the requests of its previous tick in `asked_arm`, `asked_mission`, `asked_return` and
`asked_land`. `arm` counts too: a new request arms a vehicle that has disarmed by itself. Mode numbers are PX4's
`nav_state`.
"""

import numpy as np

from px4lockstep.jit import kernel

MANUAL_MODE, MISSION_MODE, LOITER_MODE, RETURN_MODE = (np.int64(i) for i in (0, 3, 4, 5))
DESCEND_MODE, OFFBOARD_MODE, LAND_MODE = np.int64(12), np.int64(14), np.int64(18)
ALTITUDE_MODE, POSITION_MODE, ACRO_MODE, STABILIZED_MODE = (np.int64(i) for i in (1, 2, 10, 15))
TAKEOFF_MODE, FOLLOW_MODE, ORBIT_MODE = (np.int64(i) for i in (17, 19, 21))

# Bits: several requests may arrive in the same tick.
ARM, DISARM, MISSION, RETURN, LAND = (np.int64(1 << i) for i in range(5))


@kernel
def new_requests(c, scenario):
    """Return the scenario's requests that are new since the last tick, and store the current ones."""
    asked = np.int64(0)
    if scenario.arm != c.asked_arm:
        asked |= ARM if scenario.arm != 0 else DISARM
    if scenario.mission > c.asked_mission:
        asked |= MISSION
    if scenario.return_home > c.asked_return:
        asked |= RETURN
    if scenario.land > c.asked_land:
        asked |= LAND
    c.asked_arm = scenario.arm
    c.asked_mission = scenario.mission
    c.asked_return = scenario.return_home
    c.asked_land = scenario.land
    return asked
