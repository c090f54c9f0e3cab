"""Actions: what an event does to the scenario's part of the bus.

Requests (`arm`, `mission`, `return_home`, `land`) are levels; the autopilot watches for their edges. Mission, return
and land replace each other. A fault stays until the action that takes it back.
"""

import math

from px4lockstep.jit import kernel, record
from px4lockstep.plant.layout import (
    SENSOR_FAULT_ACCEL,
    SENSOR_FAULT_BARO,
    SENSOR_FAULT_EST_FREEZE,
    SENSOR_FAULT_GPS,
    SENSOR_FAULT_GYRO,
    SENSOR_FAULT_MAG,
)
from px4lockstep.vehicle.dispatch import applied_duty

# In this order: `apply_action` goes by groups.
ARM = 0
DISARM = 1
START_MISSION = 2
RETURN = 3
LAND = 4
WIND_STEP = 5
DISABLE_MOTOR = 6
RESTORE_MOTOR = 7
THRUST_LOSS = 8
STUCK_MOTOR = 9
DISCONNECT_BATTERY = 10
RECONNECT_BATTERY = 11
SENSOR_FAULT = 12
CLEAR_SENSOR_FAULT = 13
ESTIMATE_BIAS = 14
ESTIMATE_DRIFT = 15
ESTIMATE_DROPOUT = 16
CLEAR_ESTIMATE_FAULTS = 17
CALL = 18  # a Python function

NUMBERS = {
    "arm": ARM,
    "disarm": DISARM,
    "start_mission": START_MISSION,
    "return": RETURN,
    "land": LAND,
    "wind_step": WIND_STEP,
    "disable_motor": DISABLE_MOTOR,
    "restore_motor": RESTORE_MOTOR,
    "thrust_loss": THRUST_LOSS,
    "stuck_motor": STUCK_MOTOR,
    "disconnect_battery": DISCONNECT_BATTERY,
    "reconnect_battery": RECONNECT_BATTERY,
    "sensor_fault": SENSOR_FAULT,
    "clear_sensor_fault": CLEAR_SENSOR_FAULT,
    "estimate_bias": ESTIMATE_BIAS,
    "estimate_drift": ESTIMATE_DRIFT,
    "estimate_dropout": ESTIMATE_DROPOUT,
    "clear_estimate_faults": CLEAR_ESTIMATE_FAULTS,
}

SENSOR_BITS = {
    "gyro": SENSOR_FAULT_GYRO,
    "accel": SENSOR_FAULT_ACCEL,
    "mag": SENSOR_FAULT_MAG,
    "baro": SENSOR_FAULT_BARO,
    "gps": SENSOR_FAULT_GPS,
    "estimate": SENSOR_FAULT_EST_FREEZE,
}

N_VALUES = 10

EVENT = record(
    [
        ("trigger", "i8"),
        ("time_us", "i8"),
        ("step", "i8"),
        ("signal", "i8"),
        ("threshold", "f8"),
        ("action", "i8"),
        ("motor", "i8"),  # from 0
        ("sensor_bit", "i8"),
        ("values", "f8", N_VALUES),  # a velocity; a fraction or duty; position, velocity, yaw, rates
    ]
)


@kernel
def apply_motor_fault(event, state, inputs, plant, faults):
    """Break or mend one motor."""
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
    else:
        faults.motor_disabled_mask &= ~bit
        faults.motor_stuck_mask &= ~bit
        faults.motor_weak_mask &= ~bit
        faults.stuck_duty[i] = 0.0
        faults.thrust_loss[i] = 0.0


@kernel
def set_estimate_error(event, error):
    """Write an error of the estimate, or none for the action that clears it."""
    for i in range(3):
        error.pos_ned[i] = event.values[i]
        error.vel_ned[i] = event.values[3 + i]
        error.omega_body[i] = event.values[7 + i]
    error.yaw = event.values[6]


@kernel
def apply_estimate_fault(event, faults):
    """Make the estimate worse, or mend it."""
    if event.action == ESTIMATE_BIAS:
        set_estimate_error(event, faults.bias)
    elif event.action == ESTIMATE_DRIFT:
        set_estimate_error(event, faults.drift)
    elif event.action == ESTIMATE_DROPOUT:
        faults.dropout = 1
    else:  # its values are 0
        faults.dropout = 0
        set_estimate_error(event, faults.bias)
        set_estimate_error(event, faults.drift)


@kernel
def apply_action(event, state, inputs, plant, out):
    """Do what an event does; `plant` is the `PLANT` record and `out` the scenario's part of the bus."""
    action = event.action
    if action <= DISARM:
        out.arm = 1 if action == ARM else 0
    elif action <= LAND:
        if action == START_MISSION:
            out.mission += 1
        elif action == RETURN:
            out.return_home += 1
        else:
            out.land += 1
    elif action == WIND_STEP:
        for i in range(3):
            out.wind_ned[i] = event.values[i]
    elif action <= STUCK_MOTOR:
        apply_motor_fault(event, state, inputs, plant, out.faults)
    elif action <= RECONNECT_BATTERY:
        out.faults.battery_disconnected = 1 if action == DISCONNECT_BATTERY else 0
    elif action == SENSOR_FAULT:
        out.faults.sensor_fault_mask |= event.sensor_bit
    elif action == CLEAR_SENSOR_FAULT:
        out.faults.sensor_fault_mask &= ~event.sensor_bit
    else:
        apply_estimate_fault(event, out.estimate_faults)
