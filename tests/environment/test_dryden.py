"""Dryden turbulence: length scales and intensities by hand, statistics against theory.

Standard errors are those of `test_wind`; for rho = (1 - t / 2T) exp(-t / T), the integral of rho^2 is 0.625 T.
"""

import math

import numpy as np
import pytest
from environment_bits import blow, write_wind

from px4lockstep.environment.dryden import Dryden
from px4lockstep.environment.wind import Wind
from px4lockstep.math.philox import normal4, stream_key

FOOT_M = 0.3048
DURATION_S = 40_000.0
SAMPLE_S = 0.1
# At 20 ft the wind that carries the turbulence is W20 itself; strong wind and small height give short time scales.
STORM = Wind("dryden", dryden_wind_20ft_mps=15.0, dryden_height_m=20.0 * FOOT_M)
THEORY = Dryden(15.0, 20.0 * FOOT_M)


@pytest.fixture(scope="module", params=[20_000, 100_000], ids=["20 ms", "100 ms"])
def storm(request):
    """Return 40,000 s of turbulence at 0.1 s, without the first 100 s, which are more than 30 time scales."""
    stride = round(SAMPLE_S * 1e6) // request.param
    samples = blow(STORM, round(DURATION_S / SAMPLE_S), seed=3, period_us=request.param, stride=stride)
    return samples[round(100.0 / SAMPLE_S) :]


@pytest.mark.parametrize(
    ("height_ft", "length_u_ft", "sigma_u_over_sigma_w"),
    [
        # 0.177 + 0.000823 h: 0.18523, 0.2593, 1.0; its powers 1.2 and 0.4 by logarithms: ln = -1.68616, -1.34977, 0
        (10.0, 10.0 * math.exp(1.2 * 1.68616), math.exp(0.4 * 1.68616)),
        (100.0, 100.0 * math.exp(1.2 * 1.34977), math.exp(0.4 * 1.34977)),
        (1000.0, 1000.0, 1.0),
    ],
)
def test_length_scales_and_intensities_are_those_of_the_standard(height_ft, length_u_ft, sigma_u_over_sigma_w):
    """To 1e-5, the digits of the logarithms; at 1000 ft the turbulence is isotropic. sigma_w is a tenth of W20."""
    turbulence = Dryden(wind_20ft_mps=10.0, height_m=min(height_ft * FOOT_M, 304.8))
    lengths = (length_u_ft * FOOT_M, length_u_ft * FOOT_M, height_ft * FOOT_M)
    assert turbulence.length_m == pytest.approx(lengths, rel=1e-5)
    assert turbulence.sigma_m_s == pytest.approx((sigma_u_over_sigma_w, sigma_u_over_sigma_w, 1.0), rel=1e-5)


def test_turbulence_is_carried_by_the_wind_of_its_height():
    """W20 at 20 ft; at 10 and 200 ft by ln(h / 0.15) / ln(20 / 0.15): 4.199705 and 7.195437 / 4.892852, to 1e-6."""
    assert Dryden(8.0, 20.0 * FOOT_M).convection_m_s == pytest.approx(8.0, rel=1e-15)
    assert Dryden(8.0, 10.0 * FOOT_M).convection_m_s == pytest.approx(8.0 * 4.199705 / 4.892852, rel=1e-6)
    assert Dryden(8.0, 200.0 * FOOT_M).convection_m_s == pytest.approx(8.0 * 7.195437 / 4.892852, rel=1e-6)


@pytest.mark.parametrize("period_us", [1, 1_000, 250_000, 60_000_000])
def test_a_step_keeps_the_stationary_covariance(period_us):
    """A P A' + C C' = P to 4e-16, the rounding of sums below 1: variances are sigma^2 at any period."""
    filters = write_wind(STORM, period_us=period_us)[0]["dryden"]
    stationary = np.array([[0.5, 0.25], [0.25, 0.25]])
    output = np.array([math.sqrt(3.0), 1.0 - math.sqrt(3.0)])
    assert output @ stationary @ output == pytest.approx(1.0, abs=1e-15)
    for axis, sigma_m_s in (("across", THEORY.sigma_m_s[1]), ("down", THEORY.sigma_m_s[2])):
        f = filters[axis]
        transition = np.array([[f["decay"], 0.0], [f["coupling"], f["decay"]]])
        noise = np.array([[f["gain_aa"], 0.0], [f["gain_ba"], f["gain_bb"]]])
        after = transition @ stationary @ transition.T + noise @ noise.T
        assert np.abs(after - stationary).max() < 4e-16
        assert f["sigma_m_s"] == sigma_m_s
    f, sigma_m_s = filters["along"], THEORY.sigma_m_s[0]
    assert (f["decay"] * sigma_m_s) ** 2 + f["gain_m_s"] ** 2 == pytest.approx(sigma_m_s**2, rel=1e-15)


