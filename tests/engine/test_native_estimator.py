"""The estimator inside the loop."""

import numpy as np
import pytest
from fleet import iris

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plant.layout import SENSOR_FAULT_EST_FREEZE
from px4lockstep.plant.models import FreeFall, Oscillator, TorqueFreeBody

TICK_US = 4_000
TIMELINE = Timeline(
    200_000,
    autopilot=Periodic(TICK_US),
    wind=Periodic(1_000),
    log=Periodic(TICK_US),
    scenario=Explicit((50_001, 102_000)),
)
NOISY = Estimator("noisy_delayed")


class Faults:
    """A bias whose start and end are not autopilot ticks, a drift, a dropout and a freeze."""

    def step(self, time_us, inputs, outputs):
        outputs.estimate_faults.bias.pos_ned[0] = 2.0 if 50_001 <= time_us < 102_000 else 0.0
        outputs.estimate_faults.drift.vel_ned[1] = 0.5 if time_us >= 80_000 else 0.0
        outputs.estimate_faults.dropout = 120_000 <= time_us < 140_000
        outputs.faults.sensor_fault_mask = SENSOR_FAULT_EST_FREEZE if 160_000 <= time_us < 180_000 else 0


class Push:
    """Motor commands that tip the aircraft over."""

    def step(self, time_us, inputs, outputs):
        outputs.motors[:4] = (0.9, 0.7, 0.8, 0.6)


def fly(estimator=NOISY, *, seed=3, **options):
    """Return a simulation of the Iris in wind, before its start."""
    return Simulation(
        iris(pos_ned=(0.0, 0.0, -20.0)),
        TIMELINE,
        integrator=Integrator("RK4"),
        estimator=estimator,
        seed=seed,
        validate="paranoid",
        **({"wind": Wind("ou"), "autopilot": Push()} | options),
    )


def estimates_of(sim):
    """Return the logged estimates as rows of 13 numbers, in the order of the state."""
    estimates = sim.log["bus"]["estimate"]
    return np.hstack([estimates[name] for name in ("pos_ned", "vel_ned", "q_bn", "omega_body")])


def test_truth_is_the_state_at_the_same_boundary():
    """They are bit-identical in every row of the log, including the first."""
    sim = fly(Estimator()).run()
    assert estimates_of(sim).tobytes() == sim.log_state[:, :13].tobytes()
    assert np.ptp(sim.log_state[:, :13], axis=0).min() > 0.0
    assert (sim.log["bus"]["estimate"]["is_valid"] == 1.0).all()


def test_the_delay_counts_autopilot_ticks():
    """8 ms are exactly two ticks of 4 ms; boundaries between ticks do not count."""
    without_noise = Estimator(
        "noisy_delayed",
        pos_sigma_m=0.0,
        vel_sigma_mps=0.0,
        yaw_sigma_rad=0.0,
        rate_sigma_rad_s=0.0,
        rate_bias_sigma_rad_s=0.0,
    )
    sim = fly(without_noise).run()
    assert (estimates_of(sim)[2:] == sim.log_state[:-2, :13]).all()
    assert (estimates_of(sim)[:2] == sim.log_state[:2, :13]).all()


def test_the_autopilot_sees_the_estimate_of_its_own_tick():
    """The estimator runs before it, at the same boundary."""
    seen = []

    class Look:
        def step(self, time_us, inputs, outputs):
            seen.append((inputs.bus.estimate.pos_ned[2], inputs.plant["pos"][2]))

    fly(Estimator(), autopilot=Look()).run()
    assert len(seen) == 51
    assert all(estimate == true for estimate, true in seen)


@pytest.mark.parametrize("estimator", [Estimator(), NOISY], ids=lambda kind: kind.kind)
def test_estimate_faults_take_effect_at_the_next_autopilot_tick(estimator):
    """A fault that is set or cleared between two ticks takes effect at the next tick."""
    alone, faulty = (fly(estimator, scenario=scenario).run() for scenario in (None, Faults()))
    time_us = alone.log["time_us"].astype(int)
    north, north_with = (sim.log["bus"]["estimate"]["pos_ned"][:, 0] for sim in (alone, faulty))
    is_biased = (time_us >= 52_000) & (time_us < 104_000)
    is_held = (time_us >= 120_000) & (time_us < 140_000) | (time_us >= 160_000) & (time_us < 180_000)
    assert (north_with[~is_biased & ~is_held] == north[~is_biased & ~is_held]).all()
    assert (north_with[is_biased] == north[is_biased] + 2.0).all()
    valid = faulty.log["bus"]["estimate"]["is_valid"]
    assert (valid == np.where((time_us >= 120_000) & (time_us < 140_000), 0.0, 1.0)).all()
    frozen = estimates_of(faulty)[(time_us >= 156_000) & (time_us < 180_000)]
    assert (frozen == frozen[0]).all()


