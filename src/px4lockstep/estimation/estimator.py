"""The estimator: what the autopilot is told of position, velocity, attitude and rates, on the autopilot axis.

    none            the state, to the bit

    noisy_delayed   z = x + b + σ ξ                       position, velocity (NED) and body rates, each axis
                    q = q_down(b + σ ξ) ⊗ q_bn            yaw: a rotation about down; roll and pitch stay true
                    b ← φ b + σ_b sqrt(1 − φ²) ξ_b        first-order Gauss-Markov bias of each, φ = exp(−dt / τ)

then delayed by a whole number of autopilot ticks; until there is a sample that old, the current one. ξ are standard
normal, pure functions of (seed, "estimator", tick, lane), ξ_b of (seed, "estimator_bias", tick, lane). Biases start at
0 and are stepped before their first sample, exactly: their variance tends to σ_b² for every period.

Faults come after that, for either kind, in this order:

    bias            an error that is added at once
    drift           an error that grows, Σ drift dt from the tick that first sees it, and is gone once drift is all 0
    dropout         position and velocity hold their last values and is_valid is 0; attitude and rates go on
    freeze          nothing is written, and all within runs on

It is a model of an estimator's errors, not an estimator: no sensors, no filter, no correlation with the motion.

Reference:
    P. S. Maybeck, Stochastic Models, Estimation, and Control, vol. 1, Academic Press (1979), section 4.11: the
    first-order Gauss-Markov process.
"""

import math
from typing import Any, ClassVar, Literal

import numpy as np

from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.exponential import exp
from px4lockstep.math.philox import normal3, normal4, stream_key
from px4lockstep.math.trigonometry import sincos
from px4lockstep.part import EachAxis, Found, Part, Period, Seconds, entry, misfit
from px4lockstep.plant.layout import (
    ATT_START,
    GROUPS,
    OMEGA_START,
    RIGID_BODY_STATES,
    SENSOR_FAULT_EST_FREEZE,
    VEL_START,
)
from px4lockstep.timebase import check_us, ticks_of

TRUTH = 0
NOISY_DELAYED = 1

KINDS = {"none": TRUTH, "noisy_delayed": NOISY_DELAYED}

NOISE_STREAM = "estimator"
BIAS_STREAM = "estimator_bias"
# Lanes of both streams. Typed: a kernel compiles once per value of a plain integer that it is handed.
POS_AND_YAW = np.int64(0)
VEL = np.int64(1)
RATE = np.int64(2)
ONE_DRAW = np.int64(0)

MAX_DELAY_TICKS = 64

SAMPLE = record([("x", "f8", RIGID_BODY_STATES)])
"""The rigid body's part of the plant state."""

ERROR = record([("pos_ned", "f8", 3), ("vel_ned", "f8", 3), ("yaw", "f8"), ("omega_body", "f8", 3)])
"""An error of the estimate, as the bus has it in its faults; the yaw is a rotation about down."""

STATES = "tick bias drifted is_drifting error sample ring"

ESTIMATOR = record(
    [
        ("kind", "i8"),
        ("noise_key", "u8"),  # of the streams of random numbers
        ("bias_key", "u8"),
        ("period_s", "f8"),
        ("delay_ticks", "i8"),
        ("pos_sigma_m", "f8"),  # of the white noise
        ("vel_sigma_m_s", "f8"),
        ("yaw_sigma_rad", "f8"),
        ("rate_sigma_rad_s", "f8"),
        ("bias_decay", "f8"),  # phi
        ("pos_bias_gain_m", "f8"),  # sigma_b sqrt(1 - phi**2)
        ("vel_bias_gain_m_s", "f8"),
        ("yaw_bias_gain_rad", "f8"),
        ("rate_bias_gain_rad_s", "f8"),
        # what changes as a run goes on
        ("tick", "i8"),
        ("bias", ERROR),  # Gauss-Markov
        ("drifted", ERROR),  # what the drift has come to
        ("is_drifting", "i8"),
        ("error", ERROR),  # of this tick, bias and noise
        ("sample", SAMPLE),  # of this tick
        ("ring", SAMPLE, MAX_DELAY_TICKS + 1),
    ],
    state=STATES,
)

