"""The parts of an aircraft as a user gives them: checked, then written into the records of the models.

Names follow the aircraft file. Errors name the field as it stands there.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from px4lockstep.checks import (
    Vector3,
    check_kind,
    check_number,
    check_positive,
    check_vector,
)
from px4lockstep.errors import InputError
from px4lockstep.plant.layout import MAX_POINTS
from px4lockstep.vehicle import actuators, battery, contact
from px4lockstep.vehicle.propulsion import calibrate_thrust, motor_constant

NOT_NEGATIVE = "a finite number of 0 or more"
AXIS_LENGTH_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Rotor:
    """Where a rotor is, along which axis it pushes down the air, and how it turns.

    Args:
        pos_body_m: Position relative to the centre of mass.
        direction: The sign of the reaction torque on the body about the axis, +1 or -1.
        axis_body: Unit vector; thrust acts against it. Normalized if its length is within 1e-6 of 1.
        channel: The motor command that drives it, from 1; 0 for the rotor's own number.
    """

    pos_body_m: Vector3
    direction: int
    axis_body: Vector3 = (0.0, 0.0, 1.0)
    channel: int = 0

    def __post_init__(self) -> None:
        """Check and normalize."""
        check_vector("airframe.rotor_pos_body_m", self.pos_body_m)
        axis = check_vector("airframe.rotor_axis_body_m", self.axis_body)
        length = math.sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2])
        if abs(length - 1.0) > AXIS_LENGTH_TOLERANCE:
            raise InputError(f"airframe.rotor_axis_body_m = {axis} has length {length:.6g}; it must be 1 within 1e-6")
        object.__setattr__(self, "axis_body", tuple(component / length for component in axis))
        if self.direction not in (-1, 1):
            raise InputError(f"airframe.propulsion.rotor_dir = {self.direction} must be +1 or -1")


@dataclass(frozen=True)
class Propulsion:
    """ESC, motor and propeller, the same for all rotors; the defaults are the Iris's."""

    km_m: float = 0.05
    v_nom: float = 12.0
    rho_nom: float = 1.225
    rotor_radius_m: float = 0.127
    inflow_kt: float = 8.0
    inflow_kq: float = 8.0
    thrust_calibration_mult: float = 2.0
    calibration_mass_kg: float | None = None
    eta: float = 0.98
    deadzone: float = 0.02
    kv_rpm_per_volt: float = 920.0
    r_ohm: float = 0.25
    j_kgm2: float = 1.2e-5
    i0_a: float = 0.6
    viscous_friction_nm_per_rad_s: float = 2e-6
    max_current_a: float = 60.0

    def __post_init__(self) -> None:
        """Check ranges."""
        where = "airframe.propulsion"
        for name in ("km_m", "v_nom", "rho_nom", "rotor_radius_m", "thrust_calibration_mult"):
            check_positive(f"{where}.{name}", getattr(self, name))
        if self.calibration_mass_kg is not None:
            check_positive(f"{where}.calibration_mass_kg", self.calibration_mass_kg)
        for name in ("inflow_kt", "inflow_kq"):
            check_number(f"{where}.{name}", getattr(self, name), 0.0, allowed=NOT_NEGATIVE)
        check_number(f"{where}.esc.eta", self.eta, 1e-6, 1.0, "above 0 and at most 1")
        check_number(f"{where}.esc.deadzone", self.deadzone, 0.0, 1.0, "between 0 and 1")
        for name in ("kv_rpm_per_volt", "r_ohm", "j_kgm2", "max_current_a"):
            check_positive(f"{where}.motor.{name}", getattr(self, name))
        for name in ("i0_a", "viscous_friction_nm_per_rad_s"):
            check_number(f"{where}.motor.{name}", getattr(self, name), 0.0, allowed=NOT_NEGATIVE)

    def thrust_constant(self, hover_thrust_n: float) -> float:
        """Return kT, calibrated to a multiple of a rotor's hover thrust."""
        return calibrate_thrust(
            thrust_n=self.thrust_calibration_mult * hover_thrust_n,
            km_m=self.km_m,
            ke=motor_constant(self.kv_rpm_per_volt),
            r_ohm=self.r_ohm,
            viscous_nm_s=self.viscous_friction_nm_per_rad_s,
            voltage_v=self.v_nom,
            density_kg_m3=self.rho_nom,
        )

    def time_constant_s(self, hover_thrust_n: float) -> float:
        """Return the time constant of motor and propeller at hover, J / (b + Kt Ke / R + 2 kQ ρ ω)."""
        ke = motor_constant(self.kv_rpm_per_volt)
        kt = self.thrust_constant(hover_thrust_n)
        # kQ ρ ω = km kT ρ ω with kT ρ ω² = T
        propeller = 2.0 * self.km_m * math.sqrt(hover_thrust_n * kt * self.rho_nom)
        return self.j_kgm2 / (self.viscous_friction_nm_per_rad_s + ke * ke / self.r_ohm + propeller)

    def write(self, rec: Any, hover_thrust_n: float) -> None:
        """Write into a `PROPULSION` record, with kT calibrated to the hover thrust of one rotor."""
        kt = self.thrust_constant(hover_thrust_n)
        values = {
            "ke": motor_constant(self.kv_rpm_per_volt),
            "inverse_r": 1.0 / self.r_ohm,
            "i0_a": self.i0_a,
            "viscous_nm_s": self.viscous_friction_nm_per_rad_s,
            "max_current_a": self.max_current_a,
            "rotor_inertia": self.j_kgm2,
            "inverse_rotor_inertia": 1.0 / self.j_kgm2,
            "inverse_eta": 1.0 / self.eta,
            "deadzone": self.deadzone,
            "kt": kt,
            "kq": self.km_m * kt,
            "inflow_kt": self.inflow_kt,
            "inflow_kq": self.inflow_kq,
            "radius_m": self.rotor_radius_m,
        }
        for name, value in values.items():
            rec[name] = value


