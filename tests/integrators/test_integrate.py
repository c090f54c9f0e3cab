"""Steps between event boundaries: exact end times, whole microseconds, tolerances by group, limits."""

import math

import numpy as np
import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.errors import InputError, StepError
from px4lockstep.flights.summary import summarize
from px4lockstep.integrators.error_norm import error_norm
from px4lockstep.integrators.solver import SOLVER, WORK, Integrator, tolerances
from px4lockstep.jit import interpreted, view
from px4lockstep.plant.layout import GROUPS, STATE, V1
from px4lockstep.plant.models import ConstantRate, FreeFall, Oscillator, UserPlant
from px4lockstep.vehicle.dispatch import PLANT


def times_rhs(t_s, state, inputs, params, dstate):
    """Store the first 63 evaluation times in the parameters; impure on purpose, so that the test can read them."""
    count = int(params.values[63])
    if count < 63:
        params.values[count] = t_s
        params.values[63] += 1.0
    dstate.x[0] = 1.0


def evaluation_times(integrator, end_us, **axes):
    """Return the times of the RHS evaluations in microseconds, and the simulation."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=times_rhs)
    sim = Simulation(plant, Timeline(end_us, **axes), integrator=integrator).run()
    values = sim._core["plant"]["user"]["values"][0]
    return values[: int(values[63])] * 1e6, sim


@pytest.mark.parametrize("kind", ["RK23", "RK45"])
def test_adaptive_steps_end_exactly_on_boundaries(kind):
    """For any boundaries, the last stage before each is evaluated exactly there, and none beyond the end."""
    boundaries = (1_234, 5_000, 5_001, 17_777)
    times_us, _ = evaluation_times(Integrator(kind, h_init=0.01), 20_011, scenario=Explicit(boundaries))
    for boundary in (*boundaries, 20_011):
        assert np.isclose(times_us, boundary, rtol=0, atol=1e-6).any()
    assert times_us.max() < 20_011 + 1e-6


@pytest.mark.parametrize("kind", ["RK23", "RK45"])
def test_quantized_steps_are_whole_microseconds(kind):
    """Each step may be 1.25 times the previous one, starting at 10 µs; quantization truncates to whole microseconds."""

    def step_starts(quantize_us):
        integrator = Integrator(kind, h_init=10e-6, max_factor=1.25, quantize_us=quantize_us)
        times_us, sim = evaluation_times(integrator, 52, log=Periodic(52))
        per_step = sim.statistics.evaluations // sim.statistics.accepted_steps
        return times_us[::per_step]

    assert step_starts(True) == pytest.approx([0, 10, 22, 37], abs=1e-6)
    assert step_starts(False) == pytest.approx([0, 10, 22.5, 38.125], abs=1e-6)


def test_whole_steps_are_not_lost_to_rounding():
    """249e-6 * 1e6 is below 249, but a step of 249 µs must still be 249 µs."""
    integrator = Integrator("RK45", h_init=249e-6, h_max=249e-6)
    sim = Simulation(FreeFall(), Timeline(2_490, log=Periodic(2_490)), integrator=integrator).run()
    assert sim.statistics.accepted_steps == 10


@pytest.mark.parametrize("kind", ["RK23", "RK45"])
def test_a_remainder_shorter_than_h_min_does_not_shorten_later_steps(kind):
    """Boundaries 10 µs apart with h_min = 1 ms: one step each, and the carried step size does not change."""
    integrator = Integrator(kind, h_min=1e-3, h_init=2e-3, h_max=2e-3)
    sim = Simulation(FreeFall(), Timeline(100, log=Periodic(10)), integrator=integrator).run()
    assert sim.statistics.accepted_steps == 10
    assert sim.statistics.rejected_steps == 0
    assert sim.statistics.forced_steps == 0
    assert sim._core["solver"]["h_us"][0] == 2_000.0


def test_a_step_at_h_min_that_exceeds_the_tolerance_is_counted():
    """The statistics count it, and the solver record has the time of the first one."""
    integrator = Integrator("RK45", h_min=0.5, h_init=0.5, h_max=0.5, **tolerances(1e-6, 1e-14))
    sim = Simulation(
        Oscillator(omega_rad_s=3.0), Timeline(2_000_000, log=Periodic(500_000)), integrator=integrator
    ).run()
    assert sim.statistics.forced_steps == 4
    assert sim.statistics.accepted_steps == 4
    assert sim.core["solver"]["first_forced_us"] == 0.0
    assert summarize(sim).warnings[-1] == (
        "4 integration steps at the minimum step size exceeded the error tolerance (first at t = 0.000000 s)"
    )


def late_jerk_rhs(t_s, state, inputs, params, dstate):
    """Be linear in time, with a jump at 1.2 s."""
    dstate.x[0] = 1e3 if t_s > 1.2 else 0.0


def test_the_summary_reports_the_time_of_the_first_forced_step():
    """The first step that exceeds the tolerance starts at 1 s."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=late_jerk_rhs)
    integrator = Integrator("RK45", h_min=0.5, h_init=0.5, h_max=0.5)
    sim = Simulation(plant, Timeline(2_000_000, log=Periodic(1_000_000)), integrator=integrator).run()
    assert summarize(sim).warnings == (
        "1 integration step at the minimum step size exceeded the error tolerance (at t = 1.000000 s)",
    )
    smooth = Simulation(plant, Timeline(1_000_000, log=Periodic(1_000_000)), integrator=integrator).run()
    assert smooth.core["solver"]["first_forced_us"] < 0.0


