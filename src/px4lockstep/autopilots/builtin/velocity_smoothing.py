"""One axis of a trajectory with bounded jerk and acceleration towards a desired velocity.

The time-optimal path from (a, v) to (0, v_sp) has three phases of constant jerk: ±j for T1, 0 for T2, ∓j for T3, with

    T3 = a/j + T1,   T1 = (−a + ½ √(2 a² + 4 j Δv))/j,  shortened where |a| would exceed its limit,
    T2 = (Δv − the change during T1 and T3)/(a + j T1)

Axes that are faster than the slowest one are stretched to its total time T, so that all arrive together; then

    j T1² − (j T − a) T1 + … = 0,   T2 = T − T1 − T3

The heading is such an axis, shifted by one derivative: its velocity is the heading, its acceleration the yaw rate.
"""

import math

from px4lockstep.autopilots.builtin.vectors import FLOAT32_EPSILON, clamp, sign, wrap_pi
from px4lockstep.jit import inlined_kernel, kernel, record

AXIS = record(
    [
        ("acc vel pos max_jerk", "f8"),
        ("inverse_jerk", "f8"),  # 1/max_jerk
        ("max_acc max_vel vel_sp direction t1 t2 t3", "f8"),
        ("start_acc start_vel start_pos", "f8"),  # state at the start of the three phases
        ("elapsed_s", "f8"),
    ],
    state="acc vel pos vel_sp direction t1 t2 t3 start_acc start_vel start_pos elapsed_s",
    transient="max_acc max_vel",
)


@kernel
def reset_axis(axis, acc, vel, pos):
    """Set the state of the axis, and start its phases there."""
    axis.acc = acc
    axis.vel = vel
    axis.pos = pos
    axis.start_acc = acc
    axis.start_vel = vel
    axis.start_pos = pos


@kernel
def move(acc, vel, pos, jerk, t_s):
    """Return acceleration, velocity and position after a time of constant jerk."""
    t2 = t_s * t_s
    return (
        acc + jerk * t_s,
        vel + acc * t_s + 0.5 * jerk * t2,
        pos + vel * t_s + 0.5 * acc * t2 + 1.0 / 6.0 * jerk * (t2 * t_s),
    )


@inlined_kernel
def advance_axis(axis, dt_s):
    """Advance the axis along its phases."""
    axis.elapsed_s += dt_s
    left = axis.elapsed_s
    acc, vel, pos = axis.start_acc, axis.start_vel, axis.start_pos
    jerk = axis.direction * axis.max_jerk
    if axis.t1 > 0.0:
        t_s = min(left, axis.t1)
        acc, vel, pos = move(acc, vel, pos, jerk, t_s)
        left -= t_s
    if left > 0.0 and axis.t2 > 0.0:
        t_s = min(left, axis.t2)
        acc, vel, pos = move(acc, vel, pos, 0.0, t_s)
        left -= t_s
    if left > 0.0 and axis.t3 > 0.0:
        t_s = min(left, axis.t3)
        acc, vel, pos = move(acc, vel, pos, -jerk, t_s)
        left -= t_s
    if left > 0.0:
        acc, vel, pos = move(0.0, vel, pos, 0.0, left)
    axis.acc, axis.vel, axis.pos = acc, vel, pos


@kernel
def choose_direction(acc, vel, vel_sp, inverse_jerk):
    """Return the sign of the first jerk, by where zeroing the acceleration at once would end relative to the goal."""
    coasting = vel
    if abs(acc) > FLOAT32_EPSILON:
        coasting = vel + 0.5 * acc * abs(acc) * inverse_jerk
    direction = sign(vel_sp - coasting)
    return direction if direction != 0.0 else sign(acc)


@kernel
def limit_first_phase(acc, max_acc, jerk, per_jerk, t1):
    """Return T1, shortened to keep the acceleration within its limit."""
    peak = acc + jerk * t1
    if peak > max_acc:
        return (max_acc - acc) * per_jerk
    if peak < -max_acc:
        return (-max_acc - acc) * per_jerk
    return t1


