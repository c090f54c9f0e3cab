"""ESC, motor and propeller of one rotor.

    d = clamp(duty, 0, 1), 0 below the ESC's deadzone
    I = clamp((d V − Ke ω) / R, 0, I_max),   Ke = Kt = 60 / (2π Kv)
    τ_e = Kt max(0, I − I0),   Q = kQ ρ ω² fQ,   T = kT ρ ω² fT
    f = 1 / (1 + k μ²),   μ = V_ax / max(1e-3, |ω| R_rotor)
    J ω̇ = τ_e − Q − b ω,   I_bus = d I / η

V_ax is the air's velocity through the disk against the rotor axis: descending at 1 m/s in still air gives +1. μ enters
squared, so climb and descent act alike. There is no negative spin and no regenerative current: a motor that is turned
faster than its voltage asks for gives nothing back, and the energy goes into the ESC.

kT is calibrated so that duty 1 at V_nom and ρ_nom gives a multiple of the hover thrust per rotor. In the steady state

    km T + (b + Kt Ke / R) ω = Kt V / R,   T = kT ρ ω²

I0 and the ESC are left out on purpose. It follows that T < Kt V / (R km).
"""

import math

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record

STANDARD_GRAVITY_M_S2 = 9.80665

PROPULSION = record(
    [
        ("ke", "f8"),  # [V s/rad] and [N m/A]
        ("inverse_r", "f8"),
        ("i0_a", "f8"),
        ("viscous_nm_s", "f8"),
        ("max_current_a", "f8"),
        ("rotor_inertia", "f8"),  # [kg m2]
        ("inverse_rotor_inertia", "f8"),
        ("inverse_eta", "f8"),
        ("deadzone", "f8"),
        ("kt", "f8"),  # [N / (kg/m3) / (rad/s)2]
        ("kq", "f8"),
        ("inflow_kt", "f8"),
        ("inflow_kq", "f8"),
        ("radius_m", "f8"),
    ]
)


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
    """Return which law of a motor holds: 0 it drives its rotor, 1 at its limit, 2 without torque, 3 without current."""
    if current_a > propulsion.i0_a:
        return 0 if current_a < propulsion.max_current_a else 1
    return 2 if current_a > 0.0 else 3


@kernel
def propeller_load(propulsion, density_kg_m3, omega, axial_m_s):
    """Return thrust [N] and torque [N m] of the propeller."""
    # f = 1 / (1 + k (V_ax / tip)²) = tip² / (tip² + k V_ax²): one division. It is not left out for the torque where
    # both factors are the same: LLVM makes it anyway, and then has to choose.
    tip = max(1e-3, abs(omega) * propulsion.radius_m)
    tip_squared = tip * tip
    axial_squared = axial_m_s * axial_m_s
    thrust_factor = tip_squared / (tip_squared + propulsion.inflow_kt * axial_squared)
    torque_factor = tip_squared / (tip_squared + propulsion.inflow_kq * axial_squared)
    pressure = density_kg_m3 * omega * omega
    return propulsion.kt * pressure * thrust_factor, propulsion.kq * pressure * torque_factor


@kernel
def spin_acceleration(propulsion, omega, current_a, torque_nm):
    """Return ω̇; a rotor at rest is not turned backwards."""
    drive = propulsion.ke * max(0.0, current_a - propulsion.i0_a)
    acceleration = (drive - torque_nm - propulsion.viscous_nm_s * omega) * propulsion.inverse_rotor_inertia
    return 0.0 if omega <= 0.0 and acceleration < 0.0 else acceleration


def motor_constant(kv_rpm_per_volt: float) -> float:
    """Return Ke = Kt of a motor from its speed constant."""
    return 60.0 / (2.0 * math.pi * kv_rpm_per_volt)


def calibrate_thrust(
    *,
    thrust_n: float,
    km_m: float,
    ke: float,
    r_ohm: float,
    viscous_nm_s: float,
    voltage_v: float,
    density_kg_m3: float,
) -> float:
    """Return the kT for which the rotor gives `thrust_n` at duty 1, in the steady state.

    Raises:
        InputError: If no kT can reach that thrust.
    """
    drive = ke * voltage_v / r_ohm
    spin_left = drive - km_m * thrust_n
    if spin_left <= 0.0:
        raise InputError(
            f"airframe.propulsion can't reach a thrust of {thrust_n:.3f} N per rotor: with this motor, V_nom = "
            f"{voltage_v} V and km_m = {km_m} the largest is {drive / km_m:.3f} N. Use a motor with a lower resistance "
            "or Kv, a higher voltage, a smaller km_m, less mass or a smaller thrust_calibration_mult"
        )
    omega = spin_left / (viscous_nm_s + ke * ke / r_ohm)
    return thrust_n / (density_kg_m3 * omega * omega)
