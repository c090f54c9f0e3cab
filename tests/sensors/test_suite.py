"""All sensors together: timing, independent noise, state, and invalid input."""

import numpy as np
import pytest
from sensor_suites import (
    IDEAL,
    NOISY,
    at_rest,
    every_error,
    hash_results,
    replace,
    sense,
    suite_of,
    tumbling,
)

from px4lockstep.errors import InputError
from px4lockstep.sensors import Airspeed, Barometer, Gps, SensorConfig
from px4lockstep.sensors.suite import (
    ACCEL_FIELDS,
    AIRSPEED_FIELDS,
    BARO_FIELDS,
    GYRO_FIELDS,
    MAG_FIELDS,
    READINGS,
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


REPORTED = "9b23b3be79fae80fdd4c686f0630b073e536f9179883acd911cb23441fa37b34"
"""SHA-256 of all that the sensors reported when Python stepped them, in version 0.1."""


def test_the_sensors_match_their_golden_data():
    """Bit-identical, with all errors and faults."""
    assert hash_results()[0] == REPORTED


def test_the_bits_are_those_of_the_message():
    """MAVLink HIL_SENSOR_UPDATED_FLAGS: x, y, z of each sensor from bit 0 on; absolute pressure is bit 9."""
    bits = [ACCEL_FIELDS, GYRO_FIELDS, MAG_FIELDS, 1 << 9 | 1 << 11 | 1 << 12, AIRSPEED_FIELDS]
    assert bits[:3] == [0b111, 0b111 << 3, 0b111 << 6]
    assert bits[3] == BARO_FIELDS
    assert AIRSPEED_FIELDS == 1 << 10
    first = sense(suite_of(), at_rest(1), fields=("fields_updated",))["fields_updated"]
    assert first.tolist() == [0x1BFF]


@pytest.mark.parametrize("period_us", [20_000, 4_000, 10_000, 33_333])
def test_slow_sensors_keep_their_period_exactly(period_us):
    """The first tick at or after each multiple, over 2,000 ticks: no drift and no omission."""
    config = replace(IDEAL, baro=replace(IDEAL.baro, period_us=period_us))
    fields = sense(suite_of(config), at_rest(2_000), fields=("fields_updated",))["fields_updated"]
    multiples = np.arange(2_000 * 4_000 // period_us + 1) * period_us
    ticks = -(-multiples // 4_000)
    assert np.flatnonzero(fields & BARO_FIELDS).tolist() == ticks[ticks < 2_000].tolist()
    assert np.all(fields & (ACCEL_FIELDS | GYRO_FIELDS) == ACCEL_FIELDS | GYRO_FIELDS)


def test_without_errors_the_same_state_gives_the_same_numbers():
    """Without errors, nothing changes a sensor, not even the seed."""
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


def test_changing_one_sensor_changes_no_other():
    """Noise belongs to its sensor: without the barometer's, all others stay bit-identical."""
    quiet = replace(NOISY, baro=Barometer(noise_sigma_pa=0.0, offset_sigma_pa=0.0, drift_sigma_pa=0.0))
    states = tumbling(200)
    noisy, less = (sense(suite_of(config), states, fields=MEASURED) for config in (NOISY, quiet))
    assert not np.array_equal(noisy["abs_pressure_hpa"], less["abs_pressure_hpa"])
    for name in MEASURED:
        if name != "abs_pressure_hpa":
            assert np.array_equal(noisy[name], less[name]), name


def test_a_restored_state_continues_bit_identically():
    """While a GPS message waits, and in other sensors of the same configuration: there is no other state."""
    states = tumbling(120)
    suite, other = suite_of(every_error()), suite_of(every_error())
    sense(suite, states[:61], fields=())
    saved = suite.record.copy()
    expected = sense(suite, states[61:], fields=SENSOR_OUT.names)
    for resumed in (suite, other):
        for name in ("state", "out"):
            resumed.record[name] = saved[name]
        got = sense(resumed, states[61:], fields=SENSOR_OUT.names)
        for name, values in expected.items():
            assert np.array_equal(values, got[name]), name


def test_ticks_do_not_change_the_configuration():
    """All changes are in the state, which is zero before the first tick."""
    suite = suite_of(every_error())
    before = suite.record.copy()
    assert not any(before["state"].tobytes())
    sense(suite, tumbling(100), fields=(), masks=[31] * 100, rotor_speeds=(700.0,) * 4)
    assert suite.record["config"].tobytes() == before["config"].tobytes()
    assert suite.record["address"] == before["address"]


def test_the_readings_are_all_outputs_but_the_gps():
    """In the order of MAVLink HIL_SENSOR: 13 numbers at the start of the record."""
    first = SENSOR_OUT.names.index("fields_updated")
    assert SENSOR_OUT.fields["fields_updated"][1] == 8 * READINGS
    assert SENSOR_OUT.names[:first] == (
        "accel_m_s2",
        "gyro_rad_s",
        "mag_gauss",
        "abs_pressure_hpa",
        "diff_pressure_hpa",
        "pressure_alt_m",
        "temperature_c",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"period_us": 25_000},
            r"sensors\.mag\.period_us = 20000 is shorter than an autopilot tick; use at least 25000 us",
        ),
        ({"home_lat_deg": 90.0}, r"latitude = 90\.0 is a pole"),
        ({"home_alt_msl_m": 30_000.0}, r"home altitude = 30000\.0 is out of range; it must be from -5000 to 20000 m"),
        ({"seed": -1}, r"seed = -1 is invalid"),
    ],
)
def test_invalid_sensors_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        suite_of(**options)


def test_omitted_keys_have_their_defaults():
    """All keys or some; there is an airspeed sensor if its table is given."""
    made = SensorConfig(gps=Gps(on_fault="freeze", satellites=9), airspeed=Airspeed())
    assert (made.gps.on_fault, made.gps.satellites, made.gps.eph_m) == ("freeze", 9, 1.0)
    assert made.baro == SensorConfig().baro
    assert SensorConfig().airspeed is None
