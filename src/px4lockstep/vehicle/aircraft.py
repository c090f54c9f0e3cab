"""A whole aircraft: its parts together, checked against each other, as a plant of the loop."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import Vector3, check_kind, check_number, check_positive, check_vector
from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError
from px4lockstep.plant.layout import (
    ATT_START,
    GROUPS,
    MAX_BATTERIES,
    MAX_BUSES,
    MAX_MOTORS,
    MAX_SERVOS,
    MULTIROTOR_PLANT,
    OMEGA_START,
    RIGID_BODY_STATES,
    VEL_START,
)
from px4lockstep.vehicle import drag
from px4lockstep.vehicle.battery_sensor import write_battery_sensor
from px4lockstep.vehicle.parts import Actuator, Battery, Contact, PowerBus, Propulsion, Rotor
from px4lockstep.vehicle.propulsion import STANDARD_GRAVITY_M_S2

Matrix = tuple[Vector3, Vector3, Vector3]
SHARE_MODES = ("inv_r0", "equal")


@dataclass(frozen=True)
class Aircraft:
    """A multirotor.

    Args:
        name: What it is called.
        mass_kg: Mass.
        inertia_kgm2: Full inertia tensor of the whole vehicle, symmetric and positive definite.
        rotors: 1 to 12 rotors.
        propulsion: ESC, motor and propeller.
        batteries: 1 to 4 batteries.
        buses: 1 to 4 buses; every rotor and every battery is on exactly one. None: one bus for everything.
        share_mode: How batteries of a bus share its current: `inv_r0` or `equal`.
        angular_damping: Diagonal damping of rotation [N m s].
        drag_kind: `linear` or `body_quadratic`.
        linear_drag: Coefficient of linear drag [N s/m].
        drag_area_body_m2: CdA along each body axis, for quadratic drag.
        contact: Contact with the ground.
        motor_actuator: Dynamics of the motors' commands.
        servo_actuator: Dynamics of the servos.
        servo_channels: The servo command of each servo, from 1.
        gravity: Gravity.
        home_alt_msl_m: Height of the origin above sea level, for the air's density.
        pos_ned: Initial position.
        vel_ned: Initial velocity.
        q_bn: Initial attitude; normalized if its norm is within 1e-6 of 1.
        omega_body: Initial body rates.

    Raises:
        InputError: If a value is out of range or the parts don't fit together.
    """

    name: str
    mass_kg: float
    inertia_kgm2: Matrix
    rotors: tuple[Rotor, ...]
    propulsion: Propulsion = field(default_factory=Propulsion)
    batteries: tuple[Battery, ...] = (Battery(),)
    buses: tuple[PowerBus, ...] | None = None
    share_mode: str = "inv_r0"
    angular_damping: Vector3 = (0.0, 0.0, 0.0)
    drag_kind: str = "linear"
    linear_drag: float = 0.0
    drag_area_body_m2: Vector3 = (0.0, 0.0, 0.0)
    contact: Contact = field(default_factory=Contact)
    motor_actuator: Actuator = field(default_factory=Actuator)
    servo_actuator: Actuator = field(default_factory=Actuator)
    servo_channels: tuple[int, ...] = ()
    gravity: Gravity = field(default_factory=Gravity)
    home_alt_msl_m: float = 488.0
    pos_ned: Vector3 = (0.0, 0.0, 0.0)
    vel_ned: Vector3 = (0.0, 0.0, 0.0)
    q_bn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    omega_body: Vector3 = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Check every part against the others."""
        check_positive("airframe.mass_kg", self.mass_kg)
        check_number("airframe.linear_drag", self.linear_drag, 0.0, allowed="a finite number of 0 or more")
        check_kind("airframe.drag", self.drag_kind, drag.KINDS)
        check_vector("airframe.angular_damping", self.angular_damping, 0.0, "numbers of 0 or more")
        check_vector("airframe.drag_area_body_m2", self.drag_area_body_m2, 0.0, "numbers of 0 or more")
        check_number("home.alt_msl_m", self.home_alt_msl_m)
        for name in ("pos_ned", "vel_ned", "omega_body"):
            check_vector(f"airframe.x0.{name}", getattr(self, name))
        self._check_inertia()
        self._check_attitude()
        _check_count("airframe.rotor_pos_body_m", len(self.rotors), 1, MAX_MOTORS, "rotors")
        _check_count("power.batteries", len(self.batteries), 1, MAX_BATTERIES, "batteries")
        _check_count("power.buses", len(self.power_buses), 1, MAX_BUSES, "buses")
        _check_channels("motors", self.motor_channels, MAX_MOTORS)
        _check_channels("servos", self.servo_channels, MAX_SERVOS)
        if self.share_mode not in SHARE_MODES:
            raise InputError(f"power.share_mode = {self.share_mode!r} is unknown; allowed are {', '.join(SHARE_MODES)}")
        _check_each_once("motor", "rotors", [bus.rotors for bus in self.power_buses], len(self.rotors))
        _check_each_once("battery", "batteries", [bus.batteries for bus in self.power_buses], len(self.batteries))
        self._check_buses()

    # -- parts -----------------------------------------------------------------------------------------------------

    @property
    def power_buses(self) -> tuple[PowerBus, ...]:
        """The buses, or the one bus for everything."""
        if self.buses is not None:
            return self.buses
        return (PowerBus(tuple(range(len(self.batteries))), tuple(range(len(self.rotors)))),)

    @property
    def hover_thrust_n(self) -> float:
        """The thrust of one rotor when all together carry the weight."""
        return self.mass_kg * STANDARD_GRAVITY_M_S2 / len(self.rotors)

    @property
    def calibration_thrust_n(self) -> float:
        """The thrust of one rotor at hover that the propulsion is calibrated to: of this mass, or of another."""
        mass_kg = self.propulsion.calibration_mass_kg
        return self.hover_thrust_n if mass_kg is None else mass_kg * STANDARD_GRAVITY_M_S2 / len(self.rotors)

    @property
    def motor_channels(self) -> tuple[int, ...]:
        """The motor command of each rotor, from 1."""
        return tuple(rotor.channel or i + 1 for i, rotor in enumerate(self.rotors))

    @cached_property
    def groups(self) -> Mapping[str, int]:
        """The number of states in each group."""
        motors, servos = len(self.rotors), len(self.servo_channels)
        kinds = ((self.motor_actuator.kind, motors), (self.servo_actuator.kind, servos))
        sizes = {
            "pos": 3,
            "vel": 3,
            "att": 4,
            "omega": 3,
            "act": sum(count for kind, count in kinds if kind != "direct"),
            "actdot": sum(count for kind, count in kinds if kind == "second_order"),
            "rotor": motors,
            "soc": len(self.batteries),
            "v1": len(self.batteries),
        }
        assert tuple(sizes) == GROUPS
        return sizes

    def offset(self, group: str) -> int:
        """Return where a group starts in the state."""
        sizes = list(self.groups.values())
        return sum(sizes[: GROUPS.index(group)])

    def initial_state(self) -> npt.NDArray[np.float64]:
        """Return the state at the first boundary: at rest but for what was given."""
        x = np.zeros(sum(self.groups.values()))
        x[:VEL_START] = self.pos_ned
        x[VEL_START:ATT_START] = self.vel_ned
        w, i, j, k = self.q_bn
        x[ATT_START:OMEGA_START] = np.array(self.q_bn) / math.sqrt(w * w + i * i + j * j + k * k)
        x[OMEGA_START:RIGID_BODY_STATES] = self.omega_body
        for n, item in enumerate(self.batteries):
            x[self.offset("soc") + n] = item.soc0
            x[self.offset("v1") + n] = item.v1_0
        return x

    def time_constants_s(self) -> dict[str, float]:
        """Return the time constants that a fixed step should be short against, by name."""
        return {
            "motor actuators": self.motor_actuator.time_constant_s(),
            "servo actuators": self.servo_actuator.time_constant_s() if self.servo_channels else math.inf,
            "motors": self.propulsion.time_constant_s(self.calibration_thrust_n),
            "contact": self.contact.time_constant_s(self.mass_kg, self._principal_moments()[0]),
        }

    def write_sensors(self, sensors: Any, seed: int, period_us: int) -> None:
        """Write the sensors of the batteries into an array of `BATTERY_SENSOR` records."""
        for j, item in enumerate(self.batteries):
            write_battery_sensor(item, sensors[j], j, seed, period_us)

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, plant: Any) -> None:
        """Write the aircraft into a `PLANT` record."""
        plant["kind"] = MULTIROTOR_PLANT
        self._write_traits(plant["traits"])
        m = plant["multirotor"]
        self._write_body(m)
        self._write_rotors(m)
        self._write_actuation(m)
        self._write_power(m)
        self.propulsion.write(m["propulsion"], self.calibration_thrust_n)
        self.contact.write(m["contact"], self.mass_kg)
        self.gravity.write(m["gravity"])
        m["home_alt_m"] = self.home_alt_msl_m
        m["n_rotors"] = len(self.rotors)
        for field_name, group in (("i_act", "act"), ("i_rotor", "rotor"), ("i_soc", "soc"), ("i_v1", "v1")):
            m[field_name] = self.offset(group)

    def _write_traits(self, traits: Any) -> None:
        traits["is_vehicle"] = 1
        traits["n_motors"] = len(self.rotors)
        traits["n_motor_commands"] = max(self.motor_channels)
        traits["n_servo_commands"] = max(self.servo_channels, default=0)
        traits["n_batteries"] = len(self.batteries)
        traits["n_buses"] = len(self.power_buses)
        traits["has_ground"] = self.contact.kind != "no_contact"
        traits["rest_m"] = self.contact.rest_height_m
        traits["capacity_ah"][: len(self.batteries)] = [item.capacity_ah for item in self.batteries]

    def _write_body(self, m: Any) -> None:
        inertia = np.array(self.inertia_kgm2)
        m["body"]["mass_kg"] = self.mass_kg
        m["body"]["inverse_mass"] = 1.0 / self.mass_kg
        m["body"]["inertia_kgm2"] = inertia
        m["body"]["inverse_inertia"] = _inverse(inertia)
        m["body"]["angular_damping"] = self.angular_damping
        m["drag"]["kind"] = drag.KINDS[self.drag_kind]
        m["drag"]["linear_n_s_m"] = self.linear_drag
        m["drag"]["drag_area_body_m2"] = self.drag_area_body_m2

    def _write_rotors(self, m: Any) -> None:
        bus_of = {i: b for b, bus in enumerate(self.power_buses) for i in bus.rotors}
        for i, rotor in enumerate(self.rotors):
            rec = m["rotors"][i]
            axis, pos = np.array(rotor.axis_body), np.array(rotor.pos_body_m)
            rec["axis"] = axis
            rec["moment_arm"] = -_cross(pos, axis)
            rec["reaction_axis"] = rotor.direction * axis
            rec["bus"] = bus_of[i]

    def _write_actuation(self, m: Any) -> None:
        motors = len(self.rotors)
        a = m["actuation"]
        self.motor_actuator.write(a["motor"], 0.0, 1.0)
        self.servo_actuator.write(a["servo"], -1.0, 1.0)
        a["n_servos"] = len(self.servo_channels)
        a["motor_channel"][:motors] = [channel - 1 for channel in self.motor_channels]
        a["servo_channel"][: len(self.servo_channels)] = [channel - 1 for channel in self.servo_channels]
        a["i_servo"] = self.offset("act") + (motors if self.motor_actuator.kind != "direct" else 0)
        a["i_motor_rate"] = self.offset("actdot")
        a["i_servo_rate"] = self.offset("actdot") + (motors if self.motor_actuator.kind == "second_order" else 0)

    def _write_power(self, m: Any) -> None:
        power = m["power"]
        power["n_batteries"] = len(self.batteries)
        power["n_buses"] = len(self.power_buses)
        for b, bus in enumerate(self.power_buses):
            members = [self.batteries[j] for j in bus.batteries]
            conductance = 0.0
            for item in members:  # not by sum(), which adds up differently from Python 3.12 on
                conductance += 1.0 / item.r0
            is_ideal = members[0].model == "ideal"
            rec = power["buses"][b]
            rec["avionics_w"] = bus.avionics_load_w
            rec["r0_ohm"] = 0.0 if is_ideal else 1.0 / conductance
            rec["inverse_conductance"] = 1.0 / conductance
            rec["min_voltage_v"] = 0.0 if is_ideal else max(item.min_voltage_v for item in members)
            for j, item in zip(bus.batteries, members, strict=True):
                by_conductance = self.share_mode == "inv_r0" and not is_ideal
                share = 1.0 / item.r0 / conductance if by_conductance else 1.0 / len(members)
                item.write(power["batteries"][j], b, share)

    # -- checking --------------------------------------------------------------------------------------------------

    def _check_inertia(self) -> None:
        inertia = np.array(self.inertia_kgm2, np.float64)
        if inertia.shape != (3, 3) or not np.isfinite(inertia).all():
            raise InputError(f"airframe.inertia_kgm2 = {self.inertia_kgm2} must be 3 x 3 finite numbers")
        if not np.array_equal(inertia, inertia.T):
            raise InputError(f"airframe.inertia_kgm2 = {inertia.tolist()} must be symmetric")
        moments = self._principal_moments()
        if moments[0] <= 1e-12 * moments[2]:
            raise InputError(
                f"airframe.inertia_kgm2 = {inertia.tolist()} is not positive definite: its principal moments are "
                f"{moments}"
            )

    def _principal_moments(self) -> list[float]:
        """Return the principal moments of inertia, smallest first; for checks, never for a flight."""
        moments: list[float] = np.linalg.eigvalsh(np.array(self.inertia_kgm2, np.float64)).tolist()
        return moments

    def _check_attitude(self) -> None:
        if len(self.q_bn) != 4 or not all(math.isfinite(component) for component in self.q_bn):
            raise InputError(f"airframe.x0.q_bn = {self.q_bn} must be four finite numbers (w, x, y, z)")
        w, i, j, k = self.q_bn
        norm = math.sqrt(w * w + i * i + j * j + k * k)
        if abs(norm - 1.0) > 1e-6:
            raise InputError(f"airframe.x0.q_bn = {self.q_bn} has norm {norm:.9g}; it must be 1 within 1e-6")

    def _check_buses(self) -> None:
        for b, bus in enumerate(self.power_buses):
            if not bus.batteries:
                raise InputError(f"power.buses[{b}] has no battery; every bus needs at least one")
            members = [self.batteries[j] for j in bus.batteries]
            models = sorted({item.model for item in members})
            if len(models) > 1:
                raise InputError(f"power.buses[{b}] has batteries of models {models}; on one bus they must be the same")
            if models == ["ideal"] and len({item.ocv_v[-1] for item in members}) > 1:
                raise InputError(f"power.buses[{b}] has ideal batteries of different voltages; they must be the same")