@dataclass(frozen=True)
class Actuator:
    """The dynamics of all motors, or of all servos."""

    kind: str = "direct"
    tau_s: float = 0.05
    omega_n: float = 50.0
    zeta: float = 0.7
    rate_limit: float = math.inf

    def __post_init__(self) -> None:
        """Check kind and ranges."""
        check_kind("actuation kind", self.kind, actuators.KINDS)
        check_positive("actuation tau_s", self.tau_s)
        check_positive("actuation omega_n", self.omega_n)
        check_number("actuation zeta", self.zeta, 0.0, allowed=NOT_NEGATIVE)
        if not self.rate_limit > 0.0:
            raise InputError(f"actuation rate_limit = {self.rate_limit} must be above 0, or inf for none")

    def time_constant_s(self) -> float:
        """Return the shortest time constant, infinity for direct."""
        return {"direct": math.inf, "first_order": self.tau_s, "second_order": 1.0 / self.omega_n}[self.kind]

    def write(self, rec: Any, low: float, high: float) -> None:
        """Write into an `ACTUATOR` record, with the range of its output."""
        rec["kind"] = actuators.KINDS[self.kind]
        rec["inverse_tau"] = 1.0 / self.tau_s
        rec["omega_n_squared"] = self.omega_n * self.omega_n
        rec["two_zeta_omega_n"] = 2.0 * self.zeta * self.omega_n
        rec["rate_limit"] = self.rate_limit
        rec["low"] = low
        rec["high"] = high


