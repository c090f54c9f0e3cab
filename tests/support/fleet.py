"""Built-in aircraft with changes: `iris(mass_kg=2.0, batteries=(Battery(soc0=0.5),))`.

Changes are keyword arguments, whichever part they belong to; rotors and buses are given by number, from 0.
"""

import functools
from dataclasses import dataclass

from px4lockstep.part import keys_of
from px4lockstep.spec.load import load_aircraft
from px4lockstep.vehicle.actuators import Actuation, MotorChannel, ServoChannel
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.airframe import Airframe, InitialState
from px4lockstep.vehicle.power import Bus, Power
from px4lockstep.vehicle.propulsion import Esc, Motor, Propulsion

loaded = functools.cache(load_aircraft)

OTHER_NAMES = {
    "drag_kind": "drag",
    "motor_actuator": "motor_actuators",
    "servo_actuator": "servo_actuators",
}


@dataclass(frozen=True)
class Rotor:
    """A rotor: position, sign of its reaction torque, axis, and motor channel, or 0 for the rotor's number."""

    pos_body_m: tuple
    direction: int
    axis_body: tuple = (0.0, 0.0, 1.0)
    channel: int = 0


@dataclass(frozen=True)
class PowerBus:
    """A bus, given by the numbers of its batteries and rotors."""

    batteries: tuple
    rotors: tuple
    avionics_load_w: float = 0.0

    @property
    def part(self):
        """Return the bus with names instead of numbers."""
        batteries, motors = [f"bat{j + 1}" for j in self.batteries], [f"motor{i + 1}" for i in self.rotors]
        return Bus(battery_ids=batteries, motor_ids=motors, avionics_load_w=self.avionics_load_w)


def changed(part, **changes):
    """Return a part with other values, validated."""
    return type(part)(**({name: getattr(part, name) for name in part.model_fields_set} | changes))


def power_buses(aircraft):
    """Return the buses of an aircraft, by numbers."""
    batteries = [battery.id for battery in aircraft.batteries]
    motors = [motor.id for motor in aircraft.actuation.motors]
    return tuple(
        PowerBus(
            tuple(map(batteries.index, bus.battery_ids)), tuple(map(motors.index, bus.motor_ids)), bus.avionics_load_w
        )
        for bus in aircraft.buses
    )


def diagonal(ixx, iyy, izz):
    """Return a diagonal inertia tensor."""
    return ((ixx, 0.0, 0.0), (0.0, iyy, 0.0), (0.0, 0.0, izz))


def propulsion(**values):
    """Return a propulsion from its own keys and those of the ESC and the motor."""
    esc = {name: values.pop(name) for name in keys_of(Esc) if name in values}
    motor = {name: values.pop(name) for name in keys_of(Motor) if name in values}
    return Propulsion(**values, esc=Esc(**esc), motor=Motor(**motor))


def aircraft_of(base, **changes):
    """Return an aircraft with changes."""
    changes = {OTHER_NAMES.get(name, name): value for name, value in changes.items()}
    has_rotors, has_batteries = "rotors" in changes, "batteries" in changes

    def take(model):
        return {name: changes.pop(name) for name in keys_of(model) if name in changes}

    airframe, actuation, power = base.airframe, base.actuation, base.power
    directions = airframe.propulsion.rotor_dir
    body = {}
    if has_rotors:
        rotors = changes.pop("rotors")
        directions = tuple(rotor.direction for rotor in rotors)
        body["rotor_pos_body_m"] = tuple(rotor.pos_body_m for rotor in rotors)
        body["rotor_axis_body_m"] = tuple(rotor.axis_body for rotor in rotors)
        channels = (rotor.channel or i + 1 for i, rotor in enumerate(rotors))
        motors = tuple(MotorChannel(id=f"motor{i + 1}", channel=channel) for i, channel in enumerate(channels))
        actuation = changed(actuation, motors=motors)
    if "inertia_kgm2" in changes:
        body |= {"inertia_diag_kgm2": None, "inertia_products_kgm2": None}
    start = take(InitialState)
    if start:
        body["x0"] = changed(airframe.x0, **start)
    own = changes.pop("propulsion", airframe.propulsion)
    body["propulsion"] = changed(own, rotor_dir=directions)
    airframe = changed(airframe, **body, **take(Airframe))
    if "servo_channels" in changes:
        servos = enumerate(changes.pop("servo_channels"))
        changes["servos"] = tuple(ServoChannel(id=f"servo{i + 1}", channel=channel) for i, channel in servos)
    actuation = changed(actuation, **take(Actuation))
    if has_batteries:  # by their numbers here, too
        changes["batteries"] = tuple(item.model_copy(update={"id": None}) for item in changes["batteries"])
    buses = changes.pop("buses", base.buses)
    if buses == base.buses and (has_rotors or has_batteries) and not base.buses[0].avionics_load_w:
        buses = None  # one for everything
    if buses is not None:
        buses = tuple(bus.part if isinstance(bus, PowerBus) else bus for bus in buses)
    power = changed(power, buses=buses, **take(Power))
    rest = {name: getattr(base, name) for name in ("contact", "gravity", "home_alt_msl_m", "name")}
    return Aircraft(airframe=airframe, actuation=actuation, power=power, **(rest | changes))


def iris(**changes):
    """Return the Iris, a 1.5 kg quadrotor, on the ground at home."""
    return aircraft_of(loaded("iris"), **changes)


def octa(**changes):
    """Return the octa, 2 kg, with eight rotors clockwise from the front, with alternating signs."""
    return aircraft_of(loaded("octa"), **changes)


def hexa(**changes):
    """Return the hexarotor, `hex`."""
    return aircraft_of(loaded("hex"), **changes)


def twin(**changes):
    """Return the twin, 4 kg, with two rotors that push forward, standing on its tail."""
    return aircraft_of(loaded("twin"), **changes)
