"""When the batteries of a flight were empty, from its log."""

import numpy as np

from px4lockstep.log.log import Log

WEAK_SOC = 0.1
"""Charge below which a motor that its ESC cuts off means an empty battery; above, something else drew the current."""


def empty_since_s(log: Log) -> float | None:
    """Return the time at which all batteries were empty; None if they were not."""
    if "soc" not in log or not log.rows:
        return None
    charge, cut_off = log["soc"].max(axis=1), log.get("motor_cut_off_mask")
    is_empty = charge <= 0.0
    if cut_off is not None:
        is_empty |= (cut_off != 0) & (charge < WEAK_SOC)
    rows = np.flatnonzero(is_empty)
    return int(log.time_us[rows[0]]) / 1e6 if len(rows) else None