def test_each_tick_matches_the_formula():
    """From rest, u, v, w with noise 0, 1, 2 of draw 0, and 0 and 1 of draw 1 for the second lags: bit-identical."""
    filters = write_wind(STORM, seed=5, period_us=20_000)[0]["dryden"]
    key = stream_key(5, "wind")
    along = 0.0
    lags = {"across": [0.0, 0.0], "down": [0.0, 0.0]}
    expected = []
    for tick in range(20):
        xi_u, *xi_a, _ = normal4(key, np.int64(tick), np.int64(0), np.int64(0))
        xi_b = normal4(key, np.int64(tick), np.int64(0), np.int64(1))[:2]
        along = float(filters["along"]["decay"]) * along + float(filters["along"]["gain_m_s"]) * xi_u
        row = [along]
        for axis, noise_a, noise_b in zip(("across", "down"), xi_a, xi_b, strict=True):
            f = {name: float(filters[axis][name]) for name in filters[axis].dtype.names}
            a, b = lags[axis]
            b = f["decay"] * b + f["coupling"] * a + f["gain_ba"] * noise_a + f["gain_bb"] * noise_b
            a = f["decay"] * a + f["gain_aa"] * noise_a
            lags[axis] = [a, b]
            row.append(f["sigma_m_s"] * (math.sqrt(3.0) * a + (1.0 - math.sqrt(3.0)) * b))
        expected.append(row)
    assert blow(STORM, 20, seed=5, period_us=20_000).tolist() == expected


def test_each_axis_has_the_variance_of_the_standard(storm):
    """Within 5 % at two periods, 4 standard errors: sqrt(2 x 2.9 s / 40,000 s) = 1.2 % for u, less for v and w."""
    assert THEORY.time_scale_s[0] == pytest.approx(2.91, abs=0.05)
    variances = np.mean(storm * storm, axis=0)
    assert variances == pytest.approx([sigma**2 for sigma in THEORY.sigma_m_s], rel=0.05)


def test_each_axis_has_the_autocorrelation_of_the_standard(storm):
    """Along exp(-t/T), across and down (1 - t/2T) exp(-t/T): within 0.045, 5 standard errors of sqrt(2.9 / 40,000)."""
    variances = np.mean(storm * storm, axis=0)
    for lag in (2, 5, 10, 30, 60):
        t = lag * SAMPLE_S
        measured = np.mean(storm[lag:] * storm[:-lag], axis=0) / variances
        x = [t / scale_s for scale_s in THEORY.time_scale_s]
        expected = [math.exp(-x[0]), (1.0 - 0.5 * x[1]) * math.exp(-x[1]), (1.0 - 0.5 * x[2]) * math.exp(-x[2])]
        assert measured == pytest.approx(expected, abs=0.045)


def test_the_axes_are_independent(storm):
    """Cross-correlations within 0.045, as above."""
    assert np.abs(np.corrcoef(storm.T)[np.triu_indices(3, 1)]).max() < 0.045


def test_turbulence_turns_with_the_mean_wind():
    """u along the wind, v to its right: wind from the west turns the pattern of wind from the south by 90 degrees."""
    from_south = blow(Wind("dryden", wind_mean_ned=(5.0, 0.0, 0.0)), 50) - (5.0, 0.0, 0.0)
    from_west = blow(Wind("dryden", wind_mean_ned=(0.0, 5.0, 0.0)), 50) - (0.0, 5.0, 0.0)
    # Within the rounding of mean plus turbulence.
    assert from_west[:, 0] == pytest.approx(-from_south[:, 1], abs=4e-15)
    assert from_west[:, 1] == pytest.approx(from_south[:, 0], abs=4e-15)
    assert from_west[:, 2].tobytes() == from_south[:, 2].tobytes()


def test_without_a_mean_wind_u_is_north():
    """Bit-identical to a negligible mean; a vertical mean has no horizontal direction either."""
    without = blow(Wind("dryden"), 50)
    assert without.tobytes() == blow(Wind("dryden", wind_mean_ned=(1e-300, 0.0, 0.0)), 50).tobytes()
    assert without[:, :2].tobytes() == blow(Wind("dryden", wind_mean_ned=(0.0, 0.0, 2.0)), 50)[:, :2].tobytes()
    assert without.tobytes() != blow(Wind("dryden", wind_mean_ned=(0.0, 1e-300, 0.0)), 50).tobytes()
