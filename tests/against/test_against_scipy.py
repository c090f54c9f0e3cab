"""Comparisons with SciPy: its solver, its elliptic functions."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from px4lockstep.verification.scipy_reference import scipy_results
from px4lockstep.verification.solutions import jacobi_sn_cn_dn, pendulum


def test_tight_rk45_agrees_with_dop853():
    """Within 1e-9 after 10 s, both at 1e-12 per step, on right-hand sides written twice."""
    results = list(scipy_results())
    assert len(results) == 3
    assert [result for result in results if not result.passed] == []


@pytest.mark.parametrize("k", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_jacobi_functions_agree_with_scipy(k):
    """To 1e-12, over several periods."""
    for u in np.linspace(-10.0, 10.0, 41):
        assert jacobi_sn_cn_dn(u, k) == pytest.approx(ellipj(u, k * k)[:3], abs=1e-12)


def test_the_pendulum_solution_starts_at_rest_and_returns_after_its_period():
    """The period is 4 K(k) / ω; half of it is the turning point on the other side."""
    omega, angle = 2.0, 2.5
    period = 4.0 * ellipk(np.sin(0.5 * angle) ** 2) / omega
    angles, rates = pendulum(omega, angle, np.array([0.0, period / 2, period]))
    assert angles == pytest.approx([angle, -angle, angle], abs=1e-9)
    assert rates == pytest.approx([0.0, 0.0, 0.0], abs=1e-8)
