"""Kinks of the plant: adaptive steps shrink up to them, and what is gained by that."""

import math

import numpy as np
import pytest
from fleet import iris
from plant_probe import fly

from px4lockstep.errors import StepError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.contact import Contact
from px4lockstep.verification.comparison import tight

G, MASS, STIFFNESS, HEIGHT_M = 9.80665, 1.5, 5_000.0, 0.2
SPRING = iris(
    pos_ned=(0.0, 0.0, -HEIGHT_M),
    contact=Contact(c_n_per_mps=0.0, k_n_per_m=STIFFNESS, enable_friction=False),
    linear_drag=0.0,
)


def exact_height(time_s):
    """Return the height of a mass that falls on a spring without damping, and is thrown up again, and again."""
    fall_s, speed = math.sqrt(2.0 * HEIGHT_M / G), math.sqrt(2.0 * G * HEIGHT_M)
    omega = math.sqrt(STIFFNESS / MASS)
    rest = G / omega**2
    amplitude = math.hypot(rest, speed / omega)
    contact_s = (2.0 * math.pi - 2.0 * math.atan2(speed / omega, rest)) / omega
    late_s = math.fmod(time_s + fall_s, 2.0 * fall_s + contact_s)  # since it was thrown up
    if late_s < 2.0 * fall_s:
        return speed * late_s - 0.5 * G * late_s**2
    phase = omega * (late_s - 2.0 * fall_s) - math.pi + math.atan2(speed / omega, rest)
    return -(rest + amplitude * math.cos(phase))


def flown(kink_tolerance):
    """Return the largest error of the height over 3 s, seven bounces, with steps up to 1 ms, and what it took."""
    integrator = Integrator("RK45", kink_tolerance=kink_tolerance, h_max=0.001)
    simulation = fly(SPRING, 3.0, integrator=integrator, step_us=None)
    exact = [exact_height(time_us / 1e6) for time_us in simulation.log["time_us"]]
    return np.abs(-simulation.log_state[:, 2] - exact).max(), simulation.statistics


def test_a_bouncing_vehicle_follows_the_exact_solution():
    """The ground sets in and ends, fourteen kinks. Measured 1e-8 m, without 1e-4 m, for 7 % more evaluations."""
    error, statistics = flown(1e-8)
    without, plain = flown(1.0)
    assert error < 2e-8
    assert without > 5e-5
    assert statistics.evaluations < 1.1 * plain.evaluations
    assert statistics.forced_steps == 0


def test_a_step_after_a_kink_is_as_long_as_those_before():
    """One kink costs some attempts, and no crawling away from it: the step that is carried does not shrink."""
    carried = [
        fly(SPRING, end_s, integrator=Integrator("RK45", h_max=0.002), step_us=None)._core["solver"]["h_us"][0]
        for end_s in (0.2, 0.202)  # it touches 38 µs before
    ]
    assert carried == [2_000.0, 2_000.0]


def test_fixed_steps_do_not_look_at_kinks():
    """RK4 takes the steps that it is told to."""
    statistics = fly(SPRING, 1.0, integrator=Integrator("RK4", kink_tolerance=1e-8)).statistics
    assert (statistics.accepted_steps, statistics.rejected_steps) == (1_000, 0)


def test_too_few_attempts_for_a_kink_are_said_to_be_that():
    """No tolerance is to blame."""
    few = Integrator("RK45", max_substeps=8, h_max=0.002)
    said = r"t = 0\.20\d+ s: 8 attempts .* up to a kink .* or kink_tolerance, 1e-08, up to 1"
    with pytest.raises(StepError, match=said):
        fly(SPRING, 0.3, integrator=few, step_us=None)


@pytest.mark.parametrize(
    "motor", [ActuatorDynamics("first_order"), ActuatorDynamics("second_order", omega_n=60.0, rate_limit=3.0)]
)
def test_motors_with_a_lag_spin_up_over_their_kinks(motor):
    """The deadzone of the ESC, the no-load current and the rate limit, none of them at a tick."""

    def rotors(integrator):
        aircraft = iris(motor_actuator=motor, contact=Contact("no_contact"))
        simulation = fly(aircraft, 0.5, motors=lambda time_us: 0.55, integrator=integrator, step_us=None)
        return simulation.log_state[:, aircraft.offset("rotor") :][:, :4]

    exact = rotors(tight(Integrator("RK45")))
    errors = {k: np.abs(rotors(Integrator("RK45", h_max=0.001, kink_tolerance=k)) - exact).max() for k in (1.0, 1e-8)}
    assert errors[1e-8] < 1e-4
    assert errors[1.0] > 20.0 * errors[1e-8]
