"""The reference of the benchmarks: the Iris in plain C (`plant.c`), compiled on this machine and called through ctypes.

The header of `plant.c` lists its differences from the package and their effect on the time.
"""

import ctypes
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import LockstepError
from px4lockstep.vehicle.aircraft import Aircraft

SOURCE = Path(__file__).resolve().parent / "plant.c"
FLAGS = ("-O3", "-march=native")
OCV_POINTS = 8

Array = npt.NDArray[np.float64]


class NoReferenceError(LockstepError):
    """The C reference is not available, so a benchmark has no ratio."""


class CReference:
    """The compiled plant."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            raise NoReferenceError("no C compiler (cc) on this machine")
        library = folder / "plant.so"
        command = [compiler, *FLAGS, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lm"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            raise NoReferenceError(f"cc failed: {built.stderr[:300]}")
        self._library = ctypes.CDLL(str(library))
        self._library.plant_run.restype = ctypes.c_int64

    def run(self, parameters: Array, state: Array, commands: Array, steps_per_command: int, dt_s: float) -> float:
        """Advance the state with the commands (rows of four duties) in still air; return the wall time in seconds."""
        wind = np.zeros((len(commands) * steps_per_command, 3))
        arguments = (_pointer(parameters), _pointer(state), _pointer(commands), ctypes.c_int64(len(commands)))
        more = (ctypes.c_int64(steps_per_command), _pointer(wind), ctypes.c_double(dt_s), None, ctypes.c_int64(0))
        start_s = time.perf_counter()
        self._library.plant_run(*arguments, *more)
        return time.perf_counter() - start_s


def _pointer(array: Array) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def c_parameters(aircraft: Aircraft) -> Array:
    """Return the parameters of a quadrotor with one Thevenin battery, in the order that `plant.c` lists."""
    airframe, battery, contact = aircraft.airframe, aircraft.batteries[0], aircraft.contact
    p, motor = airframe.propulsion, airframe.propulsion.motor
    kt = aircraft.thrust_constants[0]
    inertia = np.array(airframe.inertia)
    padding = [0.0] * (OCV_POINTS - len(battery.ocv_soc))
    body = (airframe.mass_kg, *inertia.ravel(), *np.linalg.inv(inertia).ravel())
    drag = (airframe.linear_drag, *airframe.angular_damping, aircraft.gravity.gravity_mps2, aircraft.home_alt_msl_m)
    rotors = (v for rotor in aircraft.rotors for v in (*rotor.pos_body_m, *rotor.axis_body, rotor.direction))
    electric = (motor.ke, motor.r_ohm, motor.i0_a, motor.viscous_friction_nm_per_rad_s, motor.max_current_a)
    thrust = (kt, p.torque_per_thrust_m * kt, p.rotor_radius_m, p.inflow_kT, p.inflow_kQ, motor.j_kgm2)
    charge = (battery.capacity_ah * 3600.0, len(battery.ocv_soc), *battery.ocv_soc, *padding, *battery.ocv_v, *padding)
    cell = (battery.r0, battery.r1, battery.c1, battery.min_voltage_v)
    ground = (contact.k_n_per_m, contact.c_n_per_mps, contact.mu, contact.v_eps)
    esc = (p.esc.eta, p.esc.deadzone)
    return np.array([*body, *drag, *rotors, *electric, *esc, *thrust, *charge, *cell, *ground])
