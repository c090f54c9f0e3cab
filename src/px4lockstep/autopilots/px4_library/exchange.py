"""One tick of real PX4: write its inputs, step it, read its outputs.

Everything here is compiled; the library's functions are called by address.
"""

import math

import numpy as np

from px4lockstep.autopilots.builtin.vectors import heading_of
from px4lockstep.autopilots.px4_library.commander import NO_MODE, command, mode_of_command, watch_fence
from px4lockstep.autopilots.px4_library.records import COMMANDS, MOTORS, TEXTS
from px4lockstep.autopilots.px4_library.texts import keep_text
from px4lockstep.autopilots.requests import MANUAL_MODE
from px4lockstep.environment.projection import DEG_PER_RAD, reproject
from px4lockstep.jit import call_i32, kernel
from px4lockstep.jit.memory import FLOAT64, INT32, INT64, load_number, store_number

# Values of `failed.function`: functions of the library. The last two are not functions: PX4 has published no motors for
# too long, or has switched all of them off.
PUBLISH, STEP, CHECK, COPY, SILENT, STOPPED = (np.int64(i) for i in range(1, 7))

MAX_SILENT_TICKS = 250
MAX_STOPPED_TICKS = 25  # in the air; MAX_SILENT_TICKS on the ground
IN_AIR_M = 1.0
NEVER_PUBLISHED = -1
TIME_BYTES = 8
"""Size of the time in front of each logged message."""
MAX_QUEUED = 8  # PX4's queue of commands, and of texts

FUNCTIONS = {1: "orb_queue_publish", 2: "step_uorb", 3: "orb_check", 4: "orb_copy"}


@kernel
def write_inputs(host, t_us, bus):
    """Write PX4's inputs: estimate, flags and batteries."""
    inputs, c, estimate = host.inputs, host.commander, bus.estimate
    inputs.time_us = float(t_us)
    inputs.stamp_us = float(max(t_us, np.int64(1)))
    inputs.is_valid = estimate.is_valid
    for i in range(3):
        inputs.pos_ned[i] = estimate.pos_ned[i]
        inputs.vel_ned[i] = estimate.vel_ned[i]
        inputs.omega_body[i] = estimate.omega_body[i]
        inputs.omega_dot_body[i] = 0.0
        if host.tick > 0:
            inputs.omega_dot_body[i] = (estimate.omega_body[i] - host.omega_body[i]) * host.rate_gain
        host.omega_body[i] = estimate.omega_body[i]
    for i in range(4):
        inputs.q_bn[i] = estimate.q_bn[i]
    inputs.heading = heading_of(estimate)
    lat_rad, lon_rad = reproject(host.home_lat_rad, host.home_lon_rad, estimate.pos_ned[0], estimate.pos_ned[1])
    inputs.lat_deg = lat_rad * DEG_PER_RAD
    inputs.lon_deg = lon_rad * DEG_PER_RAD
    inputs.alt_m = host.home_alt_m - estimate.pos_ned[2]
    inputs.landed = float(bus.scenario.landed)
    inputs.in_air = 1.0 - inputs.landed
    inputs.armed = float(c.is_armed)
    inputs.arming_state = 2.0 if c.is_armed != 0 else 1.0
    inputs.nav_state = float(c.nav_state)
    inputs.mode_since_us = float(c.mode_us)
    inputs.armed_since_us = float(c.armed_us)
    inputs.is_auto = 1.0 if c.nav_state != MANUAL_MODE else 0.0
    inputs.is_manual = 1.0 - inputs.is_auto
    inputs.home_count += 1.0
    for j in range(host.n_batteries):
        battery, measured = inputs.battery[j], bus.battery[j]
        battery.connected = 0.0 if bus.scenario.faults.battery_disconnected != 0 else 1.0
        battery.voltage_v = measured.voltage_v
        battery.current_a = measured.current_a
        battery.remaining = measured.remaining
        battery.warning = float(measured.warning)


@kernel
def note_failure(host, function, which, code):
    """Store which call failed; return False."""
    host.failed.function = function
    host.failed.which = which
    host.failed.code = code
    return False


@kernel
def publish(host):
    """Write and publish the messages that are due; return whether the library accepted them."""
    for i in range(host.n_publishers):
        publisher = host.publishers[i]
        since = host.tick - publisher.phase_ticks
        if since < 0 or since % publisher.period_ticks != 0:
            continue
        for k in range(publisher.first_field, publisher.stop_field):
            field = host.fields[k]
            store_number(field.place, field.kind, load_number(field.number, FLOAT64))
        code = call_i32(host.orb_queue_publish, host.handle, publisher.id, publisher.message, publisher.n_bytes)
        if code != 0:
            return note_failure(host, PUBLISH, i, code)
    return True


@kernel
def log_messages(host, t_us):
    """Append what PX4 has published on the logged topics since the last tick; return whether that succeeded."""
    for i in range(host.n_logged):
        topic = host.logged[i]
        for _ in range(min(topic.depth, topic.capacity - topic.received)):
            code = call_i32(host.orb_check, host.handle, topic.id, host.updated)
            if code != 0:
                return note_failure(host, CHECK, host.n_subscribers + i, code)
            if load_number(host.updated, INT32) == 0.0:
                break
            row = topic.rows + topic.received * topic.row_bytes
            code = call_i32(host.orb_copy, host.handle, topic.id, row + TIME_BYTES, topic.n_bytes)
            if code == NEVER_PUBLISHED:
                break
            if code != 0:
                return note_failure(host, COPY, host.n_subscribers + i, code)
            store_number(row, INT64, float(t_us))
            topic.received += 1
            store_number(topic.counter, INT64, float(topic.received))
    return True


