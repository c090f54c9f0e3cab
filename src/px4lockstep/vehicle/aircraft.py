"""A complete aircraft: its parts, checked against each other, as a plant of the loop."""

import copy
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.environment.atmosphere import density_kg_m3
from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.math.quaternion import cross, rotate
from px4lockstep.part import KEY, Found, Key, at, bad, fill, show
from px4lockstep.plant.layout import ATT_START, GROUPS, MULTIROTOR_PLANT, OMEGA_START, RIGID_BODY_STATES, VEL_START
from px4lockstep.reprs import ShortRepr
from px4lockstep.vehicle import rotor_drag
from px4lockstep.vehicle.actuators import Actuation
from px4lockstep.vehicle.airframe import DOWN, Airframe, Rotor, one_for_each_rotor
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.battery_sensor import write_battery_sensor
from px4lockstep.vehicle.contact import Contact
from px4lockstep.vehicle.loading import NOMINAL, Loading
from px4lockstep.vehicle.power import Bus, Power
from px4lockstep.vehicle.propulsion import Propulsion
from px4lockstep.vehicle.special_rotor import special_units

CONFIGURATION = "_configuration"
"""Attribute of an aircraft that `Aircraft.started` made."""


@dataclass(frozen=True, repr=False)
class Aircraft(ShortRepr):
    """A multirotor. Omitted values that follow from other parts are filled in.

    Args:
        airframe: Body, rotors, drag, propulsion and initial state.
        actuation: Mapping of commands to motors and servos, and actuator dynamics.
        power: Batteries and buses.
        contact: Ground contact.
        gravity: Gravity.
        home_alt_msl_m: Altitude of the origin above mean sea level, for the air density.
        name: Name of the aircraft.

    Raises:
        InputError: If the parts do not match, with all errors.
    """

    airframe: Airframe
    actuation: Actuation = field(default_factory=Actuation)
    power: Power = field(default_factory=Power)
    contact: Contact = field(default_factory=Contact)
    gravity: Gravity = field(default_factory=Gravity)
    home_alt_msl_m: float = 488.0
    name: str = "aircraft"

    def __post_init__(self) -> None:
        """Fill in omitted values, and check the parts against each other."""
        airframe, actuation, power = completed(self.airframe, self.actuation, self.power)
        for name, part in (("airframe", airframe), ("actuation", actuation), ("power", power)):
            object.__setattr__(self, name, part)
        found = [*check_motors(airframe, actuation), *check_wiring(actuation, power)]
        if not math.isfinite(self.home_alt_msl_m):
            text = f"home.alt_msl_m = {show(self.home_alt_msl_m)} is not allowed; it must be a finite number"
            found.append((("home", "alt_msl_m"), text))
        if found:
            raise InputError("\n".join(text for _, text in found), key=found[0][0])

    @property
    def configuration(self) -> "Aircraft":
        """An aircraft that differs in its initial state only: that from which `started` made it, or itself."""
        found: Aircraft = vars(self).get(CONFIGURATION, self)
        return found

    def started(self, airframe: Airframe, power: Power) -> "Aircraft":
        """Return this aircraft with parts that differ in the initial state only; what is computed of it is shared."""
        made = copy.copy(self)
        airframe, _, power = completed(airframe, self.actuation, power)
        vars(made).update({"airframe": airframe, "power": power, CONFIGURATION: self.configuration})
        return made

    # -- parts -----------------------------------------------------------------------------------------------------

    @cached_property
    def rotors(self) -> tuple[Rotor, ...]:
        """The rotors, each with its motor channel."""
        return self.airframe.rotors(self.motor_channels)

    @cached_property
    def loading(self) -> Loading:
        """Mass, centre of mass and inertia."""
        return self.airframe.loading

    @cached_property
    def placed_rotors(self) -> tuple[Rotor, ...]:
        """The rotors, relative to the centre of mass instead of the nominal one."""
        return tuple(replace(rotor, pos_body_m=self.loading.placed(rotor.pos_body_m)) for rotor in self.rotors)

    @cached_property
    def placed_contact(self) -> Contact:
        """The ground contact, with feet relative to the centre of mass instead of the nominal one."""
        points = tuple(self.loading.placed(point) for point in self.contact.points_body_m)
        same = points == self.contact.points_body_m
        return self.contact if same else self.contact.model_copy(update={"points_body_m": points})

    @property
    def propulsion(self) -> Propulsion:
        """ESC, motor and propeller, with the overrides of single rotors."""
        return self.airframe.propulsion

    @cached_property
    def propulsion_units(self) -> tuple[Propulsion, ...]:
        """ESC, motor and propeller of each rotor."""
        return self.propulsion.units(len(self.rotors))

    @cached_property
    def thrust_constants(self) -> tuple[float, ...]:
        """Thrust constant kT of each rotor, given or calibrated."""
        return self.propulsion.thrust_constants(self.calibration_thrust_n, len(self.rotors))

    @cached_property
    def full_thrusts_n(self) -> tuple[float, ...]:
        """Thrust of each rotor at duty 1, V_nom and rho_nom, in steady state."""
        units = zip(self.propulsion_units, self.thrust_constants, strict=True)
        return tuple(unit.full_thrust_n(kt) for unit, kt in units)

    @cached_property
    def thrust_to_weight(self) -> float:
        """Thrust of all rotors along −z at duty 1 and V_nom, in the air of home, relative to the weight at home."""
        density, lift_n = float(interpreted(density_kg_m3)(self.home_alt_msl_m)), 0.0
        for rotor, unit, kt in zip(self.rotors, self.propulsion_units, self.thrust_constants, strict=True):
            lift_n += rotor.axis_body[2] * unit.full_thrust_n(kt, density)
        return lift_n / (self.hover_thrust_n * len(self.rotors))

    @property
    def thrust_shares(self) -> tuple[float, ...]:
        """Thrust of each rotor at duty 1, relative to the mean of all rotors; exactly 1 if they are equal."""
        thrusts, total = self.full_thrusts_n, 0.0
        for thrust in thrusts:
            total += thrust
        return tuple(1.0 if len(set(thrusts)) == 1 else thrust * len(thrusts) / total for thrust in thrusts)

    @property
    def batteries(self) -> tuple[Battery, ...]:
        """The batteries."""
        return self.power.batteries

    @property
    def buses(self) -> tuple[Bus, ...]:
        """The power buses."""
        return self.power.buses or ()

    @property
    def motor_channels(self) -> tuple[int, ...]:
        """The motor channel of each rotor, from 1."""
        return tuple(motor.channel for motor in self.actuation.motors or ())

    @property
    def servo_channels(self) -> tuple[int, ...]:
        """The channel of each servo, from 1."""
        return tuple(servo.channel for servo in self.actuation.servos)

    @property
    def hover_thrust_n(self) -> float:
        """Hover thrust of one rotor, with payload."""
        return self._hover_thrust_n(self.loading.mass_kg)

    @property
    def calibration_thrust_n(self) -> float:
        """Hover thrust of one rotor at the calibration mass, by default that without payload."""
        mass_kg = self.propulsion.calibration_mass_kg
        return self._hover_thrust_n(self.airframe.mass_kg if mass_kg is None else mass_kg)

    def _hover_thrust_n(self, mass_kg: float) -> float:
        """Return the hover thrust of one rotor at home for a mass; without gravity, that in standard gravity."""
        gravity_m_s2 = self.gravity.at_home_m_s2 or STANDARD_GRAVITY_M_S2
        return mass_kg * gravity_m_s2 / len(self.airframe.rotor_pos_body_m)

    def within_reach(self) -> "Aircraft":
        """Return this aircraft, with the calibration of its thrust limited to what the motors can almost reach."""
        propulsion = self.propulsion.within_reach(self.calibration_thrust_n, len(self.rotors))
        if propulsion is self.propulsion:
            return self
        return replace(self, airframe=self.airframe.model_copy(update={"propulsion": propulsion}))

    @cached_property
    def groups(self) -> Mapping[str, int]:
        """Number of states in each group."""
        starts = (0, VEL_START, ATT_START, OMEGA_START, RIGID_BODY_STATES)
        body = [stop - start for start, stop in pairwise(starts)]
        sizes = (*body, *self.actuation.group_sizes, len(self.rotors), len(self.batteries), len(self.batteries))
        return dict(zip(GROUPS, sizes, strict=True))

    def offset(self, group: str) -> int:
        """Return the start index of a group in the state."""
        sizes = list(self.groups.values())
        return sum(sizes[: GROUPS.index(group)])

    def initial_state(self) -> npt.NDArray[np.float64]:
        """Return the state at the first boundary: at rest except for the given values of the nominal centre."""
        x, x0 = np.zeros(sum(self.groups.values())), self.airframe.x0
        x[:VEL_START] = x0.pos_ned
        x[VEL_START:ATT_START] = x0.vel_ned
        x[ATT_START:OMEGA_START] = x0.attitude()
        centre = self.loading.centre_body_m
        if centre != NOMINAL:
            q_bn = x[ATT_START:OMEGA_START].tolist()
            x[:VEL_START] += interpreted(rotate)(q_bn, centre)
            x[VEL_START:ATT_START] += interpreted(rotate)(q_bn, interpreted(cross)(x0.omega_body, centre))
        x[OMEGA_START:RIGID_BODY_STATES] = x0.omega_body
        for j, battery in enumerate(self.batteries):
            x[self.offset("soc") + j] = battery.soc0
            x[self.offset("v1") + j] = battery.v1_0
        return x

    def time_constants_s(self) -> dict[str, float]:
        """Return, by name, the time constants that a fixed step should resolve."""
        actuation, moments = self.actuation, np.linalg.eigvalsh(np.array(self.loading.inertia_kgm2))
        motors = zip(self.propulsion_units, self.thrust_constants, strict=True)
        return {
            "motor actuators": actuation.motor_actuators.time_constant_s(),
            "servo actuators": actuation.servo_actuators.time_constant_s() if actuation.servos else math.inf,
            "motors": min(unit.time_constant_s(self.calibration_thrust_n, kt) for unit, kt in motors),
            "contact": self.placed_contact.time_constant_s(self.loading.mass_kg, float(moments[0])),
        }

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, plant: Any) -> None:
        """Write the aircraft into a `PLANT` record; raise if a value overflows."""
        plant["kind"] = MULTIROTOR_PLANT
        actuation = self.actuation
        plant["has_closed_forms"] = actuation.motor_actuators.is_exact or actuation.servo_actuators.is_exact
        self._write_traits(plant["traits"])
        m = plant["multirotor"]
        with computing(("airframe",), m["body"], m["drag"]):
            self.airframe.write(m["body"], m["drag"])
        with computing(("airframe", "propulsion"), *m["rotors"]["propulsion"][: len(self.rotors)]):
            self._write_propulsion(m)
            self._write_disks(m)
        with computing(("actuation",), m["actuation"]["motor"], m["actuation"]["servo"]):
            self.actuation.write(m["actuation"], self.offset("act"), self.offset("actdot"))
        buses, batteries = m["power"]["buses"], m["power"]["batteries"]
        with computing(("power",), *buses[: len(self.buses)], *batteries[: len(self.batteries)]):
            self.power.write(m["power"])
        with computing(("plant", "contact"), m["contact"]):
            self.placed_contact.write(m["contact"], self.loading.mass_kg)
        self._write_rotors(m)
        self.gravity.write(m["gravity"])
        m["home_alt_m"], m["n_rotors"] = self.home_alt_msl_m, len(self.rotors)
        for group in ("act", "rotor", "soc", "v1"):
            m[f"i_{group}"] = self.offset(group)

    def write_sensors(self, sensors: Any, seed: int, period_us: int) -> None:
        """Write the battery sensors into an array of `BATTERY_SENSOR` records."""
        for j, battery in enumerate(self.batteries):
            write_battery_sensor(battery, sensors[j], j, seed, period_us)

    def _write_traits(self, traits: Any) -> None:
        fill(traits, self, is_vehicle=1, n_motors=len(self.rotors), n_motor_commands=max(self.motor_channels))
        fill(traits, self, n_batteries=len(self.batteries), n_buses=len(self.buses))
        traits["rest_m"] = self.placed_contact.rest_height_m
        traits["thrust_to_weight"] = self.thrust_to_weight
        traits["n_servo_commands"] = max(self.servo_channels, default=0)
        traits["has_ground"] = self.contact.kind != "no_contact"
        traits["reads_outputs"] = any(unit.esc.cutoff_v > 0.0 for unit in self.propulsion_units)
        traits["capacity_ah"][: len(self.batteries)] = [battery.capacity_ah for battery in self.batteries]

    def _write_propulsion(self, m: Any) -> None:
        rotors = m["rotors"]
        first = rotors[0]["propulsion"]
        tables = list(dict.fromkeys((unit.table, unit.V_nom) for unit in self.propulsion_units if unit.table))
        for i, (unit, kt) in enumerate(zip(self.propulsion_units, self.thrust_constants, strict=True)):
            rotor = rotors[i]
            own = rotor["propulsion"]
            unit.write(own, kt)
            drive, first_drive = (p["inverse_eta"] * p["inverse_r"] for p in (own, first))
            m["cutoff_v"][i] = unit.esc.cutoff_v
            unit.motor.write_lag(m["lags"][i])
            m["table_of"][i] = -1 if unit.table is None else tables.index((unit.table, unit.V_nom))
            rotor["drive_ratio"] = drive / first_drive
            rotor["back_emf_ratio"] = own["ke"] * drive / (first["ke"] * first_drive)
            rotor["inertia_ratio"] = own["rotor_inertia"] / first["rotor_inertia"]
        m["is_lagged"] = self.propulsion.motor.is_lagged
        m["is_special"] = bool(tables) or self.propulsion.motor.is_lagged
        if m["is_special"]:
            m["special_rates_address"], m["special_outputs_address"] = special_units()
        for rec, (table, volts) in zip(m["tables"], tables, strict=False):
            table.write(rec, volts)
        m["has_cutoff"] = bool(m["cutoff_v"].any())
        m["rotors_differ"] = any(rotor["propulsion"] != first for rotor in rotors[: len(self.rotors)])

    def _write_rotors(self, m: Any) -> None:
        bus_of = {item: b for b, bus in enumerate(self.buses) for item in bus.motor_ids}
        for i, (rotor, motor) in enumerate(zip(self.placed_rotors, self.actuation.motors or (), strict=True)):
            axis = np.array(rotor.axis_body)
            reaction_axis = rotor.direction * axis
            arm = -np.array(interpreted(cross)(rotor.pos_body_m, rotor.axis_body))
            fill(m["rotors"][i], rotor, axis=axis, moment_arm=arm, reaction_axis=reaction_axis, bus=bus_of[motor.id])

    def _write_disks(self, m: Any) -> None:
        rho_nom, units = self.propulsion.rho_nom, self.propulsion_units
        for disk, rotor, unit in zip(m["disks"], self.placed_rotors, units, strict=False):
            fill(disk, rotor, drag=unit.rotor_drag / rho_nom, rolling=unit.rolling_moment / rho_nom)
        coefficients = [(unit.rotor_drag, unit.rolling_moment) for unit in units]
        planes = {(*rotor.axis_body, rotor.pos_body_m[2]) for rotor in self.placed_rotors}
        is_plane = len(planes) == 1 and min(planes)[:3] == DOWN and len(set(coefficients)) == 1
        is_plane = is_plane and units[0].rotor_drag > 0.0  # c_r / c_d exists
        if any(drag > 0.0 or rolling > 0.0 for drag, rolling in coefficients):
            m["rotor_drag"] = rotor_drag.IN_ONE_PLANE if is_plane else rotor_drag.ANY
        m["rolling_per_drag"] = units[0].rolling_moment / units[0].rotor_drag if is_plane else 0.0
        m["has_ground_effect"] = self.propulsion.ground_effect and self.contact.kind != "no_contact"


