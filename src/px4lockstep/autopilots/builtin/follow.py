"""Follow mode: fly at a distance from a target whose positions arrive from outside (MAVLink's FOLLOW_TARGET).

Target estimate, an α-β-γ filter: position, velocity and acceleration are predicted at every tick. A position p corrects
them at most every 0.5 s, a velocity u at most every 0.1 s, with β = FLW_TGT_RS^(1/3), β' = 0.9 β, and T since the last

    x ← x + (1 − β³) (p − x),   v ← v + 1.5 (1 − β)² (1 + β) (p − x)/T,   a ← a + (1 − β)³ (p − x)/T²
    v ← v + (1 − β'²) (u − v),   a ← a + (1 − β')² (u − v)/T

After 3 s without a message the target stands still. Position and velocity then pass a reference model of second order
(1 rad/s, damping 0.7071).

The vehicle is to be at the distance FLW_TGT_DST from the target, at the angle FLW_TGT_FA from its course (180 degrees:
behind it), which it takes from velocities above 1 m/s, and FLW_TGT_HT above home (FLW_TGT_ALT_M 0 and 1) or above the
target (2). The angle moves with at most FLW_TGT_MAX_VEL, 2 m/s² and 4 m/s³ around the target. Farther than 3 m from its
altitude, the vehicle climbs or descends on the spot first. It faces the target. Without a target it stands still.

Reference: PX4, `FlightTaskAutoFollowTarget` and `TargetEstimator`.
"""

import math
from typing import Any

from px4lockstep.autopilots.builtin.flight_task import GUIDED_TASK
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import ask_for_nothing
from px4lockstep.autopilots.builtin.position_smoothing import speed_to_brake
from px4lockstep.autopilots.builtin.vectors import clamp, is_finite, norm_xy, sign, wrap_pi
from px4lockstep.autopilots.builtin.velocity_smoothing import AXIS, advance_axis, plan, reset_axis
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.exponential import pow
from px4lockstep.math.trigonometry import atan2, sincos

POSITION_US, VELOCITY_US, STALE_US = 500_000, 100_000, 3_000_000
ACC_M_S2, JERK_M_S3 = 2.0, 4.0
LARGEST_ACC_M_S2 = 20.0
FILTER_RAD_S, FILTER_DAMPING = 1.0, 0.7071
COURSE_M_S = 1.0
CLIMB_M, FACE_M, LOW_M, ASCENT_M_S = 3.0, 1.0, 1.0, 0.5
LEAST_RESPONSIVENESS = 0.1
ABOVE_TARGET = 2
"""Value of FLW_TGT_ALT_M."""

FOLLOW = record(
    [
        ("height_m distance_m angle_rad speed_m_s", "f8"),
        ("pos_gains", "f8", 3),
        ("vel_gains", "f8", 2),
        ("altitude_mode", "i8"),
        ("is_new", "i8"),  # a message that was not used yet
        ("measured_pos measured_vel", "f8", 3),
        ("has_target heard_us pos_us vel_us", "i8"),
        ("used_pos used_vel", "f8", 3),
        ("pos vel acc", "f8", 3),  # estimate
        ("smooth_pos smooth_vel", "f8", 3),
        ("course yaw", "f8"),
        ("around", AXIS),  # angle from the target to the vehicle
    ],
    state="is_new measured_pos measured_vel has_target heard_us pos_us vel_us used_pos used_vel pos vel acc smooth_pos "
    "smooth_vel course yaw",
)


@kernel
def begin_follow(f, yaw):
    """Start without a target."""
    f.has_target = 0
    f.course = 0.0
    f.yaw = yaw
    reset_axis(f.around, 0.0, 0.0, 0.0)


@kernel
def is_usable(measured, used, age_us, least_us):
    """Return whether a measurement is old enough since the last, and not just a repetition."""
    is_changed = measured[0] != used[0] or measured[1] != used[1] or measured[2] != used[2]
    return age_us > least_us and (is_changed or age_us > 2 * least_us)


@kernel
def take_message(f, t_us):
    """Correct the estimate by a message."""
    f.is_new = 0
    has_velocity = is_finite(f.measured_vel[0] + f.measured_vel[1] + f.measured_vel[2])
    if f.has_target == 0:
        f.has_target = 1
        f.pos_us = t_us
        f.vel_us = t_us
        for i in range(3):
            f.pos[i] = f.measured_pos[i]
            f.vel[i] = f.measured_vel[i] if has_velocity else 0.0
            f.acc[i] = 0.0
            f.smooth_pos[i], f.smooth_vel[i] = f.pos[i], f.vel[i]
            f.used_pos[i], f.used_vel[i] = f.measured_pos[i], f.measured_vel[i]
    f.heard_us = t_us
    if is_usable(f.measured_pos, f.used_pos, t_us - f.pos_us, POSITION_US):
        dt_s = clamp(float(t_us - f.pos_us) * 1e-6, 0.001, 20.0)
        f.pos_us = t_us
        for i in range(3):
            error = f.measured_pos[i] - f.pos[i]
            f.pos[i] += f.pos_gains[0] * error
            f.vel[i] += f.pos_gains[1] / dt_s * error
            f.acc[i] += f.pos_gains[2] / (dt_s * dt_s) * error
            f.used_pos[i] = f.measured_pos[i]
    if has_velocity and is_usable(f.measured_vel, f.used_vel, t_us - f.vel_us, VELOCITY_US):
        dt_s = clamp(float(t_us - f.vel_us) * 1e-6, 0.001, 20.0)
        f.vel_us = t_us
        for i in range(3):
            error = f.measured_vel[i] - f.vel[i]
            f.vel[i] += f.vel_gains[0] * error
            f.acc[i] += f.vel_gains[1] / dt_s * error
            f.used_vel[i] = f.measured_vel[i]


