"""The schema of a log: every column that one can have, once; memory, CSV and Parquet follow it.

A row is stamped with the time of its boundary and holds the state at that time, before the interval that follows.
Commands, wind, faults and setpoints are those of the same boundary, held from it on. Outputs of the plant and the
measurements of its batteries come before the autopilot in the order of a boundary (`engine.loop`), so they go with the
command held until then.

A run has only the columns that mean something in it: per-rotor columns as wide as its aircraft, none for servos that it
does not have, no sensors if nothing reads them, no estimate if nothing estimates, no setpoints if its autopilot tells
none.
"""

from dataclasses import dataclass

from px4lockstep.plant.faults import FRACTIONS, KINDS, LATER
from px4lockstep.sensors.suite import OUTPUTS as SENSOR_OUTPUTS

LOG_SCHEMA = "px4lockstep.log"
LOG_SCHEMA_VERSION = 1

COMPONENTS = {
    "ned": ("n", "e", "d"),
    "body": ("x", "y", "z"),
    "quaternion": ("w", "x", "y", "z"),
    "euler": ("roll", "pitch", "yaw"),
}
"""What a vector's components are called; those of the other shapes are numbered from 1."""

COUNTED = ("motors", "servos", "rotors", "actuators", "actuator_rates", "batteries", "buses", "states", "values")
"""Shapes whose size is the run's: commands of motors and servos, rotors, actuators with a state, and so on."""


@dataclass(frozen=True)
class Column:
    """One column of the log, `log[name]`."""

    name: str
    unit: str  # "1" for numbers without one
    shape: str  # of `COMPONENTS` or `COUNTED`; empty for one number
    description: str
    source: str  # `state.<group>`, `bus.<field>`, `inputs.<field>`, or `derived`
    needs: str = ""
    """The stage that writes it (`sensors`, `estimator`, `autopilot`), the kind of plant (`aircraft`, `reference`), or
    `fault` for a fault that happens: a run without it has no such column. Empty: all have it, if its size is not 0.
    """


BATTERY_WARNING = "warning as measured: 0 none, 1 low, 2 critical, 3 emergency"
ESTIMATE_FAULTS = "bus.scenario.estimate_faults"
ESTIMATE_PARTS = (
    ("pos_ned", "ned", "position"),
    ("vel_ned", "ned", "velocity"),
    ("yaw", "", "yaw"),
    ("omega_body", "body", "rates"),
)

