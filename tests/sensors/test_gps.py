"""The GPS receiver: position and velocity against the truth, rate, latency, correlated errors, loss of the fix."""

import numpy as np
import pytest
from sensor_suites import HOME, IDEAL, at_rest, replace, sense, sensed, state, suite_of

from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.sensors import Gps

PLACE = ("gps_updated", "gps_lat_1e7", "gps_lon_1e7", "gps_alt_mm")


def with_gps(**options):
    return replace(IDEAL, gps=replace(IDEAL.gps, **options))


def place_ned(got):
    """Return the reported position as NED [m], one row per tick."""
    home = MapProjection(HOME["home_lat_deg"], HOME["home_lon_deg"])
    places = zip(got["gps_lat_1e7"] / 1e7, got["gps_lon_1e7"] / 1e7, strict=True)
    horizontal = [home.to_local(lat_deg, lon_deg) for lat_deg, lon_deg in places]
    return np.column_stack([horizontal, HOME["home_alt_msl_m"] - got["gps_alt_mm"] / 1e3])


def test_at_home_it_reports_home():
    out = sensed(suite_of(), at_rest(1))
    assert (out.gps_lat_1e7, out.gps_lon_1e7, out.gps_alt_mm) == (473977420, 85455940, 488000)
    assert (out.gps_fix_type, out.gps_satellites, out.gps_eph_cm, out.gps_epv_cm) == (3, 16, 100, 150)


def test_positions_match_the_map_projection():
    """1,000 m north is 0.0089932° on PX4's sphere; also 500 m east and 100 m up, to one unit of the message."""
    out = sensed(suite_of(), at_rest(1, pos_ned=(1_000.0, 500.0, -100.0)))
    radius_m = 6_371_000.0
    assert out.gps_lat_1e7 - 473977420 == pytest.approx(
        1e7 * np.degrees(1_000.0 / radius_m), abs=20
    )  # curvature: 0.2 m
    cosine = np.cos(np.radians(out.gps_lat_1e7 / 1e7))
    assert out.gps_lon_1e7 - 85455940 == pytest.approx(1e7 * np.degrees(500.0 / radius_m / cosine), abs=2)
    assert out.gps_alt_mm == 588_000


@pytest.mark.parametrize(
    ("vel_ned", "speed", "course"),
    [
        ((3.0, 0.0, 0.0), 300, 0),
        ((0.0, 4.0, 0.0), 400, 9_000),
        ((-3.0, 4.0, -1.5), 500, 12_687),
        ((0.0, -2.0, 0.5), 200, 27_000),
        ((2.0, -1e-5, 0.0), 200, 0),
    ],
)
def test_velocity_without_errors_is_the_truth(vel_ned, speed, course):
    """In cm/s, with the course over ground from north over east, below 360°."""
    out = sensed(suite_of(), at_rest(1, vel_ned=vel_ned))
    got = (out.gps_vn_cm_s, out.gps_ve_cm_s, out.gps_vd_cm_s)
    assert got == tuple(round(100.0 * part) for part in vel_ned)
    assert (out.gps_vel_cm_s, out.gps_cog_cdeg) == (speed, course)


def test_velocity_is_limited_to_the_range_of_the_message():
    """It saturates at 327.67 m/s instead of wrapping around."""
    out = sensed(suite_of(), at_rest(1, vel_ned=(999.0, -999.0, 0.0)))
    assert (out.gps_vn_cm_s, out.gps_ve_cm_s) == (32767, -32767)


