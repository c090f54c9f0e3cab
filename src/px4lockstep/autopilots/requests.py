"""What a scenario asks of an autopilot: requests that act when they come, and the modes that they lead to.

A commander's record has the requests as they were at its last tick, in `asked_arm`, `asked_mission`, `asked_return` and
`asked_land`. Modes are numbered as PX4's `nav_state`.
"""

import numpy as np

from px4lockstep.jit import kernel

MANUAL_MODE = np.int64(0)
MISSION_MODE = np.int64(3)
LOITER_MODE = np.int64(4)
RETURN_MODE = np.int64(5)
DESCEND_MODE = np.int64(12)
LAND_MODE = np.int64(18)

# Bits: several may come at once.
ARM = np.int64(1)
DISARM = np.int64(2)
MISSION = np.int64(4)
RETURN = np.int64(8)
LAND = np.int64(16)


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
