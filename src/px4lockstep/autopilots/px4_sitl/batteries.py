"""Batteries as stock PX4 is told of them: MAVLink's BATTERY_STATUS of a pack whose cells are not measured.

The sum of the cells is the voltage: one holds 65.534 V, and what is more goes into the next. PX4 adds them up.

Reference: https://mavlink.io/en/messages/common.html#BATTERY_STATUS
"""

from collections.abc import Sequence

from px4lockstep.errors import InputError
from px4lockstep.vehicle.battery import Battery

CELLS, FULL_MV, NO_CELL = 10, 65_534, 65_535
"""How many cells there are, what one can hold, and one that there is not."""
MAX_V = CELLS * FULL_MV / 1000.0


def check_batteries(batteries: Sequence[Battery]) -> None:
    """Check that PX4 can be told of batteries.

    Raises:
        InputError: If one has too high a voltage.
    """
    for i, battery in enumerate(batteries):
        highest_v = max(battery.ocv_v)
        if highest_v > MAX_V:
            raise InputError(
                f"power.batteries[{i}].ocv_v has {highest_v:g} V, more than stock PX4 can be told of, {MAX_V:g} V; let "
                "it simulate a battery of its own, by px4.sitl.battery = false"
            )


def cells_of(voltage_v: float) -> list[int]:
    """Return the cells of a pack [mV]."""
    millivolts = min(max(round(1000.0 * voltage_v), 0), CELLS * FULL_MV)
    full, rest = divmod(millivolts, FULL_MV)
    cells = [FULL_MV] * full + [rest] * (rest > 0 or full == 0)
    return cells + [NO_CELL] * (CELLS - len(cells))