def stiff_rhs(t_s, state, inputs, params, dstate):
    """Combine a slow velocity with a fast rotor."""
    dstate.x[0] = -state.x[0]
    dstate.x[1] = -1e5 * (state.x[1] - math.sin(1e3 * t_s))


STIFF = UserPlant(groups={"vel": 1, "rotor": 1}, initial=[1.0, 1.0], rhs=stiff_rhs)


def test_too_many_substeps_is_an_error_with_time_step_and_group():
    """The message names the group that limits the step size."""
    integrator = Integrator("RK45", max_substeps=50, atol_rotor=1e-9)
    sim = Simulation(STIFF, Timeline(1_000_000, log=Periodic(100_000)), integrator=integrator)
    with pytest.raises(StepError) as caught:
        sim.run()
    message = str(caught.value)
    assert message.startswith("RK45 at t = 0.00")
    assert "not reached within max_substeps = 50 attempts. The last, a step of " in message
    error = float(message.partition("an error of ")[2].partition(" times")[0])
    assert error == pytest.approx(sim._core["solver"]["last_error"][0], rel=1e-2)
    assert "times the tolerance, in group 'rotor'" in message
    assert sim.log["time_us"].tolist() == [0]


def test_without_plant_error_control_rotors_do_not_limit_the_step():
    """The rotor's group is not part of the error norm, so larger steps are possible."""
    timeline = Timeline(10_000, log=Periodic(10_000))
    with_control = Simulation(STIFF, timeline, integrator=Integrator("RK45", atol_rotor=1e-9)).run()
    without = Simulation(
        STIFF, timeline, integrator=Integrator("RK45", plant_error_control=False, h_max=3e-5, h_init=3e-5)
    ).run()
    assert without.statistics.rejected_steps == 0
    assert without.statistics.accepted_steps < with_control.statistics.accepted_steps / 2


def never_finite_rhs(t_s, state, inputs, params, dstate):
    """Return infinity after 1 ms."""
    dstate.x[0] = 1e308 * 10.0 if t_s > 1e-3 else 0.0


