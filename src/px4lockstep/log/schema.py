"""The schema of a log: every possible column; logs in memory, CSV and Parquet follow it.

A row is stamped with the time of its boundary and holds the state at that time, before the interval that follows.
Commands, wind, faults and setpoints are those set at the same boundary and held from then on. Outputs of the plant and
battery measurements are computed before the autopilot runs at a boundary (`engine.loop`), so they belong to the command
held until then.

A run has only the columns that apply to it: per-rotor columns as wide as its aircraft, no servo columns without servos,
no sensors if nothing reads them, no estimate without an estimator, no setpoints if its autopilot reports none.
"""

from dataclasses import dataclass

from px4lockstep.plant.faults import FRACTIONS, KINDS, LATER
from px4lockstep.sensors.suite import OUTPUTS as SENSOR_OUTPUTS

LOG_SCHEMA = "px4lockstep.log"
LOG_SCHEMA_VERSION = 2  # version 1 has other names in CSV files

COMPONENTS = {
    "ned": ("n", "e", "d"),
    "body": ("x", "y", "z"),
    "quaternion": ("w", "x", "y", "z"),
    "euler": ("roll", "pitch", "yaw"),
}
"""Names of the components of vectors; components of other shapes are numbered from 1."""

COUNTED = ("motors", "servos", "rotors", "actuators", "actuator_rates", "batteries", "buses", "states", "values")
"""Shapes whose size depends on the run: commands of motors and servos, rotors, actuators with a state, and so on."""


@dataclass(frozen=True)
class Column:
    """One column of the log, `log[name]`."""

    name: str
    unit: str  # "1" if dimensionless
    shape: str  # a key of `COMPONENTS`, or one of `COUNTED`; empty for a scalar
    description: str
    source: str  # `state.<group>`, `bus.<field>`, `inputs.<field>`, or `derived`
    needs: str = ""
    """The stage that writes the column (`sensors`, `estimator`, `autopilot`), the kind of plant (`aircraft`,
    `reference`), `home` for a log whose home position is known, or `fault` for a fault that occurs: a run without
    it lacks the column. Empty: every run has the
    column, unless its size is 0.
    """


BATTERY_WARNING = "measured warning: 0 none, 1 low, 2 critical, 3 emergency"
ESTIMATE_FAULTS = "bus.scenario.estimate_faults"
ESTIMATE_PARTS = (
    ("pos_ned", "ned", "position"),
    ("vel_ned", "ned", "velocity"),
    ("yaw", "", "yaw"),
    ("omega_body", "body", "rates"),
)

