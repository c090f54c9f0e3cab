"""The trajectory to a waypoint, with bounded speed, acceleration and jerk.

The wanted velocity points from the trajectory's own position to the target; in a turn to where a circle of 5 m (or the
acceptance radius) around it crosses the leg. Its size is what still allows to brake for the target: with a change of
acceleration taking 2 a/j,

    v² + 4 a²/j v = v_f² + 2 a d,   v ≥ v_f

and at the target the speed v_f of a circle that touches both legs at the acceptance radius r, √(a r tan(α/2)), if there
is a next leg at an angle α. Along the velocity then runs `velocity_smoothing`, all axes in the same time.

Time stands still for the trajectory as the vehicle falls behind it: it runs at 1 − |error|/MPC_XY_ERR_MAX.
"""

import math

from px4lockstep.autopilot.builtin.vectors import (
    FLOAT32_EPSILON,
    PI,
    clamp,
    dot,
    is_finite,
    norm,
    norm_xy,
    scale,
    subtract,
    unit_or_zero,
    unit_or_zero_xy,
)
from px4lockstep.autopilot.builtin.velocity_smoothing import AXIS, advance_axis, duration, plan, stretch_plan
from px4lockstep.jit import kernel, record
from px4lockstep.math.trigonometry import acos, sincos

SMOOTHING = record(
    [
        ("axes", AXIS, 3),
        ("max_error_xy_m", "f8"),
        ("acceptance_z_m", "f8"),
        ("acceptance_xy_m", "f8"),
        ("cruise_m_s", "f8"),
        ("turn_acc_gain", "f8"),  # MPC_XY_TRAJ_P
        ("last_speed_m_s", "f8"),  # when it last was not turning
        ("wanted_vel", "f8", 3),  # before smoothing
    ]
)

TURN_COSINE = 0.98
TURN_SPEED_M_S = 0.2
LOOKAHEAD_M = 5.0
NEAR_M_S = 0.5
"""Speeds below this are clamped without affecting the other direction, which numbers near zero would disturb."""


@kernel
def speed_to_brake(jerk, acc, distance, final_speed):
    """Return the speed from which a distance suffices to brake to another, which is the least."""
    b = 4.0 * acc * acc / jerk
    c = -2.0 * acc * distance - final_speed * final_speed
    return max(0.5 * (-b + math.sqrt(b * b - 4.0 * c)), final_speed)


@kernel
def speed_in_turn(cosine, acc, radius):
    """Return the speed on the circle that touches two legs at a radius from their corner; 180° is straight on."""
    half = 0.5 * clamp(acos(clamp(cosine, -1.0, 1.0)), 0.0, PI - FLOAT32_EPSILON)
    sine, half_cosine = sincos(half)
    return math.sqrt(max(acc * radius * sine / half_cosine, 0.0))


@kernel
def leg_speed_xy(s, start, target, after, exit_speed):
    """Return the horizontal speed at `start` that allows for the turn at `target`."""
    next_length = norm_xy(target[0] - after[0], target[1] - after[1])
    speed_at_target = 0.0
    axis = s.axes[0]
    if next_length > 0.001 and next_length >= s.acceptance_xy_m:
        ax, ay = unit_or_zero_xy(target[0] - start[0], target[1] - start[1])
        bx, by = unit_or_zero_xy(target[0] - after[0], target[1] - after[1])
        turn = speed_in_turn(ax * bx + ay * by, s.turn_acc_gain * axis.max_acc, s.acceptance_xy_m)
        speed_at_target = min(turn, min(exit_speed, s.cruise_m_s))
    distance = norm_xy(start[0] - target[0], start[1] - target[1])
    return min(s.cruise_m_s, speed_to_brake(axis.max_jerk, axis.max_acc, distance, speed_at_target))


@kernel
def max_speed_xy(s, pos, target, after):
    """Return the horizontal speed now, from the last leg back to this one."""
    return leg_speed_xy(s, pos, target, after, leg_speed_xy(s, target, after, after, 0.0))