def test_a_diverging_right_hand_side_is_an_error_at_the_minimum_step():
    """A shorter step does not help, and the message reports it."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=never_finite_rhs)
    sim = Simulation(plant, Timeline(10_000, log=Periodic(10_000)), integrator=Integrator("RK45"))
    with pytest.raises(StepError, match=r"t = 0\.001000 s: a step of 1 us, the minimum step size.*group 'vel'"):
        sim.run()


@pytest.mark.parametrize("kind", ["RK23", "RK45"])
@pytest.mark.parametrize(
    ("plant", "group"),
    [
        (Oscillator(omega_rad_s=3.0), "pos"),
        (Oscillator(omega_rad_s=3.0), "vel"),
        (ConstantRate((1.0, 2.0, 3.0)), "att"),
    ],
)
def test_each_group_has_its_own_tolerance(kind, plant, group):
    """All other groups are loose: a tighter tolerance in one group gives more steps."""

    def steps(tolerance):
        integrator = Integrator(kind, **tolerances(0.0, 1e-2) | tolerances(0.0, tolerance, [group]))
        return Simulation(plant, Timeline(5_000_000, log=Periodic(5_000_000)), integrator=integrator).run()

    loose, tight = steps(1e-5), steps(1e-8)
    assert tight.statistics.accepted_steps > 2 * loose.statistics.accepted_steps


def test_attitude_tolerance_is_in_radians():
    """A rotation with one RK23 step: the error is the angle to the embedded solution, in units of the tolerance."""
    rate, h_s = 2.0, 0.1
    integrator = Integrator("RK23", h_min=h_s, h_init=h_s, h_max=h_s, atol_att_rad=1.0)
    sim = Simulation(ConstantRate((0.0, 0.0, rate)), Timeline(100_000, log=Periodic(100_000)), integrator=integrator)
    sim.run()
    # For q' = A q with A² = −(rate/2)², z = rate h / 2: third order minus embedded second order.
    z = rate * h_s / 2
    k1, k2, k3, k4 = (np.array([0.0, 0.0]) for _ in range(4))
    turn = np.array([[0.0, -z], [z, 0.0]])
    start = np.array([1.0, 0.0])
    k1 = turn @ start
    k2 = turn @ (start + k1 / 2)
    k3 = turn @ (start + 3 / 4 * k2)
    k4 = turn @ (start + 2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
    error = (2 / 9 - 7 / 24) * k1 + (1 / 3 - 1 / 4) * k2 + (4 / 9 - 1 / 3) * k3 - k4 / 8
    assert sim._core["solver"]["last_error"][0] == pytest.approx(2.0 * np.linalg.norm(error), rel=1e-12)


def rk4_turn(z, between):
    """Return one RK4 step of q' = A q from (1, 0), A² = −z² with a step of 1; `between` maps each stage's state."""
    turn, start = np.array([[0.0, -z], [z, 0.0]]), np.array([1.0, 0.0])
    k1 = turn @ start
    k2 = turn @ between(start + k1 / 2)
    k3 = turn @ between(start + k2 / 2)
    k4 = turn @ between(start + k3)
    return unit(start + (k1 + 2 * k2 + 2 * k3 + k4) / 6)


def unit(q):
    """Return a normalized vector."""
    return q / np.linalg.norm(q)


def test_quaternions_are_not_normalized_between_the_stages_of_a_step():
    """One step over 1 rad is the manual one within 1e-15; normalized stages would be off by 1e-4."""
    rate, h_s = 2.0, 0.5
    timeline = Timeline(500_000, physics=Periodic(500_000))
    sim = Simulation(ConstantRate((0.0, 0.0, rate)), timeline, integrator=Integrator("RK4")).run()
    expected = rk4_turn(rate * h_s / 2, lambda q: q)
    assert sim.plant["att"][[0, 3]] == pytest.approx(expected, rel=0, abs=1e-15)
    assert np.abs(rk4_turn(rate * h_s / 2, unit) - expected).max() > 1e-4


@pytest.mark.parametrize("kind", ["Euler", "RK4", "RK23", "RK45"])
def test_fixed_steps_are_the_intervals(kind):
    """There is one step per interval, with one RHS evaluation per stage of the tableau."""
    timeline = Timeline(1_000, physics=Periodic(10))
    sim = Simulation(Oscillator(), timeline, integrator=Integrator(kind, adaptive=False)).run()
    assert sim.statistics.accepted_steps == 100
    assert sim.statistics.evaluations == 100 * {"Euler": 1, "RK4": 4, "RK23": 3, "RK45": 6}[kind]


def test_statistics_count_what_was_done():
    """An adaptive method evaluates one slope per accepted state and the other stages of every attempt."""
    sim = Simulation(
        Oscillator(omega_rad_s=5.0),
        Timeline(3_000_000, log=Periodic(100_000)),
        integrator=Integrator("RK45", h_init=0.1),
    ).run()
    s = sim.statistics
    assert s.rejected_steps > 0
    assert s.evaluations == s.accepted_steps + 6 * (s.accepted_steps + s.rejected_steps)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "RK5"}, "kind = 'RK5' is unknown; did you mean 'RK45'?"),
        ({"atol_position": 1.0}, "atol_position = 1.0: unknown key; did you mean 'atol_"),
        ({"rtol_pos": math.nan}, "rtol_pos = nan is not allowed; it must be a finite number, at least 0.0"),
        ({"atol_pos": 0.0}, "atol_pos = 0.0 is out of range; it must be at least 1e-15"),
        ({"h_min": 1e-13, "quantize_us": False}, "h_min = 1e-13 is too short; it must be at least 1e-12"),
        ({"h_min": 1e-13}, "h_min = 1e-13 is not a period; the shortest is 0.000001, or plant.integrator.quantize_us"),
        ({"h_min": 0.2}, "h_min = 0.2 is above h_max = 0.1"),
        ({"h_max": 1e-4, "h_init": 1e-3}, "h_init = 0.001 is not between h_min = 1e-06 and h_max = 0.0001"),
        ({"safety": 1.0}, "safety = 1.0"),
        ({"min_factor": 1.5}, "min_factor = 1.5"),
        ({"max_substeps": 0}, "max_substeps = 0"),
        ({"max_substeps": 2.5}, "max_substeps = 2.5"),
        ({"h_min": 2.5e-6}, "h_min = 2.5e-06 is not a whole number of microseconds"),
    ],
)
def test_bad_options_are_refused(options, message):
    """Each message has the value and the allowed values."""
    with pytest.raises(InputError) as caught:
        Integrator(**options)
    assert str(caught.value).startswith(f"plant.integrator.{message}")


def power_of_time_rhs(t_s, state, inputs, params, dstate):
    """Write p t^(p−1), whose integral from 0 to 1 is 1; p is the first parameter."""
    slope = params.values[0]
    for _ in range(int(params.values[0]) - 1):
        slope *= t_s
    dstate.x[0] = slope


@pytest.mark.parametrize(("kind", "order"), [("Euler", 1), ("RK4", 4), ("RK23", 3), ("RK45", 5)])
def test_stages_are_evaluated_at_their_own_times(kind, order):
    """A method of order p integrates p t^(p−1) exactly in one step of 1 s, within 1e-14, but not the next power."""

    def end(power):
        plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=power_of_time_rhs, parameters=[power])
        integrator = Integrator(kind, adaptive=False)
        return (
            Simulation(plant, Timeline(1_000_000, physics=Periodic(1_000_000)), integrator=integrator).run().plant.x[0]
        )

    assert end(order) == pytest.approx(1.0, abs=1e-14)
    assert abs(end(order + 1) - 1.0) > 1e-3


def growth_rhs(t_s, state, inputs, params, dstate):
    """Let both states grow exponentially."""
    dstate.x[0] = params.values[0] * state.x[0]
    dstate.x[1] = params.values[0] * state.x[1]


def rk23_growth(z):
    """Return the growth and the estimated error, relative to x, of one RK23 step of x' = λ x with z = λ h."""
    k1 = z
    k2 = z * (1 + k1 / 2)
    k3 = z * (1 + 3 / 4 * k2)
    new = 1 + 2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3
    k4 = z * new
    return new, (2 / 9 - 7 / 24) * k1 + (1 / 3 - 1 / 4) * k2 + (4 / 9 - 1 / 3) * k3 - k4 / 8


