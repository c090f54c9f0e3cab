"""The right-hand side against an independent implementation of the same equations in NumPy, `numpy_multirotor`."""

import numpy as np
import pytest
from fleet import PowerBus, Rotor, iris, octa, propulsion, twin
from numpy_multirotor import NumpyMultirotor
from plant_probe import Batch

from px4lockstep.environment.gravity import Gravity
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact

CASES = 60
RNG = np.random.default_rng(77)


def tilted_rotors(count):
    """Return rotors with arbitrary axes, on channels in reverse order."""
    axes = RNG.normal(size=(count, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return tuple(
        Rotor(tuple(RNG.uniform(-0.3, 0.3, 3).tolist()), (-1) ** i, tuple(axis.tolist()), channel=12 - i)
        for i, axis in enumerate(axes)
    )


SKEW = ((0.05, -0.006, 0.002), (-0.006, 0.06, 0.004), (0.002, 0.004, 0.1))
FEET = tuple((x, y, 0.12) for x in (0.2, -0.2) for y in (0.2, -0.2))

AIRCRAFT = {
    "iris": iris(),
    "octa": octa(),
    "twin": twin(),
    "tilted axes, skew inertia, quadratic drag": iris(
        rotors=tilted_rotors(7),
        inertia_kgm2=SKEW,
        drag_kind="body_quadratic",
        drag_area_body_m2=(0.01, 0.03, 0.05),
        propulsion=propulsion(inflow_kT=8.0, inflow_kQ=5.0, max_current_a=9.0),
    ),
    "tilted axes, rotor drag, ground effect": iris(
        rotors=tilted_rotors(5),
        propulsion=propulsion(rotor_drag=8e-5, rolling_moment=1e-6, ground_effect=True),
    ),
    "rotor drag in one plane": iris(propulsion=propulsion(rotor_drag=8e-5, rolling_moment=1e-6)),
    "rotor drag of one rotor, on legs": octa(
        propulsion=propulsion(ground_effect=True, overrides=({"rotors": (3,), "rotor_drag": 2e-4},)),
        drag_kind="body_quadratic",
        drag_area_body_m2=(0.01, 0.03, 0.05),
        contact=Contact("legs", points_body_m=FEET, mu_static=1.1),
    ),
    "different motors, propellers and ESCs on two buses": octa(
        propulsion=propulsion(
            overrides=(
                {"rotors": (1, 4), "thrust_ratio": 1.4, "km_m": 0.03, "motor": {"kv_rpm_per_volt": 700.0}},
                {"rotors": (6,), "rotor_radius_m": 0.2, "inflow_kT": 5.0, "inflow_kQ": 2.0, "esc": {"eta": 0.8}},
                {
                    "rotors": (8, 2),
                    "V_nom": 11.0,
                    "esc": {"deadzone": 0.1},
                    "motor": {"r_ohm": 0.1, "j_kgm2": 4e-5, "i0_a": 1.5, "max_current_a": 9.0},
                },
                {"rotors": (3,), "motor": {"viscous_friction_nm_per_rad_s": 1e-5}},
            ),
        ),
        batteries=(Battery(r0=0.03), Battery(capacity_ah=3.0, r0=0.05)),
        buses=(PowerBus((0,), (0, 3, 4, 6, 7), 25.0), PowerBus((1,), (1, 2, 5))),
    ),
    "two buses, three batteries, legs, second order": octa(
        batteries=(
            Battery(r0=0.03, ocv_soc=(0.0, 0.2, 0.7, 1.0), ocv_v=(10.2, 11.0, 11.6, 12.6)),
            Battery(capacity_ah=3.0, r0=0.05),
            Battery(capacity_ah=9.0, r0=0.01, r1=0.02),
        ),
        buses=(PowerBus((0, 2), (0, 3, 4, 6, 7), 25.0), PowerBus((1,), (1, 2, 5))),
        contact=Contact("legs", points_body_m=FEET, mu_static=1.1),
        motor_actuator=ActuatorDynamics("second_order", omega_n=40.0, rate_limit=8.0),
        servo_actuator=ActuatorDynamics("first_order"),
        servo_channels=(2, 7, 1),
        gravity=Gravity("spherical"),
    ),
    "ideal batteries, first order, second-order servos": iris(
        batteries=(Battery(model="ideal"), Battery(model="ideal", r0=0.05)),
        share_mode="equal",
        motor_actuator=ActuatorDynamics("first_order"),
        servo_actuator=ActuatorDynamics("second_order", rate_limit=1.0),
        servo_channels=(8, 3),
    ),
    "second order twice": iris(
        motor_actuator=ActuatorDynamics("second_order", rate_limit=6.0),
        servo_actuator=ActuatorDynamics("second_order", omega_n=30.0, zeta=0.3, rate_limit=9.0),
        servo_channels=(5, 1, 4),
        contact=Contact(mu=0.5),
    ),
}


def filled(aircraft):
    """Return a batch of states and inputs across the flight envelope, half of them on the ground."""
    batch = Batch([aircraft], CASES)
    rng = np.random.default_rng(9)
    draws = {
        "pos": rng.uniform(-100.0, 100.0, (CASES, 3)),
        "vel": rng.normal(size=(CASES, 3)) * 4.0,
        "att": rng.normal(size=(CASES, 4)),
        "omega": rng.normal(size=(CASES, 3)) * 2.0,
        "act": rng.uniform(0.0, 1.0, (CASES, 20)),
        "actdot": rng.uniform(-12.0, 12.0, (CASES, 20)),
        "rotor": rng.uniform(0.0, 1200.0, (CASES, 12)) * (rng.random((CASES, 12)) > 0.1),
        "soc": rng.uniform(-0.02, 1.0, (CASES, 4)),
        "v1": rng.uniform(-0.3, 0.5, (CASES, 4)),
    }
    draws["att"] /= np.linalg.norm(draws["att"], axis=1)[:, None]
    draws["pos"][:, 2] = np.where(np.arange(CASES) % 2, rng.uniform(-0.2, 0.1, CASES), rng.uniform(-15e3, -1.0, CASES))
    draws["vel"][::4] *= 0.01  # static friction
    draws["omega"][::4] *= 0.01
    start = 0
    for name, size in aircraft.groups.items():
        batch.x[:, start : start + size] = draws[name][:, :size]
        start += size
    batch.inputs["command"]["motors"] = rng.uniform(0.0, 1.0, (CASES, 12)) * (rng.random((CASES, 12)) > 0.2)
    batch.inputs["command"]["servos"] = rng.uniform(-1.0, 1.0, (CASES, 8))
    batch.inputs["wind_ned"] = rng.normal(size=(CASES, 3)) * 5.0
    batch.inputs["faults"]["motor_disabled_mask"] = np.where(rng.random(CASES) < 0.3, rng.integers(0, 4096, CASES), 0)
    batch.inputs["faults"]["battery_disconnected"] = rng.random(CASES) < 0.1
    return batch


@pytest.mark.parametrize("aircraft", AIRCRAFT.values(), ids=AIRCRAFT)
def test_the_derivative_agrees_with_the_numpy_implementation(aircraft):
    """Within 1e-12 of each group's largest number, for rounding; the largest difference is 3e-14."""
    batch = filled(aircraft).evaluate()
    other = NumpyMultirotor(aircraft)
    n_x = sum(aircraft.groups.values())
    expected = np.zeros((CASES, n_x))
    for k in range(CASES):
        inputs = batch.inputs[k]
        expected[k] = other.derivative(
            batch.x[k, :n_x],
            inputs["command"]["motors"],
            inputs["command"]["servos"],
            inputs["wind_ned"],
            int(inputs["faults"]["motor_disabled_mask"]),
            bool(inputs["faults"]["battery_disconnected"]),
        )
    start = 0
    for name, size in aircraft.groups.items():
        if size == 0:
            continue
        part = slice(start, start + size)
        start += size
        scale = np.abs(expected[:, part]).max(axis=1, keepdims=True) + 1e-300
        assert (np.abs(batch.dx[:, part] - expected[:, part]) / scale).max() < 1e-12, name


@pytest.mark.parametrize("aircraft", AIRCRAFT.values(), ids=AIRCRAFT)
def test_voltage_and_current_agree_with_the_numpy_implementation(aircraft):
    """Within 1e-9 V and 1e-9 of 100 A: NumPy bisects to the last bit, ours stops at a residual far below 1e-6."""
    batch = filled(aircraft).evaluate()
    other = NumpyMultirotor(aircraft)
    n_x, n_buses = sum(aircraft.groups.values()), len(aircraft.buses)
    for k in range(CASES):
        inputs = batch.inputs[k]
        state = other.groups(batch.x[k, :n_x])
        command, faults = inputs["command"], inputs["faults"]
        _, _, duties = other.commands_and_duties(
            state, command["motors"], command["servos"], int(faults["motor_disabled_mask"])
        )
        volts, amps, currents, _ = other.power(state, duties, bool(faults["battery_disconnected"]))
        outputs = batch.outputs[k]
        assert outputs["bus_voltage_v"][:n_buses] == pytest.approx(volts, abs=1e-9)
        assert outputs["bus_current_a"][:n_buses] == pytest.approx(amps, abs=1e-7)
        assert outputs["motor_current_a"][: len(duties)] == pytest.approx(currents, abs=1e-7)
        assert outputs["rotor_duty"][: len(duties)].tolist() == duties.tolist()
