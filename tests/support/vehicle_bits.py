"""A grid of aircraft, states and inputs."""

import hashlib

import numpy as np
from fleet import PowerBus, iris, octa, propulsion, twin
from plant_probe import Batch

from px4lockstep.environment.gravity import Gravity
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact

CASES_EACH = 40

FEET = tuple((x, y, 0.12) for x in (0.2, -0.2) for y in (0.2, -0.2))
EVERYTHING = octa(
    name="everything",
    inertia_kgm2=((0.05, -0.006, 0.002), (-0.006, 0.06, 0.004), (0.002, 0.004, 0.1)),
    drag_kind="body_quadratic",
    drag_area_body_m2=(0.01, 0.03, 0.05),
    propulsion=propulsion(
        inflow_kQ=5.0, max_current_a=5.0, r_ohm=0.05, rotor_drag=8e-5, rolling_moment=1e-6, ground_effect=True
    ),
    batteries=(Battery(r0=0.3, min_voltage_v=6.0), Battery(model="ideal"), Battery(r0=0.2, min_voltage_v=6.0)),
    buses=(PowerBus((0, 2), (0, 3, 4, 6, 7), 25.0), PowerBus((1,), (1, 2, 5))),
    contact=Contact("legs", points_body_m=FEET, mu_static=1.1),
    motor_actuator=ActuatorDynamics("second_order", omega_n=40.0, rate_limit=8.0),
    servo_actuator=ActuatorDynamics("first_order", discretization="exact"),
    servo_channels=(2, 7, 1),
    gravity=Gravity("spherical"),
)
STAND = {"speed_rad_s": (200.0, 500.0, 900.0), "thrust_n": (0.3, 2.0, 6.5), "torque_nm": (0.006, 0.034, 0.12)}
FIRST_ORDER = {"duty": (0.1, 0.45, 1.0), "current_a": (0.3, 2.1, 11.0)}
OWN_DRAG = {"rotors": [2], "rotor_drag": 1e-4, "motor": {"r_ohm": 0.3}}
CUTTING = iris(
    propulsion=propulsion(cutoff_v=9.0, overrides=[OWN_DRAG], table=STAND),
    batteries=(Battery(cells=3),),
    buses=(PowerBus((0,), (0, 1, 2, 3), 12.0),),
)
LAGGED = iris(
    propulsion=propulsion(
        kind="first_order",
        kT=8e-6,
        kQ=2e-7,
        overrides=[{"rotors": [1], "table": STAND | FIRST_ORDER}, {"rotors": [3], "table": STAND}],
    ),
    batteries=(Battery(cells=3),),
)
GRID = (iris(), octa(), twin(), EVERYTHING, CUTTING, LAGGED)


def fill(batch):
    """Fill a batch with states and inputs of every size and sign, including integers and zeros."""
    rng = np.random.default_rng(2)
    for k in range(len(batch.x)):
        start = 0
        for name, size in batch.aircraft[k // CASES_EACH].groups.items():
            scale = {"pos": 3.0, "vel": 5.0, "omega": 3.0, "rotor": 600.0, "actdot": 9.0}.get(name, 0.6)
            values = rng.normal(size=size) * scale
            values[rng.random(size) < 0.1] = 0.0
            batch.x[k, start : start + size] = np.abs(values) if name in ("rotor", "act") and k % 4 else values
            start += size
    batch.x[::5, 2] *= 2e3
    batch.x[:, 6:10] /= np.linalg.norm(batch.x[:, 6:10], axis=1)[:, None]
    cases = len(batch.x)
    batch.inputs["command"]["motors"] = np.maximum(0.0, rng.uniform(-0.2, 1.0, (cases, 12)))
    batch.inputs["command"]["servos"] = rng.uniform(-1.0, 1.0, (cases, 8))
    batch.inputs["wind_ned"] = rng.normal(size=(cases, 3)) * 4.0
    batch.inputs["faults"]["motor_disabled_mask"] = rng.integers(0, 256, cases) * (rng.random(cases) < 0.2)
    batch.inputs["faults"]["battery_disconnected"] = rng.random(cases) < 0.1


def hash_results():
    """Return the hash over derivatives, outputs and projections."""
    batch = Batch(GRID, CASES_EACH)
    fill(batch)
    batch.evaluate()
    assert np.isfinite(batch.dx).all()
    assert batch.moved.any()
    digest = hashlib.sha256()
    for result in (batch.dx, batch.outputs, batch.projected, batch.moved):
        digest.update(np.ascontiguousarray(result).tobytes())
    return digest.hexdigest()


def digest_lines():
    """Yield the hash, as a line."""
    yield hash_results()