@pytest.mark.parametrize(("groups", "sizes"), [({"pos": 1, "vel": 1}, (8.0, 1.0)), ({"rotor": 2}, (8.0, 1.0))])
def test_error_and_next_step_match_a_manual_calculation(groups, sizes):
    """|e| / (atol + rtol max(|x|, |x'|)) for vectors and for single states, then h safety error^(−1/3); to 1e-12."""
    rate, h_s, rtol, atol = 3.0, 0.01, 1e-4, 1e-3
    integrator = Integrator(
        "RK23",
        h_init=h_s,
        h_max=1.0,
        **tolerances(rtol, atol),
        safety=0.8,
    )
    plant = UserPlant(groups=groups, initial=sizes, rhs=growth_rhs, parameters=[rate])
    sim = Simulation(plant, Timeline(10_000, log=Periodic(10_000)), integrator=integrator).run()
    new, error = rk23_growth(rate * h_s)
    scaled = max(abs(error) * size / (atol + rtol * new * size) for size in sizes)
    solver = sim._core["solver"][0]
    assert sim.statistics.accepted_steps == 1
    assert solver["last_error"] == pytest.approx(scaled, rel=1e-9)
    assert solver["h_us"] == pytest.approx(h_s * 1e6 * min(5.0, 0.8 * scaled ** (-1 / 3)), rel=1e-12)


