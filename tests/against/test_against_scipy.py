"""Comparisons with SciPy: its ODE solver and its complete elliptic integral."""

import numpy as np
import pytest
from scipy.special import ellipk

from px4lockstep.verification.reference_cases import scipy_results
from px4lockstep.verification.solutions import pendulum


def test_tight_rk45_agrees_with_dop853():
    """Within 1e-9 after 10 s, both at 1e-12 per step, with independent right-hand sides."""
    results = list(scipy_results())
    assert len(results) == 3
    assert [result for result in results if not result.passed] == []


def test_the_pendulum_solution_turns_and_returns_after_its_period():
    """The period is 4 K(k) / ω; after half of it, the pendulum turns on the other side."""
    omega, angle = 2.0, 2.5
    period = 4.0 * ellipk(np.sin(0.5 * angle) ** 2) / omega
    angles = pendulum(omega, angle, np.array([0.0, period / 2, period]))
    assert angles == pytest.approx([angle, -angle, angle], abs=1e-9)