COLUMNS: tuple[Column, ...] = (
    Column("time_us", "us", "", "simulated time of the row, an integer", "time_us"),
    Column("time_s", "s", "", "the same in seconds, for reading", "derived"),
    # The true state.
    Column("pos_ned", "m", "ned", "true position, from the origin", "state.pos"),
    Column("vel_ned", "m/s", "ned", "true velocity over the ground", "state.vel"),
    Column("q_bn", "1", "quaternion", "true attitude, body to NED", "state.att"),
    Column("euler_bn", "rad", "euler", "the same as angles, in the order yaw, pitch, roll", "derived"),
    Column("omega_body", "rad/s", "body", "true body rates", "state.omega"),
    Column(
        "actuator_output", "1", "actuators", "outputs of motors, then servos, with dynamics", "state.act", "aircraft"
    ),
    Column("actuator_rate", "1/s", "actuator_rates", "rates of those of second order", "state.actdot", "aircraft"),
    Column("rotor_speed_rad_s", "rad/s", "rotors", "rotor speeds", "state.rotor", "aircraft"),
    Column("soc", "1", "batteries", "true state of charge, 0 to 1", "state.soc", "aircraft"),
    Column("polarization_v", "V", "batteries", "polarization voltage v1", "state.v1", "aircraft"),
    Column("state", "1", "states", "the whole state, each in its own unit", "state", "reference"),
    # What the sensors report, at the last tick of the autopilot.
    *(
        Column(f"sensor_{out.name}", out.unit, out.shape, out.description, f"bus.sensors.{out.name}", "sensors")
        for out in SENSOR_OUTPUTS
    ),
    # The estimate.
    Column("est_pos_ned", "m", "ned", "estimated position", "bus.estimate.pos_ned", "estimator"),
    Column("est_vel_ned", "m/s", "ned", "estimated velocity", "bus.estimate.vel_ned", "estimator"),
    Column("est_q_bn", "1", "quaternion", "estimated attitude, body to NED", "bus.estimate.q_bn", "estimator"),
    Column("est_omega_body", "rad/s", "body", "estimated body rates", "bus.estimate.omega_body", "estimator"),
    Column("est_valid", "1", "", "1: position and velocity are to be used", "bus.estimate.is_valid", "estimator"),
    # What the autopilot tells of itself.
    Column("armed", "1", "", "1: armed", "bus.autopilot.armed", "autopilot"),
    Column("nav_state", "1", "", "mode, PX4's number", "bus.autopilot.nav_state", "autopilot"),
    Column("failsafe", "1", "", "what it acted on by itself, 0 for nothing", "bus.autopilot.failsafe", "autopilot"),
    Column("mission_item", "1", "", "present item of the mission, from 0", "bus.autopilot.mission_item", "autopilot"),
    Column("mission_count", "1", "", "items of the mission", "bus.autopilot.mission_count", "autopilot"),
    Column("mission_finished", "1", "", "1: the mission is finished", "bus.autopilot.mission_finished", "autopilot"),
    # Its setpoints; NaN: none.
    Column("pos_sp_ned", "m", "ned", "position setpoint", "bus.autopilot.pos_sp_ned", "autopilot"),
    Column("vel_sp_ned", "m/s", "ned", "velocity setpoint", "bus.autopilot.vel_sp_ned", "autopilot"),
    Column("acc_sp_ned", "m/s^2", "ned", "acceleration setpoint", "bus.autopilot.acc_sp_ned", "autopilot"),
    Column("yaw_sp", "rad", "", "yaw setpoint", "bus.autopilot.yaw_sp", "autopilot"),
    Column("yawspeed_sp", "rad/s", "", "yaw rate setpoint", "bus.autopilot.yawspeed_sp", "autopilot"),
    Column("q_sp", "1", "quaternion", "attitude setpoint", "bus.autopilot.q_sp", "autopilot"),
    Column("rate_sp_body", "rad/s", "body", "body rate setpoint", "bus.autopilot.rate_sp_body", "autopilot"),
    Column("torque_sp_body", "1", "body", "torque setpoint, normalized", "bus.autopilot.torque_sp_body", "autopilot"),
    Column("thrust_sp_body", "1", "body", "thrust setpoint, normalized", "bus.autopilot.thrust_sp_body", "autopilot"),
    # Commands and wind, as held for the plant from this row on.
    Column("motors", "1", "motors", "motor commands, 0 to 1; NaN: not driven", "inputs.command.motors"),
    Column("servos", "1", "servos", "servo commands, -1 to 1", "inputs.command.servos"),
    Column("wind_ned", "m/s", "ned", "wind at the vehicle: source, scenario and gusts", "inputs.wind_ned"),
    Column("wind_base_ned", "m/s", "ned", "wind of the source alone", "bus.wind.vel_ned"),
    # What the plant shows besides its state.
    Column("plant_values", "1", "values", "what a plant of one's own shows", "bus.outputs.values", "reference"),
    Column("rotor_duty", "1", "rotors", "duty that the ESC applies", "bus.outputs.rotor_duty", "aircraft"),
    Column("rotor_thrust_n", "N", "rotors", "thrust", "bus.outputs.rotor_thrust_n", "aircraft"),
    Column("rotor_torque_nm", "N m", "rotors", "torque of the propeller", "bus.outputs.rotor_torque_nm", "aircraft"),
    Column("motor_current_a", "A", "rotors", "current of the motor", "bus.outputs.motor_current_a", "aircraft"),
    Column("bus_voltage_v", "V", "buses", "true voltage of the power bus", "bus.outputs.bus_voltage_v", "aircraft"),
    Column("bus_current_a", "A", "buses", "true current of the power bus", "bus.outputs.bus_current_a", "aircraft"),
    Column("battery_voltage_v", "V", "batteries", "voltage as measured", "bus.battery.voltage_v", "aircraft"),
    Column("battery_current_a", "A", "batteries", "current as measured", "bus.battery.current_a", "aircraft"),
    Column("battery_remaining", "1", "batteries", "remaining charge as measured", "bus.battery.remaining", "aircraft"),
    Column("battery_warning", "1", "batteries", BATTERY_WARNING, "bus.battery.warning", "aircraft"),
    Column("battery_true_voltage_v", "V", "batteries", "true voltage", "bus.outputs.battery.voltage_v", "aircraft"),
    Column("battery_true_current_a", "A", "batteries", "true current", "bus.outputs.battery.current_a", "aircraft"),
    Column("battery_true_remaining", "1", "batteries", "true remaining", "bus.outputs.battery.remaining", "aircraft"),
    Column("battery_true_warning", "1", "batteries", "true warning", "bus.outputs.battery.warning", "aircraft"),
    Column("air_density_kg_m3", "kg/m^3", "", "density of the air", "bus.outputs.air_density_kg_m3", "aircraft"),
    Column("air_temperature_k", "K", "", "temperature of the air", "bus.outputs.air_temperature_k", "aircraft"),
    Column(
        "air_vel_body", "m/s", "body", "velocity of the air past the vehicle", "bus.outputs.air_vel_body", "aircraft"
    ),
    # The scenario.
    Column("request_arm", "1", "", "1: to be armed", "bus.scenario.arm"),
    Column("request_mission", "1", "", "how often the mission was asked for", "bus.scenario.mission"),
    Column("request_return", "1", "", "how often the return was asked for", "bus.scenario.return_home"),
    Column("request_land", "1", "", "how often a landing was asked for", "bus.scenario.land"),
    Column("landed", "1", "", "1: stands on the ground", "bus.scenario.landed"),
    Column("crashed", "1", "", "1: hit the ground, and the run ended; 2: the run goes on", "bus.scenario.crashed"),
    Column("scenario_wind_ned", "m/s", "ned", "wind that the scenario adds", "bus.scenario.wind_ned"),
    # Faults, as held for the plant; bit i of a mask is rotor i + 1.
    *(
        Column(each.name, "1", shape, each.doc, f"inputs.faults.{each.name}", "fault" if each.name in LATER else needs)
        for each in KINDS
        for shape, needs in [("rotors", "aircraft") if each.form == FRACTIONS else ("", "")]
    ),
    Column("est_fault_dropout", "1", "", "1: no position and velocity", "bus.scenario.estimate_faults.dropout"),
    *(
        Column(f"est_{kind}_{name}", unit, shape, f"fault: {what} of {part}", f"{ESTIMATE_FAULTS}.{kind}.{name}")
        for kind, what, units in (("bias", "error", "m m/s rad rad/s"), ("drift", "drift", "m/s m/s^2 rad/s rad/s^2"))
        for unit, (name, shape, part) in zip(units.split(), ESTIMATE_PARTS, strict=True)
    ),
)

BY_NAME = {column.name: column for column in COLUMNS}


def components(column: Column, size: int) -> tuple[str, ...]:
    """Return what a column's components are called in a file, for a column of `size` numbers; 0 is one number."""
    if column.shape == "":
        return (column.name,)
    ends = COMPONENTS.get(column.shape) or tuple(str(i + 1) for i in range(size))
    return tuple(f"{column.name}_{end}" for end in ends)
