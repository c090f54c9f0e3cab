"""Trajectory to a waypoint with bounded speed, acceleration and jerk.

The desired velocity points from the trajectory's current position to the target; in a turn, to the point where a circle
of 5 m (or the acceptance radius, if larger) around that position crosses the leg. Its magnitude still allows braking
for the target: with a change of acceleration taking 2 a/j,

    v² + 4 a²/j v = v_f² + 2 a d,   v ≥ v_f

If a next leg follows at an angle α, the speed v_f at the target is √(a r tan(α/2)), that of a circle tangent to both
legs at the acceptance radius r. `velocity_smoothing` then follows the desired velocity, with all axes synchronized.

The trajectory slows down as the vehicle falls behind it: its time runs at the rate 1 − |error|/MPC_XY_ERR_MAX.
"""

import math

from px4lockstep.autopilots.builtin.vectors import (
    FLOAT32_EPSILON,
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
from px4lockstep.autopilots.builtin.velocity_smoothing import AXIS, advance_axis, plan, stretch_plan
from px4lockstep.jit import inlined_kernel, kernel, record

SMOOTHING = record(
    [
        ("axes", AXIS, 3),
        ("max_error_xy_m acceptance_z_m acceptance_xy_m cruise_m_s", "f8"),
        ("turn_acc_gain", "f8"),  # MPC_XY_TRAJ_P
        ("last_speed_m_s", "f8"),  # when last not turning
        ("wanted_vel", "f8", 3),  # before smoothing
    ],
    state="acceptance_xy_m cruise_m_s last_speed_m_s wanted_vel",
)

TURN_COSINE = 0.98
STRAIGHT_COSINE = -1.0 + 7.1e-15
"""Cosine of the largest angle between legs, FLT_EPSILON less than π; at π the radius is infinite."""
TURN_SPEED_M_S = 0.2
LOOKAHEAD_M = 5.0
NEAR_M_S = 0.5
"""Below this speed, one direction is clamped without scaling the other, because factors near zero would distort it."""


@kernel
def speed_to_brake(axis, distance, final_speed):
    """Return the maximum speed that allows braking to a final speed within a distance; at least the final speed."""
    acc = axis.max_acc
    half_b = 2.0 * acc * acc * axis.inverse_jerk
    squared = 2.0 * acc * distance + final_speed * final_speed
    return max(math.sqrt(half_b * half_b + squared) - half_b, final_speed)


@kernel
def speed_in_turn(cosine, acc, radius):
    """Return the speed on the circle tangent to two legs at a radius from their corner; 180° is straight ahead.

    tan(α/2) = √((1 − cos α)/(1 + cos α))
    """
    cosine = clamp(cosine, STRAIGHT_COSINE, 1.0)
    return math.sqrt(max(acc * radius * math.sqrt((1.0 - cosine) / (1.0 + cosine)), 0.0))


@kernel
def leg_speed_xy(s, start, target, speed_at_target):
    """Return the maximum horizontal speed at the start of a leg, given the speed at its end."""
    distance = norm_xy(start[0] - target[0], start[1] - target[1])
    return min(s.cruise_m_s, speed_to_brake(s.axes[0], distance, speed_at_target))


@inlined_kernel
def max_speed_xy(s, pos, target, after):
    """Return the current maximum horizontal speed, computed backwards from the end of the next leg."""
    next_n, next_e = target[0] - after[0], target[1] - after[1]
    next_length = norm_xy(next_n, next_e)
    speed_at_target = 0.0
    if next_length > 0.001 and next_length >= s.acceptance_xy_m:
        ax, ay = unit_or_zero_xy(target[0] - pos[0], target[1] - pos[1])
        cosine = (ax * next_n + ay * next_e) / next_length
        turn = speed_in_turn(cosine, s.turn_acc_gain * s.axes[0].max_acc, s.acceptance_xy_m)
        speed_at_target = min(turn, leg_speed_xy(s, target, after, 0.0))
    return leg_speed_xy(s, pos, target, speed_at_target)


@inlined_kernel
def max_speed_z(s, pos, target, after):
    """Return the current maximum vertical speed."""
    axis = s.axes[2]
    arrival = 0.0
    if abs(target[2] - after[2]) > 0.001:
        start_xy, target_xy = norm_xy(pos[0], pos[1]), norm_xy(target[0], target[1])
        after_xy = norm_xy(after[0], after[1])
        ax, az = unit_or_zero_xy(target_xy - start_xy, target[2] - pos[2])
        bx, bz = unit_or_zero_xy(target_xy - after_xy, target[2] - after[2])
        arrival = min(speed_in_turn(ax * bx + az * bz, axis.max_acc, s.acceptance_z_m), axis.max_vel)
    return min(axis.max_vel, speed_to_brake(axis, abs(target[2] - pos[2]), arrival))


@kernel
def is_turning(s, pos, target):
    """Return whether the trajectory moves but not towards the target, and has not reached it.

    The angle between velocity v and distance d is compared by squares: v·d < cos φ |v| |d|.
    """
    vn, ve = s.axes[0].vel, s.axes[1].vel
    dn, de = target[0] - pos[0], target[1] - pos[1]
    speed2, distance2 = vn * vn + ve * ve, dn * dn + de * de
    along = vn * dn + ve * de
    is_aside = along < 0.0 or along * along < TURN_COSINE * TURN_COSINE * (speed2 * distance2)
    is_ahead = distance2 > s.acceptance_xy_m * s.acceptance_xy_m
    return speed2 > TURN_SPEED_M_S * TURN_SPEED_M_S and is_aside and is_ahead


@kernel
def point_ahead(s, pos, start, target):
    """Return the point ahead where a circle around the position crosses the leg."""
    along = unit_or_zero(subtract(target, start))
    passed = scale(along, dot(subtract(pos, start), along))
    closest = (start[0] + passed[0], start[1] + passed[1], start[2] + passed[2])
    aside = norm(subtract(closest, pos))
    radius = max(s.acceptance_xy_m, LOOKAHEAD_M)
    ahead = math.sqrt(radius * radius - aside * aside) if radius > aside else 0.0
    return closest[0] + ahead * along[0], closest[1] + ahead * along[1], closest[2] + ahead * along[2]


@kernel
def clamp_parts(v, limit_xy, limit_z):
    """Return a velocity limited in its horizontal and vertical components, with its direction preserved."""
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


@inlined_kernel
def wanted_velocity(s, start, target, after, vel_down):
    """Return the desired velocity towards a target; if the target has no altitude, descend with `vel_down`."""
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


@inlined_kernel
def advance_trajectory(s, estimate, wanted, dt_s):
    """Advance the trajectory, then replan it towards the desired velocity."""
    north, east, down = s.axes[0], s.axes[1], s.axes[2]
    behind_n, behind_e = north.pos - estimate.pos_ned[0], east.pos - estimate.pos_ned[1]
    pace = 1.0
    if s.max_error_xy_m > FLOAT32_EPSILON and behind_n * north.vel + behind_e * east.vel >= 0.0:
        pace = 1.0 - clamp(norm_xy(behind_n, behind_e) / s.max_error_xy_m, 0.0, 1.0)
    advance_axis(north, dt_s * pace)
    advance_axis(east, dt_s * pace)
    advance_axis(down, dt_s * pace)
    time_n = plan(north, wanted[0])
    time_e = plan(east, wanted[1])
    time_d = plan(down, wanted[2])
    longest = max(time_n, time_e, time_d)
    if longest > FLOAT32_EPSILON:
        if time_n < longest:
            stretch_plan(north, longest)
        if time_e < longest:
            stretch_plan(east, longest)
        if time_d < longest:
            stretch_plan(down, longest)
