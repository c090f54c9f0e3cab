"""All sensors together: when each speaks, streams of noise of their own, snapshots, and what is refused."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from sensor_suites import (
    GRAVITY_M_S2,
    IDEAL,
    NOISY,
    START_US,
    at_rest,
    every_error,
    sense,
    state,
    suite_of,
    tumbling,
)

from px4lockstep.errors import InputError, TimeError
from px4lockstep.sensors import Barometer, SensorConfig
from px4lockstep.sensors.layout import (
    ACCEL_FIELDS,
    AIRSPEED_FIELDS,
    BARO_FIELDS,
    GYRO_FIELDS,
    MAG_FIELDS,
    SENSOR_OUT,
)

MEASURED = (
    "accel_m_s2",
    "gyro_rad_s",
    "mag_gauss",
    "abs_pressure_hpa",
    "diff_pressure_hpa",
    "gps_alt_mm",
    "gps_vn_cm_s",
)


def test_the_bits_are_those_of_the_message():
    """MAVLink's HIL_SENSOR_UPDATED_FLAGS: x, y, z of each from bit 0 on; absolute pressure is bit 9."""
    bits = [ACCEL_FIELDS, GYRO_FIELDS, MAG_FIELDS, 1 << 9 | 1 << 11 | 1 << 12, AIRSPEED_FIELDS]
    assert bits[:3] == [0b111, 0b111 << 3, 0b111 << 6]
    assert bits[3] == BARO_FIELDS
    assert AIRSPEED_FIELDS == 1 << 10
    first = sense(suite_of(), at_rest(1), fields=("fields_updated",))["fields_updated"]
    assert first.tolist() == [0x1BFF]


@pytest.mark.parametrize("period_us", [20_000, 4_000, 10_000, 33_333])
def test_slow_sensors_keep_their_period_exactly(period_us):
    """The first tick at or after each multiple, over 2,000 ticks: nothing drifts, nothing is left out."""
    config = replace(IDEAL, baro=replace(IDEAL.baro, period_us=period_us))
    fields = sense(suite_of(config), at_rest(2_000), fields=("fields_updated",))["fields_updated"]
    multiples = np.arange(2_000 * 4_000 // period_us + 1) * period_us
    ticks = -(-multiples // 4_000)
    assert np.flatnonzero(fields & BARO_FIELDS).tolist() == ticks[ticks < 2_000].tolist()
    assert np.all(fields & (ACCEL_FIELDS | GYRO_FIELDS) == ACCEL_FIELDS | GYRO_FIELDS)


def test_without_errors_the_same_state_gives_the_same_numbers():
    """Nothing moves a sensor whose errors are off, not even the seed."""
    got = sense(suite_of(seed=1), at_rest(200), fields=MEASURED)
    other = sense(suite_of(seed=2), at_rest(200), fields=MEASURED)
    for name in MEASURED:
        assert len(np.unique(got[name], axis=0)) == 1, name
        assert np.array_equal(got[name], other[name])


def test_the_seed_changes_all_noise_and_nothing_else_does():
    first, again, other = (
        sense(suite_of(every_error(), seed=seed), at_rest(60), fields=MEASURED) for seed in (1, 1, 2)
    )
    for name in MEASURED:
        assert np.array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])


def test_a_sensor_less_changes_no_other():
    """Noise belongs to its sensor: turning the barometer's off leaves all others' bits."""
    quiet = replace(NOISY, baro=Barometer(noise_sigma_pa=0.0, offset_sigma_pa=0.0, drift_sigma_pa=0.0))
    states = tumbling(200)
    noisy, less = (sense(suite_of(config), states, fields=MEASURED) for config in (NOISY, quiet))
    assert not np.array_equal(noisy["abs_pressure_hpa"], less["abs_pressure_hpa"])
    for name in MEASURED:
        if name != "abs_pressure_hpa":
            assert np.array_equal(noisy[name], less[name]), name


