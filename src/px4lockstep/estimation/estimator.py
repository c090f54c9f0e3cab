"""The estimator: position, velocity, attitude and rates for the autopilot, on the autopilot axis.

    none            the true state

    noisy_delayed   z = x + b + σ ξ                       position, velocity (NED) and body rates, σ for each axis
                    q = q_down(b + σ ξ) ⊗ q_bn            yaw: a rotation about down; roll and pitch stay true
                    b ← φ b + σ_b sqrt(1 − φ²) ξ_b        first-order Gauss-Markov bias of each, φ = exp(−dt / τ)

The result is delayed by a whole number of autopilot ticks; until there is a sample that old, the current one is used.
ξ are standard normal, pure functions of (seed, "estimator", tick, lane), ξ_b of (seed, "estimator_bias", tick, lane).
Biases start at 0 and are stepped before their first sample. The discretization is exact: their variance tends to σ_b²
for every period.

Then faults are applied, for either kind, in this order:

    bias            a constant error
    drift           a growing error, Σ drift dt from its first tick on, which returns to 0 once all drifts are 0
    dropout         position and velocity hold their last values and is_valid is 0; attitude and rates continue
    freeze          the estimate is not written, but noise, bias, delay and drift continue internally

This is a model of an estimator's errors, not an estimator: no sensors, no filter, no correlation with the motion.

Reference:
    P. S. Maybeck, Stochastic Models, Estimation, and Control, vol. 1, Academic Press (1979), section 4.11: the
    first-order Gauss-Markov process.
"""

from typing import Annotated, Any, Literal

import numpy as np

from px4lockstep.environment.wind import gauss_markov
from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.philox import AHEAD, normal3_ahead, normal4_ahead, stream_key
from px4lockstep.math.trigonometry import sincos
from px4lockstep.part import EachAxis, Part, Period, Seconds, entry
from px4lockstep.part.kinds import CODE, Options, PythonKind, folder_entry, kind_or_class, number_of, options_entry
from px4lockstep.plant import layout
from px4lockstep.plant.layout import ATT_START, HORIZONTAL_DROPOUT, OMEGA_START, RIGID_BODY_STATES, VEL_START
from px4lockstep.timebase import check_us, ticks_of

TRUTH, NOISY_DELAYED = range(2)
KINDS = {"none": TRUTH, "noisy_delayed": NOISY_DELAYED}
SPELLINGS = {"no": "none", "off": "none"}
"""Other spellings of the kinds, as in files of PX4Lockstep.jl."""

# Lanes of both streams. Typed, because a kernel is compiled again for each value of a plain integer argument.
POS_AND_YAW, VEL, RATE = np.int64(0), np.int64(1), np.int64(2)
LANES = 3
ONE_DRAW = np.int64(0)

MAX_DELAY_TICKS = 64

SAMPLE = record([("x", "f8", RIGID_BODY_STATES)])
"""The rigid-body part of the plant state."""

ERROR = record([("pos_ned", "f8", 3), ("vel_ned", "f8", 3), ("yaw", "f8"), ("omega_body", "f8", 3)])
"""An error of the estimate, as in the faults on the bus; the yaw error is a rotation about the down axis."""

STATES = "tick bias drifted is_drifting error sample ring"

ESTIMATOR = record(
    [
        ("kind", "i8"),
        ("noise_key bias_key", "u8"),  # keys of the random streams
        ("period_s", "f8"),
        ("delay_ticks", "i8"),
        ("pos_sigma_m vel_sigma_m_s rate_sigma_rad_s", "f8", 3),  # standard deviations of the white noise
        ("yaw_sigma_rad", "f8"),
        ("bias_decay", "f8"),  # phi
        ("pos_bias_gain_m vel_bias_gain_m_s rate_bias_gain_rad_s", "f8", 3),  # sigma_b sqrt(1 - phi**2)
        ("yaw_bias_gain_rad", "f8"),
        # whether the noise, or the bias, of any axis is above 0; others draw no random numbers
        ("has_pos_noise has_vel_noise has_rate_noise has_pos_bias has_vel_bias has_rate_bias", "i8"),
        # state
        ("tick", "i8"),
        ("bias", ERROR),  # Gauss-Markov
        ("drifted", ERROR),  # accumulated drift
        ("is_drifting", "i8"),
        ("error", ERROR),  # of this tick: bias and noise
        ("sample", SAMPLE),  # of this tick
        ("ring", SAMPLE, MAX_DELAY_TICKS + 1),
        ("noise_ahead bias_ahead", AHEAD, LANES),  # random words
    ],
    state=STATES,
    limits={"tick": COUNT},
)

SIGMAS = ("pos_sigma_m", "vel_sigma_mps", "yaw_sigma_rad", "rate_sigma_rad_s")
"""Keys of white noise."""
BIASES = ("pos_bias_sigma_m", "vel_bias_sigma_mps", "yaw_bias_sigma_rad", "rate_bias_sigma_rad_s")
"""Keys of biases; the record has their gains."""


