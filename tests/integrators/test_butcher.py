"""Methods by Butcher tableau: validated, flown with fixed and adaptive steps, recorded and replayed."""

from fractions import Fraction

import numpy as np
import pytest
from flown import CASH_KARP, HEUN

import px4lockstep
from px4lockstep import ButcherTableau, InputError, Integrator, Oscillator, Periodic, Simulation, Timeline, replay
from px4lockstep.integrators.butcher import order_of, trees
from px4lockstep.integrators.solver import tolerances
from px4lockstep.integrators.tableaux import TABLEAUX

RALSTON = ButcherTableau(order=2, a=[[], ["2/3"]], b=["1/4", "3/4"], c=[0, "2/3"])
"""Ralston, Runge-Kutta methods with minimum error bounds, Math. Comp. 16 (1962)."""
METHODS = {"Heun": (HEUN, 2), "Ralston": (RALSTON, 2), "Cash-Karp": (CASH_KARP, 5)}


def of(tableau):
    """Return a built-in tableau as one of the user's own."""
    keys = {name: getattr(tableau, name) for name in ("order", "a", "b", "c", "b_embedded")}
    return ButcherTableau(**keys)


def swing(integrator, step_us=None, end_us=2_000_000):
    """Return an oscillator's simulation, and its error at the end."""
    physics = None if step_us is None else Periodic(step_us)
    timeline = Timeline(end_us, log=Periodic(end_us), physics=physics)
    sim = Simulation(Oscillator(omega_rad_s=3.0), timeline, integrator=integrator).run()
    t_s = end_us / 1e6
    exact = np.array([np.cos(3.0 * t_s), -3.0 * np.sin(3.0 * t_s)])
    start = sim.initial_state
    assert start.tolist() == [1.0, 0.0]
    return sim, float(np.abs(sim.plant.x - exact).max())


def test_the_trees_are_those_of_the_order_conditions():
    """1, 1, 2, 4 and 9 rooted trees: 17 conditions up to order 5."""
    assert [len(trees(order)) for order in range(1, 6)] == [1, 1, 2, 4, 9]


@pytest.mark.parametrize("kind", TABLEAUX)
def test_the_order_of_the_built_in_methods_is_found(kind):
    """That of the embedded ones, too."""
    tableau = TABLEAUX[kind]
    assert order_of(tableau.a, tableau.b) == tableau.order
    if tableau.b_embedded:
        assert order_of((*tableau.a, tableau.b), tableau.b_embedded) == tableau.order - 1


@pytest.mark.parametrize("name", METHODS)
def test_fixed_steps_converge_with_the_order_of_the_method(name):
    """Half the step divides the error by 2^p, here within 10 %."""
    tableau, order = METHODS[name]
    own = Integrator("tableau", tableau=tableau, adaptive=False)
    errors = [swing(own, step_us)[1] for step_us in (40_000, 20_000)]
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.1)
    assert swing(own, 20_000)[0].statistics.evaluations == 100 * len(tableau.b)


@pytest.mark.parametrize("name", ["Heun", "Cash-Karp"])
def test_embedded_weights_make_the_step_size_adaptive(name):
    """The error follows the tolerance; without embedded weights there is one step per interval."""
    tableau, _ = METHODS[name]
    errors, steps = [], []
    for tolerance in (1e-4, 1e-6, 1e-8):
        own = Integrator("tableau", tableau=tableau, **tolerances(tolerance, tolerance))
        sim, error = swing(own)
        errors.append(error)
        steps.append(sim.statistics.accepted_steps)
        assert error < 300.0 * tolerance
    assert steps == sorted(steps)
    assert errors == sorted(errors, reverse=True)
    assert swing(Integrator("tableau", tableau=RALSTON))[0].statistics.accepted_steps == 1


@pytest.mark.parametrize("kind", TABLEAUX)
def test_a_built_in_method_given_as_a_tableau_is_the_same_flight(kind):
    """To the bit, fixed and adaptive."""
    tableau = of(TABLEAUX[kind])
    if TABLEAUX[kind].b_embedded:
        ours, theirs = swing(Integrator(kind))[0], swing(Integrator("tableau", tableau=tableau))[0]
        assert ours.plant.x.tobytes() == theirs.plant.x.tobytes()
        assert ours.statistics.evaluations == theirs.statistics.evaluations
    fixed = [Integrator(kind, adaptive=False), Integrator("tableau", tableau=tableau, adaptive=False)]
    ours, theirs = (swing(each, 10_000)[0] for each in fixed)
    assert ours.plant.x.tobytes() == theirs.plant.x.tobytes()