def completed(airframe: Airframe, actuation: Actuation, power: Power) -> tuple[Airframe, Actuation, Power]:
    """Return the parts with omitted values filled in from the other parts."""
    actuation = actuation.completed(len(airframe.rotor_pos_body_m))
    return airframe.completed(), actuation, completed_power(actuation, power)


def completed_power(actuation: Actuation, power: Power) -> Power:
    """Return the power system with names for all batteries and buses, and one bus if none are given."""
    motor_ids = tuple(motor.id for motor in actuation.motors or ())
    return power.completed(motor_ids, tuple(servo.id for servo in actuation.servos))


@contextmanager
def computing(key: Key, *records: Any) -> Iterator[None]:
    """Raise an `InputError` with the key if a computation overflows or a record ends up with non-finite values."""
    with at(key):
        yield
        for rec in records:
            if np.isfinite(np.frombuffer(rec.tobytes(), np.float64)).all():  # integers are finite as floats, too
                continue
            for name in rec.dtype.names:
                if name != "rate_limit" and not np.isfinite(rec[name]).all():
                    raise ArithmeticError(f"{name} is not finite")


# -- checking ------------------------------------------------------------------------------------------------------


def check_motors(airframe: Airframe, actuation: Actuation) -> Found:
    """Check that there is one motor per rotor."""
    motors, rotors = actuation.motors, len(airframe.rotor_pos_body_m)
    if motors is not None and len(motors) != rotors:
        text = one_for_each_rotor(len(motors), rotors).replace(KEY, "actuation.motors")
        yield ("actuation", "motors"), text