def test_a_snapshot_goes_on_to_the_same_bits():
    """Taken while a GPS message waits, restored in another suite too."""
    states = tumbling(120)
    suite, other = suite_of(every_error()), suite_of(every_error())
    sense(suite, states[:61], fields=())
    saved = suite.snapshot()
    expected = sense(suite, states[61:], fields=SENSOR_OUT.names, first=61)
    for resumed in (suite, other):
        resumed.restore(saved)
        got = sense(resumed, states[61:], fields=SENSOR_OUT.names, first=61)
        for name, values in expected.items():
            assert np.array_equal(values, got[name]), name


def test_a_copy_goes_its_own_way():
    """As part of a user's object, whose attributes a simulation's snapshot copies."""
    states = tumbling(120)
    suite = suite_of(every_error())
    sense(suite, states[:61], fields=())
    copied = copy.deepcopy(suite)
    expected = sense(suite, states[61:], fields=SENSOR_OUT.names, first=61)
    got = sense(copied, states[61:], fields=SENSOR_OUT.names, first=61)
    for name, values in expected.items():
        assert np.array_equal(values, got[name]), name


def test_what_it_says_can_not_be_written():
    suite = suite_of()
    with pytest.raises(AttributeError):
        suite.out.abs_pressure_hpa = 1.0
    with pytest.raises(ValueError, match="read-only"):
        suite.out.mag_gauss[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        suite.readings[0] = 1.0


def test_readings_are_what_it_says_but_the_gps_in_the_order_of_mavlink():
    """In a copy, too."""
    suite = suite_of(every_error())
    sense(suite, tumbling(20), fields=())
    for one in (suite, copy.deepcopy(suite)):
        out = one.out
        pressures = [out.abs_pressure_hpa, out.diff_pressure_hpa, out.pressure_alt_m, out.temperature_c]
        assert one.readings.tolist() == [*out.accel_m_s2, *out.gyro_rad_s, *out.mag_gauss, *pressures]
        assert out.abs_pressure_hpa > 900.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period_us": 0}, r"autopilot period = 0 is out of range"),
        ({"period_us": 25_000}, r"sensors\.mag\.period_us = 20000 is shorter than a tick of the autopilot, 25000 us"),
        ({"home_lat_deg": 90.0}, r"latitude = 90\.0 is a pole"),
        ({"home_alt_msl_m": 30_000.0}, r"home altitude = 30000\.0 is out of range; it must be from -5000 to 20000 m"),
        ({"rotor_pos_body_m": ((0.0, 0.0, 0.0),) * 13}, r"rotor_pos_body_m has 13 rotors; at most 12"),
        ({"rotor_pos_body_m": ((0.0, 0.0),)}, r"rotor_pos_body_m\[0\] = \(0\.0, 0\.0\) is not a vector"),
        ({"seed": -1}, r"seed = -1 can't be used"),
    ],
)
def test_what_can_not_be_built_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        suite_of(**options)


def test_a_tick_that_is_left_out_is_an_error():
    """It would be an average over the wrong time."""
    suite = suite_of()
    sense(suite, at_rest(3), fields=())
    arguments = (state(), np.zeros(4), np.zeros(3), 0, GRAVITY_M_S2)
    for time_us in (START_US + 8_000, START_US + 16_000):
        with pytest.raises(
            InputError, match=rf"time_us = {time_us} is not the next tick of the sensors, 1012000; step them"
        ):
            suite.step(time_us, *arguments)
    with pytest.raises(TimeError, match=r"time_us = 0\.5 is not an integer"):
        suite_of().step(0.5, *arguments)


@pytest.mark.parametrize(("states", "rotors", "wind"), [(12, 4, 3), (13, 13, 3), (13, 4, 2)])
def test_arrays_of_the_wrong_length_are_refused(states, rotors, wind):
    with pytest.raises(
        InputError, match=rf"were given {states} states, {rotors} rotor speeds and a wind of {wind} numbers"
    ):
        suite_of().step(0, np.zeros(states), np.zeros(rotors), np.zeros(wind), 0, GRAVITY_M_S2)


def test_the_defaults_fly():
    """A typical controller's sensors need nothing but a home."""
    assert SensorConfig() == SensorConfig(date=2026.0)