@kernel
def is_possible(t1, t3, total):
    """Return whether the phases are non-negative and fit into the total time."""
    return t1 >= 0.0 and t3 >= 0.0 and t1 + t3 <= total


@kernel
def first_phase_fastest(acc, max_acc, jerk, per_jerk, delta):
    """Return T1 of the time-optimal path."""
    radicand = 2.0 * acc * acc + 4.0 * jerk * delta
    if radicand < 0.0:
        return 0.0
    half_root = 0.5 * math.sqrt(radicand)
    plus, minus = (-acc + half_root) * per_jerk, (-acc - half_root) * per_jerk
    t1 = 0.0
    if is_possible(plus, acc * per_jerk + plus, math.inf):
        t1 = plus
    elif is_possible(minus, acc * per_jerk + minus, math.inf):
        t1 = minus
    return max(limit_first_phase(acc, max_acc, jerk, per_jerk, t1), 0.0)


@kernel
def first_phase_in(acc, max_acc, jerk, per_jerk, delta, total):
    """Return T1 of the path that takes a given time."""
    b = jerk * total - acc
    radicand = total * total * jerk * jerk + 2.0 * total * acc * jerk - acc * acc - 4.0 * jerk * delta
    if radicand < 0.0:
        return 0.0
    root = math.sqrt(radicand)
    scale = -0.5 * per_jerk
    plus, minus = max((-b + root) * scale, 0.0), max((-b - root) * scale, 0.0)
    t1 = 0.0
    if is_possible(plus, acc * per_jerk + plus, total):
        t1 = plus
    elif is_possible(minus, acc * per_jerk + minus, total):
        t1 = minus
    return limit_first_phase(acc, max_acc, jerk, per_jerk, t1)


@inlined_kernel
def plan(axis, vel_sp):
    """Plan the three phases of the time-optimal path to a velocity, from now; return their total time."""
    acc, vel = axis.acc, axis.vel
    vel_sp = clamp(vel_sp, -axis.max_vel, axis.max_vel)
    direction = choose_direction(acc, vel, vel_sp, axis.inverse_jerk)
    axis.vel_sp = vel_sp
    axis.direction = direction
    axis.elapsed_s = 0.0
    axis.start_acc, axis.start_vel, axis.start_pos = acc, vel, axis.pos
    jerk = direction * axis.max_jerk
    t1, t2, t3 = 0.0, 0.0, 0.0
    if abs(jerk) > FLOAT32_EPSILON:
        per_jerk = direction * axis.inverse_jerk
        delta = vel_sp - vel
        t1 = first_phase_fastest(acc, axis.max_acc, jerk, per_jerk, delta)
        t3 = max(acc * per_jerk + t1, 0.0)
        peak = acc + jerk * t1
        if abs(peak) > FLOAT32_EPSILON:
            gained = -0.5 * t1 * t1 * jerk - t1 * t3 * jerk - t1 * acc + 0.5 * t3 * t3 * jerk - t3 * acc
            t2 = max((gained + delta) / peak, 0.0)
    axis.t1, axis.t2, axis.t3 = t1, t2, t3
    return t1 + t2 + t3


@inlined_kernel
def stretch_plan(axis, total):
    """Replan the three phases to take a given, longer time."""
    jerk = axis.direction * axis.max_jerk
    t1, t2, t3 = 0.0, 0.0, 0.0
    if abs(jerk) > FLOAT32_EPSILON:
        acc, per_jerk = axis.acc, axis.direction * axis.inverse_jerk
        t1 = first_phase_in(acc, axis.max_acc, jerk, per_jerk, axis.vel_sp - axis.vel, total)
        t3 = max(acc * per_jerk + t1, 0.0)
        t2 = max(total - t1 - t3, 0.0)
    axis.t1, axis.t2, axis.t3 = t1, t2, t3


@kernel
def smooth_heading(axis, yaw_sp, dt_s):
    """Advance towards a heading in the shorter direction; `axis.vel` is the heading and `axis.acc` its rate."""
    plan(axis, axis.vel + wrap_pi(yaw_sp - axis.vel))
    advance_axis(axis, dt_s)
    axis.vel = wrap_pi(axis.vel)
