"""A metric in Python for the campaign."""

import math


def landed_m_from_home(run):
    """Return the final distance from the take-off position; NaN if the vehicle has not landed."""
    if not run.simulation.bus.scenario.landed:
        return math.nan
    north_m, east_m, _ = run.log["pos_ned"][-1]
    return math.sqrt(north_m**2 + east_m**2)