COLUMNS: tuple[Column, ...] = (
    Column("time_us", "us", "", "simulated time of the row, an integer", "time_us"),
    Column("time_s", "s", "", "simulated time of the row in seconds", "derived"),
    # The true state.
    Column("pos_ned", "m", "ned", "true position, from the origin", "state.pos"),
    Column("lat_deg", "deg", "", "true latitude, if asked for by name", "derived", "home"),
    Column("lon_deg", "deg", "", "true longitude, if asked for by name", "derived", "home"),
    Column("alt_msl_m", "m", "", "true altitude above mean sea level, if asked for by name", "derived", "home"),
    Column("vel_ned", "m/s", "ned", "true velocity over the ground", "state.vel"),
    Column("q_bn", "1", "quaternion", "true attitude, body to NED", "state.att"),
    Column("euler_bn", "rad", "euler", "true attitude as Euler angles, rotation order yaw, pitch, roll", "derived"),
    Column("omega_body", "rad/s", "body", "true body rates", "state.omega"),
    Column(
        "actuator_output", "1", "actuators", "outputs of motors, then servos, with dynamics", "state.act", "aircraft"
    ),
    Column("actuator_rate", "1/s", "actuator_rates", "rates of second-order actuators", "state.actdot", "aircraft"),
    Column("rotor_speed_rad_s", "rad/s", "rotors", "rotor speeds", "state.rotor", "aircraft"),
    Column(
        "soc",
        "1",
        "batteries",
        "true state of charge, -0.001 to 1",
        "state.soc",
        "aircraft",
    ),
    Column("polarization_v", "V", "batteries", "polarization voltage v1", "state.v1", "aircraft"),
    Column("state", "1", "states", "complete state, each in its own unit", "state", "reference"),
    # Sensor outputs at the last tick of the autopilot.
    *(
        Column(f"sensor_{out.name}", out.unit, out.shape, out.description, f"bus.sensors.{out.name}", "sensors")
        for out in SENSOR_OUTPUTS
    ),
    # The estimate.
    Column("est_pos_ned", "m", "ned", "estimated position", "bus.estimate.pos_ned", "estimator"),
    Column("est_vel_ned", "m/s", "ned", "estimated velocity", "bus.estimate.vel_ned", "estimator"),
    Column("est_q_bn", "1", "quaternion", "estimated attitude, body to NED", "bus.estimate.q_bn", "estimator"),
    Column("est_omega_body", "rad/s", "body", "estimated body rates", "bus.estimate.omega_body", "estimator"),
    Column("est_valid", "1", "", "1: position and velocity are valid", "bus.estimate.is_valid", "estimator"),
    # Status of the autopilot.
    Column("armed", "1", "", "1: armed", "bus.autopilot.armed", "autopilot"),
    Column("nav_state", "1", "", "flight mode, PX4's nav_state", "bus.autopilot.nav_state", "autopilot"),
    Column(
        "failsafe",
        "1",
        "",
        "last failsafe or battery warning; 0: none",
        "bus.autopilot.failsafe",
        "autopilot",
    ),
    Column("mission_item", "1", "", "current mission item, from 0", "bus.autopilot.mission_item", "autopilot"),
    Column("mission_count", "1", "", "number of mission items", "bus.autopilot.mission_count", "autopilot"),
    Column("mission_finished", "1", "", "1: the mission is finished", "bus.autopilot.mission_finished", "autopilot"),
    # Setpoints of the autopilot; NaN: none.
    Column("pos_sp_ned", "m", "ned", "position setpoint", "bus.autopilot.pos_sp_ned", "autopilot"),
    Column("vel_sp_ned", "m/s", "ned", "velocity setpoint", "bus.autopilot.vel_sp_ned", "autopilot"),
    Column("acc_sp_ned", "m/s^2", "ned", "acceleration setpoint", "bus.autopilot.acc_sp_ned", "autopilot"),
    Column("yaw_sp", "rad", "", "yaw setpoint", "bus.autopilot.yaw_sp", "autopilot"),
    Column("yawspeed_sp", "rad/s", "", "yaw rate setpoint", "bus.autopilot.yawspeed_sp", "autopilot"),
    Column("q_sp", "1", "quaternion", "attitude setpoint", "bus.autopilot.q_sp", "autopilot"),
    Column("rate_sp_body", "rad/s", "body", "body rate setpoint", "bus.autopilot.rate_sp_body", "autopilot"),
    Column("torque_sp_body", "1", "body", "torque setpoint, normalized", "bus.autopilot.torque_sp_body", "autopilot"),
    Column("thrust_sp_body", "1", "body", "thrust setpoint, normalized", "bus.autopilot.thrust_sp_body", "autopilot"),
    # Commands and wind as held for the plant from this row on.
    Column("motors", "1", "motors", "motor commands, 0 to 1; NaN: not driven", "inputs.command.motors"),
    Column("servos", "1", "servos", "servo commands, -1 to 1", "inputs.command.servos"),
    Column("wind_ned", "m/s", "ned", "wind at the vehicle: source, scenario and gusts", "inputs.wind_ned"),
    Column("wind_base_ned", "m/s", "ned", "wind of the wind source alone", "bus.wind.vel_ned"),
    # Outputs of the plant.
    Column("plant_values", "1", "values", "outputs of a user-defined plant", "bus.outputs.values", "reference"),
    Column("rotor_duty", "1", "rotors", "duty cycle applied by the ESC", "bus.outputs.rotor_duty", "aircraft"),
    Column("rotor_thrust_n", "N", "rotors", "rotor thrust", "bus.outputs.rotor_thrust_n", "aircraft"),
    Column("rotor_torque_nm", "N m", "rotors", "propeller torque", "bus.outputs.rotor_torque_nm", "aircraft"),
    Column("motor_current_a", "A", "rotors", "motor current", "bus.outputs.motor_current_a", "aircraft"),
    Column("bus_voltage_v", "V", "buses", "true voltage of the power bus", "bus.outputs.bus_voltage_v", "aircraft"),
    Column("bus_current_a", "A", "buses", "true current of the power bus", "bus.outputs.bus_current_a", "aircraft"),
    Column("battery_voltage_v", "V", "batteries", "measured voltage", "bus.battery.voltage_v", "aircraft"),
    Column("battery_current_a", "A", "batteries", "measured current", "bus.battery.current_a", "aircraft"),
    Column("battery_remaining", "1", "batteries", "measured remaining charge", "bus.battery.remaining", "aircraft"),
    Column("battery_warning", "1", "batteries", BATTERY_WARNING, "bus.battery.warning", "aircraft"),
    Column("battery_true_voltage_v", "V", "batteries", "true voltage", "bus.outputs.battery.voltage_v", "aircraft"),
    Column("battery_true_current_a", "A", "batteries", "true current", "bus.outputs.battery.current_a", "aircraft"),
    Column(
        "battery_true_remaining", "1", "batteries", "true remaining charge", "bus.outputs.battery.remaining", "aircraft"
    ),
    Column("battery_true_warning", "1", "batteries", "true warning", "bus.outputs.battery.warning", "aircraft"),
    Column("air_density_kg_m3", "kg/m^3", "", "air density", "bus.outputs.air_density_kg_m3", "aircraft"),
    Column("air_temperature_k", "K", "", "air temperature", "bus.outputs.air_temperature_k", "aircraft"),
    Column(
        "air_vel_body", "m/s", "body", "air velocity relative to the vehicle", "bus.outputs.air_vel_body", "aircraft"
    ),
    Column(
        "rotor_axial_m_s",
        "m/s",
        "rotors",
        "V_ax: air against the rotor axis, positive in a descent",
        "derived",
        "aircraft",
    ),
    # The scenario.
    Column("request_arm", "1", "", "number of arming requests; 0 after a disarming request", "bus.scenario.arm"),
    Column("request_mission", "1", "", "number of mission requests", "bus.scenario.mission"),
    Column("request_return", "1", "", "number of return requests", "bus.scenario.return_home"),
    Column("request_land", "1", "", "number of landing requests", "bus.scenario.land"),
    Column("landed", "1", "", "1: on the ground", "bus.scenario.landed"),
    Column("crashed", "1", "", "1: crashed, which ended the run; 2: crashed, run continues", "bus.scenario.crashed"),
    Column("scenario_wind_ned", "m/s", "ned", "wind added by the scenario", "bus.scenario.wind_ned"),
    # Faults as held for the plant; bit i of a mask is rotor i + 1.
    *(
        Column(each.name, "1", shape, each.doc, f"inputs.faults.{each.name}", "fault" if each.name in LATER else needs)
        for each in KINDS
        for shape, needs in [("rotors", "aircraft") if each.form == FRACTIONS else ("", "")]
    ),
    Column(
        "est_fault_dropout",
        "1",
        "",
        "1: no position and velocity, 2: no horizontal ones",
        "bus.scenario.estimate_faults.dropout",
    ),
    *(
        Column(f"est_{kind}_{name}", unit, shape, f"fault: {what} of {part}", f"{ESTIMATE_FAULTS}.{kind}.{name}")
        for kind, what, units in (("bias", "error", "m m/s rad rad/s"), ("drift", "drift", "m/s m/s^2 rad/s rad/s^2"))
        for unit, (name, shape, part) in zip(units.split(), ESTIMATE_PARTS, strict=True)
    ),
)

BY_NAME = {column.name: column for column in COLUMNS}


def components(column: Column, size: int) -> tuple[str, ...]:
    """Return the names of a column's components in a file, for a column with `size` components; 0 for a scalar."""
    if column.shape == "":
        return (column.name,)
    ends = COMPONENTS.get(column.shape) or tuple(str(i + 1) for i in range(size))
    return tuple(f"{column.name}_{end}" for end in ends)
