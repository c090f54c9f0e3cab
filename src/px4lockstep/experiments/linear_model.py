"""Linear model of the rate and attitude loops at hover, from the numbers of a spec.

Rotor, in deviations from its hover speed ω₀ (n rotors with thrust kT ρ ω², torque kQ ρ ω²; `propulsion`, `motor`):

    kT ρ ω₀² = m g / n
    δω̇ = −δω / τ + (Kt V / (R J)) δd,   1 / τ = (Kt Ke / R + b + 2 kQ ρ ω₀) / J

The bus voltage V is that of the hover current. It stays constant to first order: torque commands raise some duties by
as much as they lower others. The body turns about one axis, with the torque of rotor i per thrust (arm), the sign of
its reaction torque (s) and the motor command per torque setpoint (mix, `allocation`):

    I ṗ = Σ mix_i (2 ω₀ ρ (kT arm_i + kQ s_i) δω + J s_i δω̇) − D p + τ_drag

with the angular damping D of the airframe.

Roll and pitch φ also move the vehicle sideways, at a speed v with the axes chosen so that φ > 0 accelerates it. Rotor
drag (`rotor_drag`) acts at the hubs, h above the centre of mass, which move at v + h p:

    F = −(ρ / ρ_nom) n c_d ω₀ (v + h p),   m v̇ = m g φ + F − c v,   τ_drag = h F

with the linear drag c of the fuselage, if it has one. About yaw, τ_drag = −(ρ / ρ_nom) c_d ω₀ Σ (x_i² + y_i²) p.

Commands are held for a tick of length T, so the plant is discretized exactly (zero-order hold). With z = exp(j 2π f T),
a feedback delay of k ticks (the estimator's), the low-pass F of the yaw torque (1 for roll and pitch) and the
derivative filter H, the rate controller (`rate_control`) gives

    u = F (C_ff ω_sp − C_fb z^−k ω),   C_ff = P + I T / (z − 1) + FF,   C_fb = P + I T / (z − 1) + D H
    H = (α / T) (1 − z⁻¹) / (1 − (1 − α) z⁻¹),   α = T / (T + τ_D)

The integrator takes a sample one tick late, because a tick's error is added after its torque is computed.

The rate loop is broken at the torque setpoint: L = F C_fb z^−k G. Every feedback path passes there, and margins are
those against errors of the actuators. The attitude loop is broken at the attitude error, with the rate loop closed:
L = P_att z^−k θ/ω_sp.

Neglected: coupling between axes (products of inertia, rolling moments of the rotors), saturation, the fade of the
integrator at large errors, and everything else that is quadratic at hover: inflow, fuselage drag.

Reference:
    G. F. Franklin, J. D. Powell, M. L. Workman, Digital Control of Dynamic Systems, 3rd ed., 1998, section 4.3:
    zero-order hold.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import signal
from scipy.linalg import expm

from px4lockstep.autopilots.builtin.allocation import THRUST_Z, YAW, effectiveness, mixes
from px4lockstep.autopilots.builtin.parameters import GEOMETRY
from px4lockstep.autopilots.builtin.rate_control import time_constant_s
from px4lockstep.environment.atmosphere import density_kg_m3
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.px4.parameters import resolve
from px4lockstep.spec.build import build_aircraft
from px4lockstep.spec.spec import Spec
from px4lockstep.vehicle.aircraft import Aircraft

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]
Filter = tuple[list[float], list[float]]
"""Numerator and denominator of a transfer function, in powers of z⁻¹."""

NAMES = ("ROLL", "PITCH", "YAW")
RATE_STATE, ANGLE_STATE = 1, 2
BALANCED = 1e-6
"""Largest imbalance of an axis for which the bus voltage stays constant to first order."""


@dataclass(frozen=True)
class HoverTrim:
    """A hover: rotor speed, duty, bus voltage, and air density."""

    omega_rad_s: float
    duty: float
    voltage_v: float
    density_kg_m3: float

    @classmethod
    def of(cls, aircraft: Aircraft, height_m: float, after_s: float) -> "HoverTrim":
        """Return the hover at a height, this long after the takeoff with the initial charge."""
        check_supported(aircraft)
        unit, kt, n = aircraft.propulsion_units[0], aircraft.thrust_constants[0], len(aircraft.rotors)
        motor, esc = unit.motor, unit.esc
        density = float(interpreted(density_kg_m3)(aircraft.home_alt_msl_m + height_m))
        omega = math.sqrt(aircraft.hover_thrust_n / (kt * density))
        torque_nm = unit.torque_per_thrust_m * aircraft.hover_thrust_n
        current_a = motor.i0_a + (torque_nm + motor.viscous_friction_nm_per_rad_s * omega) / motor.ke
        terminal_v = motor.ke * omega + motor.r_ohm * current_a  # d V
        battery, bus = aircraft.batteries[0], aircraft.buses[0]
        bus_a, voltage_v = 0.0, 0.0
        for _ in range(50):  # converges by a factor of R0 I / V, about 100, each time
            soc = battery.soc0 - bus_a * after_s / (3600.0 * battery.capacity_ah)
            source_v = battery.full_voltage_v
            r0 = 0.0
            if battery.model != "ideal":
                decay = math.exp(-after_s / (battery.r1 * battery.c1))
                v1 = battery.v1_0 * decay + battery.r1 * bus_a * (1.0 - decay)
                source_v, r0 = float(np.interp(soc, *battery.curve)) - v1, battery.r0
            voltage_v = source_v - r0 * bus_a
            bus_a = n * terminal_v * current_a / (esc.eta * voltage_v) + bus.avionics_load_w / source_v
        return cls(omega, terminal_v / voltage_v, voltage_v, density)


def check_supported(aircraft: Aircraft) -> None:
    """Raise if the model does not hold for an aircraft."""
    unit = aircraft.propulsion_units[0]
    reasons = {
        "rotors that differ": any(other != unit for other in aircraft.propulsion_units),
        "first-order motors": unit.motor.is_lagged,
        "a propeller from a table": unit.table is not None,
        "actuator dynamics": aircraft.actuation.motor_actuators.kind != "direct",
        "several batteries": len(aircraft.batteries) > 1,
    }
    found = [reason for reason, applies in reasons.items() if applies]
    if found:
        raise InputError(f"there is no linear model of {aircraft.name}, which has {' and '.join(found)}")


@dataclass(frozen=True)
class RateController:
    """The rate controller of an axis at the ticks, as filters in z⁻¹."""

    tick_s: float
    p: float
    i: float
    d: float
    ff: float
    derivative_tau_s: float
    torque_tau_s: float

    @classmethod
    def of(cls, spec: Spec, params: Mapping[str, float], axis: int) -> "RateController":
        """Return the controller of an axis (0 roll, 1 pitch, 2 yaw) for a spec and its PX4 parameters."""
        name, values = f"MC_{NAMES[axis]}RATE", resolve(dict(params))
        gain = values[f"{name}_K"]
        return cls(
            spec.timeline.tick_us / 1e6,
            gain * values[f"{name}_P"],
            gain * values[f"{name}_I"],
            gain * values[f"{name}_D"] if spec.autopilot.angular_acceleration else 0.0,
            values[f"{name}_FF"],
            time_constant_s(values["IMU_DGYRO_CUTOFF"]),
            time_constant_s(values["MC_YAW_TQ_CUTOFF"]) if axis == YAW else 0.0,
        )

    # Numerator and denominator of each term.

    @property
    def _integral(self) -> Filter:
        return [0.0, self.i * self.tick_s], [1.0, -1.0]

    @property
    def _derivative(self) -> Filter:
        weight = self.tick_s / (self.tick_s + self.derivative_tau_s)
        gain = self.d * weight / self.tick_s
        return [gain, -gain], [1.0, weight - 1.0]

    @property
    def _torque_filter(self) -> Filter:
        weight = self.tick_s / (self.tick_s + self.torque_tau_s)
        return [weight], [1.0, weight - 1.0]

    @property
    def _feedforward(self) -> list[Filter]:
        return [([self.p + self.ff], [1.0]), self._integral]

    @property
    def _feedback(self) -> list[Filter]:
        return [([self.p], [1.0]), self._integral, self._derivative]

    def _at(self, terms: list[Filter], z: Complex) -> Complex:
        def ratio(term: Filter) -> Complex:
            above, below = (np.polynomial.polynomial.polyval(1.0 / z, part) for part in term)
            response: Complex = above / below
            return response

        return ratio(self._torque_filter) * sum(map(ratio, terms), np.zeros_like(z))

    def feedforward(self, z: Complex) -> Complex:
        """Return rate setpoint to torque setpoint, F C_ff."""
        return self._at(self._feedforward, z)

    def feedback(self, z: Complex) -> Complex:
        """Return estimated body rate to minus the torque setpoint, F C_fb."""
        return self._at(self._feedback, z)

    def _filtered(self, terms: list[Filter], values: Array) -> Array:
        total = np.sum([signal.lfilter(*term, values) for term in terms], axis=0)
        filtered: Array = signal.lfilter(*self._torque_filter, total)
        return filtered

    def torques(self, rate_sp: Array, estimated_rate: Array) -> tuple[Array, Array]:
        """Return the torque setpoints from rate setpoints and from minus the estimated rates, tick by tick.

        Both are changes from a hover, in which the first values are at rest.
        """
        return self._filtered(self._feedforward, rate_sp), -self._filtered(self._feedback, estimated_rate)


@dataclass(frozen=True)
class AxisModel:
    """The plant of an axis, from torque setpoint to body rate and angle, with its controllers.

    States: rotor speed per torque setpoint, body rate, angle, speed sideways.
    """

    a: Array  # ẋ = a x + b u
    b: Array
    controller: RateController
    attitude_p: float
    delay_ticks: int

    @classmethod
    def of(cls, spec: Spec, params: Mapping[str, float], axis: int, height_m: float, after_s: float) -> "AxisModel":
        """Return the model of an axis for a spec and its PX4 parameters, at a height and this long after takeoff."""
        aircraft, values = build_aircraft(spec), resolve(dict(params))
        a, b = _plant(aircraft, HoverTrim.of(aircraft, height_m, after_s), values, axis)
        controller = RateController.of(spec, params, axis)
        delay_ticks = round(spec.estimator.delay_s / controller.tick_s) if spec.estimator.kind != "none" else 0
        return cls(a, b, controller, values[f"MC_{NAMES[axis]}_P"], delay_ticks)

    def z(self, frequency_hz: Array) -> Complex:
        """Return z = exp(j 2π f T)."""
        z: Complex = np.exp(2j * np.pi * frequency_hz * self.controller.tick_s)
        return z

    def states(self, frequency_hz: Array) -> Complex:
        """Return torque setpoint to the states at the ticks, one row per state."""
        n, tick_s = len(self.a), self.controller.tick_s
        joint = np.zeros((n + 1, n + 1))
        joint[:n, :n], joint[:n, n] = self.a * tick_s, self.b * tick_s
        held = expm(joint)
        return np.array([np.linalg.solve(z * np.eye(n) - held[:n, :n], held[:n, n]) for z in self.z(frequency_hz)]).T

    def delay(self, frequency_hz: Array) -> Complex:
        """Return the delay of the estimate, z^−k."""
        return self.z(frequency_hz) ** -self.delay_ticks

    def rate_open_loop(self, frequency_hz: Array) -> Complex:
        """Return L of the rate loop, broken at the torque setpoint."""
        feedback = self.controller.feedback(self.z(frequency_hz))
        returned: Complex = feedback * self.delay(frequency_hz) * self.states(frequency_hz)[RATE_STATE]
        return returned

    def _closed(self, frequency_hz: Array, state: int) -> Complex:
        torque = self.controller.feedforward(self.z(frequency_hz)) / (1.0 + self.rate_open_loop(frequency_hz))
        closed: Complex = torque * self.states(frequency_hz)[state]
        return closed

    def rate_closed_loop(self, frequency_hz: Array) -> Complex:
        """Return rate setpoint to body rate."""
        return self._closed(frequency_hz, RATE_STATE)

    def attitude_open_loop(self, frequency_hz: Array) -> Complex:
        """Return L of the attitude loop, broken at the attitude error, with the rate loop closed."""
        return self.attitude_p * self.delay(frequency_hz) * self._closed(frequency_hz, ANGLE_STATE)

    def attitude_closed_loop(self, frequency_hz: Array) -> Complex:
        """Return attitude setpoint to attitude."""
        forward = self.attitude_p * self._closed(frequency_hz, ANGLE_STATE)
        ratio: Complex = forward / (1.0 + forward * self.delay(frequency_hz))
        return ratio


def _plant(aircraft: Aircraft, hover: HoverTrim, params: Mapping[str, float], axis: int) -> tuple[Array, Array]:
    """Return A and B of an axis."""
    unit, kt = aircraft.propulsion_units[0], aircraft.thrust_constants[0]
    motor, omega, density = unit.motor, hover.omega_rad_s, hover.density_kg_m3
    kq = kt * unit.torque_per_thrust_m
    inverse_tau = (unit.friction_nm_s + 2.0 * kq * density * omega) / motor.j_kgm2
    spin_per_duty = motor.ke * hover.voltage_v / (motor.r_ohm * motor.j_kgm2)

    rotors = range(len(aircraft.rotors))
    b = effectiveness([[params[f"CA_ROTOR{i}_{name}"] for name in GEOMETRY] for i in rotors])
    mix = mixes(tuple(tuple(row) for row in b))[0][: len(rotors)]
    column = mix[:, axis]
    if abs(column.sum()) > BALANCED * np.abs(column).sum() or np.ptp(mix[:, THRUST_Z]) > BALANCED:
        raise InputError(
            f"there is no linear model of {aircraft.name}: its rotors are not balanced about {NAMES[axis]}"
        )
    duty_per_torque = _duty_per_thrust(params, hover) * _battery_scale(params, aircraft, hover)

    torque_per_spin, torque_per_acceleration = 0.0, 0.0
    drag, drag_arm, drag_turn = 0.0, 0.0, 0.0  # Σ c, Σ c h and Σ c h², with c = (ρ / ρ_nom) c_d ω₀ of each rotor
    per_rotor = unit.rotor_drag * density / aircraft.propulsion.rho_nom * omega
    for share, rotor in zip(column.tolist(), aircraft.placed_rotors, strict=True):
        x, y, z = rotor.pos_body_m
        arm = float(-np.cross(rotor.pos_body_m, rotor.axis_body)[axis])
        reaction = rotor.direction * rotor.axis_body[axis]
        torque_per_spin += share * 2.0 * omega * density * (kt * arm + kq * reaction)
        torque_per_acceleration += share * motor.j_kgm2 * reaction
        drag += per_rotor
        drag_arm += per_rotor * -z
        drag_turn += per_rotor * (z * z if axis < YAW else x * x + y * y)
    per_inertia = float(np.linalg.inv(np.array(aircraft.loading.inertia_kgm2))[axis, axis])
    a = np.zeros((4, 4))
    a[0, 0] = -inverse_tau
    a[1, 0] = per_inertia * (torque_per_spin - torque_per_acceleration * inverse_tau)
    a[1, 1] = -per_inertia * (drag_turn + aircraft.airframe.angular_damping[axis])
    a[2, 1] = 1.0
    if axis < YAW:
        mass_kg, frame = aircraft.loading.mass_kg, aircraft.airframe
        fuselage = frame.linear_drag if frame.drag == "linear" else 0.0
        a[1, 3] = -per_inertia * drag_arm
        a[3] = (0.0, -drag_arm / mass_kg, aircraft.gravity.at_home_m_s2, -(drag + fuselage) / mass_kg)
    spin = spin_per_duty * duty_per_torque
    return a, np.array([spin, per_inertia * torque_per_acceleration * spin, 0.0, 0.0])


def _duty_per_thrust(params: Mapping[str, float], hover: HoverTrim) -> float:
    """Return the slope of the thrust curve at hover: duty per motor command of the allocation."""
    factor = params["THR_MDL_FAC"]
    return 1.0 / (2.0 * factor * hover.duty + 1.0 - factor)  # thrust = f d² + (1 − f) d


def _battery_scale(params: Mapping[str, float], aircraft: Aircraft, hover: HoverTrim) -> float:
    """Return the factor by which torques are scaled with the battery voltage."""
    if not params["MC_BAT_SCALE_EN"]:
        return 1.0
    return min(max(aircraft.batteries[0].full_voltage_v / hover.voltage_v, 1.0), 1.3)
