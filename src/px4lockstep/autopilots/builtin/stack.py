"""The autopilot's modules, in the order of the real library; each runs when it is due.

Default rates: commander (every tick), navigator (20 Hz), flight task (every tick), position control (100 Hz), attitude
control, rate control and allocation (250 Hz each).
"""

import math

from px4lockstep.autopilots.builtin import flight_task, hover_thrust, position_control
from px4lockstep.autopilots.builtin.allocation import ALLOCATION, allocate
from px4lockstep.autopilots.builtin.attitude_control import ATTITUDE_CONTROL, control_attitude
from px4lockstep.autopilots.builtin.commander import COMMANDER, MOTOR_FAILSAFE, command, fail_safe
from px4lockstep.autopilots.builtin.follow import FOLLOW, begin_follow, fly_follow
from px4lockstep.autopilots.builtin.ground_station import STATION, watch_station
from px4lockstep.autopilots.builtin.guided import (
    GUIDED,
    begin_guided,
    fly_orbit,
)
from px4lockstep.autopilots.builtin.land_detector import LAND_DETECTOR, detect_land
from px4lockstep.autopilots.builtin.motor_failure import MOTOR_FAILURE, reset_motor_failure, watch_motors
from px4lockstep.autopilots.builtin.navigator import NAVIGATOR, navigate
from px4lockstep.autopilots.builtin.offboard import (
    OFFBOARD,
    follow_requests,
    set_attitude_or_rates,
    take_setpoint,
)
from px4lockstep.autopilots.builtin.rate_control import RATE_CONTROL, control_rates, reset_rate_control
from px4lockstep.autopilots.builtin.schedule import MODULE, is_due
from px4lockstep.autopilots.builtin.sticks import STICKS, begin_sticks, fly_sticks, stick_setpoint, watch_sticks
from px4lockstep.autopilots.builtin.takeoff import DISARMED, FLIGHT, RAMPUP, TAKEOFF, speed_up_limit, update_takeoff
from px4lockstep.autopilots.builtin.vectors import clamp, has_position, is_finite
from px4lockstep.autopilots.requests import (
    ACRO_MODE,
    ALTITUDE_MODE,
    DESCEND_MODE,
    FOLLOW_MODE,
    LAND_MODE,
    LOITER_MODE,
    MANUAL_MODE,
    OFFBOARD_MODE,
    ORBIT_MODE,
    POSITION_MODE,
    STABILIZED_MODE,
    TAKEOFF_MODE,
)
from px4lockstep.jit import kernel, record
from px4lockstep.plant.layout import HORIZONTAL_DROPOUT, MAX_MOTORS
from px4lockstep.scenario.setpoint_rows import ATTITUDE, RATES, TRAJECTORY

BUILTIN = record(
    [
        ("period_s", "f8"),
        ("channel", "i8", MAX_MOTORS),  # command channel of each rotor
        ("thrust_min", "f8"),  # in flight
        ("tilt_air_rad tilt_land_rad speed_up_m_s speed_down_m_s", "f8"),
        ("thrust_curve", "f8"),  # THR_MDL_FAC
        ("full_battery_v", "f8"),  # 0: no scaling with battery voltage
        ("has_attitude_sp", "i8"),
        ("collective", "f8"),  # collective thrust before battery scaling
        ("navigator_module position_module attitude_module rate_module allocation_module", MODULE),
        ("commander", COMMANDER),
        ("flight_task", flight_task.FLIGHT_TASK),
        ("takeoff", TAKEOFF),
        ("hover", hover_thrust.HOVER_THRUST),
        ("position", position_control.POSITION_CONTROL),
        ("attitude", ATTITUDE_CONTROL),
        ("rate", RATE_CONTROL),
        ("allocation", ALLOCATION),
        ("motor_failure", MOTOR_FAILURE),
        ("land_detector", LAND_DETECTOR),
        ("navigator", NAVIGATOR),
        ("offboard", OFFBOARD),
        ("guided", GUIDED),
        ("sticks", STICKS),
        ("follow", FOLLOW),
        ("station", STATION),
    ],
    state="has_attitude_sp collective",
)

TILT_SLEW_RAD_S = 0.2
NO_THRUST_M_S2 = 100.0
"""Downward acceleration that results in zero thrust."""
BATTERY_SCALE_MAX = 1.3


