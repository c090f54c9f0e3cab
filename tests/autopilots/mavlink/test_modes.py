"""Flight modes in MAVLink, as measured on PX4."""

import pytest

from px4lockstep.autopilots.mavlink import modes


@pytest.mark.parametrize("number", modes.CUSTOM_MODES)
def test_every_mode_is_read_as_it_is_written(number):
    assert modes.nav_state(modes.custom_mode(number)) == number


def test_an_unknown_mode_has_no_number():
    assert modes.nav_state(9 << 16) is None


@pytest.mark.parametrize(
    ("number", "disarmed", "armed"),
    [(modes.HOLD, 29, 157), (modes.MISSION, 29, 157), (modes.OFFBOARD, 17, 145), (modes.ORBIT, 17, 145)],
)
def test_base_modes_are_those_measured_on_px4(number, disarmed, armed):
    assert (modes.base_mode(number, is_armed=False), modes.base_mode(number, is_armed=True)) == (disarmed, armed)


def test_listed_modes_have_a_standard_mode_or_a_name_and_exist_once():
    numbers = [mode.nav_state for mode in modes.LISTED]
    assert len(numbers) == len({*numbers})
    assert all((mode.standard == 0) == bool(mode.name) for mode in modes.LISTED)
    assert all(mode.nav_state in modes.CUSTOM_MODES for mode in modes.LISTED)