SIGMAS = {
    "pos_sigma_m": "pos_sigma_m",
    "vel_sigma_mps": "vel_sigma_m_s",
    "yaw_sigma_rad": "yaw_sigma_rad",
    "rate_sigma_rad_s": "rate_sigma_rad_s",
}
"""Keys of white noise, and their fields in the record."""
BIAS_GAINS = {
    "pos_bias_sigma_m": "pos_bias_gain_m",
    "vel_bias_sigma_mps": "vel_bias_gain_m_s",
    "yaw_bias_sigma_rad": "yaw_bias_gain_rad",
    "rate_bias_sigma_rad_s": "rate_bias_gain_rad_s",
}
"""Keys of biases, and their fields in the record."""


@kernel
def step_bias(estimator):
    """Advance the Gauss-Markov biases by one period; one without a standard deviation stays at 0."""
    bias = estimator.bias
    decay = estimator.bias_decay
    key, tick = estimator.bias_key, estimator.tick
    if estimator.pos_bias_gain_m > 0.0 or estimator.yaw_bias_gain_rad > 0.0:
        gain = estimator.pos_bias_gain_m
        north, east, down, turn = normal4(key, tick, POS_AND_YAW, ONE_DRAW)
        bias.pos_ned[0] = decay * bias.pos_ned[0] + gain * north
        bias.pos_ned[1] = decay * bias.pos_ned[1] + gain * east
        bias.pos_ned[2] = decay * bias.pos_ned[2] + gain * down
        bias.yaw = decay * bias.yaw + estimator.yaw_bias_gain_rad * turn
    if estimator.vel_bias_gain_m_s > 0.0:
        gain = estimator.vel_bias_gain_m_s
        north, east, down = normal3(key, tick, VEL, ONE_DRAW)
        bias.vel_ned[0] = decay * bias.vel_ned[0] + gain * north
        bias.vel_ned[1] = decay * bias.vel_ned[1] + gain * east
        bias.vel_ned[2] = decay * bias.vel_ned[2] + gain * down
    if estimator.rate_bias_gain_rad_s > 0.0:
        gain = estimator.rate_bias_gain_rad_s
        forward, right, down = normal3(key, tick, RATE, ONE_DRAW)
        bias.omega_body[0] = decay * bias.omega_body[0] + gain * forward
        bias.omega_body[1] = decay * bias.omega_body[1] + gain * right
        bias.omega_body[2] = decay * bias.omega_body[2] + gain * down


@kernel
def draw_error(estimator):
    """Write the error of this tick: bias and white noise."""
    error, bias = estimator.error, estimator.bias
    key, tick = estimator.noise_key, estimator.tick
    north, east, down, turn = 0.0, 0.0, 0.0, 0.0
    if estimator.pos_sigma_m > 0.0 or estimator.yaw_sigma_rad > 0.0:
        north, east, down, turn = normal4(key, tick, POS_AND_YAW, ONE_DRAW)
    sigma = estimator.pos_sigma_m
    error.pos_ned[0] = bias.pos_ned[0] + sigma * north
    error.pos_ned[1] = bias.pos_ned[1] + sigma * east
    error.pos_ned[2] = bias.pos_ned[2] + sigma * down
    error.yaw = bias.yaw + estimator.yaw_sigma_rad * turn
    if estimator.vel_sigma_m_s > 0.0:
        north, east, down = normal3(key, tick, VEL, ONE_DRAW)
    sigma = estimator.vel_sigma_m_s
    error.vel_ned[0] = bias.vel_ned[0] + sigma * north
    error.vel_ned[1] = bias.vel_ned[1] + sigma * east
    error.vel_ned[2] = bias.vel_ned[2] + sigma * down
    forward, right, down = 0.0, 0.0, 0.0
    if estimator.rate_sigma_rad_s > 0.0:
        forward, right, down = normal3(key, tick, RATE, ONE_DRAW)
    sigma = estimator.rate_sigma_rad_s
    error.omega_body[0] = bias.omega_body[0] + sigma * forward
    error.omega_body[1] = bias.omega_body[1] + sigma * right
    error.omega_body[2] = bias.omega_body[2] + sigma * down


@kernel
def add_error(error, sample):
    """Add an error to a sample: yaw as a rotation about down, q ← (cos ½ψ, 0, 0, sin ½ψ) ⊗ q, the rest as it is."""
    x = sample.x
    for i in range(3):
        x[i] += error.pos_ned[i]
        x[VEL_START + i] += error.vel_ned[i]
        x[OMEGA_START + i] += error.omega_body[i]
    if error.yaw != 0.0:
        s, c = sincos(0.5 * error.yaw)
        qw, qx, qy, qz = x[ATT_START], x[ATT_START + 1], x[ATT_START + 2], x[ATT_START + 3]
        x[ATT_START] = c * qw - s * qz
        x[ATT_START + 1] = c * qx - s * qy
        x[ATT_START + 2] = c * qy + s * qx
        x[ATT_START + 3] = c * qz + s * qw


