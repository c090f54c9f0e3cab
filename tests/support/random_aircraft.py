"""Random aircraft on short missions with random faults and requests: 0.05 to 49 kg, 3 to 12 rotors, any gains."""

import json
import math
import random

from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.run import Run, fly
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

HOME = (47.397742, 8.545594)
METRES_PER_DEGREE = 6_371_000.0 * math.pi / 180.0
GAINS = {
    "MC_ROLLRATE_P": (0.15, 0.01, 0.5),
    "MC_ROLLRATE_D": (0.003, 0.0, 0.01),
    "MC_ROLL_P": (6.5, 0.1, 12.0),
    "MC_YAWRATE_P": (0.2, 0.0, 0.6),
    "MPC_XY_VEL_P_ACC": (1.8, 1.2, 5.0),
    "MPC_Z_VEL_P_ACC": (4.0, 2.0, 15.0),
}
"""Gains that are varied: default, least and greatest value."""


def inline(value):
    """Return a value as TOML, with inline tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {inline(own)}" for key, own in value.items()) + "}"
    return f"[{', '.join(map(inline, value))}]" if isinstance(value, list) else json.dumps(value)


def random_mission(draw):
    """Return the text of a mission: up, to one or two points, and down there, at home, or not at all."""
    height = draw.uniform(1.5, 5.0)
    places = [(draw.uniform(-9.0, 9.0), draw.uniform(-9.0, 9.0)) for _ in range(draw.randint(1, 2))]
    items = [(22, 0.0, 0.0, height), *((16, *place, height) for place in places)]
    items += draw.choices([[(21, *places[-1], 0.0)], [(20, 0.0, 0.0, 0.0)], []], (8, 2, 1))[0]
    lines = ["QGC WPL 110"]
    for i, (command, north, east, up) in enumerate(items):
        lat, lon = HOME[0] + north / METRES_PER_DEGREE, HOME[1]
        lon += east / METRES_PER_DEGREE / math.cos(math.radians(HOME[0]))
        place = "0 0 0" if command == 20 else f"{lat:.9f} {lon:.9f} {up:.3f}"
        lines.append(f"{i} {int(i == 0)} 3 {command} 0 {1.0 if command == 16 else 0} 0 0 {place} 1")
    return "\n".join(lines) + "\n"


def random_events(draw, end_s, rotors):
    """Return scenario events: up to two faults, sometimes a wind step, and a request."""
    events = []

    def at(action, low=0.2, **values):
        events.append({"at_s": round(draw.uniform(low, 1.0) * end_s, 2), "action": action, **values})

    for _ in range(draw.choices((0, 1, 2), (5, 3, 2))[0]):
        motor = draw.randint(1, rotors)
        choice = draw.randrange(7)
        if choice == 0:
            at("disable_motor", motor=motor)
        elif choice == 1:
            at("thrust_loss", motor=motor, fraction=round(draw.uniform(0.05, 0.9), 3))
        elif choice == 2:
            at("stuck_motor", motor=motor)
        elif choice == 3:
            at("disconnect_battery")
        elif choice == 4:
            at("estimate_drift", pos_ned=[round(draw.uniform(-0.6, 0.6), 3), round(draw.uniform(-0.6, 0.6), 3), 0.0])
        elif choice == 5:
            at("estimate_dropout")
        else:
            angle, speed = draw.uniform(0.0, 2.0 * math.pi), draw.uniform(3.0, 40.0)
            at("wind_step", vel_ned=[round(speed * math.cos(angle), 2), round(speed * math.sin(angle), 2), 0.0])
    if draw.random() < 0.35:
        at(draw.choice(("return", "land")))
    return events


def random_spec(draw):
    """Return the tables of a spec file and the text of its mission."""
    mass = math.exp(draw.uniform(math.log(0.05), math.log(49.0)))
    rotors = draw.choice((3, 4, 4, 5, 6, 6, 6, 7, 8, 8, 9, 10, 11, 12))
    size = 0.26 * (mass / 1.5) ** (1.0 / 3.0) * draw.uniform(0.7, 1.4)
    turn = math.pi / rotors
    ring = [(size * math.cos(2 * i * turn + turn), size * math.sin(2 * i * turn + turn)) for i in range(rotors)]
    inertia = 0.29 * mass * size * size * math.exp(draw.gauss(0.0, 0.8))
    end_s = float(draw.choice((20, 20, 30, 40, 40, 50, 60)))
    contact = {
        "k_n_per_m": 5000.0 * mass / 1.5,
        "c_n_per_mps": 600.0 * mass / 1.5,
        "mu": round(draw.uniform(0.1, 1.0), 2),
    }
    up = 0.0
    if draw.random() < 0.4:
        up = 0.4 * size
        feet = [[x * size, y * size, z * size] for z in (0.4, -0.2) for x in (-0.6, 0.6) for y in (-0.6, 0.6)]
        contact |= {"kind": "legs", "points_body_m": feet}
    full_v = draw.choice((12.6, 16.8, 25.2, 50.4))
    per_rotor = mass / rotors
    # A propeller that is as large as the aircraft, and a motor that is turned by its voltage as the Iris's is by 12 V.
    motor = {
        "kv_rpm_per_volt": 920.0 * 12.0 / full_v * (0.375 / per_rotor) ** (1.0 / 3.0),
        "r_ohm": 0.1 * (full_v / 12.6) ** 2 * 0.375 / per_rotor,
        "j_kgm2": 1.2e-5 * (per_rotor / 0.375) ** (5.0 / 3.0),
        "i0_a": 0.6 * per_rotor / 0.375 * 12.6 / full_v,
        "max_current_a": 60.0 * max(per_rotor / 0.375, 0.1) * 12.6 / full_v,
    }
    propulsion = {
        "V_nom": full_v * 0.95,
        "km_m": 0.05 * (per_rotor / 0.375) ** (1.0 / 3.0),
        "rotor_radius_m": 0.127 * (per_rotor / 0.375) ** (1.0 / 3.0),
        "thrust_calibration_mult": draw.choice(
            (round(draw.uniform(0.7, 1.3), 2), *(round(draw.uniform(1.6, 3.0), 2),) * 14)
        ),
        "motor": motor,
    }
    battery = {
        "id": "bat1",
        "capacity_ah": 5.0 * mass / 1.5 * 12.6 / full_v,
        "ocv_v": [full_v * 0.857, full_v],
        "r0": 0.02 * 1.5 / mass * (full_v / 12.6) ** 2,
        "r1": 0.01 * 1.5 / mass * (full_v / 12.6) ** 2,
        "c1": 2000.0 * mass / 1.5 * (12.6 / full_v) ** 2,
        "min_voltage_v": full_v * 0.786,
        "soc0": draw.choice((1.0, 1.0, 1.0, 1.0, 1.0, 0.6, round(draw.uniform(0.001, 0.05), 4))),
    }
    lag_s = round(draw.uniform(0.01, 0.12), 3)
    spread = draw.choice((0.1, 0.1, 0.5, 1.5))
    params = {
        name: min(max(usual * math.exp(draw.gauss(0.0, spread)), least), greatest)
        for name, (usual, least, greatest) in GAINS.items()
        if draw.random() < 0.6
    }
    params |= {name.replace("ROLL", "PITCH"): value for name, value in params.items() if "ROLL" in name}
    params["RTL_RETURN_ALT"] = 4.0
    params["COM_DISARM_LAND"] = draw.choice((2.0, 2.0, -1.0))
    scenario = {"events": random_events(draw, end_s, rotors), "ends_at_crash": draw.random() > 0.2}
    scenario["arm_time_s"] = 1.0 if draw.random() < 0.98 else end_s + 5.0
    has_mission = draw.random() < 0.92
    tables = {
        "schema_version": 1,
        "aircraft": {"name": "random", "seed": draw.randrange(1000)},
        "home": {"lat_deg": HOME[0], "lon_deg": HOME[1], "alt_msl_m": 488.0},
        "px4": {"mission_path": "mission.waypoints"} if has_mission else {},
        "autopilot": {"params": params},
        "timeline": {"t_end_s": end_s, "dt_log_s": 0.02},
        "run": {"mode": "live"},
        "plant": {"contact": contact},
        "environment": {
            "wind": draw.choice(("none", "ou", "constant")),
            "wind_mean_ned": [round(draw.gauss(0.0, 3.0), 2), round(draw.gauss(0.0, 3.0), 2), 0.0],
        },
        "scenario": scenario,
        "estimator": draw.choice(
            ({"kind": "none"}, {"kind": "noisy_delayed", "delay_s": 0.004 * draw.choice((1, 2, 5, 12))})
        ),
        "actuation": {"motor_actuators": draw.choice(({"kind": "direct"}, {"kind": "first_order", "tau_s": lag_s}))},
        "airframe": {
            "mass_kg": mass,
            "inertia_diag_kgm2": [inertia, inertia, 1.8 * inertia],
            "linear_drag": 0.05 * mass / 1.5,
            "angular_damping": [0.7 * inertia, 0.7 * inertia, 0.4 * inertia],
            "rotor_pos_body_m": [[x, y, 0.0] for x, y in ring],
            "propulsion": propulsion,
            "x0": {"pos_ned": [0.0, 0.0, -up]},
        },
        "power": {"batteries": [battery]},
    }
    return tables, random_mission(draw)


def random_flight(index, folder, seed=17):
    """Fly a random aircraft; return the run and its mission, or the error with which it was rejected."""
    draw = random.Random(f"{seed}/{index}")
    tables, mission = random_spec(draw)
    (folder / "mission.waypoints").write_text(mission, "utf-8")
    (folder / "aircraft.toml").write_text(
        "\n".join(f"{name} = {inline(table)}" for name, table in tables.items()), "utf-8"
    )
    try:
        flight = build(load_spec(folder / "aircraft.toml"))
    except InputError as error:
        return error, mission
    try:
        return fly(flight), mission
    except SimulationError as error:
        return Run(flight, error), mission
