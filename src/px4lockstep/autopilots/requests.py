"""What a scenario asks of an autopilot: requests that act when they come, and the modes that they lead to.

A commander's record has the requests as they were at its last tick, in `asked_arm`, `asked_mission`, `asked_return` and
`asked_land`. Modes are numbered as PX4's `nav_state`.
"""

import numpy as np

from px4lockstep.jit import kernel

MANUAL_MODE, MISSION_MODE, LOITER_MODE, RETURN_MODE = (np.int64(i) for i in (0, 3, 4, 5))
DESCEND_MODE, LAND_MODE = np.int64(12), np.int64(18)

# Bits: several may come at once.
ARM, DISARM, MISSION, RETURN, LAND = (np.int64(1 << i) for i in range(5))


@kernel
def new_requests(c, scenario):
    """Return what the scenario has begun to ask for since the last tick, and note it."""
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