def test_a_run_resumed_from_a_snapshot_is_bit_identical():
    """Noise, bias, ring and drift are in the records: the digests agree, also in another simulation."""
    whole = fly(scenario=Faults()).run()
    half = fly(scenario=Faults()).run(until_us=101_000)
    saved = half.snapshot()
    half.run()
    elsewhere = fly(scenario=Faults())
    elsewhere.restore(saved)
    again = (half.live_digest(), half.digest())
    half.restore(saved)
    for sim in (half.run(), elsewhere.run()):
        assert (sim.live_digest(), sim.digest()) == again == (whole.live_digest(), whole.digest())


def test_a_snapshot_of_another_estimator_is_refused():
    """Only the configuration is compared, not the state."""
    saved = fly().run(until_us=101_000).snapshot()
    fly().restore(saved)
    with pytest.raises(InputError, match="a different configuration: estimator"):
        fly(Estimator("noisy_delayed", pos_sigma_m=0.03)).restore(saved)


def test_the_seed_changes_the_estimate_but_not_the_flight():
    """This autopilot ignores the estimate. Without wind, only the estimates differ, not the flights."""
    first, again, other = (fly(seed=seed, wind=None).run() for seed in (1, 1, 2))
    assert first.live_digest() == again.live_digest() != other.live_digest()
    assert first.digest() == again.digest() == other.digest()


def test_the_estimator_changes_no_other_noise():
    """The wind is bit-identical with and without an estimator."""
    assert (fly().run().log["inputs"]["wind_ned"] == fly(None).run().log["inputs"]["wind_ned"]).all()


def test_an_estimator_can_run_in_a_replay():
    """Its estimates are those of the live run, including faults."""
    live = fly(scenario=Faults(), record=True).run()
    replayed = Simulation(
        iris(pos_ned=(0.0, 0.0, -20.0)),
        TIMELINE,
        integrator=Integrator("RK4"),
        estimator=NOISY,
        seed=3,
        replay=live.streams,
    ).run()
    assert replayed.live_digest() == live.live_digest()
    assert replayed.digest() == live.digest()


def test_an_estimate_that_is_not_written_is_level_and_valid():
    """Without an estimator, and for fields that a Python estimator does not write."""

    class OnlyPosition:
        def step(self, time_us, inputs, outputs):
            outputs.pos_ned[:] = inputs.plant["pos"]

    for estimator in (None, OnlyPosition()):
        estimate = fly(estimator).run().bus.estimate
        assert estimate.q_bn.tolist() == [1.0, 0.0, 0.0, 0.0]
        assert estimate.is_valid == 1.0


@pytest.mark.parametrize(
    ("plant", "has"),
    [
        (None, "none"),
        (Oscillator(), "1 pos, 1 vel"),
        (FreeFall(), "3 pos, 3 vel"),
        (TorqueFreeBody(), "4 att, 3 omega"),
    ],
)
def test_a_plant_that_is_not_a_rigid_body_is_refused(plant, has):
    """It is rejected before the first boundary; the message has its states and a remedy."""
    with pytest.raises(InputError) as caught:
        Simulation(plant, TIMELINE, estimator=Estimator())
    assert str(caught.value) == (
        "an Estimator needs a plant with position, velocity, attitude and rates (3 pos, 3 vel, 4 att, 3 omega states); "
        f"this one has {has}. Use an aircraft, or a Python object as the estimator"
    )


def test_a_delay_that_does_not_fit_the_autopilot_axis_is_refused():
    """The message suggests the nearest valid delays."""
    with pytest.raises(InputError, match=r"use 0\.008 or 0\.012"):
        fly(Estimator("noisy_delayed", delay_s=0.01))


def test_an_estimator_needs_an_autopilot_axis():
    """Otherwise it would never run."""
    with pytest.raises(InputError, match="the timeline has no autopilot axis"):
        Simulation(iris(), Timeline(1_000, log=Periodic(100)), estimator=Estimator())


def test_an_estimator_cannot_replace_another_stage():
    """An estimator cannot be used as the wind."""
    with pytest.raises(InputError, match="has no method step"):
        Simulation(iris(), TIMELINE, wind=Estimator())
