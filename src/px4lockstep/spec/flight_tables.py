"""The tables of the flight: when, in what, from where, with what numerics, and what is kept of it."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from px4lockstep.environment.dryden import MAX_HEIGHT_M, MAX_WIND_M_S, MIN_HEIGHT_M, MIN_WIND_M_S
from px4lockstep.environment.gust import MAX_GUSTS
from px4lockstep.part import (
    KEY,
    EachAxis,
    NotNegativeVector,
    Number,
    Part,
    Period,
    Seconds,
    Vector,
    entry,
    show,
    wrong,
)
from px4lockstep.plant.layout import MAX_POINTS
from px4lockstep.spec.vehicle_tables import name_or_table


class AircraftTable(Part):
    """What it is called."""

    name: str = entry(
        "aircraft", "The name of the aircraft, and of run folders.", stage="name", min_length=1, max_length=100
    )
    seed: int = entry(1, "Of all randomness.", stage="seed", ge=0, lt=2**64)


class Home(Part):
    """The origin of the world frame."""

    lat_deg: float = entry(47.397742, "Latitude; at a pole north has no direction.", "°", gt=-90.0, lt=90.0)
    lon_deg: float = entry(8.545594, "Longitude.", "°", ge=-180.0, le=180.0)
    alt_msl_m: float = entry(488.0, "Height above sea level.", "m", ge=-500.0, le=20_000.0)


class Autopilot(Part):
    """Who flies."""

    kind: Literal["builtin", "px4", "px4-sitl", "none"] = entry(
        "builtin",
        "The built-in autopilot, real PX4 by its library, stock PX4 over MAVLink, or nobody.",
        stage="autopilot_kind",
    )
    params: dict[str, Number] = entry({}, "PX4's parameters, by name; for real PX4, `px4.params` come after them.")
    motor_failure_detection: bool = entry(
        True, "Whether a motor that draws no current is taken out of the allocation of the built-in autopilot."
    )
    hover_thrust_estimate: bool = entry(False, "Whether it estimates the hover thrust in flight, by HTE_*.")
    land_detector: Literal["host", "estimate"] = entry(
        "host", "Whether it is told that it has landed, as PX4 in lockstep is, or decides by itself, by LNDMC_*."
    )
    angular_acceleration: bool = entry(
        True,
        "Whether its rate control gets the derivative of the rates; false as in the recorded flights of PX4.",
        stage="autopilot_start",
    )


class Timeline(Part):
    """When things happen."""

    stage: ClassVar[str | None] = "axes"

    t_end_s: Period = entry(60.0, "The end of the run.", "s", stage="end")
    dt_autopilot_s: Period = entry(0.004, "Period of estimator and autopilot.", "s")
    dt_wind_s: Period = entry(0.001, "Period of the wind.", "s")
    dt_log_s: Period = entry(0.01, "Period of the log.", "s")
    dt_phys_s: Period | None = entry(
        None,
        "Longest step of the physics; the other periods are whole multiples. Left out: the boundaries.",
        "s",
        stage="physics_axis",
    )


class Integrator(Part):
    """How the plant is integrated."""

    aliases: ClassVar[dict[str, str]] = {"rtol_ω": "rtol_omega", "atol_ω": "atol_omega"}
    name_key: ClassVar[str | None] = "kind"

    kind: Literal["Euler", "RK4", "RK23", "RK45"] = entry("RK45", "The method; RK23 and RK45 choose their steps.")
    rtol_pos: float = entry(1e-6, "Relative tolerance of the position.", ge=0.0)
    atol_pos: float = entry(1e-6, "Absolute tolerance of the position.", "m", gt=0.0)
    rtol_vel: float = entry(1e-6, "Of the velocity.", ge=0.0)
    atol_vel: float = entry(1e-6, "Of the velocity.", "m/s", gt=0.0)
    rtol_omega: float = entry(1e-6, "Of the body rates; also `rtol_ω`.", ge=0.0)
    atol_omega: float = entry(1e-6, "Of the body rates; also `atol_ω`.", "rad/s", gt=0.0)
    atol_att_rad: float = entry(1e-6, "Of the attitude.", "rad", gt=0.0)
    plant_error_control: bool = entry(True, "Whether the following limit the step too.")
    rtol_act: float = entry(1e-6, "Of the actuators' outputs.", ge=0.0)
    atol_act: float = entry(1e-6, "Of the actuators' outputs.", gt=0.0)
    rtol_actdot: float = entry(1e-6, "Of the actuators' rates.", ge=0.0)
    atol_actdot: float = entry(1e-4, "Of the actuators' rates.", "1/s", gt=0.0)
    rtol_rotor: float = entry(1e-6, "Of the rotors' speeds.", ge=0.0)
    atol_rotor: float = entry(1e-3, "Of the rotors' speeds.", "rad/s", gt=0.0)
    rtol_soc: float = entry(1e-6, "Of the states of charge.", ge=0.0)
    atol_soc: float = entry(1e-9, "Of the states of charge.", gt=0.0)
    rtol_v1: float = entry(1e-6, "Of the polarization voltages.", ge=0.0)
    atol_v1: float = entry(1e-6, "Of the polarization voltages.", "V", gt=0.0)
    h_min: float = entry(1e-6, "Shortest step.", "s", gt=0.0)
    h_max: float = entry(0.1, "Longest step.", "s", gt=0.0)
    h_init: float = entry(0.0, "First step; 0 for 1 ms, or what of `h_min` to `h_max` is nearest.", "s", ge=0.0)
    max_substeps: int = entry(100_000, "Attempts between two boundaries.", ge=1, lt=2**53)
    safety: float = entry(0.9, "Of the step that the error suggests.", gt=0.0, lt=1.0)
    min_factor: float = entry(0.2, "The most that a step shrinks by.", gt=0.0, lt=1.0)
    max_factor: float = entry(5.0, "The most that a step grows by.", gt=1.0)
    kink_tolerance: float = entry(
        1e-8, "Of the error that is allowed elsewhere, what a step over a kink of the plant may have.", gt=0.0, le=1.0
    )
    quantize_us: bool = entry(True, "Whether steps are whole microseconds.")


class Contact(Part):
    """The ground."""

    aliases: ClassVar[dict[str, str]] = {"μ": "mu"}
    name_key: ClassVar[str | None] = "kind"

    kind: Literal["flat_ground", "no_contact", "legs"] = entry("flat_ground", "At the centre of mass, none, or legs.")
    k_n_per_m: float = entry(5000.0, "Stiffness, of all legs together.", "N/m", gt=0.0)
    c_n_per_mps: float = entry(600.0, "Damping, of all legs together.", "N s/m", ge=0.0)
    mu: float = entry(0.8, "Friction; also `μ`.", ge=0.0)
    v_eps: float = entry(0.05, "Speed of sliding at which friction has half built up.", "m/s", gt=0.0)
    enable_friction: bool = entry(True, "Whether there is friction.")
    points_body_m: tuple[Vector, ...] = entry((), "The feet of `legs`.", "m", max_length=MAX_POINTS)
    mu_static: float | None = entry(None, "Static friction of `legs`, at least `mu`. Left out: `mu`.", ge=0.0)


IntegratorOrName = Annotated[Integrator, BeforeValidator(name_or_table, json_schema_input_type=str | Integrator)]
ContactOrName = Annotated[Contact, BeforeValidator(name_or_table, json_schema_input_type=str | Contact)]


class Plant(Part):
    """Numerics and ground."""

    integrator: IntegratorOrName = entry(Integrator(), "The integrator; a name or a table.")
    contact: ContactOrName = entry(Contact(), "Contact with the ground; a name or a table.")


class Gust(Part):
    """A step of the wind."""

    stage: ClassVar[str | None] = "wind"

    start_s: Seconds = entry(..., "Its first moment.", "s")
    end_s: Seconds = entry(..., "The first moment after it.", "s")
    vel_ned: Vector = entry(..., "What it adds to the velocity of the air.", "m/s")


class Environment(Part):
    """Air and gravity."""

    wind: Literal["none", "constant", "ou", "dryden"] = entry("none", "The wind.", stage="wind")
    wind_mean_ned: Vector = entry((0.0, 0.0, 0.0), "Mean velocity of the air over the ground.", "m/s", stage="wind")
    wind_sigma_ned: NotNegativeVector = entry((1.5, 1.5, 0.5), "Standard deviations of `ou`.", "m/s", stage="wind")
    wind_tau_s: float = entry(3.0, "Correlation time of `ou`.", "s", stage="wind", gt=0.0)
    dryden_wind_20ft_mps: float = entry(
        7.72, "Wind speed at 20 ft, for `dryden`.", "m/s", stage="wind", ge=MIN_WIND_M_S, le=MAX_WIND_M_S
    )
    dryden_height_m: float = entry(
        15.0, "Height above ground, for `dryden`.", "m", stage="wind", ge=MIN_HEIGHT_M, le=MAX_HEIGHT_M
    )
    atmosphere: Literal["isa1976"] = entry("isa1976", "The atmosphere.")
    gravity: Literal["uniform", "spherical"] = entry("uniform", "Gravity.")
    gravity_mps2: float = entry(9.80665, "Of `uniform`.", "m/s²", ge=0.0)
    gravity_mu: float = entry(3.986004418e14, "Gravitational parameter of `spherical`.", "m³/s²", gt=0.0)
    gravity_r0_m: float = entry(6_371_000.0, "Distance of home from the centre, for `spherical`.", "m", gt=0.0)
    gusts: tuple[Gust, ...] = entry((), "Steps on top of any wind.", max_length=MAX_GUSTS)


class EstimatorTable(Part):
    """What the autopilot is told of the state."""

    kind: Literal["none", "noisy_delayed"] = entry("none", "The truth, or noise, bias and delay.")
    pos_sigma_m: EachAxis = entry((0.02, 0.02, 0.02), "Noise of the position; one number, or one for each axis.", "m")
    vel_sigma_mps: EachAxis = entry((0.05, 0.05, 0.05), "Noise of the velocity; likewise.", "m/s")
    yaw_sigma_rad: float = entry(0.01, "Noise of the yaw.", "rad", ge=0.0)
    rate_sigma_rad_s: EachAxis = entry((0.005, 0.005, 0.005), "Noise of the rates; likewise.", "rad/s")
    bias_tau_s: float = entry(50.0, "Correlation time of the biases.", "s", gt=0.0)
    pos_bias_sigma_m: EachAxis = entry((0.0, 0.0, 0.0), "Bias of the position; likewise.", "m")
    vel_bias_sigma_mps: EachAxis = entry((0.0, 0.0, 0.0), "Bias of the velocity; likewise.", "m/s")
    yaw_bias_sigma_rad: float = entry(0.0, "Bias of the yaw.", "rad", ge=0.0)
    rate_bias_sigma_rad_s: EachAxis = entry((0.001, 0.001, 0.001), "Bias of the rates; likewise.", "rad/s")
    delay_s: Seconds = entry(0.008, "Delay, in whole ticks of the autopilot.", "s")
    dt_est_s: Period | None = entry(None, "Must be the period of the autopilot, which it is if left out.", "s")


class SensorTable(Part):
    """A sensor; kept, not modelled yet."""

    kind: Literal["gps", "rangefinder", "distance", "radar"] = entry(..., "What it is.")
    id: str = entry(..., "Its name.", min_length=1)
    uorb_instance: int = entry(0, "Instance of its topic.", ge=0)


def _columns(value: Any) -> Any:
    is_names = isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)
    if value != "all" and not is_names:
        raise wrong(f"{KEY} = {show(value)} is not a choice of columns; it must be 'all' or an array of names")
    return value


class Run(Part):
    """What is done with the flight."""

    mode: Literal["live", "record", "replay"] = entry("record", "Fly, fly and keep a recording, or replay one.")
    recording_in: str | None = entry(
        None, "The recording that is replayed.", stage="files", min_length=1, extra={"path": True}
    )
    recording_out: str | None = entry(
        None, "Where the recording goes.", stage="files", min_length=1, extra={"path": True}
    )
    log_csv: str | None = entry(None, "Where a log as CSV goes.", stage="files", min_length=1, extra={"path": True})
    log_columns: Annotated[Literal["all"] | tuple[str, ...], BeforeValidator(_columns)] = entry(
        "all", "The columns of the log: all, or an array of names."
    )
    validate_: Literal["off", "cheap", "paranoid"] = Field(
        "cheap", alias="validate", description="How much is checked during the flight."
    )
