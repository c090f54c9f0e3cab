"""Fly the X500 and its relatives until they are empty; print the table in docs/reference/aircraft.md.

Each hovers 15 m above home in still air, on the true state and without battery failsafe, until its motors stop.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from px4lockstep import load_aircraft, simulate

NAMES = ("x500", "x500_hex", "x500_octa", "racer", "lifter")
HOVER = "QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 15 1\n1 0 3 17 0 0 0 0 47.397742 8.545594 15 1\n"
STILL = {"environment.wind": "none", "estimator.kind": "none", "autopilot.params.COM_LOW_BAT_ACT": 0}
INCH_M = 0.0254


def figures(name, mission):
    """Return the rows of an aircraft: what they are, and their values as text."""
    aircraft = load_aircraft(name)
    battery = aircraft.power.batteries[0]
    run = simulate(
        name, overrides=STILL | {"px4.mission_path": str(mission), "timeline.t_end_s": 3600.0, "run.mode": "live"}
    )
    log = run.log
    hover = (log["time_s"] > 20.0) & (log["time_s"] < 60.0)
    flies = np.flatnonzero(log["pos_ned"][:, 2] < -1.0)
    return {
        "mass [kg]": f"{aircraft.airframe.mass_kg:.2f}",
        "rotors": str(len(aircraft.rotors)),
        "propeller diameter [inch]": f"{2.0 * aircraft.propulsion.rotor_radius_m / INCH_M:.1f}",
        "battery": f"{battery.cells}S, {battery.capacity_ah:g} Ah",
        "thrust over weight at duty 1 and V_nom": f"{aircraft.thrust_to_weight:.2f}",
        "hover: rotor speed [rad/s]": f"{log['rotor_speed_rad_s'][hover].mean():.0f}",
        "hover: duty": f"{log['rotor_duty'][hover].mean():.2f}",
        "hover: bus [V], [A]": f"{log['bus_voltage_v'][hover].mean():.1f}, {log['bus_current_a'][hover].mean():.1f}",
        "hover until empty [min]": f"{(log['time_s'][flies[-1]] - log['time_s'][flies[0]]) / 60.0:.1f}",
    }


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hover.waypoints"
        path.write_text(HOVER, "utf-8")
        columns = [figures(name, path) for name in NAMES]
    sys.stdout.write("| | " + " | ".join(f"`{name}`" for name in NAMES) + " |\n|" + "---|" * (len(NAMES) + 1) + "\n")
    for label in columns[0]:
        sys.stdout.write(f"| {label} | " + " | ".join(column[label] for column in columns) + " |\n")