@kernel
def step_bias(estimator):
    """Advance the Gauss-Markov biases by one period; a bias with zero standard deviation stays at 0."""
    bias = estimator.bias
    decay = estimator.bias_decay
    key, tick = estimator.bias_key, estimator.tick
    if estimator.has_pos_bias != 0:
        xi4 = normal4_ahead(estimator.bias_ahead[POS_AND_YAW], key, tick, POS_AND_YAW, ONE_DRAW)
        for i in range(3):
            bias.pos_ned[i] = decay * bias.pos_ned[i] + estimator.pos_bias_gain_m[i] * xi4[i]
        bias.yaw = decay * bias.yaw + estimator.yaw_bias_gain_rad * xi4[3]
    if estimator.has_vel_bias != 0:
        xi = normal3_ahead(estimator.bias_ahead[VEL], key, tick, VEL, ONE_DRAW)
        for i in range(3):
            bias.vel_ned[i] = decay * bias.vel_ned[i] + estimator.vel_bias_gain_m_s[i] * xi[i]
    if estimator.has_rate_bias != 0:
        xi = normal3_ahead(estimator.bias_ahead[RATE], key, tick, RATE, ONE_DRAW)
        for i in range(3):
            bias.omega_body[i] = decay * bias.omega_body[i] + estimator.rate_bias_gain_rad_s[i] * xi[i]


@kernel
def draw_error(estimator):
    """Write the error of this tick: bias and white noise."""
    error, bias = estimator.error, estimator.bias
    key, tick = estimator.noise_key, estimator.tick
    pos, vel, rate = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if estimator.has_pos_noise != 0:
        pos = normal4_ahead(estimator.noise_ahead[POS_AND_YAW], key, tick, POS_AND_YAW, ONE_DRAW)
    if estimator.has_vel_noise != 0:
        vel = normal3_ahead(estimator.noise_ahead[VEL], key, tick, VEL, ONE_DRAW)
    if estimator.has_rate_noise != 0:
        rate = normal3_ahead(estimator.noise_ahead[RATE], key, tick, RATE, ONE_DRAW)
    for i in range(3):
        error.pos_ned[i] = bias.pos_ned[i] + estimator.pos_sigma_m[i] * pos[i]
        error.vel_ned[i] = bias.vel_ned[i] + estimator.vel_sigma_m_s[i] * vel[i]
        error.omega_body[i] = bias.omega_body[i] + estimator.rate_sigma_rad_s[i] * rate[i]
    error.yaw = bias.yaw + estimator.yaw_sigma_rad * pos[3]


@kernel
def add_error(error, sample):
    """Add an error to a sample; yaw is a rotation about the down axis, q ← (cos ½ψ, 0, 0, sin ½ψ) ⊗ q."""
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
    """Copy the rigid-body part of a state, number by number: a block copy would stall on recent writes."""
    for i in range(RIGID_BODY_STATES):
        sample.x[i] = state.x[i]


@kernel
def sample_noisy_delayed(estimator, state):
    """Store this tick's noisy sample in the ring, and read the one from `delay_ticks` ago, if it exists."""
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
    """Return whether any part of an error is not 0."""
    for i in range(3):
        if error.pos_ned[i] != 0.0 or error.vel_ned[i] != 0.0 or error.omega_body[i] != 0.0:
            return True
    return error.yaw != 0.0


@kernel
def step_drift(drifted, drift, duration_s):
    """Add drift times duration to an accumulated error."""
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
    """Add the faults' bias and accumulated drift to this tick's sample, and update the drift."""
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
def publish(sample, has_position, has_height, estimate):
    """Write a sample to the estimate; position and velocity that are lost hold."""
    x = sample.x
    for i in range(4):
        estimate.q_bn[i] = x[ATT_START + i]
    for i in range(3):
        estimate.omega_body[i] = x[OMEGA_START + i]
    if has_position:
        for i in range(3):
            estimate.pos_ned[i] = x[i]
            estimate.vel_ned[i] = x[VEL_START + i]
    elif has_height:
        estimate.pos_ned[2] = x[2]
        estimate.vel_ned[2] = x[VEL_START + 2]


@kernel
def step_estimator(estimator, state, scenario, estimate):
    """Run one autopilot tick: sample the state, add errors, delay, apply faults, write the estimate.

    The state starts with that of a rigid body. `scenario` and `estimate` are on the bus; held values are not written.
    """
    sample = estimator.sample
    if estimator.kind == NOISY_DELAYED:
        sample_noisy_delayed(estimator, state)
    else:
        sample_state(state, sample)
    add_fault_errors(estimator, scenario.estimate_faults)
    # At the first tick there is no earlier value to hold.
    is_first = estimator.tick == 0
    if is_first or scenario.faults.sensor_fault_mask & layout.SENSOR_FAULT_EST_FREEZE == 0:
        dropout = scenario.estimate_faults.dropout
        is_dropped = dropout != 0
        publish(sample, is_first or not is_dropped, dropout == HORIZONTAL_DROPOUT, estimate)
        estimate.is_valid = 0.0 if is_dropped else 1.0
    estimator.tick += 1


