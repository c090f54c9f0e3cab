"""A kernel that runs the estimator in a loop."""

import hashlib

import numpy as np

from px4lockstep.engine.bus import ESTIMATE, SCENARIO_OUT
from px4lockstep.estimation.estimator import ESTIMATOR, Estimator, step_estimator
from px4lockstep.jit import kernel, rows
from px4lockstep.plant.layout import SENSOR_FAULT_EST_FREEZE, STATE

PERIOD_US = 4_000


@kernel
def run_estimator(estimators, states, scenarios, estimates, out):
    """Run the estimator once per state and store each estimate; a single state or scenario applies to every tick."""
    for k in range(len(out)):
        step_estimator(
            estimators[0], states[min(k, len(states) - 1)], scenarios[min(k, len(scenarios) - 1)], estimates[0]
        )
        out[k] = estimates[0]


def write_estimator(estimator, seed=1, period_us=PERIOD_US):
    """Return a record with an estimator, before its first tick."""
    estimators = np.zeros(1, ESTIMATOR)
    estimator.write(estimators[0], seed, period_us)
    return estimators


def states_of(x):
    """Return plant states that start with the rows of x; without an attitude, level and heading north."""
    states = np.zeros(len(x), STATE)
    states["x"][:, 6] = 1.0
    states["x"][:, : x.shape[1]] = x
    return states


def scenarios_of(count, *faults):
    """Return scenarios, one per tick: each fault is (first tick, end tick, name, value), such as `bias.yaw`."""
    scenarios = np.zeros(count, SCENARIO_OUT)
    for first, end, name, value in faults:
        if name == "freeze":
            scenarios["faults"]["sensor_fault_mask"][first:end] = SENSOR_FAULT_EST_FREEZE * value
            continue
        field = scenarios["estimate_faults"]
        for part in name.split("."):
            field = field[part]
        field[first:end] = value
    return scenarios


def estimate(estimator, states, scenarios=None, *, count=None, seed=1, period_us=PERIOD_US, estimators=None):
    """Return the estimates of a motion, one per tick; a given record continues from its state."""
    if estimators is None:
        estimators = write_estimator(estimator, seed, period_us)
    if scenarios is None:
        scenarios = np.zeros(1, SCENARIO_OUT)
    out = np.zeros(count or len(states), ESTIMATE)
    run_estimator(rows(estimators), rows(states), rows(scenarios), rows(np.zeros(1, ESTIMATE)), rows(out))
    return out


def tumbling(count):
    """Return states of every sign and attitude, including zeros of both signs."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(count, 13)) * 10.0
    x[rng.random(x.shape) < 0.1] = 0.0
    x[rng.random(x.shape) < 0.1] = -0.0
    x[:, 6] += 20.0  # so that there is an attitude
    x[:, 6:10] /= np.linalg.norm(x[:, 6:10], axis=1)[:, None]
    return states_of(x)


EVERY_ERROR = Estimator(
    "noisy_delayed", pos_bias_sigma_m=0.3, vel_bias_sigma_mps=0.1, yaw_bias_sigma_rad=2.0, bias_tau_s=0.1
)


def hash_results():
    """Return the hash over both kinds, with and without each fault."""
    states = tumbling(100)
    faults = scenarios_of(
        100,
        (20, 60, "bias.pos_ned", (1.0, -2.0, 0.1)),
        (25, 70, "bias.yaw", -3.0),
        (30, 50, "drift.vel_ned", (0.1, 0.2, -0.3)),
        (40, 90, "drift.yaw", 0.7),
        (45, 80, "drift.omega_body", (0.1, 0.0, -0.2)),
        (10, 15, "dropout", 1),
        (75, 85, "dropout", 1),
        (65, 78, "freeze", 1),
    )
    kinds = (Estimator(), Estimator("noisy_delayed"), EVERY_ERROR)
    results = [estimate(kind, states, scenarios, seed=7) for kind in kinds for scenarios in (None, faults)]
    digest = hashlib.sha256()
    for result in results:
        digest.update(result.tobytes())
    return digest.hexdigest()


def digest_lines():
    """Yield the hash, as a line."""
    yield hash_results()