@kernel
def track_target(f, t_us, dt_s):
    """Advance the estimate of the target, and its course."""
    if f.has_target != 0:
        for i in range(3):
            f.pos[i] += dt_s * f.vel[i] + 0.5 * f.acc[i] * dt_s * dt_s
            f.vel[i] += dt_s * f.acc[i]
    if f.is_new != 0:
        take_message(f, t_us)
    is_stale = t_us - f.heard_us > STALE_US
    for i in range(3):
        f.acc[i] = clamp(f.acc[i], -LARGEST_ACC_M_S2, LARGEST_ACC_M_S2)
        if is_stale:
            f.vel[i], f.acc[i] = 0.0, 0.0
        acc = FILTER_RAD_S * FILTER_RAD_S * (f.pos[i] - f.smooth_pos[i])
        acc += 2.0 * FILTER_DAMPING * FILTER_RAD_S * (f.vel[i] - f.smooth_vel[i])
        f.smooth_vel[i] += acc * dt_s
        f.smooth_pos[i] += f.smooth_vel[i] * dt_s
    is_moving = norm_xy(f.smooth_vel[0], f.smooth_vel[1]) >= COURSE_M_S
    if is_moving and norm_xy(f.vel[0], f.vel[1]) >= COURSE_M_S:
        f.course = atan2(f.smooth_vel[1], f.smooth_vel[0])


@kernel
def turn_around_target(f, dt_s):
    """Advance the angle at which the vehicle is to be."""
    axis = f.around
    axis.max_acc, axis.max_vel = ACC_M_S2 / f.distance_m, f.speed_m_s / f.distance_m
    left = wrap_pi(f.course + f.angle_rad - axis.pos)
    plan(axis, sign(left) * speed_to_brake(axis, abs(left), 0.0))
    advance_axis(axis, dt_s)


@kernel
def fly_follow(f, t_us, task, estimate, home_down_m, dt_s):
    """Write the setpoint of follow mode."""
    setpoint = task.setpoint
    ask_for_nothing(setpoint)
    task.wants_takeoff = 0
    task.is_active = GUIDED_TASK
    track_target(f, t_us, dt_s)
    setpoint.yaw = f.yaw
    if f.has_target == 0:
        for i in range(3):
            setpoint.vel_ned[i] = 0.0
        return
    turn_around_target(f, dt_s)
    n, e = f.smooth_pos[0] - estimate.pos_ned[0], f.smooth_pos[1] - estimate.pos_ned[1]
    if norm_xy(n, e) > FACE_M:
        f.yaw = atan2(e, n)
    setpoint.yaw = f.yaw
    down_m = (f.smooth_pos[2] if f.altitude_mode == ABOVE_TARGET else home_down_m) - f.height_m
    if home_down_m - estimate.pos_ned[2] < LOW_M:
        setpoint.vel_ned[0], setpoint.vel_ned[1], setpoint.vel_ned[2] = 0.0, 0.0, -ASCENT_M_S
        setpoint.pos_ned[2] = estimate.pos_ned[2]
        return
    setpoint.pos_ned[2] = down_m
    if abs(down_m - estimate.pos_ned[2]) >= CLIMB_M:
        setpoint.pos_ned[0], setpoint.pos_ned[1] = estimate.pos_ned[0], estimate.pos_ned[1]
        return
    sine, cosine = sincos(f.around.pos)
    along, outward = f.around.vel * f.distance_m, -f.around.vel * f.around.vel * f.distance_m
    push = f.around.acc * f.distance_m
    setpoint.pos_ned[0] = f.smooth_pos[0] + f.distance_m * cosine
    setpoint.pos_ned[1] = f.smooth_pos[1] + f.distance_m * sine
    setpoint.vel_ned[0] = f.smooth_vel[0] - along * sine
    setpoint.vel_ned[1] = f.smooth_vel[1] + along * cosine
    setpoint.acc_ned[0] = outward * cosine - push * sine
    setpoint.acc_ned[1] = outward * sine + push * cosine


def write_follow(f: Any, p: Params) -> None:
    """Write the parameters."""
    distance_m = max(p["FLW_TGT_DST"], 1.0)
    f["height_m"], f["distance_m"], f["speed_m_s"] = p["FLW_TGT_HT"], distance_m, p["FLW_TGT_MAX_VEL"]
    f["angle_rad"], f["altitude_mode"] = math.radians(p["FLW_TGT_FA"]), p["FLW_TGT_ALT_M"]
    f["around"]["max_jerk"], f["around"]["inverse_jerk"] = JERK_M_S3 / distance_m, distance_m / JERK_M_S3
    beta = float(interpreted(pow)(max(p["FLW_TGT_RS"], LEAST_RESPONSIVENESS), 1.0 / 3.0))
    rest, rest_v = 1.0 - beta, 1.0 - 0.9 * beta
    f["pos_gains"] = [1.0 - beta * beta * beta, 1.5 * rest * rest * (1.0 + beta), rest * rest * rest]
    f["vel_gains"] = [1.0 - 0.81 * beta * beta, rest_v * rest_v]