@pytest.mark.parametrize(
    ("period_us", "latency_us"),
    [(200_000, 0), (200_000, 110_000), (100_000, 250_000), (125_000, 8_000), (4_001, 56_014), (7_999, 111_986)],
)
def test_messages_have_their_rate_and_latency(period_us, latency_us):
    """At the first tick at or after epoch plus latency, with the state at the tick of the epoch."""
    ticks = 300
    moving = [state(pos_ned=(0.0, 0.0, -0.5 * k), vel_ned=(0.01 * k, 0.0, 0.0)) for k in range(ticks)]
    suite = suite_of(with_gps(period_us=period_us, latency_us=latency_us))
    got = sense(suite, moving, fields=("gps_updated", "gps_vn_cm_s", "gps_alt_mm"))
    epochs = [-(-n * period_us // 4_000) for n in range(ticks * 4_000 // period_us + 1)]
    shown = [(tick + -(-latency_us // 4_000), tick) for tick in epochs if tick + -(-latency_us // 4_000) < ticks]
    assert np.flatnonzero(got["gps_updated"]).tolist() == [at for at, _ in shown]
    for at, tick in shown:
        assert got["gps_vn_cm_s"][at] == tick
        assert got["gps_alt_mm"][at] == 488_000 + 500 * tick


def test_there_is_no_fix_before_the_first_message():
    suite = suite_of(with_gps(latency_us=110_000))
    assert sensed(suite, at_rest(28)).gps_fix_type == 0
    assert sensed(suite, at_rest(1)).gps_fix_type == 3


def test_the_error_has_its_correlation_time():
    """Stationary: σ within 6 % and correlation e⁻¹ after τ, over 4,000 τ; horizontal and vertical differ."""
    config = with_gps(period_us=20_000, horizontal_sigma_m=1.7, vertical_sigma_m=2.5, correlation_tau_s=0.2)
    got = sense(suite_of(config, period_us=20_000), at_rest(40_000), fields=PLACE)
    error_m = place_ned(got)
    np.testing.assert_allclose(np.std(error_m, axis=0), [1.7, 1.7, 2.5], rtol=0.06)
    correlation = np.mean(error_m[10:] * error_m[:-10], axis=0) / np.var(error_m, axis=0)
    np.testing.assert_allclose(correlation, np.exp(-1.0), atol=0.06)


def test_the_error_is_stationary_from_the_first_fix():
    """It has the stationary standard deviation over 300 seeds: 5 / sqrt(600), 21 %, two axes 15 %."""
    errors_m = [
        place_ned(sense(suite_of(with_gps(horizontal_sigma_m=1.7), seed=seed), at_rest(1), fields=PLACE))[0, :2]
        for seed in range(300)
    ]
    assert np.std(errors_m) == pytest.approx(1.7, rel=0.15)


def test_white_noise_has_its_standard_deviation():
    """Of position and velocity, from sample to sample; 5 standard errors of 5,000 samples, plus quantization."""
    config = with_gps(period_us=20_000, horizontal_noise_m=0.5, vertical_noise_m=0.8, vel_sigma_m_s=0.3)
    velocity = ("gps_vn_cm_s", "gps_ve_cm_s", "gps_vd_cm_s")
    got = sense(suite_of(config, period_us=20_000), at_rest(5_000), fields=(*PLACE, *velocity))
    np.testing.assert_allclose(np.std(place_ned(got), axis=0), [0.5, 0.5, 0.8], rtol=0.05)
    np.testing.assert_allclose([np.std(got[name]) for name in velocity], 30.0, rtol=0.05)


def test_errors_of_position_and_velocity_are_independent():
    """Correlated, white and velocity errors: correlations below five standard errors of 5,000 samples."""
    config = with_gps(period_us=20_000, vertical_noise_m=0.8, vel_sigma_m_s=0.3)
    got = sense(suite_of(config, period_us=20_000), at_rest(5_000), fields=("gps_alt_mm", "gps_vd_cm_s"))
    wandering = with_gps(period_us=20_000, vertical_sigma_m=2.0, correlation_tau_s=1e-3)
    other = sense(suite_of(wandering, period_us=20_000), at_rest(5_000), fields=("gps_alt_mm",))
    errors = np.array([got["gps_alt_mm"], got["gps_vd_cm_s"], other["gps_alt_mm"]], dtype=float)
    np.testing.assert_allclose(np.corrcoef(errors), np.eye(3), atol=5.0 / np.sqrt(5_000.0))


def test_a_lost_fix_is_reported_in_the_message():
    """Type 1, no satellites, unknown accuracy, and the last position; the fix returns at once."""
    masks = [0] * 60 + [16] * 60 + [0] * 60
    moving = [state(pos_ned=(0.0, 0.0, -1.0 * k)) for k in range(len(masks))]
    fields = ("gps_updated", "gps_fix_type", "gps_satellites", "gps_eph_cm", "gps_alt_mm")
    got = sense(suite_of(), moving, fields=fields, masks=masks)
    assert np.flatnonzero(got["gps_updated"]).tolist() == [0, 50, 100, 150]
    assert got["gps_fix_type"][[50, 100, 150]].tolist() == [3, 1, 3]
    assert got["gps_satellites"][[50, 100, 150]].tolist() == [16, 0, 16]
    assert got["gps_eph_cm"][[50, 100, 150]].tolist() == [100, 65535, 100]
    assert got["gps_alt_mm"][[50, 100, 150]].tolist() == [538_000, 538_000, 638_000]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Gps(latency_us=3_000_000),
            r"latency_us = 3000000 is more than 14 periods of 200000 us; use at most 2800000, or a longer period_us",
        ),
        (lambda: Gps(satellites=3.5), r"sensors\.gps\.satellites = 3\.5 is not allowed; it must be a whole number"),
        (
            lambda: Gps(eph_m=0.0),
            r"sensors\.gps\.eph_m = 0\.0 is out of range; it must be at least 0\.01 and at most 655\.0",
        ),
        (lambda: Gps(vel_sigma_m_s=-1.0), r"sensors\.gps\.vel_sigma_m_s = -1\.0 is out of range"),
    ],
)
def test_invalid_values_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()
