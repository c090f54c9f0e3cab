"""Packs of any voltage as cells in MAVLink's BATTERY_STATUS."""

import pytest

from px4lockstep.autopilots.px4_sitl.api import MAX_V, cells_of


@pytest.mark.parametrize(
    ("voltage_v", "used"),
    [
        (0.0, [0]),
        (12.6, [12_600]),
        (65.534, [65_534]),
        (65.535, [65_534, 1]),
        (84.0, [65_534, 18_466]),
        (400.0, [*[65_534] * 6, 6_796]),
        (MAX_V, [65_534] * 10),
    ],
)
def test_the_cells_add_up_to_the_voltage(voltage_v, used):
    """As MAVLink defines it: at most 65.534 V per cell, the rest in the next; absent cells are 65535."""
    cells = cells_of(voltage_v)
    assert cells == used + [65_535] * (10 - len(used))
    assert sum(used) == round(1000.0 * voltage_v)
