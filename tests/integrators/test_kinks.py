"""Kinks of the plant: adaptive steps shrink towards them, which reduces the error."""

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
    """Return the height of a mass that bounces on an undamped spring."""
    fall_s, speed = math.sqrt(2.0 * HEIGHT_M / G), math.sqrt(2.0 * G * HEIGHT_M)
    omega = math.sqrt(STIFFNESS / MASS)
    rest = G / omega**2
    amplitude = math.hypot(rest, speed / omega)
    contact_s = (2.0 * math.pi - 2.0 * math.atan2(speed / omega, rest)) / omega
    late_s = math.fmod(time_s + fall_s, 2.0 * fall_s + contact_s)  # since the last lift-off
    if late_s < 2.0 * fall_s:
        return speed * late_s - 0.5 * G * late_s**2
    phase = omega * (late_s - 2.0 * fall_s) - math.pi + math.atan2(speed / omega, rest)
    return -(rest + amplitude * math.cos(phase))


def flown(kink_tolerance):
    """Return the largest height error over 3 s (seven bounces) with steps up to 1 ms, and the statistics."""
    integrator = Integrator("RK45", kink_tolerance=kink_tolerance, h_max=0.001)
    simulation = fly(SPRING, 3.0, integrator=integrator, step_us=None)
    exact = [exact_height(time_us / 1e6) for time_us in simulation.log["time_us"]]
    return np.abs(-simulation.log_state[:, 2] - exact).max(), simulation.statistics


def test_a_bouncing_vehicle_follows_the_exact_solution():
    """It has fourteen kinks, at touchdown and lift-off. Measured: 1e-8 m, or 1e-4 m without; 7 % more evaluations."""
    error, statistics = flown(1e-8)
    without, plain = flown(1.0)
    assert error < 2e-8
    assert without > 5e-5
    assert statistics.evaluations < 1.1 * plain.evaluations
    assert statistics.forced_steps == 0


def test_a_kink_does_not_shorten_later_steps():
    """A kink costs some attempts, but the step size carried to the next step does not shrink."""
    carried = [
        fly(SPRING, end_s, integrator=Integrator("RK45", h_max=0.002), step_us=None)._core["solver"]["h_us"][0]
        for end_s in (0.2, 0.202)  # touchdown is 38 µs before
    ]
    assert carried == [2_000.0, 2_000.0]


def test_fixed_steps_ignore_kinks():
    """RK4 takes exactly the steps of its physics axis."""
    statistics = fly(SPRING, 1.0, integrator=Integrator("RK4", kink_tolerance=1e-8)).statistics
    assert (statistics.accepted_steps, statistics.rejected_steps) == (1_000, 0)


def test_running_out_of_attempts_at_a_kink_is_reported():
    """The message names the kink, not a tolerance."""
    few = Integrator("RK45", max_substeps=8, h_max=0.002)
    message = r"t = 0\.20\d+ s: .* max_substeps = 8 attempts.* towards a kink .* kink_tolerance from 1e-08 to at most 1"
    with pytest.raises(StepError, match=message):
        fly(SPRING, 0.3, integrator=few, step_us=None)


@pytest.mark.parametrize(
    "motor", [ActuatorDynamics("first_order"), ActuatorDynamics("second_order", omega_n=60.0, rate_limit=3.0)]
)
def test_spin_up_with_motor_lag_is_accurate_across_kinks(motor):
    """ESC deadzone, no-load current and rate limit cause kinks that do not coincide with a tick."""

    def rotors(integrator):
        aircraft = iris(motor_actuator=motor, contact=Contact("no_contact"))
        simulation = fly(aircraft, 0.5, motors=lambda time_us: 0.55, integrator=integrator, step_us=None)
        return simulation.log_state[:, aircraft.offset("rotor") :][:, :4]

    exact = rotors(tight(Integrator("RK45")))
    errors = {k: np.abs(rotors(Integrator("RK45", h_max=0.001, kink_tolerance=k)) - exact).max() for k in (1.0, 1e-8)}
    assert errors[1e-8] < 1e-4
    assert errors[1.0] > 20.0 * errors[1e-8]