def test_a_flight_with_an_own_method_is_recorded_and_replayed(tmp_path):
    """The tableau is in the spec of the recording; another integrator replays it, too."""
    overrides = {
        "plant.integrator.kind": "tableau",
        "plant.integrator.tableau": CASH_KARP.model_dump(),
        "timeline.t_end_s": 3.0,
    }
    run = px4lockstep.simulate("iris", overrides=overrides)
    assert run.spec.plant.integrator.tableau == CASH_KARP
    folder = run.save(tmp_path / "run", plots=False)
    assert px4lockstep.load_spec(folder / "spec.toml").plant.integrator == run.spec.plant.integrator
    again = replay(folder)
    assert again.matches
    assert again.recording.integrator == "tableau"
    assert again.simulation.digest() == run.digest
    other = replay(folder, integrator="RK4")
    assert other.simulation.integrator.kind == "RK4"
    assert not other.matches
    reference = px4lockstep.compare(folder, {"own": Integrator("tableau", tableau=CASH_KARP), "RK45": "RK45"})
    assert reference.comparison["own"].largest("position") < 1e-5


def test_coefficients_are_numbers_or_exact_fractions():
    """Fractions of Python are written as text; decimals count as the double they are."""
    third = ButcherTableau(order=2, a=[[], [Fraction(2, 3)]], b=[0.25, 0.75], c=[0, 2 / 3])
    assert third.a == ((), ("2/3",))
    assert third.method.a[1] == (Fraction(2, 3),)
    assert third.method.c[1] == Fraction(2 / 3)


EULER = {"order": 1, "a": [[]], "b": [1], "c": [0]}
TWO = {"order": 2, "a": [[], [1]], "b": ["1/2", "1/2"], "c": [0, 1]}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (TWO | {"order": 3}, r"tableau\.order = 3 does not fit the coefficients: .* up to order 2 only"),
        (TWO | {"b": ["1/2", "1/3"]}, r"tableau\.order = 2 does not fit .* up to order 0 only"),
        (TWO | {"c": [0, 0.5]}, r"tableau\.c\[1\] = 0.5 is not the sum of row 1 of a, 1; it must be"),
        (TWO | {"a": [[], [1, 0]]}, r"tableau\.a = .* has rows of \[0, 2\] numbers; with 2 weights .* of \[0, 1\]"),
        (TWO | {"c": [0]}, r"tableau\.c = .* has 1 numbers; it must have 2"),
        (TWO | {"b_embedded": [1]}, r"tableau\.b_embedded = .* has 1 numbers; it must have 2, like b, or 3"),
        (TWO | {"b_embedded": [1, 1]}, r"tableau\.b_embedded = .* must add up to 1"),
        (TWO | {"b_embedded": ["1/2", "1/2"]}, r"tableau\.b_embedded = .* equals b"),
        (EULER | {"b": ["1/0"]}, r"tableau\.b\[0\] = '1/0' is not a coefficient; it must be a number or a fraction"),
        (EULER | {"b": [True]}, "= true is not a coefficient"),
        (EULER | {"b": [float("nan")]}, "= nan is not a coefficient"),
        (EULER | {"b": [1e4]}, "= 10000.0 is not a coefficient; .* from -1000 to 1000"),
        (EULER | {"order": 6}, r"tableau\.order = 6"),
        ({"a": [[]], "b": [1], "c": [0]}, r"tableau\.order"),
    ],
)
def test_an_invalid_tableau_is_an_input_error(keys, message):
    """Shape, sums of rows, order conditions and coefficients are checked when it is created."""
    with pytest.raises(InputError, match=message):
        ButcherTableau(**keys)


def test_kind_and_tableau_belong_together():
    """A tableau without its kind would be ignored, a kind without its tableau can't fly."""
    keys = {"plant.integrator.kind": "RK4", "plant.integrator.tableau": HEUN.model_dump()}
    warnings = px4lockstep.build(px4lockstep.load_spec("iris", keys)).warnings
    assert "plant.integrator.tableau has no effect: plant.integrator.kind = 'RK4'" in warnings
    with pytest.raises(InputError, match=r"plant\.integrator\.tableau is missing; an integrator of kind 'tableau'"):
        Integrator("tableau")
    with pytest.raises(InputError, match=r'plant\.integrator\.tableau has no effect without kind = "tableau"'):
        Integrator(tableau=HEUN)
