"""A fixed step that is long compared with the plant's shortest time constant causes a warning."""

import re

import pytest
from fleet import iris

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.contact import Contact

FLOATING = Contact("no_contact")


@pytest.mark.parametrize(
    ("aircraft", "step_us", "expected"),
    [
        (iris(), 1_000, r"step size of 1000 us exceeds 0.2 times .*, 2554 us \(contact\); .* 511 us or less"),
        (iris(), 500, None),
        (iris(contact=FLOATING), 1_000, None),  # 5.6 ms in hover
        (iris(contact=FLOATING), 2_000, r"\(motors\)"),
        (
            iris(contact=FLOATING, motor_actuator=ActuatorDynamics("first_order", tau_s=0.004)),
            1_000,
            r"4000 us \(motor",
        ),
        (
            iris(contact=FLOATING, motor_actuator=ActuatorDynamics("second_order", omega_n=500.0)),
            1_000,
            r"2000 us \(motor",
        ),
    ],
)
def test_the_warning_for_a_long_fixed_step_names_the_time_constant(aircraft, step_us, expected):
    """The limit is 0.2 times the shortest of actuators, motors and contact; adaptive integrators cause no warning."""
    timeline = Timeline(100_000, physics=Periodic(step_us))
    warnings = Simulation(aircraft, timeline, integrator=Integrator("RK4")).warnings
    if expected is None:
        assert warnings == ()
    else:
        assert len(warnings) == 1
        assert re.search(expected, warnings[0])
    assert Simulation(aircraft, timeline, integrator=Integrator("RK45")).warnings == ()


def test_a_step_that_ends_at_contact_may_be_twice_as_long():
    """RK4 keeps its order there; Euler has none to keep. The limit is 0.4 times 2554 us."""
    for kind, step_us, split, warns in (
        ("RK4", 1_020, True, False),
        ("RK4", 1_025, True, True),
        ("RK4", 1_020, False, True),
        ("Euler", 1_020, True, True),
    ):
        timeline = Timeline(100_000, physics=Periodic(step_us))
        integrator = Integrator(kind, split_at_contact=split)
        assert bool(Simulation(iris(), timeline, integrator=integrator).warnings) == warns
