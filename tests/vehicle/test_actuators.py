"""Actuators of motors and servos: step responses through the loop against closed forms, limits, projection."""

import numpy as np
import pytest
from fleet import Rotor, iris
from plant_probe import Probe, fly

from px4lockstep.errors import InputError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.contact import Contact

FIRST = ActuatorDynamics("first_order", tau_s=0.1)
SECOND = ActuatorDynamics("second_order", omega_n=20.0, zeta=0.5)


def flown(motor=None, servo=None, motors=1.0, servos=0.0, **options):
    """Fly the Iris with four servos for 1 s after a step at time 0; return log times and states by group."""
    aircraft = iris(
        motor_actuator=motor or ActuatorDynamics(),
        servo_actuator=servo or ActuatorDynamics(),
        servo_channels=(1, 2, 3, 4),
        contact=Contact("no_contact"),
    )
    values = {
        "motors": motors if callable(motors) else lambda time_us: motors,
        "servos": lambda time_us: servos,
        "step_us": 10_000,
    } | options
    sim = fly(aircraft, 1.0, **values)
    sizes = list(aircraft.groups.values())
    parts = np.split(sim.log_state, np.cumsum(sizes)[:-1], axis=1)
    return sim, sim.log["time_us"] / 1e6, dict(zip(aircraft.groups, parts, strict=True))


def second_order_step(t, omega_n, zeta):
    """Return the response of an underdamped second-order lag to a unit step."""
    root = np.sqrt(1.0 - zeta * zeta)
    phase = omega_n * root * t
    return 1.0 - np.exp(-zeta * omega_n * t) * (np.cos(phase) + zeta / root * np.sin(phase))


@pytest.mark.parametrize("integrator", ["RK4", "RK45"])
def test_a_first_order_motor_follows_the_exponential(integrator):
    """1 − e^(−t/τ), τ = 0.1 s at steps of 10 ms: below the required 1e-4; the error (h/τ)⁴/120 of RK4 is 1e-6."""
    _, t, state = flown(FIRST, integrator=integrator)
    assert state["act"].shape[1] == 4
    assert np.abs(state["act"] - (1.0 - np.exp(-t / 0.1))[:, None]).max() < 1e-6


def test_a_first_order_servo_follows_the_exponential_on_both_sides():
    """−0.6 (1 − e^(−t/τ)) and 1 − e^(−t/τ), motors untouched, within 1e-6."""
    _, t, state = flown(servo=FIRST, servos=(1.0, -0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    response = 1.0 - np.exp(-t / 0.1)
    assert np.abs(state["act"] - np.outer(response, [1.0, -0.6, 0.0, 0.0])).max() < 1e-6


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "RK45"])
def test_an_exact_first_order_actuator_has_no_error_with_any_integrator(integrator):
    """1 − e^(−t/τ) at steps of 10 ms, motors and servos, to 1e-13 (rounding); else Euler is off by 2 %."""
    exact = ActuatorDynamics("first_order", tau_s=0.1, discretization="exact")
    slow = ActuatorDynamics("first_order", tau_s=0.3, discretization="exact")
    _, t, state = flown(exact, slow, servos=-0.5, integrator=integrator)
    assert np.abs(state["act"][:, :4] - (1.0 - np.exp(-t / 0.1))[:, None]).max() < 1e-13
    assert np.abs(state["act"][:, 4:] + 0.5 * (1.0 - np.exp(-t / 0.3))[:, None]).max() < 1e-13
    _, t, state = flown(FIRST, integrator="Euler")
    assert np.abs(state["act"] - (1.0 - np.exp(-t / 0.1))[:, None]).max() > 0.015


def test_an_exact_actuator_follows_commands_that_change():
    """Up at 0, down at 0.5 s: piecewise exponentials to 1e-13 with Euler."""
    exact = ActuatorDynamics("first_order", tau_s=0.1, discretization="exact")
    _, t, state = flown(exact, integrator="Euler", motors=lambda time_us: float(time_us < 500_000))
    top = 1.0 - np.exp(-5.0)
    expected = np.where(t <= 0.5, 1.0 - np.exp(-t / 0.1), top * np.exp(-(t - 0.5) / 0.1))
    assert np.abs(state["act"] - expected[:, None]).max() < 1e-13


def test_only_a_first_order_actuator_can_be_exact_and_then_limits_no_step():
    """An error for other kinds; the time constant of an exact one does not restrict a fixed step."""
    with pytest.raises(InputError, match=r"discretization = 'exact' is for kind = 'first_order', not 'second_order'"):
        ActuatorDynamics("second_order", discretization="exact")
    assert ActuatorDynamics("first_order", discretization="exact").time_constant_s() == np.inf
    assert FIRST.time_constant_s() == 0.1


def test_a_second_order_motor_follows_its_closed_form():
    """Half a unit step with overshoot, below 1e-4 at 10 ms: RK4's (ωn h)⁴/120 is 1.3e-5. Rates within ωn times that."""
    _, t, state = flown(SECOND, motors=0.5)
    expected = 0.5 * second_order_step(t, 20.0, 0.5)
    assert expected.max() > 0.55
    assert np.abs(state["act"] - expected[:, None]).max() < 1e-4
    # ẏ = ωn / √(1−ζ²) e^(−ζ ωn t) sin(ωd t)
    root = np.sqrt(0.75)
    slope = 0.5 * 20.0 / root * np.exp(-10.0 * t) * np.sin(20.0 * root * t)
    assert np.abs(state["actdot"] - slope[:, None]).max() < 2e-3