@kernel
def sample_state(state, sample):
    """Copy the rigid body's part of a state, number by number: a block copy of what was just written would wait."""
    for i in range(RIGID_BODY_STATES):
        sample.x[i] = state.x[i]


@kernel
def sample_noisy_delayed(estimator, state):
    """Put this tick's noisy sample into the ring, and take the one from `delay_ticks` ago, if there is one, out."""
    step_bias(estimator)
    draw_error(estimator)
    tick = estimator.tick
    newest = estimator.ring[tick % (MAX_DELAY_TICKS + 1)]
    sample_state(state, newest)
    add_error(estimator.error, newest)
    from_tick = tick - estimator.delay_ticks if tick >= estimator.delay_ticks else tick
    sample_state(estimator.ring[from_tick % (MAX_DELAY_TICKS + 1)], estimator.sample)


@kernel
def is_any(error):
    """Return whether an error is not 0 in any of its parts."""
    pos, vel, omega = error.pos_ned, error.vel_ned, error.omega_body
    return (
        pos[0] != 0.0
        or pos[1] != 0.0
        or pos[2] != 0.0
        or vel[0] != 0.0
        or vel[1] != 0.0
        or vel[2] != 0.0
        or error.yaw != 0.0
        or omega[0] != 0.0
        or omega[1] != 0.0
        or omega[2] != 0.0
    )


@kernel
def step_drift(drifted, drift, duration_s):
    """Let an error grow by its rate over a time."""
    for i in range(3):
        drifted.pos_ned[i] += drift.pos_ned[i] * duration_s
        drifted.vel_ned[i] += drift.vel_ned[i] * duration_s
        drifted.omega_body[i] += drift.omega_body[i] * duration_s
    drifted.yaw += drift.yaw * duration_s


@kernel
def clear_error(error):
    """Set an error to 0."""
    for i in range(3):
        error.pos_ned[i] = 0.0
        error.vel_ned[i] = 0.0
        error.omega_body[i] = 0.0
    error.yaw = 0.0


@kernel
def add_fault_errors(estimator, faults):
    """Add the faults' bias to this tick's sample and what their drift has come to, and let that grow."""
    if is_any(faults.bias):
        add_error(faults.bias, estimator.sample)
    if is_any(faults.drift):
        add_error(estimator.drifted, estimator.sample)
        step_drift(estimator.drifted, faults.drift, estimator.period_s)
        estimator.is_drifting = 1
    elif estimator.is_drifting != 0:
        clear_error(estimator.drifted)
        estimator.is_drifting = 0


@kernel
def publish(sample, has_position, estimate):
    """Write a sample as the estimate, position and velocity only if it has them: else they hold."""
    x = sample.x
    for i in range(4):
        estimate.q_bn[i] = x[ATT_START + i]
    for i in range(3):
        estimate.omega_body[i] = x[OMEGA_START + i]
    if has_position:
        for i in range(3):
            estimate.pos_ned[i] = x[i]
            estimate.vel_ned[i] = x[VEL_START + i]


@kernel
def step_estimator(estimator, state, scenario, estimate):
    """Run one autopilot tick: sample the state, add errors, delay, apply faults, write the estimate.

    Args:
        estimator: An `ESTIMATOR` record.
        state: The plant's, which begins with a rigid body's.
        scenario: The scenario's part of the bus, for its faults.
        estimate: The estimate on the bus; what a fault holds is simply not written.
    """
    sample = estimator.sample
    if estimator.kind == NOISY_DELAYED:
        sample_noisy_delayed(estimator, state)
    else:
        sample_state(state, sample)
    add_fault_errors(estimator, scenario.estimate_faults)
    # At the first tick there is nothing to hold yet.
    is_first = estimator.tick == 0
    if is_first or scenario.faults.sensor_fault_mask & SENSOR_FAULT_EST_FREEZE == 0:
        is_dropped = scenario.estimate_faults.dropout != 0
        publish(sample, is_first or not is_dropped, estimate)
        estimate.is_valid = 0.0 if is_dropped else 1.0
    estimator.tick += 1


