"""One axis of a trajectory with bounded jerk and acceleration, towards a wanted velocity.

The shortest way from (a, v) to (0, v_sp) is three phases of constant jerk: ±j for T1, 0 for T2, ∓j for T3, with

    T3 = a/j + T1,   T1 = (−a + ½ √(2 a² + 4 j Δv))/j,  shortened where |a| would pass its limit,
    T2 = (Δv − what T1 and T3 give)/(a + j T1)

Axes that would be done earlier than the slowest are stretched to its time T, so that they arrive together; then

    j T1² − (j T − a) T1 + … = 0,   T2 = T − T1 − T3
"""

import math

from px4lockstep.autopilot.builtin.vectors import FLOAT32_EPSILON, clamp, sign
from px4lockstep.jit import kernel, record

AXIS = record(
    [
        ("acc", "f8"),
        ("vel", "f8"),
        ("pos", "f8"),
        ("max_jerk", "f8"),
        ("max_acc", "f8"),
        ("max_vel", "f8"),
        ("vel_sp", "f8"),
        ("direction", "f8"),
        ("t1", "f8"),
        ("t2", "f8"),
        ("t3", "f8"),
        ("start_acc", "f8"),  # where the three phases began
        ("start_vel", "f8"),
        ("start_pos", "f8"),
        ("elapsed_s", "f8"),
    ]
)


@kernel
def begin_phases(axis):
    """Let the phases begin at the present state."""
    axis.start_acc = axis.acc
    axis.start_vel = axis.vel
    axis.start_pos = axis.pos


@kernel
def reset_axis(axis, acc, vel, pos):
    """Put the axis into a state."""
    axis.acc = acc
    axis.vel = vel
    axis.pos = pos
    begin_phases(axis)


@kernel
def move(axis, jerk, t_s):
    """Go on by a time with constant jerk."""
    acc, vel = axis.acc, axis.vel
    t2 = t_s * t_s
    axis.acc = acc + jerk * t_s
    axis.vel = vel + acc * t_s + 0.5 * jerk * t2
    axis.pos = axis.pos + vel * t_s + 0.5 * acc * t2 + 1.0 / 6.0 * jerk * (t2 * t_s)


@kernel
def advance_axis(axis, dt_s):
    """Go on along the phases."""
    axis.elapsed_s += dt_s
    left = axis.elapsed_s
    axis.acc = axis.start_acc
    axis.vel = axis.start_vel
    axis.pos = axis.start_pos
    t_s = min(left, axis.t1)
    move(axis, axis.direction * axis.max_jerk, t_s)
    left -= t_s
    if left > 0.0:
        t_s = min(left, axis.t2)
        move(axis, 0.0, t_s)
        left -= t_s
    if left > 0.0:
        t_s = min(left, axis.t3)
        move(axis, -axis.direction * axis.max_jerk, t_s)
        left -= t_s
    if left > 0.0:
        axis.acc = 0.0
        move(axis, 0.0, left)


@kernel
def choose_direction(axis):
    """Return the sign of the first jerk: which side of the goal braking at once would end on."""
    coasting = axis.vel
    if abs(axis.acc) > FLOAT32_EPSILON:
        coasting = axis.vel + 0.5 * axis.acc * abs(axis.acc) / axis.max_jerk
    direction = sign(axis.vel_sp - coasting)
    return direction if direction != 0.0 else sign(axis.acc)


@kernel
def limit_first_phase(axis, jerk, per_jerk, t1):
    """Return T1 shortened so that the acceleration stays within its limit."""
    peak = axis.acc + jerk * t1
    if peak > axis.max_acc:
        return (axis.max_acc - axis.acc) * per_jerk
    if peak < -axis.max_acc:
        return (-axis.max_acc - axis.acc) * per_jerk
    return t1


@kernel
def is_possible(t1, t3, total):
    """Return whether phases are no shorter than zero and not longer than the whole."""
    return t1 >= 0.0 and t3 >= 0.0 and t1 + t3 <= total


@kernel
def first_phase_fastest(axis, jerk, per_jerk, delta):
    """Return T1 of the shortest way."""
    acc = axis.acc
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
    return max(limit_first_phase(axis, jerk, per_jerk, t1), 0.0)


@kernel
def first_phase_in(axis, jerk, per_jerk, delta, total):
    """Return T1 of the way that takes a given time."""
    acc = axis.acc
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
    return limit_first_phase(axis, jerk, per_jerk, t1)


@kernel
def plan(axis, vel_sp):
    """Plan the three phases of the shortest way to a velocity, from now."""
    axis.vel_sp = clamp(vel_sp, -axis.max_vel, axis.max_vel)
    axis.elapsed_s = 0.0
    begin_phases(axis)
    axis.direction = choose_direction(axis)
    axis.t1, axis.t2, axis.t3 = 0.0, 0.0, 0.0
    jerk = axis.direction * axis.max_jerk
    if abs(jerk) <= FLOAT32_EPSILON:
        return
    delta = axis.vel_sp - axis.vel
    acc = axis.acc
    per_jerk = 1.0 / jerk
    t1 = first_phase_fastest(axis, jerk, per_jerk, delta)
    t3 = max(acc * per_jerk + t1, 0.0)
    peak = acc + jerk * t1
    if abs(peak) > FLOAT32_EPSILON:
        gained = -0.5 * t1 * t1 * jerk - t1 * t3 * jerk - t1 * acc + 0.5 * t3 * t3 * jerk - t3 * acc
        axis.t2 = max((gained + delta) / peak, 0.0)
    axis.t1, axis.t3 = t1, t3


@kernel
def stretch_plan(axis, total):
    """Plan the three phases anew so that they take a given, longer time."""
    jerk = axis.direction * axis.max_jerk
    axis.t1, axis.t2, axis.t3 = 0.0, 0.0, 0.0
    if abs(jerk) <= FLOAT32_EPSILON:
        return
    per_jerk = 1.0 / jerk
    axis.t1 = first_phase_in(axis, jerk, per_jerk, axis.vel_sp - axis.vel, total)
    axis.t3 = max(axis.acc * per_jerk + axis.t1, 0.0)
    axis.t2 = max(total - axis.t1 - axis.t3, 0.0)


@kernel
def duration(axis):
    """Return how long the planned phases take together."""
    return axis.t1 + axis.t2 + axis.t3
