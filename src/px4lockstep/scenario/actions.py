"""Actions: changes of an event to the scenario's part of the bus.

`ACTIONS` is the table of all actions: number, arguments, and requirements for the action to have an effect. The types
and limits of the arguments are defined by the keys of `events.Event`. The requests `mission`, `return_home` and `land`
are counters; `arm` counts the requests since the last disarming, which sets it to 0. The autopilot reacts to their
changes; mission, return and land replace each other. A fault stays active until an action clears it.
"""

import math
from dataclasses import dataclass

from px4lockstep.jit import kernel, record
from px4lockstep.plant.faults import SENSORS
from px4lockstep.scenario.setpoint_rows import EVENT_ROW, NOTHING
from px4lockstep.scenario.setpoints import FIELDS
from px4lockstep.vehicle.dispatch import applied_duty

# Numbers of actions. They are stored in the checkpoints of recordings, so a number is never reused. The order is
# arbitrary.
ARM, DISARM, START_MISSION, RETURN, LAND, WIND_STEP = range(6)
DISABLE_MOTOR, RESTORE_MOTOR, THRUST_LOSS, STUCK_MOTOR, DISCONNECT_BATTERY, RECONNECT_BATTERY = range(6, 12)
SENSOR_FAULT, CLEAR_SENSOR_FAULT = range(12, 14)
ESTIMATE_BIAS, ESTIMATE_DRIFT, ESTIMATE_DROPOUT, CLEAR_ESTIMATE_FAULTS = range(14, 18)
CALL = 18  # a Python function
GIVE_SETPOINT, STOP_SETPOINTS, OFFBOARD = range(19, 22)
SET_PARAM = 22  # in Python, as the session of the autopilot changes it

# Requirements for an action to have an effect.
MOTORS, BATTERIES, SENSOR, ESTIMATOR, MISSION = "motors", "batteries", "sensor", "estimator", "mission"
SETPOINTS, PARAMS = "setpoints", "params"


@dataclass(frozen=True)
class Action:
    """An action that a scenario can name, with its number in the `EVENT` record."""

    number: int
    doc: str
    arguments: tuple[str, ...] = ()  # keys of an event; all but `motor` and `sensor` go into `values` in this order
    optional: tuple[str, ...] = ()  # arguments that may be omitted
    left_out: float = 0.0  # value written into `values` for omitted arguments
    needs: str = ""  # requirement for the action to have an effect


ERRORS = ("pos_ned", "vel_ned", "yaw_rad", "omega_body")
"""Arguments of actions that set an error of the estimate."""

ACTIONS = {
    "arm": Action(ARM, "Request arming."),
    "disarm": Action(DISARM, "Request disarming."),
    "start_mission": Action(START_MISSION, "Request the mission, replacing return or landing.", needs=MISSION),
    "return": Action(RETURN, "Request the return, replacing mission or landing."),
    "land": Action(LAND, "Request a landing, replacing mission or return."),
    "wind_step": Action(WIND_STEP, "Set a wind that is added to the wind model's.", ("vel_ned",)),
    "disable_motor": Action(DISABLE_MOTOR, "Set the duty of a motor to 0; the rotor coasts.", ("motor",), needs=MOTORS),
    "restore_motor": Action(RESTORE_MOTOR, "Clear all faults of a motor.", ("motor",), needs=MOTORS),
    "thrust_loss": Action(
        THRUST_LOSS, "Remove a fraction of a rotor's thrust; its torque stays.", ("motor", "fraction"), needs=MOTORS
    ),
    "stuck_motor": Action(
        STUCK_MOTOR,
        "Fix the duty of an ESC, regardless of the command.",
        ("motor", "duty"),
        optional=("duty",),
        left_out=math.nan,  # the duty at that time
        needs=MOTORS,
    ),
    "disconnect_battery": Action(DISCONNECT_BATTERY, "Disconnect all batteries from their buses.", needs=BATTERIES),
    "reconnect_battery": Action(RECONNECT_BATTERY, "Reconnect all batteries to their buses.", needs=BATTERIES),
    "sensor_fault": Action(SENSOR_FAULT, "Set the fault of a sensor.", ("sensor",), needs=SENSOR),
    "clear_sensor_fault": Action(CLEAR_SENSOR_FAULT, "Clear the fault of a sensor.", ("sensor",), needs=SENSOR),
    "estimate_bias": Action(ESTIMATE_BIAS, "Add an error to the estimate.", ERRORS, optional=ERRORS, needs=ESTIMATOR),
    "estimate_drift": Action(
        ESTIMATE_DRIFT, "Add a growing error to the estimate.", ERRORS, optional=ERRORS, needs=ESTIMATOR
    ),
    "estimate_dropout": Action(ESTIMATE_DROPOUT, "Invalidate position and velocity of the estimate.", needs=ESTIMATOR),
    "clear_estimate_faults": Action(CLEAR_ESTIMATE_FAULTS, "Clear bias, drift and dropout.", needs=ESTIMATOR),
    "setpoint": Action(
        GIVE_SETPOINT,
        "Give a setpoint, held until the next, and request setpoint mode (PX4's offboard).",
        FIELDS,
        optional=FIELDS,
        needs=SETPOINTS,
    ),
    "stop_setpoints": Action(
        STOP_SETPOINTS, "End the stream of setpoints, which PX4 treats as a loss.", needs=SETPOINTS
    ),
    "offboard": Action(OFFBOARD, "Request setpoint mode (PX4's offboard) again.", needs=SETPOINTS),
    "set_param": Action(SET_PARAM, "Change a PX4 parameter of the autopilot.", ("name", "value"), needs=PARAMS),
}
"""All actions by the name that a scenario gives them."""