class Estimator(Part, where="estimator", stage="estimator"):
    """The estimate that the autopilot gets."""

    kind: Annotated[Literal["none", "noisy_delayed"] | PythonKind, kind_or_class(KINDS, SPELLINGS)] = entry(
        "none",
        "The true state (`none`), noise, bias and delay, or a class of yours: see docs/howto/own_controller.md.",
        extra=CODE,
    )
    pos_sigma_m: EachAxis = entry(
        (0.02, 0.02, 0.02), "White noise of the position, one number or one per axis.", "m", ge=0.0
    )
    vel_sigma_mps: EachAxis = entry(
        (0.05, 0.05, 0.05), "White noise of the velocity, one number or one per axis.", "m/s", ge=0.0
    )
    yaw_sigma_rad: float = entry(0.01, "White noise of the yaw, a rotation about the down axis.", "rad", ge=0.0)
    rate_sigma_rad_s: EachAxis = entry(
        (0.005, 0.005, 0.005), "White noise of the body rates, one number or one per axis.", "rad/s", ge=0.0
    )
    bias_tau_s: float = entry(50.0, "Correlation time of the biases.", "s", gt=0.0)
    pos_bias_sigma_m: EachAxis = entry(
        (0.0, 0.0, 0.0),
        "Standard deviation of the position's Gauss-Markov bias in steady state, one number or one per axis.",
        "m",
        ge=0.0,
    )
    vel_bias_sigma_mps: EachAxis = entry(
        (0.0, 0.0, 0.0), "Standard deviation of the velocity bias, one number or one per axis.", "m/s", ge=0.0
    )
    yaw_bias_sigma_rad: float = entry(0.0, "Standard deviation of the yaw bias.", "rad", ge=0.0)
    rate_bias_sigma_rad_s: EachAxis = entry(
        (0.001, 0.001, 0.001), "Standard deviation of the body-rate bias, one number or one per axis.", "rad/s", ge=0.0
    )
    delay_s: Seconds = entry(0.008, f"Delay, a whole number of autopilot ticks, at most {MAX_DELAY_TICKS}.", "s")
    dt_est_s: Period | None = entry(None, "Must equal the period of the autopilot, which is the default.", "s")
    options: Options = options_entry("kind")
    python_dir: str | None = folder_entry("kind")

    def delay_ticks(self, period_us: int) -> int:
        """Return the delay in autopilot ticks; raise `TimeError` if it is not a whole number or too long."""
        return (
            0
            if self.kind != "noisy_delayed"
            else ticks_of(self.delay_s, "estimator.delay_s", period_us, MAX_DELAY_TICKS)
        )

    def write(self, rec: Any, seed: int, period_us: int) -> None:
        """Write the initial `ESTIMATOR` record; the period is that of the autopilot."""
        period_s = check_us("autopilot period", period_us, minimum=1) / 1e6
        rec["bias_decay"], root = gauss_markov(period_us, self.bias_tau_s)
        rec["kind"] = number_of(self.kind, KINDS, "estimator.kind")
        rec["period_s"], rec["delay_ticks"] = period_s, self.delay_ticks(period_us)
        for name in SIGMAS:
            rec[_field(name)] = getattr(self, name)
        for name in BIASES:
            rec[_field(name)] = np.multiply(getattr(self, name), root)
        for what, names in (("noise", SIGMAS), ("bias", BIASES)):
            pos, vel, yaw, rate = (np.any(getattr(self, name)) for name in names)
            rec[f"has_pos_{what}"], rec[f"has_vel_{what}"], rec[f"has_rate_{what}"] = pos or yaw, vel, rate
        for name in (*STATES.split(), "noise_ahead", "bias_ahead"):
            rec[name] = np.zeros((), rec.dtype[name])
        self.write_keys(rec, seed)

    def write_keys(self, rec: Any, seed: int) -> None:
        """Write the part of an `ESTIMATOR` record that depends on the seed."""
        rec["noise_key"], rec["bias_key"] = stream_key(seed, "estimator"), stream_key(seed, "estimator_bias")


def _field(key: str) -> str:
    """Return the field of the record for a key of noise or bias."""
    return key.replace("mps", "m_s").replace("bias_sigma", "bias_gain")


def check_rigid_body(plant: Any) -> None:
    """Raise `InputError` unless the state of a `PLANT` record starts with that of a rigid body."""
    sizes = (plant["group_stop"] - plant["group_start"]).tolist()
    if sizes[:4] != [3, 3, 4, 3]:
        has = ", ".join(f"{size} {name}" for name, size in zip(layout.GROUPS, sizes, strict=True) if size) or "none"
        raise InputError(
            "an Estimator needs a plant with position, velocity, attitude and rates (3 pos, 3 vel, 4 att, 3 omega "
            f"states); this one has {has}. Use an aircraft, or a Python object as the estimator"
        )
