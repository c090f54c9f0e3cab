"""Set the plant's state between two event boundaries."""

import numpy as np
import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError, StateError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plant.models import ConstantRate, Oscillator
from px4lockstep.verification import solutions

TIMELINE = Timeline(1_000_000, log=Periodic(100_000))


def test_the_run_continues_from_the_new_state():
    """The log has the new state at that boundary, and the solution from there on."""
    sim = Simulation(Oscillator(omega_rad_s=2.0), TIMELINE, integrator=Integrator("RK45"))
    sim.run(until_us=500_000)
    before = sim.log_state.copy()
    sim.set_state([0.3, -0.4])
    assert sim.plant.x.tolist() == [0.3, -0.4]
    sim.run()
    assert np.array_equal(sim.log_state[:5], before)
    exact = solutions.oscillator(2.0, 0.3, -0.4, np.arange(6) / 10.0)
    assert sim.log_state[5].tolist() == [0.3, -0.4]
    assert np.allclose(sim.log_state[5:], np.column_stack(exact), rtol=0.0, atol=1e-5)  # the tolerance is 1e-6 per step


def test_setting_the_current_state_changes_nothing():
    """The result is bit-identical, wherever the run stops."""
    whole = Simulation(Oscillator(), TIMELINE, integrator=Integrator("RK23")).run()
    sim = Simulation(Oscillator(), TIMELINE, integrator=Integrator("RK23"))
    for time_us in range(0, 1_000_000, 100_000):
        sim.run(until_us=time_us)
        sim.set_state(sim.plant.x)
    assert sim.run().digest() == whole.digest()


def test_a_quaternion_is_not_normalized():
    """The next step normalizes it."""
    sim = Simulation(ConstantRate(), TIMELINE)
    sim.set_state([2.0, 0.0, 0.0, 0.0])
    assert sim.plant["att"].tolist() == [2.0, 0.0, 0.0, 0.0]
    sim.run(until_us=100_000)
    assert np.linalg.norm(sim.plant["att"]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([1.0], r"the state has shape \(1,\); the plant needs shape \(2,\)"),
        ([[1.0, 2.0]], r"the state has shape \(1, 2\); the plant needs shape \(2,\)"),
        ([1.0, np.nan], r"state vel\[0\] = nan must be a finite number"),
        ([np.inf, 1.0], r"state pos\[0\] = inf must be a finite number"),
    ],
)
def test_an_invalid_state_is_refused(state, message):
    """The state does not change."""
    sim = Simulation(Oscillator(position=0.7), TIMELINE)
    before = sim.plant.x.copy()
    with pytest.raises(InputError, match=message):
        sim.set_state(state)
    assert np.array_equal(sim.plant.x, before)


def test_the_state_of_a_recorded_run_cannot_be_set():
    """Its replay would be a different flight."""
    with pytest.raises(StateError, match="a replay would not repeat it"):
        Simulation(Oscillator(), TIMELINE, record=True).set_state([0.0, 0.0])
