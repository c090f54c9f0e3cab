"""Sensor faults of the scenario: each kind on each sensor, during the fault and after it."""

import numpy as np
import pytest
from sensor_suites import IDEAL, NOISY, PERIOD_US, replace, sense, state, suite_of

from px4lockstep.plant.layout import (
    SENSOR_FAULT_ACCEL,
    SENSOR_FAULT_BARO,
    SENSOR_FAULT_EST_FREEZE,
    SENSOR_FAULT_GPS,
    SENSOR_FAULT_GYRO,
    SENSOR_FAULT_MAG,
)
from px4lockstep.sensors.suite import ACCEL_FIELDS, BARO_FIELDS, GYRO_FIELDS, MAG_FIELDS

TICKS, FIRST, END = 600, 200, 400

# Bit of the mask, field of the output, its unit in that of the fault, bits of fields_updated.
SENSORS = {
    "gyro": (SENSOR_FAULT_GYRO, "gyro_rad_s", 1.0, GYRO_FIELDS),
    "accel": (SENSOR_FAULT_ACCEL, "accel_m_s2", 1.0, ACCEL_FIELDS),
    "mag": (SENSOR_FAULT_MAG, "mag_gauss", 1.0, MAG_FIELDS),
    "baro": (SENSOR_FAULT_BARO, "abs_pressure_hpa", 100.0, BARO_FIELDS),
    "gps": (SENSOR_FAULT_GPS, "gps_alt_mm", -1e-3, None),
}
FIELDS = tuple(field for _, field, _, _ in SENSORS.values())
SIZES = {
    "gyro": (0.1, 0.0, -0.2),
    "accel": (1.0, -0.5, 0.25),
    "mag": (0.1, 0.2, -0.1),
    "baro": 40.0,
    "gps": (9.0, 0.0, 7.0),
}


def faulty(config, sensor, kind):
    """Return sensors of which one has a kind of fault."""
    if sensor in ("gyro", "accel"):
        part = replace(getattr(config.imu, sensor), on_fault=kind, fault_size=SIZES[sensor])
        return replace(config, imu=replace(config.imu, **{sensor: part}))
    size = {"mag": "fault_size", "baro": "fault_size_pa", "gps": "fault_size_m"}[sensor]
    part = replace(getattr(config, sensor), on_fault=kind, **{size: SIZES[sensor]})
    return replace(config, **{sensor: part})


def climbing():
    """Return a vehicle that climbs, turns and accelerates, so that no value is constant."""
    times = PERIOD_US / 1e6 * np.arange(TICKS)
    return [
        state(
            (0.0, 0.0, -t),
            (0.1 * t * t, 0.0, -1.0),
            (np.cos(0.1 * t * t), 0.0, 0.0, np.sin(0.1 * t * t)),
            (0, 0, 0.4 * t),
        )
        for t in times
    ]


def flown(config, mask):
    masks = np.where((np.arange(TICKS) >= FIRST) & (np.arange(TICKS) < END), mask, 0)
    return sense(
        suite_of(config), climbing(), fields=(*FIELDS, "fields_updated", "gps_updated", "gps_fix_type"), masks=masks
    )


def in_units(values, sensor):
    return SENSORS[sensor][2] * values


@pytest.fixture(scope="module")
def healthy():
    return {"ideal": flown(IDEAL, 0), "noisy": flown(NOISY, 0)}


@pytest.mark.parametrize("kind", ["dropout", "freeze", "bias", "drift", "noise"])
@pytest.mark.parametrize("sensor", SENSORS)
def test_a_fault_affects_only_its_sensor_and_only_while_active(healthy, sensor, kind):
    """All other values are those of a flight without it: noise and biases continue during the fault."""
    mask, field, _, _ = SENSORS[sensor]
    got = flown(faulty(NOISY, sensor, kind), mask)
    for name in FIELDS:
        same = np.all(np.atleast_2d((got[name] == healthy["noisy"][name]).T), axis=0)
        if name != field:
            assert same.all(), name
        assert same[:FIRST].all()
        # A slow sensor holds its last value until its next sample.
        assert same[END + 50 :].all()
        if name == field:  # except the first sample of a drift, and values that agree by chance
            assert np.mean(same[FIRST + 100 : END]) < 0.2


@pytest.mark.parametrize("sensor", ["gyro", "accel", "mag", "baro"])
def test_dropout_gives_no_new_samples(healthy, sensor):
    """The bits are missing and the value holds; the other sensors report."""
    mask, field, _, bits = SENSORS[sensor]
    got = flown(IDEAL, mask)
    during = slice(FIRST, END)
    assert not np.any(got["fields_updated"][during] & bits)
    expected = healthy["ideal"]["fields_updated"]
    assert np.array_equal(got["fields_updated"][during], expected[during] & ~bits)
    assert np.array_equal(got["fields_updated"][:FIRST], expected[:FIRST])
    assert np.array_equal(got["fields_updated"][END:], expected[END:])
    assert np.all(got[field][during] == got[field][FIRST - 1])


