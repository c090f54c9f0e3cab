"""Where the built-in autopilot's mission leads, for a map."""

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.simulation import Simulation
from px4lockstep.px4.mission_items import Command


def mission_waypoints(simulation: Simulation) -> npt.NDArray[np.float64]:
    """Return the positions of a mission's items that have one, items × 3, NED [m]; none without such a mission."""
    navigator = simulation.core["builtin"]["navigator"]
    items = navigator["items"][: int(navigator["count"])]
    has_position = [Command(int(command)).has_position for command in items["command"]]
    return np.array(items["pos_ned"][has_position], np.float64).reshape(-1, 3)
