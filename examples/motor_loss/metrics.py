"""Metrics of the campaign that are its own."""

import math


def landed_m_from_home(run):
    """Distance from the take-off place at the end; NaN if it is not on the ground."""
    if not run.simulation.bus.scenario.landed:
        return math.nan
    north_m, east_m, _ = run.log["pos_ned"][-1]
    return math.sqrt(north_m**2 + east_m**2)
