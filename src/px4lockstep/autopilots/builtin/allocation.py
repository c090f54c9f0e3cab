"""Control allocation: converts torque and thrust setpoints to motor commands, for any set of rotors.

A rotor at r with thrust direction a and moment ratio k_m adds, per unit of its command u ∈ [0, 1],

    torque  C_T (r × a − k_m a),    thrust  C_T a

which are the columns of the effectiveness matrix B (6 × N). The motor commands are u = B⁺ c with the pseudo-inverse B⁺,
whose columns are scaled so that a setpoint of 1 means about full authority: roll and pitch by √2 times the larger of
their RMS values, yaw by its largest entry, thrust by the mean magnitude of its entries. Entries below 1e-3 are set to
zero.

If a motor command leaves [0, 1], the setpoints are reduced in two steps. Before yaw is added, collective thrust is
reduced (never increased), then roll and pitch. Then yaw is added and reduced as needed; it may temporarily use 15 %
above the upper limit, at the cost of thrust. The rate controller gets the torques that could not be achieved
(`saturation`), and stops integrating them.

Without failed motors this solution is enough. The pseudo-inverse of the remaining motors is not: it demands negative
thrust of the motor opposite to a failed one. After a failure (`removed_mask`) the commands therefore minimize

    Σ_k w_k (c_k − (B u)_k)² + ε |u|²,    0 ≤ u_i ≤ min(1, 4 c_thrust),    u_i = 0 for failed motors

with weights w that put roll and pitch before thrust, and thrust before yaw. This is weighted least squares
(O. Härkegård, "Efficient Active Set Algorithms for Solving Constrained Least Squares Problems in Aircraft Control
Allocation", 2002), solved by coordinate descent from the previous commands. The upper limit keeps idle motors idle.

The pseudo-inverse is computed with P. Courrieu's full-rank Cholesky factorization ("Fast Computation of Moore-Penrose
Inverse Matrices", 2005), in plain loops, because the last bits of linear algebra libraries depend on the processor.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.builtin.vectors import FLOAT32_EPSILON, clamp
from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.plant.layout import MAX_MOTORS

ALLOCATION = record(
    [
        ("n_rotors", "i8"),
        ("mix", "f8", (MAX_MOTORS, 6)),  # motor command per torque x y z and thrust x y z
        ("effectiveness", "f8", (6, MAX_MOTORS)),  # B in the same scaled units
        ("sp", "f8", MAX_MOTORS),  # motor commands
        ("last_status_us", "i8"),
        ("removed_mask", "i8"),  # motors that failed and get no command
        ("wanted", "f8", 6),  # setpoints of the weighted least squares
        ("missing", "f8", 6),  # the part of them that is not achieved
    ],
    state="sp last_status_us removed_mask",
    transient="wanted missing",
    limits={"removed_mask": 2**MAX_MOTORS - 1},
)

WEAK = 0.2
"""Motors with less effect on an axis are ignored in its desaturation, because the gains would be too large."""
YAW_MARGIN = 0.15
STATUS_PERIOD_US = 5_000

PRIORITY = (1.0, 1.0, 0.002, 1.0, 1.0, 0.03)
"""Weights w of the setpoints after a failure: torques, then thrusts. The rows of B have similar magnitudes."""
EVENNESS = 1e-5
"""Weight ε of the motor commands, which spreads thrust evenly where setpoints leave a choice."""
SWEEPS = np.int64(40)
"""Coordinate descent sweeps per tick; from the previous commands, roll and pitch are then exact to 1e-3."""
LIFT_RATIO = 4.0
"""Upper limit of a motor command as a multiple of the thrust setpoint, after a failure."""
UNACHIEVED = 0.01
"""Missing torque that counts as saturation, after a failure."""

ROLL, PITCH, YAW, THRUST_X, THRUST_Y, THRUST_Z = (np.int64(i) for i in range(6))

Matrix = list[list[float]]


def product(a: Matrix, b: Matrix) -> Matrix:
    """Return the product of two matrices, summed from left to right."""
    result = []
    for row in a:
        line = []
        for j in range(len(b[0])):
            total = 0.0
            for k, value in enumerate(row):
                total += value * b[k][j]
            line.append(total)
        result.append(line)
    return result


def transpose(a: Matrix) -> Matrix:
    """Return the transpose."""
    return [list(column) for column in zip(*a, strict=True)]


def inverse(a: Matrix) -> Matrix:
    """Return the inverse of a regular matrix, by Gauss-Jordan elimination with pivoting."""
    n = len(a)
    rows = [[*row, *(1.0 if i == j else 0.0 for j in range(n))] for i, row in enumerate(a)]
    for j in range(n):
        pivot = max(range(j, n), key=lambda i: abs(rows[i][j]))
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [value / rows[j][j] for value in rows[j]]
        for i in range(n):
            if i != j:
                rows[i] = [value - rows[i][j] * above for value, above in zip(rows[i], rows[j], strict=True)]
    return [row[n:] for row in rows]


def full_rank_cholesky(a: Matrix) -> Matrix:
    """Return L, with one column per rank, of a symmetric positive semidefinite matrix a = L Lᵀ."""
    n = len(a)
    tolerance = 1e-9 * max(a[i][i] for i in range(n))
    columns: Matrix = []
    for k in range(n):
        column = [0.0] * n
        for i in range(k, n):
            value = a[i][k]
            for other in columns:
                value -= other[i] * other[k]
            column[i] = value
        if column[k] > tolerance:
            root = math.sqrt(column[k])
            columns.append([value / root for value in column])
    return transpose(columns)


def pseudo_inverse(a: Matrix) -> Matrix:
    """Return the Moore-Penrose inverse of a matrix of any rank."""
    at = transpose(a)
    factor = full_rank_cholesky(product(a, at))
    gram = inverse(product(transpose(factor), factor))
    return product(product(product(at, factor), product(gram, gram)), transpose(factor))


def effectiveness(rotors: Sequence[Sequence[float]]) -> Matrix:
    """Return B, with a column per rotor and rows for torque and thrust; a rotor is given by r, a, k_m and C_T."""
    columns = []
    for *geometry, ratio, coefficient in rotors:
        r, a = geometry[:3], geometry[3:]
        torque = (r[1] * a[2] - r[2] * a[1], r[2] * a[0] - r[0] * a[2], r[0] * a[1] - r[1] * a[0])
        columns.append([coefficient * (torque[i] - ratio * a[i]) for i in range(3)] + [coefficient * v for v in a])
    return transpose(columns)


def column_scales(mix: Matrix) -> list[float]:
    """Return the divisors of the mix's columns."""
    columns = transpose(mix)
    scales = [1.0] * 6
    for axis in (ROLL, PITCH):
        total, count = 0.0, 0
        for value in columns[axis]:
            total += value * value
            count += abs(value) > 1e-3
        scales[axis] = math.sqrt(total / (count / 2.0)) if count else 1.0
    scales[ROLL] = scales[PITCH] = max(scales[ROLL], scales[PITCH])
    scales[YAW] = max(columns[YAW])
    for axis in (THRUST_Z, THRUST_Y, THRUST_X):
        total, count = 0.0, 0
        for value in columns[axis]:
            total += abs(value)
            count += abs(value) > FLOAT32_EPSILON
        scales[axis] = total / count if count else scales[THRUST_Z]
    return [value if value > FLOAT32_EPSILON else 1.0 for value in scales]


