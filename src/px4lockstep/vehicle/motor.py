"""ESC and motor of a rotor: an electrical model, or a speed that follows its command.

    d = clamp(duty, 0, 1), 0 below the ESC's deadzone

Electrical, with the load torque Q of the propeller:

    I = clamp((d V − Ke ω) / R, 0, I_max),   Ke = Kt = 60 / (2π Kv)
    J ω̇ = Kt max(0, I − I0) − Q − b ω,   I_bus = d I / η

First order, as in the motor model of PX4's Gazebo simulation (Furrer et al.: RotorS, 2016):

    ω* = min(ω_idle + (ω_max − ω_idle) d, V / Ke),   0 for d = 0
    ω̇ = (ω* − ω) / τ,   τ_up for ω* > ω, otherwise τ_down
    I = max(0, J ω̇ + Q + b ω) / Kt,   I_bus = Kt I ω / (η V)

The speed follows d, not its root. The no-load speed V / Ke limits it, so an empty battery stops the motor; R, I0 and
I_max have no effect. Neither model spins backwards or returns current: a motor that slows down draws none.
"""

import math
from typing import Annotated, Any, Literal

from px4lockstep.jit import kernel, record
from px4lockstep.part import Found, Part, entry, misfit, spelled

FIRST_ORDER = "first_order"

LAG = record([("idle_rad_s span_rad_s inverse_tau_up inverse_tau_down", "f8")])
"""A first-order motor."""


@kernel
def esc_duty(propulsion, command):
    """Return the duty that the ESC applies: within [0, 1], 0 below its deadzone."""
    duty = min(max(command, 0.0), 1.0)
    return duty if duty >= propulsion.deadzone else 0.0


@kernel
def motor_current(propulsion, duty, voltage_v, omega):
    """Return the motor's current [A]."""
    current = (duty * voltage_v - propulsion.ke * omega) * propulsion.inverse_r
    return min(max(current, 0.0), propulsion.max_current_a)


@kernel
def motor_regime(propulsion, current_a):
    """Return the regime of a motor: 0 driving, 1 at its current limit, 2 without torque, 3 without current."""
    if current_a > propulsion.i0_a:
        return 0 if current_a < propulsion.max_current_a else 1
    return 2 if current_a > 0.0 else 3


@kernel
def spin_acceleration(propulsion, omega, current_a, torque_nm):
    """Return ω̇; a rotor at rest does not start to spin backwards."""
    drive = propulsion.ke * max(0.0, current_a - propulsion.i0_a)
    acceleration = (drive - torque_nm - propulsion.viscous_nm_s * omega) * propulsion.inverse_rotor_inertia
    least = 0.0 if omega <= 0.0 else -math.inf  # known early; a condition on the acceleration would delay it
    return max(acceleration, least)


@kernel
def commanded_speed(lag, duty):
    """Return the speed that a duty commands to a first-order motor [rad/s]."""
    return lag.idle_rad_s + lag.span_rad_s * duty if duty > 0.0 else 0.0


@kernel
def lagged_spin(lag, target, omega):
    """Return ω̇ of a first-order motor."""
    rate = target - omega
    return rate * (lag.inverse_tau_up if rate > 0.0 else lag.inverse_tau_down)


@kernel
def lagged_regime(commanded, target, omega, torque_nm):
    """Return the regime of a first-order motor: 0 following, 1 limited by voltage, 2 slowing down, 3 without torque."""
    if torque_nm <= 0.0:
        return 3
    if target < commanded:
        return 1
    return 0 if target > omega else 2


class Esc(Part, where="airframe.propulsion.esc"):
    """Electronic speed controllers (ESC), common to all motors without an override."""

    eta: float = entry(0.98, "Efficiency of the ESC.", gt=0.0, le=1.0)
    deadzone: float = entry(0.02, "Duty below which the ESC applies 0.", ge=0.0, le=1.0)
    cutoff_v: float = entry(
        0.0, "Bus voltage below which the ESC stops its motor until its command is 0 again; 0 disables it.", "V", ge=0.0
    )


