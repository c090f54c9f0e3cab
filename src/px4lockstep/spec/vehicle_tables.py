"""The tables of the vehicle: `[airframe]`, `[actuation]`, `[power]`. The defaults are those of the Iris."""

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from px4lockstep.part import (
    KEY,
    Matrix,
    NotNegative,
    NotNegativeVector,
    Part,
    Quaternion,
    Vector,
    entry,
    name_or_table,
    show,
    wrong,
)
from px4lockstep.plant.layout import MAX_BATTERIES, MAX_BUSES, MAX_MOTORS, MAX_SERVOS
from px4lockstep.vehicle.battery import MAX_OCV_POINTS


def _whole(value: Any) -> Any:
    """Take 1.0 as 1, as PX4Lockstep.jl does, but not true, which Python does."""
    if isinstance(value, bool):
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be 1 or -1")
    return int(value) if isinstance(value, float) and value in (-1.0, 1.0) else value


Sign = Annotated[Literal[-1, 1], BeforeValidator(_whole)]


class Esc(Part):
    """The speed controllers."""

    eta: float = entry(0.98, "Efficiency.", gt=0.0, le=1.0)
    deadzone: float = entry(0.02, "Duty below which a motor gets nothing.", ge=0.0, le=1.0)


class Motor(Part):
    """The motors."""

    kv_rpm_per_volt: float = entry(920.0, "Speed constant.", "rpm/V", gt=0.0)
    r_ohm: float = entry(0.25, "Resistance.", "Ω", gt=0.0)
    j_kgm2: float = entry(1.2e-5, "Inertia of rotor and propeller.", "kg m²", gt=0.0)
    i0_a: float = entry(0.6, "No-load current.", "A", ge=0.0)
    viscous_friction_nm_per_rad_s: float = entry(2e-6, "Viscous friction.", "N m s", ge=0.0)
    max_current_a: float = entry(60.0, "Current limit.", "A", gt=0.0)


class Propulsion(Part):
    """ESC, motor and propeller, the same for all rotors."""

    kind: Literal["multirotor_default"] = entry("multirotor_default", "The model.")
    km_m: float = entry(0.05, "Torque per thrust of the propeller.", "m", gt=0.0)
    V_nom: float = entry(12.0, "Voltage of the calibration.", "V", gt=0.0)
    rho_nom: float = entry(1.225, "Density of the air of the calibration.", "kg/m³", gt=0.0)
    rotor_radius_m: float = entry(0.127, "Radius of the propeller.", "m", gt=0.0)
    inflow_kT: float = entry(8.0, "Loss of thrust with axial inflow.", ge=0.0)  # noqa: N815 (the file's name)
    inflow_kQ: float = entry(8.0, "Loss of torque with axial inflow.", ge=0.0)  # noqa: N815
    thrust_calibration_mult: float = entry(2.0, "Thrust at full duty, as a multiple of hover.", gt=0.0)
    calibration_mass_kg: float | None = entry(
        None,
        "Mass whose hover that is. Left out: `mass_kg`, so that a heavier aircraft has stronger motors.",
        "kg",
        gt=0.0,
    )
    rotor_dir: tuple[Sign, ...] | None = entry(
        None,
        "Sign of each rotor's reaction torque on the body. Left out: 1, 1, -1, -1 of four rotors, else 1, -1, 1 …",
    )
    esc: Esc = entry(Esc(), "The speed controllers.")
    motor: Motor = entry(Motor(), "The motors.")


class InitialState(Part):
    """The state at the first boundary."""

    stage: ClassVar[str | None] = "initial_state"
    aliases: ClassVar[dict[str, str]] = {"ω_body": "omega_body"}
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("q_bn",), ("euler_deg",), ("euler_rad",))

    pos_ned: Vector = entry((0.0, 0.0, 0.0), "Position.", "m")
    vel_ned: Vector = entry((0.0, 0.0, 0.0), "Velocity.", "m/s")
    q_bn: Quaternion | None = entry(None, "Attitude (w, x, y, z), body to NED; level if no attitude is given.")
    euler_deg: Vector | None = entry(None, "Or roll, pitch, yaw.", "°")
    euler_rad: Vector | None = entry(None, "Or roll, pitch, yaw.", "rad")
    omega_body: Vector = entry((0.0, 0.0, 0.0), "Body rates.", "rad/s")


class Airframe(Part):
    """The vehicle as a body with rotors."""

    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("inertia_kgm2",), ("inertia_diag_kgm2", "inertia_products_kgm2"))

    kind: Literal["multirotor"] = entry("multirotor", "The model.")
    mass_kg: float = entry(..., "Mass.", "kg", gt=0.0)
    inertia_diag_kgm2: Vector | None = entry(None, "Moments of inertia Ixx, Iyy, Izz.", "kg m²")
    inertia_products_kgm2: Vector | None = entry(None, "Off-diagonal elements of the tensor: xy, xz, yz.", "kg m²")
    inertia_kgm2: Matrix | None = entry(None, "Or the whole tensor: three rows of three, or nine numbers.", "kg m²")
    rotor_pos_body_m: tuple[Vector, ...] = entry(
        ..., "Position of each rotor from the centre of mass.", "m", min_length=1, max_length=MAX_MOTORS
    )
    rotor_axis_body_m: tuple[Vector, ...] | None = entry(
        None, "Unit vector of each rotor; thrust acts against it. Left out: (0, 0, 1)."
    )
    drag: Literal["linear", "body_quadratic"] = entry("linear", "Kind of drag.")
    linear_drag: float = entry(0.0, "Coefficient of linear drag.", "N s/m", ge=0.0)
    drag_area_body_m2: NotNegativeVector = entry((0.0, 0.0, 0.0), "CdA of quadratic drag along each body axis.", "m²")
    angular_damping: NotNegativeVector = entry((0.0, 0.0, 0.0), "Damping of rotation about each axis.", "N m s")
    x0: InitialState = entry(InitialState(), "Where it starts.")
    propulsion: Propulsion = entry(Propulsion(), "ESC, motor, propeller.")


