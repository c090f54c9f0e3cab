"""Three axes of a sensor: gyroscope, accelerometer, magnetometer.

    z = G x + b + w + σ ξ,    G = (1 + diag(scale)) + misalignment,    b: turn-on bias,    w: random walk

then a fault, if there is one, then the limits and steps of the register: [-limit, limit - step]. With a noise density D
(one-sided, as datasheets give it, per root of a hertz) and a rate random walk K, an average over dt has

    σ = D / sqrt(2 dt),    w ← w + K sqrt(dt) ξ_w

since the average passes frequencies up to 1 / (2 dt). The Allan deviation is D / sqrt(2 τ) and K sqrt(τ / 3).

Scale, misalignment and turn-on bias are drawn once per run. Noise is addressed by (seed, stream of the sensor, sample,
lane): lane 0 noise, 1 random walk, 2 a fault's noise, 3 turn-on bias, 4 scale, 5 and 6 misalignment.

Reference:
    IEEE Std 952-1997, annexes B and C: the model, and the Allan variance of its terms.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import Vector3
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.philox import normal3
from px4lockstep.sensors.faults import (
    DROPOUT,
    FREEZE,
    ONE_DRAW,
    SENSOR_FAULT,
    SENSOR_FAULT_STATE,
    error_of_fault,
    kind_of_fault,
    write_fault,
)
from px4lockstep.sensors.sampling import digitized

NOISE_LANE = np.int64(0)
WALK_LANE = np.int64(1)
BIAS_LANE = 3
SCALE_LANE = 4
MISALIGNMENT_LANES = (5, 6)

TRIAD = record(
    [
        ("noise_key", "u8"),
        ("gain", "f8", 9),  # G, row by row
        ("bias", "f8", 3),
        ("noise_sigma", "f8"),
        ("walk_sigma", "f8"),  # of one step
        ("limit", "f8"),
        ("resolution", "f8"),
        ("fault", SENSOR_FAULT),
    ]
)
TRIAD_STATE = record(
    [
        ("fault", SENSOR_FAULT_STATE),
        ("samples", "i8"),
        ("walk", "f8", 3),
        ("value", "f8", 3),  # of the last sample
    ]
)


@kernel
def measure(triad, state, x, y, z, is_faulty, elapsed_us):
    """Take a sample of a true vector into `state.value`; return whether there is one."""
    key, sample = triad.noise_key, state.samples
    state.samples += 1
    walk = state.walk
    if triad.walk_sigma > 0.0 and sample > 0:
        wx, wy, wz = normal3(key, sample, WALK_LANE, ONE_DRAW)
        walk[0] += triad.walk_sigma * wx
        walk[1] += triad.walk_sigma * wy
        walk[2] += triad.walk_sigma * wz
    kind = kind_of_fault(triad.fault, state.fault, is_faulty, elapsed_us)
    if kind == DROPOUT:
        return False
    if kind == FREEZE and sample > 0:
        return True
    nx, ny, nz = 0.0, 0.0, 0.0
    if triad.noise_sigma > 0.0:
        nx, ny, nz = normal3(key, sample, NOISE_LANE, ONE_DRAW)
    ex, ey, ez = error_of_fault(triad.fault, state.fault, kind, key, sample, elapsed_us)
    gain, bias, sigma = triad.gain, triad.bias, triad.noise_sigma
    mx = gain[0] * x + gain[1] * y + gain[2] * z + bias[0] + walk[0] + sigma * nx + ex
    my = gain[3] * x + gain[4] * y + gain[5] * z + bias[1] + walk[1] + sigma * ny + ey
    mz = gain[6] * x + gain[7] * y + gain[8] * z + bias[2] + walk[2] + sigma * nz + ez
    lowest, highest, resolution = -triad.limit, triad.limit - triad.resolution, triad.resolution
    value = state.value
    value[0] = digitized(mx, lowest, highest, resolution)
    value[1] = digitized(my, lowest, highest, resolution)
    value[2] = digitized(mz, lowest, highest, resolution)
    return True


def drawn3(key: np.uint64, lane: int) -> npt.NDArray[np.float64]:
    """Return three standard normal numbers that are drawn once per run."""
    return np.array(interpreted(normal3)(key, np.int64(0), np.int64(lane), ONE_DRAW))


def drawn_gain(key: np.uint64, scale_sigma: float, misalignment_sigma_rad: float) -> npt.NDArray[np.float64]:
    """Return the gain of a run's sensor: 1, with an error of the scale and of the direction of each axis."""
    gain = np.diag(1.0 + scale_sigma * drawn3(key, SCALE_LANE))
    first, second = (misalignment_sigma_rad * drawn3(key, lane) for lane in MISALIGNMENT_LANES)
    gain[0, 1:] = first[0], second[0]
    gain[1, 0::2] = first[1], second[1]
    gain[2, :2] = first[2], second[2]
    return gain


def write_triad(
    rec: Any,
    key: np.uint64,
    *,
    gain: npt.ArrayLike,
    bias: npt.ArrayLike,
    noise_sigma: float,
    walk: float,
    period_us: int,
    limit: float,
    resolution: float,
    on_fault: str,
    fault_size: Vector3,
) -> None:
    """Write a `TRIAD` record; `walk` is K, the rest as in the record."""
    rec["noise_key"] = key
    rec["gain"] = np.ravel(gain)
    rec["bias"] = bias
    rec["noise_sigma"] = noise_sigma
    rec["walk_sigma"] = walk * math.sqrt(period_us / 1e6)
    rec["limit"] = limit
    rec["resolution"] = resolution
    write_fault(rec["fault"], on_fault, fault_size)