@kernel
def run_flight_task(a, t_us, estimate, has_height):
    """Compute this tick's trajectory setpoint."""
    task = a.flight_task
    if a.commander.mode == OFFBOARD_MODE:
        take_setpoint(a.offboard, t_us, task, estimate)
        return
    if a.commander.mode == STABILIZED_MODE or a.commander.mode == ACRO_MODE:
        position_control.ask_for_nothing(task.setpoint)
        stick_setpoint(a.sticks, a.commander.mode, a.offboard.setpoint, estimate, a.position.hover_thrust, a.period_s)
        task.is_active = 0
        return
    if a.commander.mode == DESCEND_MODE or not has_position(estimate):
        flight_task.descend_blindly(task, estimate, has_height)
        return
    if a.commander.mode == ORBIT_MODE:
        fly_orbit(a.guided, task, estimate, a.period_s)
        return
    if a.commander.mode == FOLLOW_MODE:
        fly_follow(a.follow, t_us, task, estimate, a.navigator.rally.home_ned[2], a.period_s)
        return
    if a.commander.mode == POSITION_MODE or a.commander.mode == ALTITUDE_MODE:
        is_flying = a.takeoff.state >= RAMPUP
        fly_sticks(a.sticks, a.commander.mode, task, estimate, a.position.tilt_max_rad, is_flying, a.period_s)
        return
    if task.is_active != 1:
        flight_task.activate_task(task, estimate)
    is_on_ground = a.takeoff.state == RAMPUP and a.commander.mode == LOITER_MODE
    rises_first = is_on_ground and a.commander.takes_commands != 0
    flight_task.fly_leg(task, a.navigator.leg, estimate, a.period_s, rises_first)
    if a.takeoff.state < RAMPUP:
        # after the setpoint, as in PX4: the first setpoint of the takeoff is still the one on the ground
        flight_task.hold_trajectory(task, estimate, flight_task.GROUND_SPEED_M_S)


@kernel
def prepare_position_control(a, dt_s):
    """Set the setpoint and limits of position control."""
    control, takeoff, task = a.position, a.takeoff, a.flight_task
    control.input = task.setpoint
    is_flying = takeoff.state >= FLIGHT
    if takeoff.state < RAMPUP:
        position_control.ask_for_nothing(control.input)
        control.input.acc_ned[0] = 0.0
        control.input.acc_ned[1] = 0.0
        control.input.acc_ned[2] = NO_THRUST_M_S2
        position_control.reset_integral(control)
    elif takeoff.state == RAMPUP and (task.is_active != 0 or is_finite(control.input.vel_ned[2])):
        control.input.acc_ned[2] = math.nan  # no feedforward on top of the ramp
    if a.motor_failure.heading_is_lost != 0:
        control.input.yaw = math.nan
        control.input.yawspeed = math.nan
    if not is_flying:
        control.hover_thrust = a.hover.initial
        hover_thrust.reset_hover_thrust(a.hover)
    tilt = a.tilt_air_rad if is_flying else a.tilt_land_rad
    step = TILT_SLEW_RAD_S * dt_s
    control.tilt_max_rad += clamp(tilt - control.tilt_max_rad, -step, step)
    control.thrust_min = max(a.thrust_min if is_flying else 0.0, 0.001)
    control.speed_up_m_s = min(speed_up_limit(takeoff, dt_s, a.speed_up_m_s), a.speed_up_m_s)
    control.speed_down_m_s = a.speed_down_m_s
    if a.commander.mode != OFFBOARD_MODE:
        control.speed_down_m_s = max(a.speed_down_m_s, 1.2 * task.speed_down_m_s)
    elif not is_finite(control.input.pos_ned[0]) and not is_finite(control.input.vel_ned[0]):
        control.integral[0] = 0.0  # the horizontal velocity is not controlled
        control.integral[1] = 0.0


@kernel
def skip_takeoff(a):
    """Fly without the takeoff ramp, during which the hover thrust is set."""
    if a.takeoff.state != FLIGHT:
        a.position.hover_thrust = a.hover.initial
        hover_thrust.reset_hover_thrust(a.hover)
    a.takeoff.state = FLIGHT


