"""The commander: how long the position may be lost."""

import numpy as np
from builtin_modules import estimates

from px4lockstep.autopilots.builtin.commander import COMMANDER, NO_FAILSAFE, POSITION_FAILSAFE, watch_position
from px4lockstep.autopilots.requests import DESCEND_MODE, MISSION_MODE
from px4lockstep.jit import interpreted, view


def test_the_position_may_be_lost_for_a_second():
    """Then the vehicle descends; if the position returns earlier, the second restarts."""
    commander = np.zeros(1, COMMANDER)
    commander["mode"], commander["lost_since_us"] = MISSION_MODE, -1

    def mode(time_us, is_valid):
        estimate = view(estimates(is_valid=is_valid), writable=False)
        interpreted(watch_position)(view(commander, writable=True), time_us, estimate)
        return int(commander["mode"][0])

    assert mode(4_000, 1.0) == MISSION_MODE
    assert mode(8_000, 0.0) == MISSION_MODE
    assert mode(1_007_999, 0.0) == MISSION_MODE
    assert mode(1_007_999, 1.0) == MISSION_MODE
    assert mode(1_012_000, 0.0) == MISSION_MODE
    assert mode(2_011_999, 0.0) == MISSION_MODE
    assert commander["failsafe"][0] == NO_FAILSAFE
    assert mode(2_012_000, 0.0) == DESCEND_MODE
    assert commander["failsafe"][0] == POSITION_FAILSAFE
