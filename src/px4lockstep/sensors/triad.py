"""Three-axis sensors: gyroscope, accelerometer, magnetometer.

    z = G x + b + w + σ ξ,    G = (1 + diag(scale)) + misalignment,    b: turn-on bias,    w: random walk

followed by a fault, if active, and the limits and quantization of the register: [-limit, limit - step]. With a noise
density D (one-sided, per √Hz, as in datasheets) and a rate random walk K, an average over dt has

    σ = D / sqrt(2 dt),    w ← w + K sqrt(dt) ξ_w

because the average passes frequencies up to 1 / (2 dt). The Allan deviations are D / sqrt(2 τ) and K sqrt(τ / 3).

Scale, misalignment and turn-on bias are drawn once per run. Noise is addressed by (seed, stream of the sensor, sample,
lane): lane 0 noise, 1 random walk, 2 noise of a fault, 3 turn-on bias, 4 scale, 5 and 6 misalignment.

Reference:
    IEEE Std 952-1997, annexes B and C: the model, and the Allan variance of its terms.
"""

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.philox import normal3
from px4lockstep.sensors import sensor
from px4lockstep.sensors.sensor import ONE_DRAW, digitized, drawn3

WALK_LANE = np.int64(1)
SCALE_LANE = 4
MISALIGNMENT_LANES = (5, 6)

TRIAD = record(
    [
        ("noise_key", "u8"),
        ("gain", "f8", 9),  # G, row by row
        ("bias", "f8", 3),
        ("noise_sigma", "f8"),
        ("walk_sigma", "f8"),  # per step
        ("limit resolution", "f8"),
        ("fault", sensor.SENSOR_FAULT),
    ]
)
TRIAD_STATE = record(
    [
        ("fault", sensor.SENSOR_FAULT_STATE),
        ("samples", "i8"),
        ("walk", "f8", 3),
        ("value", "f8", 3),  # last sample
    ],
    limits={"samples": COUNT},
)


@kernel
def measure(triad, state, x, y, z, is_faulty, elapsed_us):
    """Write a sample of a true vector into `state.value`; return whether there is a new one."""
    key, sample = triad.noise_key, state.samples
    state.samples += 1
    walk = state.walk
    if triad.walk_sigma > 0.0 and sample > 0:
        steps = normal3(key, sample, WALK_LANE, ONE_DRAW)
        for i in range(3):
            walk[i] += triad.walk_sigma * steps[i]
    kind = sensor.kind_of_fault(triad.fault, state.fault, is_faulty, elapsed_us)
    if kind == sensor.DROPOUT:
        return False
    if kind == sensor.FREEZE and sample > 0:
        return True
    noise = (0.0, 0.0, 0.0)
    if triad.noise_sigma > 0.0:
        noise = normal3(key, sample, sensor.NOISE_LANE, ONE_DRAW)
    error = sensor.error_of_fault(triad.fault, state.fault, kind, key, sample, elapsed_us)
    gain, bias, sigma = triad.gain, triad.bias, triad.noise_sigma
    for i in range(3):
        true = gain[3 * i] * x + gain[3 * i + 1] * y + gain[3 * i + 2] * z
        measured = true + bias[i] + walk[i] + sigma * noise[i] + error[i]
        state.value[i] = digitized(measured, -triad.limit, triad.limit - triad.resolution, triad.resolution)
    return True


def drawn_gain(key: np.uint64, scale_sigma: float, misalignment_sigma_rad: float) -> npt.NDArray[np.float64]:
    """Return the gain matrix of a sensor in this run: 1, with scale and misalignment errors of each axis."""
    gain = np.diag(1.0 + scale_sigma * drawn3(key, SCALE_LANE))
    first, second = (misalignment_sigma_rad * drawn3(key, lane) for lane in MISALIGNMENT_LANES)
    gain[0, 1:] = first[0], second[0]
    gain[1, 0::2] = first[1], second[1]
    gain[2, :2] = first[2], second[2]
    return gain
