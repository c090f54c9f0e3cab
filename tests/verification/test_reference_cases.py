"""Tier 1: every integrator on every reference problem, orders of convergence, and single checks."""

import math

import numpy as np
import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.integrators.tableaux import TABLEAUX
from px4lockstep.plant.models import ConstantRate, FreeFall
from px4lockstep.verification.reference_cases import ALLOWED, PROBLEMS, Result, measured_order, reference_results


def test_every_problem_is_within_its_bound_with_every_integrator():
    """It runs all reference cases of `px4lockstep verify`."""
    results = list(reference_results())
    assert len(results) == len(PROBLEMS) * len(TABLEAUX)
    assert [result for result in results if not result.passed] == []


@pytest.mark.parametrize("kind", TABLEAUX)
def test_order_of_convergence(kind):
    """On the oscillator with fixed steps: Euler within 0.15 of its order, the others within 0.25."""
    assert ALLOWED[kind] == (0.15 if kind == "Euler" else 0.25)
    assert measured_order(kind) == pytest.approx(TABLEAUX[kind].order, abs=ALLOWED[kind])


def test_free_fall_with_rk4_at_10_ms():
    """The error is below 1e-6 m and 1e-6 m/s after 1 s."""
    timeline = Timeline(1_000_000, log=Periodic(100_000), physics=Periodic(10_000))
    sim = Simulation(FreeFall(), timeline, integrator=Integrator("RK4")).run()
    t_s = sim.log["time_us"] / 1e6
    assert np.abs(sim.log_state[:, 2] - 0.5 * 9.80665 * t_s**2).max() < 1e-6
    assert np.abs(sim.log_state[:, 5] - 9.80665 * t_s).max() < 1e-6


@pytest.mark.parametrize("kind", ["RK4", "RK23", "RK45"])
def test_constant_yaw_rate_of_pi(kind):
    """Half a turn to the right in 1 s: error below 1e-4 rad, norm within 1e-12."""
    timeline = Timeline(1_000_000, log=Periodic(100_000), physics=Periodic(10_000))
    sim = Simulation(ConstantRate((0.0, 0.0, math.pi)), timeline, integrator=Integrator(kind)).run()
    w, x, y, z = sim.plant.x
    assert abs(abs(2.0 * math.atan2(z, w)) - math.pi) < 1e-4
    assert math.hypot(x, y) < 1e-12
    assert abs(np.linalg.norm(sim.plant.x) - 1.0) < 1e-12
    quarter = sim.log_state[5]
    assert 2.0 * math.atan2(quarter[3], quarter[0]) == pytest.approx(math.pi / 2, abs=1e-4)


def test_a_nan_does_not_pass():
    """A comparison with NaN is false, so the case fails."""
    assert not Result("case", "RK4", math.nan, 1.0).passed
    assert Result("case", "RK4", 1.0, 1.0).passed