@pytest.mark.parametrize("sensor", SENSORS)
def test_freeze_repeats_the_last_sample(healthy, sensor):
    """With the bits set as in normal operation, and with a GPS fix."""
    mask, field, _, _ = SENSORS[sensor]
    got = flown(faulty(IDEAL, sensor, "freeze"), mask)
    assert np.all(got[field][FIRST:END] == got[field][FIRST - 1])
    for name in ("fields_updated", "gps_updated", "gps_fix_type"):
        assert np.array_equal(got[name], healthy["ideal"][name])


@pytest.mark.parametrize("sensor", SENSORS)
def test_bias_is_added(healthy, sensor):
    mask, field, _, _ = SENSORS[sensor]
    got = flown(faulty(IDEAL, sensor, "bias"), mask)
    error = in_units(got[field] - healthy["ideal"][field], sensor)[FIRST + 50 : END]
    size = {"baro": 40.0, "gps": 7.0}.get(sensor, SIZES[sensor])
    np.testing.assert_allclose(error, np.broadcast_to(size, error.shape), atol=1e-9)


@pytest.mark.parametrize("sensor", SENSORS)
def test_drift_grows_from_zero(healthy, sensor):
    """By its size per second since the first affected sample, for new samples."""
    mask, field, _, bits = SENSORS[sensor]
    got = flown(faulty(IDEAL, sensor, "drift"), mask)
    is_new = got["gps_updated"] != 0 if bits is None else got["fields_updated"] & bits != 0
    ticks = [tick for tick in np.flatnonzero(is_new) if FIRST <= tick < END]
    assert len(ticks) >= 4
    for tick in ticks:
        error = in_units(got[field][tick] - healthy["ideal"][field][tick], sensor)
        size = np.array({"baro": 40.0, "gps": 7.0}.get(sensor, SIZES[sensor]))
        np.testing.assert_allclose(
            error, size * (tick - ticks[0]) * PERIOD_US / 1e6, atol=1e-3 if sensor == "gps" else 1e-9
        )


@pytest.mark.parametrize(
    ("sensor", "count", "width"), [("gyro", 200, 3), ("accel", 200, 3), ("mag", 40, 3), ("baro", 40, 1)]
)
def test_noise_has_its_standard_deviation(healthy, sensor, count, width):
    """Within five standard errors of the available samples, for each axis."""
    mask, field, _, bits = SENSORS[sensor]
    got = flown(faulty(IDEAL, sensor, "noise"), mask)
    is_new = (got["fields_updated"] & bits != 0) & (np.arange(TICKS) >= FIRST) & (np.arange(TICKS) < END)
    error = in_units(got[field] - healthy["ideal"][field], sensor)[is_new].reshape(count, width)
    size = np.abs(np.atleast_1d(SIZES[sensor]))
    np.testing.assert_allclose(np.std(error, axis=0), size, rtol=5.0 / np.sqrt(2.0 * count), atol=1e-12)


def test_noise_of_a_fault_is_independent():
    """Equal standard deviations add up to sqrt(2) times, not twice: 5 standard errors of 12,000 numbers are 3.2 %."""
    sigma = 0.1
    part = replace(
        IDEAL.imu.gyro, noise_density=sigma * np.sqrt(2.0 * PERIOD_US / 1e6), on_fault="noise", fault_size=(sigma,) * 3
    )
    suite = suite_of(replace(IDEAL, imu=replace(IDEAL.imu, gyro=part)))
    got = sense(suite, [state()] * 4_000, fields=("gyro_rad_s",), masks=[SENSOR_FAULT_GYRO] * 4_000)["gyro_rad_s"]
    assert np.std(got) == pytest.approx(sigma * np.sqrt(2.0), rel=0.033)


@pytest.mark.parametrize("sensor", SENSORS)
def test_a_freeze_from_the_start_holds_the_first_sample(sensor):
    mask, field, _, _ = SENSORS[sensor]
    got = sense(suite_of(faulty(IDEAL, sensor, "freeze")), climbing()[:100], fields=(field,), masks=[mask] * 100)[field]
    healthy_first = sense(suite_of(), climbing()[:1], fields=(field,))[field]
    assert np.all(got == healthy_first)


def test_a_fault_of_the_estimate_does_not_affect_sensors(healthy):
    got = flown(NOISY, SENSOR_FAULT_EST_FREEZE)
    for name, values in got.items():
        assert np.array_equal(values, healthy["noisy"][name])