@kernel
def run_position_control(a, t_us, dt_s, bus, has_height):
    """Convert the trajectory setpoint to an attitude setpoint; without a position, the height may be known."""
    control, task = a.position, a.flight_task
    is_blind = task.is_active == 0 and a.commander.mode != OFFBOARD_MODE
    n_lost = 2 if has_height else 3
    if is_blind:
        # Without a velocity there is no error to correct; the integrators hold the trim for weight and wind.
        for i in range(n_lost):
            control.vel[i] = math.nan
            task.setpoint.acc_ned[i] += control.integral[i]
    armed_for_us = t_us - a.commander.armed_us
    if a.takeoff.state == DISARMED and a.commander.is_armed_in_air != 0:
        skip_takeoff(a)
    update_takeoff(a.takeoff, armed_for_us, a.land_detector.landed != 0, task.wants_takeoff != 0)
    prepare_position_control(a, dt_s)
    position_control.control_position(control, bus.estimate, dt_s)
    if is_blind:
        for i in range(n_lost):
            control.vel[i] = 0.0
            control.acc[i] = 0.0
    elif a.hover.is_on != 0 and a.takeoff.state >= FLIGHT:
        hover_thrust.estimate_hover_thrust(a.hover, control.acc[2], -control.thrust_sp[2], dt_s)
        hover_thrust.change_hover_thrust(control, a.hover.value)
    a.collective = position_control.write_attitude_setpoint(control, bus.estimate, a.attitude, bus.autopilot)
    a.has_attitude_sp = 1


@kernel
def bypass_position_control(a, estimate, out):
    """Take thrust, and attitude or body rates, from the setpoint; there is no takeoff ramp."""
    set_attitude_or_rates(a.offboard.setpoint, estimate, a.attitude, out)
    a.collective = a.offboard.setpoint.thrust
    a.has_attitude_sp = 1
    skip_takeoff(a)
    position_control.reset_integral(a.position)


@kernel
def scale_with_battery(a, bus):
    """Compensate for the battery's falling voltage."""
    volts = bus.battery[0].voltage_v
    if a.full_battery_v > 0.0 and volts > 0.0:
        scale = clamp(a.full_battery_v / volts, 1.0, BATTERY_SCALE_MAX)
        for i in range(3):
            bus.autopilot.torque_sp_body[i] = clamp(bus.autopilot.torque_sp_body[i] * scale, -1.0, 1.0)
            bus.autopilot.thrust_sp_body[i] = clamp(bus.autopilot.thrust_sp_body[i] * scale, -1.0, 1.0)


@kernel
def motor_of_thrust(factor, thrust):
    """Return the motor command u for a thrust, with thrust = f u² + (1 − f) u."""
    if factor <= 0.0:
        return thrust
    linear = 1.0 - factor
    return (-linear + math.sqrt(linear * linear + 4.0 * factor * thrust)) / (2.0 * factor)


@kernel
def stop_motors(a, estimate, bus):
    """Write zero outputs, and reset the modules of a disarmed vehicle."""
    for i in range(a.allocation.n_rotors):
        bus.command.motors[a.channel[i]] = 0.0
    out = bus.autopilot
    for i in range(3):
        out.torque_sp_body[i] = 0.0
        out.thrust_sp_body[i] = 0.0
        out.rate_sp_body[i] = 0.0
    reset_rate_control(a.rate, estimate)
    position_control.reset_integral(a.position)
    a.flight_task.is_active = 0
    a.has_attitude_sp = 0
    a.collective = 0.0
    a.takeoff.state = DISARMED
    reset_motor_failure(a.motor_failure, a.allocation)
    for i in range(a.allocation.n_rotors):
        a.allocation.sp[i] = 0.0


@kernel
def write_status(a, out):
    """Write arming state, mode, mission progress and trajectory setpoint."""
    out.armed = a.commander.is_armed
    out.nav_state = a.commander.mode if a.commander.is_armed != 0 else MANUAL_MODE
    out.failsafe = a.commander.failsafe
    out.mission_item = a.navigator.current
    out.mission_count = a.navigator.count
    out.mission_finished = a.navigator.is_finished
    setpoint = a.flight_task.setpoint
    for i in range(3):
        out.pos_sp_ned[i] = setpoint.pos_ned[i]
        out.vel_sp_ned[i] = setpoint.vel_ned[i]
        out.acc_sp_ned[i] = setpoint.acc_ned[i]
    out.yaw_sp = setpoint.yaw
    out.yawspeed_sp = setpoint.yawspeed


