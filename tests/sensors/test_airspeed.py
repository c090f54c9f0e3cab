"""The airspeed sensor: dynamic pressure along the x axis."""

import numpy as np
import pytest
from sensor_suites import IDEAL, NOISY, at_rest, replace, sense, sensed, suite_of, yawed

from px4lockstep.errors import InputError
from px4lockstep.sensors import Airspeed
from px4lockstep.sensors.suite import AIRSPEED_FIELDS

WITH_PITOT = replace(IDEAL, airspeed=Airspeed()).without_errors()


@pytest.mark.parametrize(
    ("yaw_deg", "wind_ned", "forward_m_s"),
    [
        (0.0, (0.0, 0.0, 0.0), 20.0),
        (0.0, (-5.0, 3.0, 0.0), 25.0),
        (90.0, (0.0, -4.0, 0.0), 4.0),
        (180.0, (0,) * 3, -20.0),
    ],
)
def test_the_pressure_is_that_of_the_forward_airspeed(yaw_deg, wind_ned, forward_m_s):
    """ρ u |u| / 2 at sea level, for a vehicle that flies north at 20 m/s at any heading."""
    moving = at_rest(1, vel_ned=(20.0, 0.0, 0.0), q_bn=yawed(np.radians(yaw_deg)))
    out = sensed(suite_of(WITH_PITOT, home_alt_msl_m=0.0), moving, wind_ned=wind_ned)
    expected_pa = 0.5 * 1.225 * forward_m_s * abs(forward_m_s)
    assert 100.0 * out.diff_pressure_hpa == pytest.approx(expected_pa, rel=1e-5, abs=1e-9)
    assert out.fields_updated & AIRSPEED_FIELDS


def test_a_multirotor_has_no_airspeed_sensor():
    """Its bit is never set."""
    got = sense(suite_of(NOISY), at_rest(20), fields=("fields_updated", "diff_pressure_hpa"))
    assert not np.any(got["fields_updated"] & AIRSPEED_FIELDS)
    assert not got["diff_pressure_hpa"].any()


def test_noise_offset_and_range():
    """A constant error per run, noise per sample, and a limit."""
    suite = suite_of(replace(WITH_PITOT, airspeed=Airspeed(noise_sigma_pa=0.0, resolution_pa=0.0)))
    offset = sense(suite, at_rest(20), fields=("diff_pressure_hpa",))["diff_pressure_hpa"]
    assert len(np.unique(offset)) == 1
    assert 1e-3 < abs(100.0 * offset[0]) < 4.0 * Airspeed().offset_sigma_pa
    suite = suite_of(replace(WITH_PITOT, airspeed=Airspeed(offset_sigma_pa=0.0, resolution_pa=0.0)), period_us=20_000)
    noise = sense(suite, at_rest(5_000), fields=("diff_pressure_hpa",))["diff_pressure_hpa"]
    assert 100.0 * np.std(noise) == pytest.approx(Airspeed().noise_sigma_pa, rel=0.05)  # 5 / sqrt(10,000)
    fast = sensed(suite_of(WITH_PITOT), at_rest(1, vel_ned=(300.0, 0.0, 0.0)))
    assert 100.0 * fast.diff_pressure_hpa == pytest.approx(6894.757)


def test_invalid_values_are_rejected():
    with pytest.raises(InputError, match=r"sensors\.airspeed\.limit_pa = 0\.0 is out of range"):
        Airspeed(limit_pa=0.0)
