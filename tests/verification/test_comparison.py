"""Comparison of integrators on the oscillator, whose solution is known."""

import numpy as np
import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import SimulationError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plant.layout import GROUPS
from px4lockstep.plant.models import ConstantRate, Oscillator, UserPlant
from px4lockstep.verification import solutions
from px4lockstep.verification.comparison import REPEATS, TOLERANCE, compare_integrators, tight

TIMELINE = Timeline(2_000_000, log=Periodic(100_000), physics=Periodic(10_000))
REFERENCE = tight(Integrator("RK45"))


def oscillator(integrator, timeline):
    """Return the oscillator, ready to run."""
    return Simulation(Oscillator(omega_rad_s=2.0, position=1.0, velocity=0.5), timeline, integrator=integrator)


def test_the_errors_are_those_against_the_solution():
    """The reference is close enough to the exact solution; the errors are per row, in position and velocity."""
    compared = compare_integrators(oscillator, TIMELINE, {"Euler": Integrator("Euler")}, REFERENCE)
    flown = oscillator(Integrator("Euler"), TIMELINE).run()
    position, velocity = solutions.oscillator(2.0, 1.0, 0.5, compared.time_s)
    assert compared.time_s.tolist() == pytest.approx(np.arange(21) / 10.0)
    assert [quantity.name for quantity in compared.quantities] == ["position", "velocity"]
    assert compared["Euler"].errors["position"] == pytest.approx(abs(flown.log_state[:, 0] - position), abs=1e-9)
    assert compared["Euler"].errors["velocity"] == pytest.approx(abs(flown.log_state[:, 1] - velocity), abs=1e-9)
    assert compared["Euler"].largest("position") == compared["Euler"].errors["position"].max() > 0.01


def test_an_integrator_against_itself_has_exactly_no_error():
    """The runs are bit-identical, so the error is exactly 0."""
    for kind in ("Euler", "RK4", "RK23", "RK45"):
        own = Integrator(kind)
        compared = compare_integrators(oscillator, TIMELINE, {kind: own}, own)
        assert {name: errors.max() for name, errors in compared[kind].errors.items()} == {"position": 0, "velocity": 0}


def test_attitudes_are_compared_by_the_angle_between_them():
    """For a constant rate, the exponential map gives the angle by which RK4 with fixed steps lags."""
    rate = (0.6, -0.8, 2.0)

    def turn(integrator, timeline):
        return Simulation(ConstantRate(rate), timeline, integrator=integrator)

    compared = compare_integrators(turn, TIMELINE, {"RK4": Integrator("RK4")}, REFERENCE)
    flown = turn(Integrator("RK4"), TIMELINE).run()
    angles = solutions.angle_between(flown.log_state, solutions.constant_rate(rate, compared.time_s))
    assert angles.max() > 1e-11
    assert compared["RK4"].errors["attitude"] == pytest.approx(angles, abs=1e-13)


def test_costs_are_counted():
    """RHS evaluations and steps are counted; the first row is the reference, without errors."""
    integrators = {kind: Integrator(kind) for kind in ("Euler", "RK4")}
    rows = compare_integrators(oscillator, TIMELINE, integrators, REFERENCE).rows()
    assert [row["integrator"] for row in rows] == ["reference", "Euler", "RK4"]
    assert [row["evaluations"] for row in rows[1:]] == [200, 800]
    assert [row["accepted_steps"] for row in rows[1:]] == [200, 200]
    assert [row["rejected_steps"] for row in rows[1:]] == [0, 0]
    assert all(row["wall_s"] > 0.0 for row in rows)
    assert rows[0]["position_m"] is None
    assert rows[1]["position_m"] > rows[2]["position_m"] > 0.0


def test_the_wall_time_is_the_best_of_its_repeats():
    """Each integrator runs `REPEATS` times."""
    made = []

    def make(integrator, timeline):
        made.append(oscillator(integrator, timeline))
        return made[-1]

    compared = compare_integrators(make, TIMELINE, {"RK4": Integrator("RK4")}, REFERENCE)
    repeats = [simulation.statistics.wall_s for simulation in made[1:]]
    assert len(repeats) == REPEATS == 3
    assert compared["RK4"].statistics.wall_s == min(repeats)


def test_a_tight_reference_controls_every_group():
    """It overrides only the tolerances and the error control."""
    reference = tight(Integrator("RK45", plant_error_control=False, atol_pos=1.0, h_max=0.05))
    assert reference.plant_error_control
    assert {reference.atol_of(group) for group in GROUPS} == {TOLERANCE}
    assert {reference.rtol_of(group) for group in GROUPS if group != "att"} == {TOLERANCE}
    assert reference.h_max == 0.05


def unstable_rhs(t_s, state, inputs, params, dstate):
    """Write x' = -x |x| 1000, which diverges with a long step."""
    dstate.x[0] = -1000.0 * state.x[0] * abs(state.x[0])


UNSTABLE = UserPlant(groups={"pos": 1}, initial=[100.0], rhs=unstable_rhs)


def test_an_integrator_that_fails_is_reported_with_the_others():
    """Its errors end at the failure; a reference that fails is an error."""

    def make(integrator, timeline):
        return Simulation(UNSTABLE, timeline, integrator=integrator)

    timeline = Timeline(100_000, log=Periodic(10_000))
    both = {"Euler": Integrator("Euler"), "RK45": Integrator("RK45")}
    compared = compare_integrators(make, timeline, both, REFERENCE)
    assert "became" in compared["Euler"].failure
    assert 0 < len(compared["Euler"].errors["position"]) < len(compared.time_s)
    assert compared["RK45"].failure is None
    assert compared["RK45"].largest("position") < 1e-4
    with pytest.raises(SimulationError):
        compare_integrators(make, timeline, both, Integrator("Euler"))
