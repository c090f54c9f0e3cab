"""The local defect on the oscillator, where it is known in closed form for each method."""

import numpy as np
import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.integrators.tableaux import TABLEAUX
from px4lockstep.plant.models import Oscillator
from px4lockstep.verification import solutions
from px4lockstep.verification.local_defect import local_defect

OMEGA_RAD_S = 2.0
STEP_US = 10_000
TIMELINE = Timeline(2_000_000, log=Periodic(50_000), physics=Periodic(STEP_US))
REFERENCE = Integrator("RK45", **tolerances(0.0, 1e-14, ["pos", "vel"]))
"""More accurate than a reference for an aircraft: the error of RK4 is only 1e-10 here."""


def oscillator(integrator, timeline):
    """Return the oscillator, ready to run."""
    return Simulation(Oscillator(OMEGA_RAD_S, position=1.0, velocity=0.5), timeline, integrator=integrator)


def fixed(kind):
    """Return a method with fixed steps, even if it could adapt them."""
    return Integrator(kind, adaptive=False)


def exact_defects(kind, steps):
    """Return the defect in position of each interval from the method's polynomial of the oscillator's matrix.

    A step is x -> R(hA) x, with R the exponential series up to the method's order (all stages of Euler and RK4).
    """
    a = np.array([[0.0, 1.0], [-OMEGA_RAD_S * OMEGA_RAD_S, 0.0]])
    h_s = STEP_US / 1e6
    step, term = np.eye(2), np.eye(2)
    for power in range(1, TABLEAUX[kind].order + 1):
        term = term @ (h_s * a) / power
        step = step + term
    times_s = np.arange(41) * 0.05
    states = np.column_stack(solutions.oscillator(OMEGA_RAD_S, 1.0, 0.5, times_s))
    ends = states[:-1] @ np.linalg.matrix_power(step, steps).T
    return np.abs(ends - states[1:])[:, 0]


@pytest.mark.parametrize(("kind", "rounding"), [("Euler", 1e-12), ("RK4", 1e-13)])
def test_the_defect_is_that_of_the_methods_polynomial(kind, rounding):
    """In each interval, starting from the exact state, except for the reference's error and rounding."""
    found = local_defect(oscillator, TIMELINE, {kind: fixed(kind)}, REFERENCE)
    exact = exact_defects(kind, steps=5)
    assert found.time_s == pytest.approx(np.arange(1, 41) * 0.05)
    assert exact.max() > 100.0 * rounding
    assert found[kind].errors["position"] == pytest.approx(exact, rel=1e-6, abs=rounding)


@pytest.mark.parametrize(("kind", "allowed"), [("Euler", 0.02), ("RK4", 0.1)])
def test_halving_the_step_divides_the_defect_by_two_to_the_order(kind, allowed):
    """The ratio is 2 for Euler and 16 for RK4, within a term of the next order, h omega."""
    defect = local_defect(oscillator, TIMELINE, {kind: fixed(kind)}, REFERENCE)[kind]
    for quantity in ("position", "velocity"):
        assert defect.counted(quantity) >= 38  # the error passes through zero twice
        assert defect.ratio(quantity) == pytest.approx(2.0 ** TABLEAUX[kind].order, abs=allowed)


def test_errors_do_not_add_up_along_the_flight():
    """Euler's amplitude grows by half over the run, but its defect does not grow."""
    timeline = Timeline(20_000_000, log=Periodic(50_000), physics=Periodic(STEP_US))
    euler = local_defect(oscillator, timeline, {"Euler": fixed("Euler")}, REFERENCE)["Euler"].errors["position"]
    drift = oscillator(fixed("Euler"), timeline).run().log_state[:, 0]
    assert np.abs(drift[-100:]).max() > 1.4 * np.abs(drift[:20]).max()
    assert euler[-100:].max() == pytest.approx(euler[:100].max(), rel=0.01)


def test_the_reference_against_itself_has_exactly_no_defect():
    """Setting its own state changes nothing, and there is no ratio either."""
    rk4 = fixed("RK4")
    found = local_defect(oscillator, TIMELINE, {"RK4": rk4}, rk4)["RK4"]
    assert {name: errors.max() for name, errors in found.errors.items()} == {"position": 0.0, "velocity": 0.0}
    assert found.counted("position") == 0
    assert found.ratio("position") is None


def test_an_adaptive_integrator_has_no_ratio():
    """There is no fixed step to halve."""
    timeline = Timeline(2_000_000, log=Periodic(50_000))
    found = local_defect(oscillator, timeline, {"RK45": Integrator("RK45")}, REFERENCE)
    assert found["RK45"].ratios is None
    assert found["RK45"].ratio("position") is None
    assert 0.0 < found["RK45"].largest("position") < 1e-6
    row = found.rows()[0]
    assert (row["integrator"], row["quantity"], row["unit"]) == ("RK45", "position", "m")
    assert (row["halving_ratio"], row["intervals_counted"], row["intervals"]) == (None, 0, 40)


def test_an_interval_with_an_event_between_two_steps_does_not_count():
    """Not all of its steps can be halved: the event divides one of them."""
    timeline = Timeline(
        1_000_000, log=Periodic(50_000), physics=Periodic(STEP_US), scenario=Explicit((123_000, 200_000))
    )
    ratios = local_defect(oscillator, timeline, {"RK4": fixed("RK4")}, REFERENCE)["RK4"].ratios["velocity"]
    assert np.flatnonzero(np.isnan(ratios)).tolist() == [2]


def test_steps_of_several_lengths_are_divided_before_halving():
    """With wind every 30 ms and log every 50 ms, steps are 30, 20 and 10 ms; the ratio is that of 10 to 5 ms."""
    timeline = Timeline(1_500_000, log=Periodic(50_000), wind=Periodic(30_000))
    found = local_defect(oscillator, timeline, {"RK4": fixed("RK4")}, REFERENCE)
    assert found.step_us == 10_000
    assert found["RK4"].counted("velocity") >= 29
    assert found["RK4"].ratio("velocity") == pytest.approx(16.0, abs=0.1)
    cut = local_defect(oscillator, TIMELINE, {"RK4": fixed("RK4")}, REFERENCE)
    assert found["RK4"].largest("velocity") > 10.0 * cut["RK4"].largest("velocity")  # with the timeline's longer steps


def test_an_odd_step_is_not_halved():
    """The period of a physics axis is a whole number of microseconds."""
    timeline = Timeline(99_990, log=Periodic(9_999))
    found = local_defect(oscillator, timeline, {"Euler": fixed("Euler")}, REFERENCE)
    assert found.step_us == 9_999
    assert found["Euler"].ratio("position") is None
    assert found["Euler"].largest("position") > 0.0


def test_rounding_does_not_count():
    """With RK4 steps of 100 us over 100 us, the defect is 1e-15 or less, which is only rounding."""
    timeline = Timeline(10_000, log=Periodic(100))
    found = local_defect(oscillator, timeline, {"RK4": fixed("RK4")}, REFERENCE)["RK4"]
    assert found.largest("position") < 1e-15
    assert found.counted("position") == 0