def test_a_second_order_servo_follows_its_closed_form():
    """With first-order motors, whose states come first: −0.5 of the step within 1e-4."""
    _, t, state = flown(FIRST, SECOND, servos=-0.5)
    assert state["act"].shape[1] == 8
    assert state["actdot"].shape[1] == 4
    assert np.abs(state["act"][:, 4:] + 0.5 * second_order_step(t, 20.0, 0.5)[:, None]).max() < 1e-4
    assert np.abs(state["act"][:, :4] - (1.0 - np.exp(-t / 0.1))[:, None]).max() < 1e-6


def test_a_rate_limit_makes_a_ramp():
    """2 /s where 12 /s is demanded: after the first 0.02 s, y grows by 0.02 per 10 ms to 1e-12, and |ẏ| ≤ 2."""
    limited = ActuatorDynamics("second_order", omega_n=30.0, zeta=1.0, rate_limit=2.0)
    _, t, state = flown(limited)
    ramp = (t > 0.02) & (t < 0.3)
    assert np.diff(state["act"][ramp, 0]) == pytest.approx(np.full(np.count_nonzero(ramp) - 1, 0.02), abs=1e-12)
    assert np.abs(state["actdot"]).max() <= 2.0
    assert state["act"][-1, 0] == pytest.approx(1.0, abs=1e-4)


def test_at_the_rate_limit_the_acceleration_into_it_is_zero():
    """On either side; away from the limit it is ωn² (u − y) − 2 ζ ωn ẏ to 1e-13."""
    limited = iris(motor_actuator=ActuatorDynamics("second_order", omega_n=30.0, zeta=0.5, rate_limit=2.0))
    probe = Probe(limited, motors=(1.0, 0.0, 0.0, 1.0), act=(0.1, 0.9, 0.5, 0.5), actdot=(2.0, -2.0, 2.0, 5.0))
    expected = [0.0, 0.0, 900.0 * (0.0 - 0.5) - 30.0 * 2.0, 0.0]
    assert probe.derivative("actdot") == pytest.approx(expected, rel=1e-13)
    assert probe.derivative("act").tolist() == [2.0, -2.0, 2.0, 2.0]


def test_an_output_out_of_range_is_limited_and_counted():
    """ζ = 0.2 would reach 1.5: y stays within [0, 1] in every row, and the projection counts its changes."""
    sim, _, state = flown(ActuatorDynamics("second_order", omega_n=20.0, zeta=0.2))
    assert state["act"].max() == 1.0
    assert state["act"].min() >= 0.0
    assert sim.statistics.projected_states >= 4
    calm, _, _ = flown(ActuatorDynamics("second_order", omega_n=20.0, zeta=0.2), motors=0.3)
    assert calm.statistics.projected_states == 0


def test_the_projection_limits_each_channel_to_its_range():
    """Motors [0, 1], servos [−1, 1], rates within their limit; a limited output stops. Each is counted once."""
    aircraft = iris(
        motor_actuator=ActuatorDynamics("second_order", rate_limit=3.0),
        servo_actuator=ActuatorDynamics("second_order", rate_limit=4.0),
        servo_channels=(1, 2),
    )
    probe = Probe(aircraft, act=(1.2, -0.1, 0.5, 0.5, -1.5, 0.0), actdot=(1.0, -1.0, 3.5, -1.0, -2.0, -9.0))
    assert probe.project() == 5
    assert probe["act"].tolist() == [1.0, 0.0, 0.5, 0.5, -1.0, 0.0]
    assert probe["actdot"].tolist() == [0.0, 0.0, 3.0, -1.0, 0.0, -4.0]
    assert probe.project() == 0


def test_direct_motors_apply_their_commands():
    """They have no state, and the output duty is bit-identical to the command."""
    probe = Probe(iris(), motors=(0.1, 0.25, 0.7, 1.0))
    assert len(probe["act"]) == len(probe["actdot"]) == 0
    assert probe.outputs()["rotor_duty"][:4].tolist() == [0.1, 0.25, 0.7, 1.0]


def test_a_lagging_motor_drives_its_esc_by_its_output():
    """Not by the command: the duty is the state, and the command drives the state."""
    probe = Probe(iris(motor_actuator=FIRST), motors=1.0, act=(0.0, 0.01, 0.3, 0.8))
    assert probe.outputs()["rotor_duty"][:4].tolist() == [0.0, 0.0, 0.3, 0.8]
    assert probe.derivative("act") == pytest.approx([10.0, 9.9, 7.0, 2.0], rel=1e-14)


def test_channels_map_commands_to_rotors():
    """Rotor i uses the command of its channel, with and without a lag; unmapped commands have no effect."""
    channels = (3, 12, 1, 6)
    rotors = tuple(Rotor(r.pos_body_m, r.direction, channel=c) for r, c in zip(iris().rotors, channels, strict=True))
    commands = np.linspace(0.1, 0.65, 12)
    direct = Probe(iris(rotors=rotors))
    direct.motors[:] = commands
    expected = [commands[c - 1] for c in channels]
    assert direct.outputs()["rotor_duty"][:4].tolist() == expected
    lagging = Probe(iris(rotors=rotors, motor_actuator=FIRST))
    lagging.motors[:] = commands
    assert lagging.derivative("act") == pytest.approx(np.array(expected) / 0.1, rel=1e-14)


def test_the_integrators_agree_on_an_actuator_at_its_limit():
    """RK45 with default tolerances against RK4 at 0.1 ms, with rate limit and clamp: within 1e-4, due to the kinks."""
    kind = ActuatorDynamics("second_order", omega_n=40.0, zeta=0.4, rate_limit=6.0)
    _, _, fine = flown(kind, integrator="RK4", step_us=100)
    _, _, adaptive = flown(kind, integrator=Integrator("RK45"), step_us=None)
    assert np.abs(fine["act"] - adaptive["act"]).max() < 1e-4
