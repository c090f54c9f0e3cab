"""Cost of the loop itself: an empty event boundary, a Python stage, the native estimator.

Targets: 0.03 µs per empty boundary, 3 µs per Python stage including the user's method, 0.15 µs per estimator tick.
"""

import pytest
from estimation_bits import estimate, tumbling

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario

EMPTY_BOUNDARIES = 1_000_000
PYTHON_TICKS = 20_000
ESTIMATOR_TICKS = 100_000


class Idle:
    """An autopilot that does almost nothing."""

    def step(self, time_us, inputs, outputs):
        outputs.motors[0] = 0.5


def report_each(benchmark, count, limit_us):
    """Print and save the cost per item and its target."""
    each_us = benchmark.stats.stats.min / count * 1e6
    benchmark.extra_info.update(each_us=each_us, target_us=limit_us)
    print(f"\n  {each_us:.4f} us each, target {limit_us} us")  # noqa: T201 - a benchmark is for reading


def test_empty_boundary(benchmark):
    timeline = Timeline(EMPTY_BOUNDARIES, physics=Periodic(1))

    def prepare():
        return (Simulation(None, timeline),), {}

    benchmark.pedantic(Simulation.run, setup=prepare, rounds=15, warmup_rounds=1)
    report_each(benchmark, EMPTY_BOUNDARIES, 0.03)


def test_scenario_that_waits(benchmark):
    """A boundary with a scenario whose events are in the future, and the check for landing."""
    scenario = Scenario().arm(at_s=0.9).start_mission(at_s=0.99)
    timeline = Timeline(EMPTY_BOUNDARIES, physics=Periodic(1))

    def prepare():
        sim = Simulation(None, timeline, scenario=scenario)
        sim._core["scenario"]["i_pos"], sim._core["scenario"]["i_vel"] = 0, 3
        return (sim,), {}

    benchmark.pedantic(Simulation.run, setup=prepare, rounds=15, warmup_rounds=1)
    report_each(benchmark, EMPTY_BOUNDARIES, 0.03)


def test_python_stage(benchmark):
    timeline = Timeline(PYTHON_TICKS, autopilot=Periodic(1))

    def prepare():
        return (Simulation(None, timeline, autopilot=Idle()),), {}

    benchmark.pedantic(Simulation.run, setup=prepare, rounds=15, warmup_rounds=1)
    report_each(benchmark, PYTHON_TICKS, 3.0)


@pytest.mark.parametrize("kind", ["truth", "noisy_delayed"])
def test_estimator_tick(benchmark, kind):
    states = tumbling(1)

    def run():
        estimate(Estimator(kind), states, count=ESTIMATOR_TICKS)

    benchmark.pedantic(run, rounds=15, warmup_rounds=1)
    report_each(benchmark, ESTIMATOR_TICKS, 0.15)


def test_oscillator_step(benchmark):
    timeline = Timeline(1_000_000, physics=Periodic(10))

    def prepare():
        return (Simulation(Oscillator(), timeline),), {}

    benchmark.pedantic(Simulation.run, setup=prepare, rounds=5, warmup_rounds=1)