@kernel
def read_message(host, i):
    """Read a subscriber's next message, if there is one; return the code of a failed call, else 1 if there was one."""
    subscriber = host.subscribers[i]
    code = call_i32(host.orb_check, host.handle, subscriber.id, host.updated)
    if code != 0:
        note_failure(host, CHECK, i, code)
        return np.int64(-1)
    if load_number(host.updated, INT32) == 0.0:
        return np.int64(0)
    code = call_i32(host.orb_copy, host.handle, subscriber.id, subscriber.message, subscriber.n_bytes)
    if code == NEVER_PUBLISHED:
        return np.int64(0)
    if code != 0:
        note_failure(host, COPY, i, code)
        return np.int64(-1)
    subscriber.received += 1
    for k in range(subscriber.first_field, subscriber.stop_field):
        field = host.fields[k]
        store_number(field.number, FLOAT64, load_number(field.place, field.kind))
    return np.int64(1)


@kernel
def use_message(host, role):
    """React to a message that is more than a number."""
    if role == MOTORS:
        host.silent_ticks = 0
    elif role == COMMANDS:
        mode = mode_of_command(host.outputs.command, host.outputs.command_mode)
        if mode != NO_MODE:
            host.commander.commanded_mode = mode
    elif role == TEXTS:
        keep_text(host)


@kernel
def read_outputs(host):
    """Read what PX4 has published since the last tick; return whether that succeeded and the motors are up to date."""
    host.silent_ticks += 1
    for i in range(host.n_subscribers):
        role = host.subscribers[i].role
        for _ in range(MAX_QUEUED if role >= COMMANDS else 1):
            found = read_message(host, i)
            if found < 0:
                return False
            if found == 0:
                break
            use_message(host, role)
    if host.commander.is_armed == 0:
        host.silent_ticks = 0
    if host.silent_ticks > MAX_SILENT_TICKS:
        return note_failure(host, SILENT, 0, host.silent_ticks)
    return True


@kernel
def check_motors(host, bus):
    """Return False if all motors (NaN: off) have been off for too long while armed."""
    is_off = host.commander.is_armed != 0
    for i in range(host.n_motors):
        is_off = is_off and math.isnan(host.outputs.motors[i])
    host.stopped_ticks = host.stopped_ticks + 1 if is_off else 0
    most = MAX_STOPPED_TICKS if bus.estimate.pos_ned[2] < -IN_AIR_M else MAX_SILENT_TICKS
    if host.stopped_ticks > most:
        return note_failure(host, STOPPED, 0, most)
    return True


@kernel
def write_bus(host, bus):
    """Write the setpoints and the commands: motors by their rotor's channel, 0 while disarmed.

    In manual mode, PX4's controllers follow the last setpoints of the previous flight, because there is no pilot to
    give new ones. The motors therefore stay at 0 in that mode until the vehicle flies.
    """
    outputs, out, c = host.outputs, bus.autopilot, host.commander
    is_off = c.is_armed == 0 or (c.nav_state == MANUAL_MODE and c.has_flown == 0)
    for i in range(host.n_motors):
        bus.command.motors[host.motor_channel[i]] = 0.0 if is_off else outputs.motors[i]
    for i in range(host.n_servos):
        servo = outputs.servos[i]
        bus.command.servos[host.servo_channel[i]] = servo if not math.isnan(servo) else 0.0
    out.armed = c.is_armed
    out.nav_state = c.nav_state
    out.failsafe = c.failsafe
    out.mission_item = np.int64(outputs.mission_item)
    out.mission_count = np.int64(outputs.mission_count)
    out.mission_finished = c.is_finished
    out.yaw_sp = outputs.yaw_sp
    out.yawspeed_sp = outputs.yawspeed_sp
    for i in range(3):
        out.pos_sp_ned[i] = outputs.pos_sp_ned[i]
        out.vel_sp_ned[i] = outputs.vel_sp_ned[i]
        out.acc_sp_ned[i] = outputs.acc_sp_ned[i]
        out.rate_sp_body[i] = outputs.rate_sp_body[i]
        out.torque_sp_body[i] = outputs.torque_sp_body[i]
        out.thrust_sp_body[i] = outputs.thrust_sp_body[i]
    for i in range(4):
        out.q_sp[i] = outputs.q_sp[i]


@kernel
def step_px4(host, t_us, bus):
    """Run PX4 for one tick; return whether it succeeded."""
    if host.has_inputs != 0:  # otherwise PX4 would not learn of it
        command(host.commander, t_us, bus.scenario, host.outputs)
        if host.commander.fence.is_on != 0:
            watch_fence(host.commander, t_us, bus.estimate)
    write_inputs(host, t_us, bus)
    if not publish(host):
        return False
    code = call_i32(host.step_uorb, host.handle, t_us)
    if code != 0:
        return note_failure(host, STEP, 0, code)
    if host.n_logged > 0 and not log_messages(host, t_us):
        return False
    if not read_outputs(host) or not check_motors(host, bus):
        return False
    write_bus(host, bus)
    host.tick += 1
    return True