class Motor(Part, where="airframe.propulsion.motor"):
    """Brushless motors, common to all rotors without an override."""

    kind: Annotated[Literal["electrical", "first_order"], spelled(("electrical", FIRST_ORDER))] = entry(
        "electrical", "Motor model. The speed of `first_order` follows the duty, within the no-load speed."
    )
    kv_rpm_per_volt: float = entry(920.0, "Speed constant Kv of the motor.", "rpm/V", gt=0.0)
    r_ohm: float = entry(0.25, "Winding resistance of the motor.", "Ω", gt=0.0)
    j_kgm2: float = entry(1.2e-5, "Moment of inertia of rotor and propeller.", "kg m²", gt=0.0)
    i0_a: float = entry(0.6, "No-load current of the motor.", "A", ge=0.0)
    viscous_friction_nm_per_rad_s: float = entry(2e-6, "Viscous friction of the motor.", "N m s", ge=0.0)
    max_current_a: float = entry(60.0, "Current limit of the motor.", "A", gt=0.0)
    tau_up_s: float = entry(0.0125, "Time constant of `first_order` while it speeds up.", "s", gt=0.0)
    tau_down_s: float = entry(0.025, "Time constant of `first_order` while it slows down.", "s", gt=0.0)
    idle_speed_rad_s: float = entry(0.0, "Speed of `first_order` just above duty 0.", "rad/s", ge=0.0)
    max_speed_rad_s: float = entry(1000.0, "Speed of `first_order` at duty 1.", "rad/s", gt=0.0)

    def check(self) -> Found:
        """Check the order of the speeds."""
        if self.idle_speed_rad_s > self.max_speed_rad_s:
            text = f"is above max_speed_rad_s = {self.max_speed_rad_s}; it must be at most that"
            yield misfit("idle_speed_rad_s", self.idle_speed_rad_s, text)

    @property
    def is_lagged(self) -> bool:
        """Whether the speed follows the duty."""
        return self.kind == FIRST_ORDER

    @property
    def ke(self) -> float:
        """Back-EMF constant [V s/rad], which is also the torque constant [N m/A]."""
        return 60.0 / (2.0 * math.pi * self.kv_rpm_per_volt)

    def write_lag(self, rec: Any) -> None:
        """Write a `LAG` record."""
        rec["idle_rad_s"], rec["span_rad_s"] = self.idle_speed_rad_s, self.max_speed_rad_s - self.idle_speed_rad_s
        rec["inverse_tau_up"], rec["inverse_tau_down"] = 1.0 / self.tau_up_s, 1.0 / self.tau_down_s


class EscOverride(Part, where="airframe.propulsion.overrides.esc"):
    """Values of the ESC that differ from `airframe.propulsion.esc`."""

    eta: float | None = entry(None, "Efficiency of the ESC.", gt=0.0, le=1.0)
    deadzone: float | None = entry(None, "Duty below which the ESC applies 0.", ge=0.0, le=1.0)
    cutoff_v: float | None = entry(None, "Bus voltage below which the ESC stops its motor.", "V", ge=0.0)


class MotorOverride(Part, where="airframe.propulsion.overrides.motor"):
    """Values of the motor that differ from `airframe.propulsion.motor`."""

    kv_rpm_per_volt: float | None = entry(None, "Speed constant Kv of the motor.", "rpm/V", gt=0.0)
    r_ohm: float | None = entry(None, "Winding resistance of the motor.", "Ω", gt=0.0)
    j_kgm2: float | None = entry(None, "Moment of inertia of rotor and propeller.", "kg m²", gt=0.0)
    i0_a: float | None = entry(None, "No-load current of the motor.", "A", ge=0.0)
    viscous_friction_nm_per_rad_s: float | None = entry(None, "Viscous friction of the motor.", "N m s", ge=0.0)
    max_current_a: float | None = entry(None, "Current limit of the motor.", "A", gt=0.0)
    tau_up_s: float | None = entry(None, "Time constant of `first_order` while it speeds up.", "s", gt=0.0)
    tau_down_s: float | None = entry(None, "Time constant of `first_order` while it slows down.", "s", gt=0.0)
    idle_speed_rad_s: float | None = entry(None, "Speed of `first_order` just above duty 0.", "rad/s", ge=0.0)
    max_speed_rad_s: float | None = entry(None, "Speed of `first_order` at duty 1.", "rad/s", gt=0.0)