FAULTLESS = (ARM, DISARM, START_MISSION, RETURN, LAND, WIND_STEP, GIVE_SETPOINT, STOP_SETPOINTS, OFFBOARD, SET_PARAM)
"""Actions that neither set nor clear a fault."""

SENSOR_BITS = {name: bit for name, (bit, _) in SENSORS.items()}

N_VALUES = 10

EVENT = record(
    [
        ("trigger time_us step signal", "i8"),
        ("threshold", "f8"),
        ("action", "i8"),
        ("motor", "i8"),  # from 0
        ("sensor_bit", "i8"),
        ("row", "i8"),  # of a setpoint
        ("content", "i8"),  # hash of that row or of a parameter, so that a changed value is a changed event
        ("values", "f8", N_VALUES),  # a velocity; a fraction or duty; position, velocity, yaw, rates
    ]
)


@kernel
def apply_request(event, out):
    """Apply a request to the autopilot."""
    action = event.action
    if action == ARM:
        out.arm += 1
    elif action == DISARM:
        out.arm = 0
    elif action == START_MISSION:
        out.mission += 1
    elif action == RETURN:
        out.return_home += 1
    elif action == LAND:
        out.land += 1


@kernel
def apply_setpoint(event, setpoints):
    """Choose the source of setpoints, and request setpoint mode."""
    if event.action == GIVE_SETPOINT:
        setpoints.source = EVENT_ROW
        setpoints.event_row = event.row
        setpoints.requests += 1
    elif event.action == STOP_SETPOINTS:
        setpoints.source = NOTHING
    elif event.action == OFFBOARD:
        setpoints.requests += 1


@kernel
def apply_motor_fault(event, state, inputs, plant, faults):
    """Set or clear faults of one motor."""
    i = event.motor
    bit = 1 << i
    if event.action == DISABLE_MOTOR:
        faults.motor_disabled_mask |= bit
    elif event.action == THRUST_LOSS:
        faults.motor_weak_mask |= bit
        faults.thrust_loss[i] = event.values[0]
    elif event.action == STUCK_MOTOR:
        duty = event.values[0]
        faults.motor_stuck_mask |= bit
        faults.stuck_duty[i] = applied_duty(state, inputs, plant, i) if math.isnan(duty) else duty
    elif event.action == RESTORE_MOTOR:
        faults.motor_disabled_mask &= ~bit
        faults.motor_stuck_mask &= ~bit
        faults.motor_weak_mask &= ~bit
        faults.stuck_duty[i] = 0.0
        faults.thrust_loss[i] = 0.0


@kernel
def apply_other_fault(event, faults):
    """Set or clear faults of batteries and sensors."""
    action = event.action
    if action == DISCONNECT_BATTERY:
        faults.battery_disconnected = 1
    elif action == RECONNECT_BATTERY:
        faults.battery_disconnected = 0
    elif action == SENSOR_FAULT:
        faults.sensor_fault_mask |= event.sensor_bit
    elif action == CLEAR_SENSOR_FAULT:
        faults.sensor_fault_mask &= ~event.sensor_bit


@kernel
def set_estimate_error(event, error):
    """Write the error of the estimate from the values of an event; they are 0 for the action that clears it."""
    for i in range(3):
        error.pos_ned[i] = event.values[i]
        error.vel_ned[i] = event.values[3 + i]
        error.omega_body[i] = event.values[7 + i]
    error.yaw = event.values[6]


@kernel
def apply_estimate_fault(event, faults):
    """Set or clear faults of the estimate."""
    action = event.action
    if action == ESTIMATE_BIAS:
        set_estimate_error(event, faults.bias)
    elif action == ESTIMATE_DRIFT:
        set_estimate_error(event, faults.drift)
    elif action == ESTIMATE_DROPOUT:
        faults.dropout = 1
    elif action == CLEAR_ESTIMATE_FAULTS:  # its values are 0
        faults.dropout = 0
        set_estimate_error(event, faults.bias)
        set_estimate_error(event, faults.drift)


@kernel
def apply_action(event, state, inputs, plant, setpoints, out):
    """Apply the action of an event; `plant` is the `PLANT` record and `out` the scenario's part of the bus."""
    apply_request(event, out)
    apply_setpoint(event, setpoints)
    if event.action == WIND_STEP:
        for i in range(3):
            out.wind_ned[i] = event.values[i]
    apply_motor_fault(event, state, inputs, plant, out.faults)
    apply_other_fault(event, out.faults)
    apply_estimate_fault(event, out.estimate_faults)