class MotorChannel(Part):
    """A motor, in the order of the rotors."""

    id: str = entry(..., "Its name, which buses use.", min_length=1)
    channel: int = entry(..., "The motor command that drives it, from 1.", ge=1, le=MAX_MOTORS)


class ServoChannel(Part):
    """A servo."""

    id: str = entry(..., "Its name, which buses use.", min_length=1)
    channel: int = entry(..., "The servo command that drives it, from 1.", ge=1, le=MAX_SERVOS)


class Actuators(Part):
    """The dynamics of all motors' commands, or of all servos."""

    aliases: ClassVar[dict[str, str]] = {"τ": "tau_s", "ωn": "omega_n", "ζ": "zeta"}
    name_key: ClassVar[str | None] = "kind"

    kind: Literal["direct", "first_order", "second_order"] = entry("direct", "The model.")
    tau_s: float = entry(0.05, "Time constant of `first_order`; also `τ`.", "s", gt=0.0)
    omega_n: float = entry(50.0, "Natural frequency of `second_order`; also `ωn`.", "rad/s", gt=0.0)
    zeta: float = entry(0.7, "Damping ratio of `second_order`; also `ζ`.", ge=0.0)
    rate_limit: Annotated[float, Field(gt=0.0, allow_inf_nan=True)] = entry(
        math.inf, "Fastest change of the output of `second_order`; `inf` for none.", "1/s"
    )


ActuatorsOrName = Annotated[Actuators, BeforeValidator(name_or_table, json_schema_input_type=str | Actuators)]


class Actuation(Part):
    """Which command drives what."""

    motors: tuple[MotorChannel, ...] | None = entry(
        None, "One for each rotor, in their order. Left out: `motor1` and so on.", max_length=MAX_MOTORS
    )
    servos: tuple[ServoChannel, ...] = entry((), "Servos.", max_length=MAX_SERVOS)
    motor_actuators: ActuatorsOrName = entry(Actuators(), "Dynamics of the motors' commands; a name or a table.")
    servo_actuators: ActuatorsOrName = entry(Actuators(), "Dynamics of the servos; a name or a table.")


class BatteryTable(Part):
    """A battery."""

    id: str | None = entry(None, "Its name, which buses use. Left out: `bat1` and so on.", min_length=1)
    model: Literal["ideal", "thevenin"] = entry("thevenin", "The model; an ideal one's voltage is the last of `ocv_v`.")
    capacity_ah: float = entry(5.0, "Capacity.", "Ah", gt=0.0)
    soc0: float = entry(1.0, "State of charge at the start.", ge=0.0, le=1.0)
    ocv_soc: tuple[NotNegative, ...] = entry(
        (0.0, 1.0), "States of charge of the open-circuit curve, rising.", min_length=1, max_length=MAX_OCV_POINTS
    )
    ocv_v: tuple[NotNegative, ...] = entry(
        (10.8, 12.6), "Their voltages, not falling.", "V", min_length=1, max_length=MAX_OCV_POINTS
    )
    r0: float = entry(0.02, "Series resistance.", "Ω", gt=0.0)
    r1: float = entry(0.01, "Polarization resistance.", "Ω", gt=0.0)
    c1: float = entry(2000.0, "Polarization capacity.", "F", gt=0.0)
    v1_0: float = entry(0.0, "Polarization voltage at the start.", "V")
    min_voltage_v: float = entry(9.9, "The voltage does not fall below this.", "V", ge=0.0)
    low_thr: float = entry(0.15, "Remaining charge that is a low warning.", ge=0.0, le=1.0)
    crit_thr: float = entry(0.10, "That is critical.", ge=0.0, le=1.0)
    emerg_thr: float = entry(0.05, "That is an emergency.", ge=0.0, le=1.0)
    sense_tau_s: float = entry(0.0, "Time constant of its sensor; 0 is off.", "s", ge=0.0)
    sense_delay_s: float = entry(0.0, "Delay of its sensor, in whole ticks of the autopilot.", "s", ge=0.0)
    sense_voltage_sigma_v: float = entry(0.0, "Noise of the measured voltage.", "V", ge=0.0)
    sense_current_sigma_a: float = entry(0.0, "Noise of the measured current.", "A", ge=0.0)


class Bus(Part):
    """A power bus."""

    id: str | None = entry(None, "Its name. Left out: `bus1` and so on.", min_length=1)
    battery_ids: tuple[str, ...] = entry(..., "The batteries that feed it.")
    motor_ids: tuple[str, ...] = entry(..., "The motors that it feeds.")
    servo_ids: tuple[str, ...] = entry((), "The servos that it feeds; they draw no current.")
    avionics_load_w: float = entry(0.0, "A constant load.", "W", ge=0.0)


class Power(Part):
    """Batteries and buses."""

    share_mode: Literal["inv_r0", "equal"] = entry("inv_r0", "How the batteries of a bus share its current.")
    batteries: tuple[BatteryTable, ...] = entry(
        (BatteryTable(),), "The batteries.", min_length=1, max_length=MAX_BATTERIES
    )
    buses: tuple[Bus, ...] | None = entry(
        None,
        "Every motor and battery is on exactly one. Left out: one for everything.",
        min_length=1,
        max_length=MAX_BUSES,
    )