class Estimator(Part):
    """What the autopilot is told of the state."""

    where: ClassVar[str] = "estimator"
    stage: ClassVar[str | None] = "estimator"

    kind: Literal["none", "noisy_delayed"] = entry("none", "The truth (`none`), or noise, bias and delay.")
    pos_sigma_m: EachAxis = entry((0.02, 0.02, 0.02), "White noise of the position, one number or one per axis.", "m")
    vel_sigma_mps: EachAxis = entry(
        (0.05, 0.05, 0.05), "White noise of the velocity, one number or one per axis.", "m/s"
    )
    yaw_sigma_rad: float = entry(0.01, "White noise of the yaw, a rotation about down.", "rad", ge=0.0)
    rate_sigma_rad_s: EachAxis = entry(
        (0.005, 0.005, 0.005), "White noise of the body rates, one number or one per axis.", "rad/s"
    )
    bias_tau_s: float = entry(50.0, "Correlation time of the biases.", "s", gt=0.0)
    pos_bias_sigma_m: EachAxis = entry(
        (0.0, 0.0, 0.0), "Gauss-Markov bias of the position once it has built up, one number or one per axis.", "m"
    )
    vel_bias_sigma_mps: EachAxis = entry((0.0, 0.0, 0.0), "Bias of the velocity, one number or one per axis.", "m/s")
    yaw_bias_sigma_rad: float = entry(0.0, "Bias of the yaw.", "rad", ge=0.0)
    rate_bias_sigma_rad_s: EachAxis = entry(
        (0.001, 0.001, 0.001), "Bias of the body rates, one number or one per axis.", "rad/s"
    )
    delay_s: Seconds = entry(0.008, f"Delay, in whole ticks of the autopilot, {MAX_DELAY_TICKS} at most.", "s")
    dt_est_s: Period | None = entry(None, "Must be the period of the autopilot, which it is if left out.", "s")

    def check(self) -> Found:
        """One value for all three axes, which is all that the model has."""
        for name in (*SIGMAS, *BIAS_GAINS) if self.kind != "none" else ():
            value = getattr(self, name)
            if isinstance(value, tuple) and len(set(value)) > 1:
                yield misfit(name, value, "differs between axes; the estimator has one value for all three")

    def delay_ticks(self, period_us: int) -> int:
        """Return the delay in ticks of the autopilot.

        Raises:
            TimeError: If it is not a whole number of ticks, or too long.
        """
        return 0 if self.kind == "none" else ticks_of(self.delay_s, "estimator.delay_s", period_us, MAX_DELAY_TICKS)

    def write(self, rec: Any, seed: int, period_us: int) -> None:
        """Write the estimator into an `ESTIMATOR` record, before its first tick.

        Args:
            rec: The record.
            seed: The seed of the run.
            period_us: The period of the autopilot axis.

        Raises:
            InputError: If the seed or the period can't be used, or the delay is not a whole number of ticks or too
                long.
        """
        period_s = check_us("autopilot period", period_us, minimum=1) / 1e6
        decay = float(interpreted(exp)(-period_s / self.bias_tau_s))
        root = math.sqrt(1.0 - decay * decay)
        rec["kind"] = KINDS[self.kind]
        rec["noise_key"] = stream_key(seed, NOISE_STREAM)
        rec["bias_key"] = stream_key(seed, BIAS_STREAM)
        rec["period_s"] = period_s
        rec["delay_ticks"] = self.delay_ticks(period_us)
        for key, name in SIGMAS.items():
            rec[name] = _one(getattr(self, key))
        rec["bias_decay"] = decay
        for key, name in BIAS_GAINS.items():
            rec[name] = _one(getattr(self, key)) * root
        for name in STATES.split():
            rec[name] = np.zeros((), rec.dtype[name])


def _one(sigma: float | tuple[float, float, float]) -> float:
    """Return the value of all axes."""
    return sigma[0] if isinstance(sigma, tuple) else sigma


def check_rigid_body(plant: Any) -> None:
    """Raise `InputError` unless the state in a `PLANT` record begins with a rigid body's."""
    sizes = (plant["group_stop"] - plant["group_start"]).tolist()
    if sizes[:4] != [3, 3, 4, 3]:
        has = ", ".join(f"{size} {name}" for name, size in zip(GROUPS, sizes, strict=True) if size) or "none"
        raise InputError(
            "an Estimator needs a plant with position, velocity, attitude and rates (3 pos, 3 vel, 4 att, 3 omega "
            f"states); this one has {has}; use an aircraft, or a Python object as the estimator"
        )
