"""The discretization of the Dryden filters against Van Loan's, with SciPy's matrix exponential."""

import math

import numpy as np
import pytest
from environment_bits import write_wind
from scipy.linalg import expm

from px4lockstep.environment.dryden import Dryden
from px4lockstep.environment.wind import Wind


@pytest.mark.parametrize("period_us", [1_000, 20_000, 1_000_000])
def test_transition_and_noise_match_the_continuous_filter(period_us):
    """Within 1e-9 of each entry, SciPy's accuracy for the smallest ones, of order (dt / T)^3 = 1e-11."""
    filters = write_wind(Wind("dryden", dryden_wind_20ft_mps=12.0, dryden_height_m=10.0), period_us=period_us)
    theory = Dryden(12.0, 10.0)
    for axis, scale_s in (("across", theory.time_scale_s[1]), ("down", theory.time_scale_s[2])):
        f = filters[0]["dryden"][axis]
        # da = (-a dt + sqrt(T) dW) / T,  db = (a - b) dt / T
        drift = np.array([[-1.0, 0.0], [1.0, -1.0]]) / scale_s
        noise = np.array([[1.0 / scale_s, 0.0], [0.0, 0.0]])
        block = expm(np.block([[-drift, noise], [np.zeros((2, 2)), drift.T]]) * period_us / 1e6)
        transition = block[2:, 2:].T
        covariance = transition @ block[:2, 2:]
        assert [f["decay"], f["coupling"]] == pytest.approx([transition[0, 0], transition[1, 0]], rel=1e-13)
        gain = np.array([[f["gain_aa"], 0.0], [f["gain_ba"], f["gain_bb"]]])
        assert gain @ gain.T == pytest.approx(covariance, rel=1e-9, abs=0.0)


def test_the_filters_have_the_spectrum_of_the_standard():
    """The spectrum of the sampled output, from A and C, is the continuous one with aliases, within 1e-4."""
    period_s = 0.05
    filters = write_wind(Wind("dryden", dryden_wind_20ft_mps=12.0, dryden_height_m=10.0), period_us=50_000)
    theory = Dryden(12.0, 10.0)
    f = filters[0]["dryden"]["down"]
    sigma_m_s, scale_s = theory.sigma_m_s[2], theory.time_scale_s[2]
    transition = np.array([[f["decay"], 0.0], [f["coupling"], f["decay"]]])
    gain = np.array([[f["gain_aa"], 0.0], [f["gain_ba"], f["gain_bb"]]])
    output = f["sigma_m_s"] * np.array([math.sqrt(3.0), 1.0 - math.sqrt(3.0)])
    aliases = 2.0 * math.pi / period_s * np.arange(-20_000, 20_001)
    for omega in (0.0, 0.3, 1.0, 3.0, 10.0, 40.0):
        response = output @ np.linalg.inv(np.exp(1j * omega * period_s) * np.eye(2) - transition) @ gain
        sampled = period_s * np.sum(np.abs(response) ** 2)
        x2 = ((omega + aliases) * scale_s) ** 2
        continuous = np.sum(sigma_m_s**2 * scale_s * (1.0 + 3.0 * x2) / (1.0 + x2) ** 2)
        assert sampled == pytest.approx(continuous, rel=1e-4)