@dataclass(frozen=True)
class Battery:
    """A battery; the defaults are the Iris's."""

    model: str = "thevenin"
    capacity_ah: float = 5.0
    soc0: float = 1.0
    ocv_soc: tuple[float, ...] = (0.0, 1.0)
    ocv_v: tuple[float, ...] = (10.8, 12.6)
    r0: float = 0.02
    r1: float = 0.01
    c1: float = 2000.0
    v1_0: float = 0.0
    min_voltage_v: float = 9.9
    low_thr: float = 0.15
    crit_thr: float = 0.10
    emerg_thr: float = 0.05
    sense_tau_s: float = 0.0
    sense_delay_s: float = 0.0
    sense_voltage_sigma_v: float = 0.0
    sense_current_sigma_a: float = 0.0

    def __post_init__(self) -> None:
        """Check ranges and that the curve rises."""
        check_kind("power.batteries.model", self.model, battery.MODELS)
        for name in ("capacity_ah", "r0", "r1", "c1"):
            check_positive(f"power.batteries.{name}", getattr(self, name))
        for name in ("soc0", "low_thr", "crit_thr", "emerg_thr"):
            check_number(f"power.batteries.{name}", getattr(self, name), 0.0, 1.0, "between 0 and 1")
        if not self.emerg_thr <= self.crit_thr <= self.low_thr:
            raise InputError(
                f"power.batteries thresholds emerg_thr = {self.emerg_thr}, crit_thr = {self.crit_thr}, low_thr = "
                f"{self.low_thr} must rise in this order"
            )
        check_number("power.batteries.v1_0", self.v1_0)
        for name in ("min_voltage_v", "sense_tau_s", "sense_delay_s", "sense_voltage_sigma_v", "sense_current_sigma_a"):
            check_number(f"power.batteries.{name}", getattr(self, name), 0.0, allowed=NOT_NEGATIVE)
        points = len(self.ocv_soc)
        if not 1 <= points <= battery.MAX_OCV_POINTS or len(self.ocv_v) != points:
            raise InputError(
                f"power.batteries.ocv_soc has {points} points and ocv_v {len(self.ocv_v)}; they must be as many, "
                f"1 to {battery.MAX_OCV_POINTS}"
            )
        for name, values in (("ocv_soc", self.ocv_soc), ("ocv_v", self.ocv_v)):
            for value in values:
                check_number(f"power.batteries.{name}", value, 0.0, allowed=NOT_NEGATIVE)
            rises = all(a < b or (name == "ocv_v" and a == b) for a, b in pairwise(values))
            if not rises:
                raise InputError(f"power.batteries.{name} = {list(values)} must rise")
        if self.ocv_v[-1] <= 0.0:
            raise InputError(f"power.batteries.ocv_v = {list(self.ocv_v)} must end above 0")
        if self.model == "thevenin" and self.min_voltage_v > self.ocv_v[-1]:
            raise InputError(
                f"power.batteries.min_voltage_v = {self.min_voltage_v} is above the full battery's {self.ocv_v[-1]} V"
            )

    def write(self, rec: Any, bus: int, share: float) -> None:
        """Write into a `BATTERY` record, with its bus and its share of that bus's current."""
        points = len(self.ocv_soc)
        slopes = np.diff(self.ocv_v) / np.diff(self.ocv_soc)
        rec["model"] = battery.MODELS[self.model]
        rec["bus"] = bus
        rec["share"] = share
        rec["inverse_capacity"] = 1.0 / (self.capacity_ah * 3600.0)
        rec["ocv_points"] = points
        rec["ocv_soc"][:points] = self.ocv_soc
        rec["ocv_v"][:points] = self.ocv_v
        rec["ocv_slope_v"][: points - 1] = slopes
        rec["r0_ohm"] = self.r0
        rec["conductance"] = 1.0 / self.r0
        rec["inverse_r1c1"] = 1.0 / (self.r1 * self.c1)
        rec["inverse_c1"] = 1.0 / self.c1
        rec["min_voltage_v"] = self.min_voltage_v
        rec["low_threshold"] = self.low_thr
        rec["critical_threshold"] = self.crit_thr
        rec["emergency_threshold"] = self.emerg_thr


@dataclass(frozen=True)
class PowerBus:
    """A bus: which batteries feed it, which rotors and what avionics it feeds. Numbers count from 0."""

    batteries: tuple[int, ...]
    rotors: tuple[int, ...]
    avionics_load_w: float = 0.0

    def __post_init__(self) -> None:
        """Check the load."""
        check_number("power.buses.avionics_load_w", self.avionics_load_w, 0.0, allowed=NOT_NEGATIVE)