def rank(b: Matrix) -> int:
    """Return the rank of a matrix: the number of axes that can be controlled independently."""
    return len(full_rank_cholesky(product(b, transpose(b)))[0])


def scaled_mix(b: Matrix, scales: list[float]) -> npt.NDArray[np.float64]:
    """Return the mix of an effectiveness matrix, with its columns divided by scales."""
    mix = np.zeros((MAX_MOTORS, 6))
    for i, row in enumerate(pseudo_inverse(b)):
        for axis in range(6):
            value = row[axis] / scales[axis]
            mix[i, axis] = 0.0 if abs(value) < 1e-3 else value
    return mix


@functools.lru_cache(maxsize=64)
def mixes(b_rows: tuple[tuple[float, ...], ...]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the mix and the scaled effectiveness. Cached, because a campaign flies the same geometry many times."""
    b = [list(row) for row in b_rows]
    scales = column_scales(pseudo_inverse(b))
    scaled = np.zeros((6, MAX_MOTORS))
    for axis in range(6):
        scaled[axis, : len(b[0])] = [value * scales[axis] for value in b[axis]]
    return scaled_mix(b, scales), scaled


def write_allocation(allocation: Any, b: Matrix) -> None:
    """Write mix and effectiveness of an effectiveness matrix."""
    allocation["n_rotors"] = len(b[0])
    allocation["mix"], allocation["effectiveness"] = mixes(tuple(tuple(row) for row in b))


@kernel
def desaturation_gain(a, axis, upper):
    """Return the change along an axis that would bring the motors into [0, upper]."""
    low, high = 0.0, 0.0
    for i in range(a.n_rotors):
        effect = a.mix[i, axis]
        if abs(effect) >= WEAK:
            value = a.sp[i]
            if value < 0.0:
                gain = -value / effect
            elif value > upper:
                gain = (upper - value) / effect
            else:
                continue
            low, high = min(low, gain), max(high, gain)
    return low + high


@inlined_kernel
def is_saturated(a, upper):
    """Return whether a motor command is outside [0, upper]."""
    low, high = 0.0, 0.0
    for i in range(a.n_rotors):
        low, high = min(low, a.sp[i]), max(high, a.sp[i])
    return low < 0.0 or high > upper


@kernel
def desaturate(a, axis, upper, is_one_sided):
    """Reduce the saturation of the motors by a change along an axis; if one-sided, only by a positive one."""
    gain = desaturation_gain(a, axis, upper)
    if gain == 0.0 or (is_one_sided and gain < 0.0):
        return
    for i in range(a.n_rotors):
        a.sp[i] += gain * a.mix[i, axis]
    gain = 0.5 * desaturation_gain(a, axis, upper)
    for i in range(a.n_rotors):
        a.sp[i] += gain * a.mix[i, axis]


@kernel
def distribute(a, yaw_priority, sweeps):
    """Move the motor commands towards the least-squares solution for `wanted`."""
    upper = clamp(-LIFT_RATIO * a.wanted[THRUST_Z], 0.0, 1.0)
    for axis in range(6):
        a.missing[axis] = a.wanted[axis]
        for i in range(a.n_rotors):
            a.missing[axis] -= a.effectiveness[axis, i] * a.sp[i]
    for _ in range(sweeps):
        for i in range(a.n_rotors):
            pull, weight = -EVENNESS * a.sp[i], EVENNESS
            for axis in range(6):
                effect = a.effectiveness[axis, i]
                weighted = effect * (yaw_priority if axis == YAW else PRIORITY[axis])
                pull += weighted * a.missing[axis]
                weight += weighted * effect
            change = -a.sp[i]
            if (a.removed_mask >> i) & 1 == 0:
                change += clamp(a.sp[i] + pull / weight, 0.0, upper)
            a.sp[i] += change
            for axis in range(6):
                a.missing[axis] -= a.effectiveness[axis, i] * change


@kernel
def note_saturation(a, out, rate_control):
    """Report torques that could not be achieved to the rate controller."""
    tolerance = FLOAT32_EPSILON if a.removed_mask == 0 else UNACHIEVED
    for axis in range(3):
        given = 0.0
        for i in range(a.n_rotors):
            given += a.effectiveness[axis, i] * a.sp[i]
        missing = out.torque_sp_body[axis] - given
        rate_control.saturation[axis] = int(missing > tolerance) - int(missing < -tolerance)


@inlined_kernel
def allocate(a, t_us, rate_control, out):
    """Compute motor commands in [0, 1] from the torque and thrust setpoints."""
    torque, thrust = out.torque_sp_body, out.thrust_sp_body
    if a.removed_mask != 0:
        for axis in range(3):
            a.wanted[axis] = torque[axis]
            a.wanted[3 + axis] = thrust[axis]
        distribute(a, PRIORITY[YAW], SWEEPS)
    else:
        for i in range(a.n_rotors):
            a.sp[i] = (
                a.mix[i, ROLL] * torque[0]
                + a.mix[i, PITCH] * torque[1]
                + a.mix[i, THRUST_X] * thrust[0]
                + a.mix[i, THRUST_Y] * thrust[1]
                + a.mix[i, THRUST_Z] * thrust[2]
            )
        if is_saturated(a, 1.0):
            desaturate(a, THRUST_Z, 1.0, True)
            desaturate(a, ROLL, 1.0, False)
            desaturate(a, PITCH, 1.0, False)
        for i in range(a.n_rotors):
            a.sp[i] += a.mix[i, YAW] * torque[2]
        if is_saturated(a, 1.0):
            desaturate(a, YAW, 1.0 + YAW_MARGIN, False)
            desaturate(a, THRUST_Z, 1.0, True)
        for i in range(a.n_rotors):
            a.sp[i] = clamp(a.sp[i], 0.0, 1.0)
    if t_us - a.last_status_us >= STATUS_PERIOD_US:
        a.last_status_us = t_us
        note_saturation(a, out, rate_control)