@kernel
def max_speed_z(s, pos, target, after):
    """Return the vertical speed now."""
    axis = s.axes[2]
    arrival = 0.0
    if abs(target[2] - after[2]) > 0.001:
        start_xy, target_xy, after_xy = (
            norm_xy(pos[0], pos[1]),
            norm_xy(target[0], target[1]),
            norm_xy(after[0], after[1]),
        )
        ax, az = unit_or_zero_xy(target_xy - start_xy, target[2] - pos[2])
        bx, bz = unit_or_zero_xy(target_xy - after_xy, target[2] - after[2])
        arrival = min(speed_in_turn(ax * bx + az * bz, axis.max_acc, s.acceptance_z_m), axis.max_vel)
    return min(axis.max_vel, speed_to_brake(axis.max_jerk, axis.max_acc, abs(target[2] - pos[2]), arrival))


@kernel
def is_turning(s, pos, target):
    """Return whether the trajectory moves, and not towards the target, which is still ahead."""
    vn, ve = s.axes[0].vel, s.axes[1].vel
    dn, de = target[0] - pos[0], target[1] - pos[1]
    ux, uy = unit_or_zero_xy(vn, ve)
    tx, ty = unit_or_zero_xy(dn, de)
    return norm_xy(vn, ve) > TURN_SPEED_M_S and ux * tx + uy * ty < TURN_COSINE and norm_xy(dn, de) > s.acceptance_xy_m


@kernel
def point_ahead(s, pos, start, target):
    """Return where a circle around the position crosses the leg, ahead."""
    along = unit_or_zero(subtract(target, start))
    passed = scale(along, dot(subtract(pos, start), along))
    closest = (start[0] + passed[0], start[1] + passed[1], start[2] + passed[2])
    aside = norm(subtract(closest, pos))
    radius = max(s.acceptance_xy_m, LOOKAHEAD_M)
    ahead = math.sqrt(radius * radius - aside * aside) if radius > aside else 0.0
    return closest[0] + ahead * along[0], closest[1] + ahead * along[1], closest[2] + ahead * along[2]


@kernel
def clamp_parts(v, limit_xy, limit_z):
    """Return a velocity shortened to limits of its horizontal and its vertical part, its direction kept."""
    length = norm_xy(v[0], v[1])
    if length > FLOAT32_EPSILON and limit_xy < length:
        factor = limit_xy / length
        keeps_z = limit_xy < NEAR_M_S and length < NEAR_M_S
        v = (v[0] * factor, v[1] * factor, v[2] if keeps_z else v[2] * factor)
    length = abs(v[2])
    if length > FLOAT32_EPSILON and limit_z < length:
        factor = limit_z / length
        keeps_xy = limit_z < NEAR_M_S and length < NEAR_M_S
        v = (v[0] if keeps_xy else v[0] * factor, v[1] if keeps_xy else v[1] * factor, v[2] * factor)
    return v


@kernel
def wanted_velocity(s, start, target, after, vel_down):
    """Return the velocity to fly towards a target; one without height goes down with `vel_down`."""
    pos = (s.axes[0].pos, s.axes[1].pos, s.axes[2].pos)
    turning = is_turning(s, pos, target)
    speed = max_speed_xy(s, pos, target, after)
    if turning:
        speed = min(s.last_speed_m_s, speed)
    else:
        s.last_speed_m_s = speed
    goal = point_ahead(s, pos, start, target) if turning else target
    if not is_finite(target[2]):
        ux, uy = unit_or_zero_xy(goal[0] - pos[0], goal[1] - pos[1])
        return ux * speed, uy * speed, vel_down
    speed_z = max_speed_z(s, pos, target, after)
    towards = scale(unit_or_zero(subtract(goal, pos)), math.sqrt(speed * speed + speed_z * speed_z))
    return clamp_parts(towards, speed, speed_z)


@kernel
def advance_trajectory(s, estimate, wanted, dt_s):
    """Go on along the trajectory, then plan it anew towards the wanted velocity."""
    behind_n, behind_e = s.axes[0].pos - estimate.pos_ned[0], s.axes[1].pos - estimate.pos_ned[1]
    pace = 1.0
    if s.max_error_xy_m > FLOAT32_EPSILON and behind_n * s.axes[0].vel + behind_e * s.axes[1].vel >= 0.0:
        pace = 1.0 - clamp(norm_xy(behind_n, behind_e) / s.max_error_xy_m, 0.0, 1.0)
    for i in range(3):
        advance_axis(s.axes[i], dt_s * pace)
    longest = 0.0
    for i in range(3):
        plan(s.axes[i], wanted[i])
        longest = max(longest, duration(s.axes[i]))
    if longest > FLOAT32_EPSILON:
        for i in range(3):
            if duration(s.axes[i]) < longest:
                stretch_plan(s.axes[i], longest)
