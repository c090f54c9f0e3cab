"""The barometer: the standard atmosphere, also below sea level, and its errors."""

import numpy as np
import pytest
from sensor_suites import IDEAL, NOISY, at_rest, replace, sense, sensed, suite_of

from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.sensors import Barometer
from px4lockstep.sensors.barometer import pressure_altitude_m, static_pressure_pa


def with_baro(**options):
    return replace(IDEAL, baro=replace(IDEAL.baro, **options))


@pytest.mark.parametrize(
    ("alt_m", "pressure_hpa", "temperature_c"),
    [
        # U.S. Standard Atmosphere 1976, table I, geopotential altitudes.
        (-1_000.0, 1139.29, 21.50),
        (0.0, 1013.25, 15.00),
        (3_000.0, 701.08, -4.50),
        (11_000.0, 226.32, -56.50),
        (15_000.0, 120.44, -56.50),
    ],
)
def test_the_pressure_is_that_of_the_standard_atmosphere(alt_m, pressure_hpa, temperature_c):
    """At home's altitude, and at that height above a home at sea level; to the printed digits."""
    for home_m, down_m in ((alt_m, 0.0), (0.0, -alt_m)):
        out = sensed(suite_of(home_alt_msl_m=home_m), at_rest(1, pos_ned=(0.0, 0.0, down_m)))
        assert out.abs_pressure_hpa == pytest.approx(pressure_hpa, abs=0.01)
        assert out.temperature_c == pytest.approx(temperature_c, abs=1e-9)
        assert out.pressure_alt_m == pytest.approx(alt_m, abs=1e-6)


def test_a_metre_is_12_pascals():
    """Near the ground: ρ g = 1.225 · 9.80665 per metre, and no step at sea level."""
    above, at, below = (interpreted(static_pressure_pa)(alt_m) for alt_m in (1.0, 0.0, -1.0))
    assert at - above == pytest.approx(12.013, abs=2e-3)
    assert below - at == pytest.approx(12.013, abs=2e-3)


@pytest.mark.parametrize("alt_m", [-4_999.0, -0.1, 0.0, 1_234.5, 10_999.9, 11_000.1, 19_000.0])
def test_pressure_altitude_is_the_inverse_of_pressure(alt_m):
    assert interpreted(pressure_altitude_m)(interpreted(static_pressure_pa)(alt_m)) == pytest.approx(alt_m, abs=1e-7)


def test_airspeed_disturbs_the_static_pressure():
    """k ρ v² / 2 of the airspeed: 5 m/s against a wind of 5 m/s is 10 m/s, and 0 with the wind."""
    for wind, speed in (((-5.0, 0.0, 0.0), 10.0), ((5.0, 0.0, 0.0), 0.0)):
        suite = suite_of(with_baro(static_error=-0.2), home_alt_msl_m=0.0)
        out = sensed(suite, at_rest(1, vel_ned=(5.0, 0.0, 0.0)), wind_ned=wind)
        assert 100.0 * out.abs_pressure_hpa - 101325.0 == pytest.approx(-0.2 * 0.6125 * speed**2, abs=1e-3)


def test_noise_and_drift_have_their_standard_deviations():
    """Noise: σ of sample differences, 5 standard errors of 20,000. Drift: stationary, and its τ."""
    suite = suite_of(with_baro(noise_sigma_pa=2.7), period_us=20_000)
    pa = 100.0 * sense(suite, at_rest(20_000), fields=("abs_pressure_hpa",))["abs_pressure_hpa"]
    assert np.std(np.diff(pa)) / np.sqrt(2.0) == pytest.approx(2.7, rel=0.03)
    suite = suite_of(with_baro(drift_sigma_pa=5.0, drift_tau_s=0.2), period_us=20_000)
    drift = 100.0 * sense(suite, at_rest(40_000), fields=("abs_pressure_hpa",))["abs_pressure_hpa"]
    drift = drift[100:] - np.mean(drift)
    assert np.std(drift) == pytest.approx(5.0, rel=0.06)  # 4,000 correlation times
    assert np.mean(drift[10:] * drift[:-10]) / np.var(drift) == pytest.approx(np.exp(-1.0), abs=0.06)


def test_drift_starts_at_zero():
    """A barometer that is set at take-off is correct there."""
    out = sensed(suite_of(with_baro(drift_sigma_pa=5.0)), at_rest(1))
    true_pa = interpreted(static_pressure_pa)(488.0)
    # The first step of a process of 600 s: 5 Pa sqrt(2 · 0.02 / 600) = 0.04 Pa, times 4 at most.
    assert abs(100.0 * out.abs_pressure_hpa - true_pa) < 0.17


def test_the_offset_is_drawn_once_per_run():
    """Constant in a run, different for each seed, with the accuracy of the datasheet."""
    true_pa = interpreted(static_pressure_pa)(488.0)
    offsets = []
    for seed in range(300):
        suite = suite_of(with_baro(offset_sigma_pa=50.0), seed=seed)
        values = sense(suite, at_rest(11), fields=("abs_pressure_hpa",))["abs_pressure_hpa"]
        assert values[0] == values[-1]
        offsets.append(100.0 * values[0] - true_pa)
    assert np.std(offsets) == pytest.approx(50.0, rel=0.21)  # 5 / sqrt(600)
    assert abs(np.mean(offsets)) < 5.0 * 50.0 / np.sqrt(300.0)


def test_results_are_quantized_and_within_the_range():
    out = sensed(suite_of(replace(NOISY, baro=Barometer(offset_sigma_pa=0.0))), at_rest(1))
    assert (100.0 * out.abs_pressure_hpa) % 1.0 == pytest.approx(0.0, abs=1e-9)
    out = sensed(suite_of(with_baro(lowest_pa=50_000.0, highest_pa=60_000.0)), at_rest(1))
    assert out.abs_pressure_hpa == 600.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Barometer(lowest_pa=2e5),
            r"sensors\.baro\.lowest_pa = 200000\.0 is not below highest_pa",
        ),
        (
            lambda: Barometer(static_error=2.0),
            r"sensors\.baro\.static_error = 2\.0 is out of range; it must be at least -1\.0 and at most 1\.0",
        ),
        (lambda: Barometer(drift_tau_s=0.0), r"sensors\.baro\.drift_tau_s = 0\.0 is out of range"),
        (
            lambda: Barometer(on_fault="noise", fault_size_pa=0.0),
            r"sensors\.baro\.fault_size_pa = .* with on_fault = .noise.",
        ),
    ],
)
def test_invalid_values_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()