def _check_count(name: str, count: int, low: int, high: int, what: str) -> None:
    if not low <= count <= high:
        raise InputError(f"{name} has {count} {what}; allowed are {low} to {high}")


def _check_channels(what: str, channels: tuple[int, ...], limit: int) -> None:
    for channel in channels:
        if isinstance(channel, bool) or not isinstance(channel, int) or not 1 <= channel <= limit:
            raise InputError(f"actuation.{what} channel {channel!r} is not one; allowed are the integers 1 to {limit}")
    if len(set(channels)) != len(channels):
        raise InputError(f"actuation.{what} channels {list(channels)} must be different from each other")


def _check_each_once(what: str, name: str, members: list[tuple[int, ...]], count: int) -> None:
    for i in range(count):
        buses = [b for b, items in enumerate(members) if i in items]
        if len(buses) != 1:
            where = f"on buses {buses}" if buses else "on no bus"
            raise InputError(f"{what} {i + 1} is {where}; every {what} must be on exactly one")
    for b, items in enumerate(members):
        for i in items:
            if not 0 <= i < count or items.count(i) != 1:
                raise InputError(f"power.buses[{b}].{name} names {what} {i + 1}, which is not there, or is named twice")


def _cross(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a × b, spelled out: the same bits everywhere."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _inverse(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the inverse of a 3 x 3 matrix by its adjugate: the same bits everywhere, unlike a library's."""
    rows = np.array([_cross(a[1], a[2]), _cross(a[2], a[0]), _cross(a[0], a[1])])
    determinant = a[0, 0] * rows[0, 0] + a[0, 1] * rows[0, 1] + a[0, 2] * rows[0, 2]
    inverse: npt.NDArray[np.float64] = rows.T / determinant
    return inverse