def test_a_step_cut_short_by_a_boundary_may_lengthen_the_next():
    """A step of 7 µs instead of 10 has no error: the next one may be 35 µs."""
    integrator = Integrator("RK45", h_init=10e-6)
    sim = Simulation(FreeFall(), Timeline(7, log=Periodic(7)), integrator=integrator).run()
    assert sim._core["solver"]["h_us"][0] == 35.0


@pytest.mark.parametrize("group", ["act", "actdot", "rotor", "soc", "v1"])
def test_a_nan_error_counts_as_the_largest(group):
    """It may be in the first state of its group or in a later one; the step is then rejected."""
    plant, solver, work, state = (np.zeros(1, dtype) for dtype in (PLANT, SOLVER, WORK, STATE))
    i = GROUPS.index(group)
    plant["group_start"][0, i], plant["group_stop"][0, i] = 5, 7
    plant["group_start"][0, 0], plant["group_stop"][0, 0] = 0, 3
    if group != "v1":
        plant["group_start"][0, V1], plant["group_stop"][0, V1] = 7, 8  # a group after it
    solver["is_controlled"], solver["rtol"], solver["atol"] = 1, 1e-6, 1e-6
    records = [view(array, writable=True) for array in (state, plant, solver, work)]
    for at in (5, 6):
        work["error"]["x"][0, :8] = 1.0
        work["error"]["x"][0, at] = np.nan
        assert math.isnan(interpreted(error_norm)(*records))
        assert solver["last_group"][0] == i


def test_max_substeps_attempts_are_made():
    """Ten steps of 100 us reach the boundary: ten attempts are enough, nine are not."""
    timeline = Timeline(1_000, log=Periodic(1_000))
    steps = {"h_init": 1e-4, "h_max": 1e-4}
    sim = Simulation(FreeFall(), timeline, integrator=Integrator("RK45", max_substeps=10, **steps)).run()
    assert sim.statistics.accepted_steps == 10
    with pytest.raises(StepError, match="the next event boundary was not reached within max_substeps = 9 attempts"):
        Simulation(FreeFall(), timeline, integrator=Integrator("RK45", max_substeps=9, **steps)).run()