@kernel
def elapsed_s(module, t_us, shortest_s, longest_s):
    """Return the time since a module last ran, limited to a range."""
    return clamp(float(t_us - module.last_us) * 1e-6, shortest_s, longest_s)


@kernel
def step_builtin(a, t_us, bus, given):
    """Run one tick: convert estimate, requests and the given setpoint to motor commands."""
    estimate, out = bus.estimate, bus.autopilot
    detector = a.land_detector
    if detector.is_on != 0:
        detect_land(detector, t_us, estimate, a.collective, a.thrust_min, a.position.hover_thrust)
    else:
        # As at the start of a mission, a takeoff goes on at the end of its ramp even if it is still on the ground.
        commander = a.commander
        climbs = commander.takes_commands != 0 and commander.mode == LOITER_MODE and a.flight_task.wants_takeoff != 0
        is_climbing = (commander.mode == TAKEOFF_MODE or climbs) and a.takeoff.state >= RAMPUP
        detector.landed = 0 if is_climbing else bus.scenario.landed
    is_landed = detector.landed != 0
    is_flying = a.takeoff.state >= FLIGHT
    command(a.commander, t_us, bus, is_landed, is_flying, a.navigator)
    if given.requests > 0:
        follow_requests(a.commander, a.offboard, t_us, given, estimate)
    if a.commander.takes_commands != 0:
        watch_sticks(a.commander, a.sticks, t_us, has_position(estimate))
        watch_station(a.commander, a.station, t_us, has_position(estimate))
    elif a.commander.mode != OFFBOARD_MODE:
        a.commander.needs_no_position = 0
    mode = a.commander.mode if a.commander.is_armed != 0 else MANUAL_MODE
    is_automatic = mode != MANUAL_MODE
    if mode != a.guided.mode:
        begin_guided(a.guided, mode, estimate)
        begin_sticks(a.sticks, estimate)
        begin_follow(a.follow, a.guided.yaw_sp)
    kind = a.offboard.setpoint.kind if mode == OFFBOARD_MODE else TRAJECTORY
    if mode in (STABILIZED_MODE, ACRO_MODE):
        kind = ATTITUDE if mode == STABILIZED_MODE else RATES

    if is_due(a.navigator_module, t_us):
        is_grounded = is_landed or (a.takeoff.state < RAMPUP and a.commander.is_armed_in_air == 0)
        navigate(a.navigator, t_us, mode, a.commander.missions, estimate, is_grounded)
    has_height = bus.scenario.estimate_faults.dropout == HORIZONTAL_DROPOUT
    if is_automatic:
        run_flight_task(a, t_us, estimate, has_height)

    dt_s = elapsed_s(a.position_module, t_us, 0.002, 0.04)
    if is_due(a.position_module, t_us):
        if has_position(estimate) or has_height:
            position_control.filter_velocity(a.position, estimate, dt_s)
        if is_automatic and kind == TRAJECTORY:
            run_position_control(a, t_us, dt_s, bus, has_height)
    if kind != TRAJECTORY:
        bypass_position_control(a, estimate, out)
    if is_due(a.attitude_module, t_us) and a.has_attitude_sp != 0 and kind != RATES:
        control_attitude(a.attitude, estimate, a.motor_failure.heading_is_lost != 0, out)
    dt_s = elapsed_s(a.rate_module, t_us, 0.000125, 0.02)
    if is_due(a.rate_module, t_us) and a.has_attitude_sp != 0:
        out.thrust_sp_body[2] = -a.collective
        control_rates(a.rate, estimate, dt_s, is_landed, out)
        scale_with_battery(a, bus)
    if is_due(a.allocation_module, t_us) and a.has_attitude_sp != 0:
        if watch_motors(a.motor_failure, t_us, a.allocation, bus.outputs):
            fail_safe(a.commander, MOTOR_FAILSAFE, LAND_MODE)
        allocate(a.allocation, t_us, a.rate, out)
        for i in range(a.allocation.n_rotors):
            bus.command.motors[a.channel[i]] = motor_of_thrust(a.thrust_curve, a.allocation.sp[i])
    if not is_automatic:
        stop_motors(a, estimate, bus)
    write_status(a, out)
