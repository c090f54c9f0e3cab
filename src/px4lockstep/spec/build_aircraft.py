"""From the tables of the vehicle to an `Aircraft`."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError
from px4lockstep.math.quaternion import from_euler
from px4lockstep.spec.spec import Key, Spec, dotted
from px4lockstep.spec.vehicle_checks import inertia
from px4lockstep.spec.vehicle_tables import Actuators, BatteryTable
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
        raise PlacedError(key, str(error) if str(error).startswith(dotted(key)) else f"{name}{error}") from error
    except ArithmeticError as error:
        raise PlacedError(
            key,
            f"{name}{whose} numbers are so large or small that computing with them fails ({error}); use plausible ones",
        ) from error


def build_aircraft(spec: Spec) -> Aircraft:
    """Return the aircraft of a spec.

    Raises:
        PlacedError: If anything does not fit.
    """
    airframe, x0 = spec.airframe, spec.airframe.x0
    contact, environment = spec.plant.contact, spec.environment
    with at(("plant", "contact")):
        ground = Contact(
            kind=contact.kind,
            k_n_per_m=contact.k_n_per_m,
            c_n_per_mps=contact.c_n_per_mps,
            mu=contact.mu,
            v_eps=contact.v_eps,
            enable_friction=contact.enable_friction,
            points_body_m=contact.points_body_m,
            mu_static=contact.mu_static,
        )
    with at(("airframe",)):
        tensor = inertia(airframe)
        return Aircraft(
            name=spec.aircraft.name,
            mass_kg=airframe.mass_kg,
            inertia_kgm2=(tensor[0], tensor[1], tensor[2]),
            rotors=_rotors(spec),
            propulsion=_propulsion(spec),
            batteries=tuple(_battery(i, battery) for i, battery in enumerate(spec.power.batteries)),
            buses=_buses(spec),
            share_mode=spec.power.share_mode,
            angular_damping=airframe.angular_damping,
            drag_kind=airframe.drag,
            linear_drag=airframe.linear_drag,
            drag_area_body_m2=airframe.drag_area_body_m2,
            contact=ground,
            motor_actuator=_actuator("motor_actuators", spec.actuation.motor_actuators),
            servo_actuator=_actuator("servo_actuators", spec.actuation.servo_actuators),
            servo_channels=tuple(servo.channel for servo in spec.actuation.servos),
            gravity=Gravity(
                environment.gravity, environment.gravity_mps2, environment.gravity_mu, environment.gravity_r0_m
            ),
            home_alt_msl_m=spec.home.alt_msl_m,
            pos_ned=x0.pos_ned,
            vel_ned=x0.vel_ned,
            q_bn=_attitude(spec),
            omega_body=x0.omega_body,
        )


def _rotors(spec: Spec) -> tuple[Rotor, ...]:
    airframe, motors = spec.airframe, spec.actuation.motors or ()
    axes, directions = airframe.rotor_axis_body_m or (), airframe.propulsion.rotor_dir or ()
    return tuple(
        Rotor(pos, direction, axis, motor.channel)
        for pos, direction, axis, motor in zip(airframe.rotor_pos_body_m, directions, axes, motors, strict=True)
    )


def _propulsion(spec: Spec) -> Propulsion:
    own = spec.airframe.propulsion
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


def _buses(spec: Spec) -> tuple[PowerBus, ...]:
    batteries = [battery.id for battery in spec.power.batteries]
    motors = [motor.id for motor in spec.actuation.motors or ()]
    return tuple(
        PowerBus(
            tuple(batteries.index(item) for item in bus.battery_ids),
            tuple(motors.index(item) for item in bus.motor_ids),
            bus.avionics_load_w,
        )
        for bus in spec.power.buses or ()
    )


def _actuator(name: str, own: Actuators) -> Actuator:
    with at(("actuation", name)):
        return Actuator(**own.model_dump())


def _attitude(spec: Spec) -> Attitude:
    x0 = spec.airframe.x0
    if x0.q_bn is not None:
        return x0.q_bn
    if x0.euler_rad is not None:
        roll, pitch, yaw = x0.euler_rad
    else:
        roll, pitch, yaw = (math.radians(angle) for angle in x0.euler_deg or (0.0, 0.0, 0.0))
    w, x, y, z = from_euler(roll, pitch, yaw)
    return float(w), float(x), float(y), float(z)
