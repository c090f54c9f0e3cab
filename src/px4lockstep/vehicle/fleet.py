"""The aircraft that ship with the package, as Python builders; what was chosen here says so."""

import math
from typing import Any

from px4lockstep.vehicle.aircraft import Aircraft, Matrix
from px4lockstep.vehicle.parts import Battery, PowerBus, Propulsion, Rotor


def diagonal(ixx: float, iyy: float, izz: float) -> Matrix:
    """Return a diagonal inertia tensor."""
    return ((ixx, 0.0, 0.0), (0.0, iyy, 0.0), (0.0, 0.0, izz))


def iris(**changes: Any) -> Aircraft:
    """Return the Iris, a 1.5 kg quadrotor, on the ground at home; keyword arguments replace fields."""
    values: dict[str, Any] = {
        "name": "iris",
        "mass_kg": 1.5,
        "inertia_kgm2": diagonal(0.029125, 0.029125, 0.055225),
        "linear_drag": 0.05,
        "angular_damping": (0.02, 0.02, 0.01),
        "rotors": (
            Rotor((0.1515, 0.245, 0.0), +1),
            Rotor((-0.1515, -0.1875, 0.0), +1),
            Rotor((0.1515, -0.245, 0.0), -1),
            Rotor((-0.1515, 0.1875, 0.0), -1),
        ),
    }
    return Aircraft(**(values | changes))


def octa(**changes: Any) -> Aircraft:
    """Return the octa, 2 kg, eight rotors from ahead to the right, signs alternating."""
    on_axis, between = 0.25, 0.18
    places = (
        (on_axis, 0.0),
        (between, between),
        (0.0, on_axis),
        (-between, between),
        (-on_axis, 0.0),
        (-between, -between),
        (0.0, -on_axis),
        (between, -between),
    )
    values: dict[str, Any] = {
        "name": "octa",
        "mass_kg": 2.0,
        "inertia_kgm2": diagonal(0.05, 0.05, 0.10),
        "linear_drag": 0.05,
        "angular_damping": (0.02, 0.02, 0.01),
        "rotors": tuple(Rotor((x, y, 0.0), +1 if i % 2 == 0 else -1) for i, (x, y) in enumerate(places)),
        "batteries": (Battery(capacity_ah=7.0),),
        "buses": (PowerBus((0,), tuple(range(8)), avionics_load_w=15.0),),
    }
    return Aircraft(**(values | changes))


def twin(**changes: Any) -> Aircraft:
    """Return the twin, 4 kg, two rotors that push forward, standing on its tail.

    Motor and propeller are chosen here: 400 rpm/V, 0.05 ohm, 15 inch (0.19 m), as sold for a 4 kg tailsitter on 6S. At
    V_nom = 22.2 V they give twice the hover thrust, 39 N each.
    """
    quarter = math.sqrt(0.5)
    values: dict[str, Any] = {
        "name": "twin",
        "mass_kg": 4.0,
        "inertia_kgm2": diagonal(0.20, 0.25, 0.40),
        "linear_drag": 0.05,
        "angular_damping": (0.02, 0.02, 0.01),
        "rotors": (
            Rotor((0.30, 0.20, 0.0), +1, axis_body=(-1.0, 0.0, 0.0)),
            Rotor((0.30, -0.20, 0.0), -1, axis_body=(-1.0, 0.0, 0.0)),
        ),
        "propulsion": Propulsion(
            km_m=0.02,
            v_nom=22.2,
            rotor_radius_m=0.19,
            kv_rpm_per_volt=400.0,
            r_ohm=0.05,
            j_kgm2=1.2e-4,
            i0_a=0.8,
            viscous_friction_nm_per_rad_s=5e-6,
            max_current_a=80.0,
        ),
        "batteries": (Battery(capacity_ah=12.0, ocv_v=(21.6, 25.2), r0=0.03, r1=0.015, c1=3000.0, min_voltage_v=19.8),),
        "q_bn": (quarter, 0.0, quarter, 0.0),
    }
    return Aircraft(**(values | changes))