def check_wiring(actuation: Actuation, power: Power) -> Found:
    """Check that each motor and battery is on exactly one bus, and that buses name only existing items."""
    buses = power.buses or ()
    known = {
        "battery_ids": ("power.batteries", "battery", [str(battery.id) for battery in power.batteries]),
        "motor_ids": ("actuation.motors", "motor", [motor.id for motor in actuation.motors or ()]),
        "servo_ids": ("actuation.servos", "servo", [servo.id for servo in actuation.servos]),
    }
    for name, (where, what, ids) in known.items():
        if name == "motor_ids" and actuation.motors is None:
            continue  # they default to the rotors, which are not known here
        on: dict[str, list[str]] = {item: [] for item in ids}
        for b, bus in enumerate(buses):
            for i, item in enumerate(getattr(bus, name)):
                if item not in on:
                    has = f"which has {', '.join(ids)}" if ids else "which is empty"
                    yield bad(("power", "buses", b, name, i), item, f"is not in {where}, {has}")
                else:
                    on[item].append(str(bus.id))
        for item in dict.fromkeys(ids):
            if name == "servo_ids" and not on[item]:
                continue  # servos draw no current
            if len(on[item]) != 1:
                place = f"on buses {', '.join(on[item])}" if on[item] else "on no bus"
                text = f"power.buses: {what} {item!r} is {place}; every {what} must be on exactly one bus"
                yield ("power", "buses"), text
    by_id = {str(battery.id): battery for battery in power.batteries}
    for b, bus in enumerate(buses):
        members = [by_id[item] for item in bus.battery_ids if item in by_id]
        key: Key = ("power", "buses", b, "battery_ids")
        if not bus.battery_ids:
            yield bad(key, bus.battery_ids, "is empty; every bus needs at least one battery")
        if len({battery.model for battery in members}) > 1:
            yield bad(key, bus.battery_ids, "mixes ideal and thevenin batteries; use one model per bus")
        elif len({battery.cells is None for battery in members}) > 1:
            yield bad(key, bus.battery_ids, "mixes batteries with and without cells; use one form per bus")
        elif members and members[0].model == "ideal" and len({battery.full_voltage_v for battery in members}) > 1:
            yield bad(key, bus.battery_ids, "has ideal batteries of different voltages; they must be equal")
