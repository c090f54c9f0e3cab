"""The pace of a flight: it sleeps as long as needed, does not hurry after a delay, and changes no result."""

import pytest

from px4lockstep.engine import pace as module
from px4lockstep.engine.pace import MAX_LAG_S, NAP_S, Pace
from px4lockstep.flights.run import simulate


class Clock:
    """A clock that only sleeping and `work` advance."""

    def __init__(self):
        self.now_s, self.naps = 100.0, []

    def perf_counter(self):
        return self.now_s

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.now_s += seconds

    def work(self, seconds):
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.mark.parametrize("factor", [0.1, 1.0, 5.0])
def test_simulated_time_passes_at_the_pace(clock, factor):
    """After 100 slices, each with some work, to a microsecond."""
    pace, start_s, idled = Pace(factor), clock.now_s, []
    for _ in range(100):
        clock.work(0.003)
        pace.wait(pace.slice_us, lambda: idled.append(clock.now_s))
    simulated_s = 100 * pace.slice_us / 1e6
    assert clock.now_s - start_s == pytest.approx(simulated_s / factor + 0.003, abs=1e-6)
    assert pace.slept_s == pytest.approx(sum(clock.naps), abs=1e-9)
    assert pace.lost_s == 0.0
    assert len(idled) >= 100


def test_a_long_sleep_is_divided(clock):
    """So that an interrupt is noticed."""
    idled = []
    Pace(0.01).wait(10_000, lambda: idled.append(clock.now_s))
    assert max(clock.naps) == NAP_S
    assert len(idled) >= 10


def test_time_that_is_lost_is_not_made_up(clock):
    """After a delay of two seconds, all but the allowed lag stays lost."""
    pace = Pace(1.0)
    pace.wait(10_000)
    clock.work(2.0)
    pace.wait(10_000)
    assert pace.lost_s == pytest.approx(2.0 - 0.01 - MAX_LAG_S, abs=1e-9)
    before_s = clock.now_s
    for _ in range(100):
        pace.wait(10_000)
    assert clock.now_s - before_s == pytest.approx(1.0 - MAX_LAG_S, abs=1e-9)


def test_a_paced_flight_has_the_same_digest():
    """And takes at least as long as the pace says; the speed of the loop is reported without the sleep."""
    options = {"timeline.t_end_s": 2.0, "scenario.arm_time_s": 0.2, "scenario.mission_time_s": 0.4}
    fast, paced = (
        simulate("iris", overrides=options),
        simulate("iris", overrides=options | {"run.realtime_factor": 8.0}),
    )
    assert paced.digest == fast.digest
    assert paced.simulation.live_digest() == fast.simulation.live_digest()
    assert paced.simulation.streams.commands.tobytes() == fast.simulation.streams.commands.tobytes()
    assert fast.summary.paced_s is None
    assert 0.0 < paced.summary.paced_s <= 0.3
    assert paced.summary.wall_s < 2.0 / 8.0
    assert paced.summary.realtime_factor > 8.0
    watched = []
    again = simulate(
        "iris", watch=lambda now: watched.append(now.time_us), overrides=options | {"run.realtime_factor": 8.0}
    )
    assert again.digest == fast.digest
    assert watched == [1_000_000, 2_000_000]


def test_a_pace_that_is_too_fast_is_a_warning(monkeypatch):
    """The lost time is counted."""
    monkeypatch.setattr("px4lockstep.flights.run.LATE_S", -1.0)
    run = simulate("iris", overrides={"timeline.t_end_s": 0.1, "run.realtime_factor": 500.0})
    assert "run.realtime_factor = 500 was not reached: the flight took 0.0 s longer" in run.summary.warnings
