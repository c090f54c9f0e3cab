"""From the tables of the vehicle to an `Aircraft`.

The functions below `build_aircraft` are given what they may read and nothing else: see `engine.builder`.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from px4lockstep.checks import Vector3
from px4lockstep.engine.builder import Builder
from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError
from px4lockstep.math.quaternion import from_euler
from px4lockstep.part import Key, dotted
from px4lockstep.spec.flight_tables import Contact as ContactTable
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.vehicle_checks import inertia
from px4lockstep.spec.vehicle_tables import (
    Actuation,
    Actuators,
    Airframe,
    BatteryTable,
    InitialState,
    MotorChannel,
    Power,
)
from px4lockstep.spec.vehicle_tables import Propulsion as PropulsionTable
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.parts import Actuator, Battery, Contact, PowerBus, Propulsion, Rotor

Attitude = tuple[float, float, float, float]


class PlacedError(InputError):
    """An error of a key that is known.

    Args:
        key: The key.
        text: What is wrong, with the key's name.
    """

    def __init__(self, key: Key, text: str) -> None:
        super().__init__(text)
        self.key = key


@contextmanager
def at(key: Key) -> Iterator[None]:
    """Let an error of what is built here name the key; numbers that overflow are one."""
    name, whose = (f"{dotted(key)}: ", "its") if key else ("", "some")
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except PlacedError:
        raise
    except InputError as error:
        if error.key:
            raise PlacedError(error.key, str(error)) from error
        raise PlacedError(key, str(error) if str(error).startswith(dotted(key)) else f"{name}{error}") from error
    except ArithmeticError as error:
        raise PlacedError(
            key,
            f"{name}{whose} numbers are so large or small that computing with them fails ({error}); use plausible ones",
        ) from error


def build_aircraft(spec: Spec, builder: Builder | None = None) -> Aircraft:
    """Return the aircraft of a spec.

    Args:
        spec: The spec.
        builder: Makes the parts and writes the records; left out, all anew.

    Raises:
        PlacedError: If anything does not fit.
    """
    made, airframe = (builder or Builder()).made, spec.airframe
    return made(
        _aircraft,
        spec.aircraft.name,
        airframe,
        spec.actuation,
        spec.power,
        made(
            _rotors,
            airframe.rotor_pos_body_m,
            airframe.propulsion.rotor_dir,
            airframe.rotor_axis_body_m,
            spec.actuation.motors,
        ),
        made(_propulsion, airframe.propulsion),
        made(_ground, spec.plant.contact),
        spec.environment.only(Gravity),
        spec.home.alt_msl_m,
    )


def _aircraft(
    name: str,
    airframe: Airframe,
    actuation: Actuation,
    power: Power,
    rotors: tuple[Rotor, ...],
    propulsion: Propulsion,
    ground: Contact,
    gravity: Gravity,
    home_alt_msl_m: float,
) -> Aircraft:
    x0 = airframe.x0
    with at(("airframe",)):
        tensor = inertia(airframe)
        return Aircraft(
            name=name,
            mass_kg=airframe.mass_kg,
            inertia_kgm2=(tensor[0], tensor[1], tensor[2]),
            rotors=rotors,
            propulsion=propulsion,
            batteries=tuple(_battery(i, battery) for i, battery in enumerate(power.batteries)),
            buses=_buses(power, actuation),
            share_mode=power.share_mode,
            angular_damping=airframe.angular_damping,
            drag_kind=airframe.drag,
            linear_drag=airframe.linear_drag,
            drag_area_body_m2=airframe.drag_area_body_m2,
            contact=ground,
            motor_actuator=_actuator("motor_actuators", actuation.motor_actuators),
            servo_actuator=_actuator("servo_actuators", actuation.servo_actuators),
            servo_channels=tuple(servo.channel for servo in actuation.servos),
            gravity=gravity,
            home_alt_msl_m=home_alt_msl_m,
            pos_ned=x0.pos_ned,
            vel_ned=x0.vel_ned,
            q_bn=_attitude(x0),
            omega_body=x0.omega_body,
        )


def _ground(own: ContactTable) -> Contact:
    with at(("plant", "contact")):
        return Contact(
            kind=own.kind,
            k_n_per_m=own.k_n_per_m,
            c_n_per_mps=own.c_n_per_mps,
            mu=own.mu,
            v_eps=own.v_eps,
            enable_friction=own.enable_friction,
            points_body_m=own.points_body_m,
            mu_static=own.mu_static,
        )


def _rotors(
    positions: tuple[Vector3, ...],
    directions: tuple[int, ...] | None,
    axes: tuple[Vector3, ...] | None,
    motors: tuple[MotorChannel, ...] | None,
) -> tuple[Rotor, ...]:
    with at(("airframe",)):
        return tuple(
            Rotor(pos, direction, axis, motor.channel)
            for pos, direction, axis, motor in zip(positions, directions or (), axes or (), motors or (), strict=True)
        )


def _propulsion(own: PropulsionTable) -> Propulsion:
    with at(("airframe",)):
        return Propulsion(
            km_m=own.km_m,
            v_nom=own.V_nom,
            rho_nom=own.rho_nom,
            rotor_radius_m=own.rotor_radius_m,
            inflow_kt=own.inflow_kT,
            inflow_kq=own.inflow_kQ,
            thrust_calibration_mult=own.thrust_calibration_mult,
            calibration_mass_kg=own.calibration_mass_kg,
            **own.esc.model_dump(),
            **own.motor.model_dump(),
        )


def _battery(index: int, battery: BatteryTable) -> Battery:
    with at(("power", "batteries", index)):
        return Battery(**battery.model_dump(exclude={"id"}))


def _buses(power: Power, actuation: Actuation) -> tuple[PowerBus, ...]:
    batteries = [battery.id for battery in power.batteries]
    motors = [motor.id for motor in actuation.motors or ()]
    return tuple(
        PowerBus(
            tuple(batteries.index(item) for item in bus.battery_ids),
            tuple(motors.index(item) for item in bus.motor_ids),
            bus.avionics_load_w,
        )
        for bus in power.buses or ()
    )


def _actuator(name: str, own: Actuators) -> Actuator:
    with at(("actuation", name)):
        return Actuator(**own.model_dump())


def _attitude(x0: InitialState) -> Attitude:
    if x0.q_bn is not None:
        return x0.q_bn
    if x0.euler_rad is not None:
        roll, pitch, yaw = x0.euler_rad
    else:
        roll, pitch, yaw = (math.radians(angle) for angle in x0.euler_deg or (0.0, 0.0, 0.0))
    w, x, y, z = from_euler(roll, pitch, yaw)
    return float(w), float(x), float(y), float(z)