@dataclass(frozen=True)
class Contact:
    """Contact with the ground; the defaults are the Iris's. `legs` stands on `points_body_m`."""

    kind: str = "flat_ground"
    k_n_per_m: float = 5000.0
    c_n_per_mps: float = 600.0
    mu: float = 0.8
    v_eps: float = 0.05
    enable_friction: bool = True
    points_body_m: tuple[Vector3, ...] = field(default=())
    mu_static: float | None = None

    def __post_init__(self) -> None:
        """Check kind, ranges and points."""
        check_kind("plant.contact.kind", self.kind, contact.KINDS)
        check_positive("plant.contact.k_n_per_m", self.k_n_per_m)
        check_number("plant.contact.c_n_per_mps", self.c_n_per_mps, 0.0, allowed=NOT_NEGATIVE)
        check_number("plant.contact.mu", self.mu, 0.0, allowed=NOT_NEGATIVE)
        check_positive("plant.contact.v_eps", self.v_eps)
        if self.mu_static is not None:
            check_number("plant.contact.mu_static", self.mu_static, self.mu, allowed=f"at least mu = {self.mu}")
        for point in self.points_body_m:
            check_vector("plant.contact.points_body_m", point)
        if self.kind == "legs" and not 1 <= len(self.points_body_m) <= MAX_POINTS:
            raise InputError(
                f"plant.contact.points_body_m has {len(self.points_body_m)} points; legs need 1 to {MAX_POINTS}"
            )

    def time_constant_s(self, mass_kg: float, smallest_inertia_kgm2: float) -> float:
        """Return the shortest time constant of the vehicle on spring and damper, infinity without contact.

        On legs it can also rock, which is faster where the feet are far from the centre of mass.
        """
        if self.kind == "no_contact":
            return math.inf
        shortest_s = _oscillator_time_s(mass_kg, self.k_n_per_m, self.c_n_per_mps)
        if self.kind == "legs":
            squares = [x * x + y * y + z * z for x, y, z in self.points_body_m]
            lever = max(squares)
            rocking = _oscillator_time_s(smallest_inertia_kgm2, self.k_n_per_m * lever, self.c_n_per_mps * lever)
            shortest_s = min(shortest_s, rocking)
        return shortest_s

    @property
    def rest_height_m(self) -> float:
        """Height of the centre of mass when the vehicle stands on the ground."""
        return max(point[2] for point in self.points_body_m) if self.kind == "legs" else 0.0

    def friction_slope_n_s_m(self, mass_kg: float) -> float:
        """Return the most that friction of all legs together grows with speed."""
        return max(self.c_n_per_mps, 2.0 * math.sqrt(self.k_n_per_m * mass_kg))

    def write(self, rec: Any, mass_kg: float) -> None:
        """Write into a `CONTACT` record."""
        count = len(self.points_body_m)
        divisor = count if self.kind == "legs" else 1
        mu_static = self.mu if self.mu_static is None else self.mu_static
        rec["kind"] = contact.KINDS[self.kind]
        rec["n_points"] = count
        rec["stiffness_n_m"] = self.k_n_per_m / divisor
        rec["damping_n_s_m"] = self.c_n_per_mps / divisor
        rec["mu"] = self.mu if self.enable_friction else 0.0
        rec["mu_static"] = mu_static if self.enable_friction else 0.0
        rec["v_eps_m_s"] = self.v_eps
        rec["friction_slope_n_s_m"] = self.friction_slope_n_s_m(mass_kg) / divisor
        if count:
            rec["points_body_m"][:count] = self.points_body_m


def _oscillator_time_s(mass: float, stiffness: float, damping: float) -> float:
    """Return the shortest time constant of m s² + c s + k: 1 / |s| of the faster root."""
    natural = math.sqrt(stiffness / mass)
    half_damping = damping / (2.0 * mass)
    return 1.0 / max(natural, half_damping + math.sqrt(max(0.0, half_damping * half_damping - natural * natural)))
