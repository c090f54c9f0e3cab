"""The recorded streams: the scenario is kept where it changes, and a replay shows nothing of that."""

from dataclasses import replace

import numpy as np
import pytest
from fleet import iris
from scenario_flight import everything, simulation

from px4lockstep.engine import buffers
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario

PLANT = Oscillator(wind_gain=1.0)
TIMELINE = Timeline(3_000_000, log=Periodic(10_000), physics=Periodic(1_000))


class Blows:
    """A scenario whose wind changes at every boundary, or at every n-th."""

    def __init__(self, every_us=1_000):
        self.every_us = every_us
        self.calls = 0

    def step(self, time_us, inputs, outputs):
        self.calls += 1
        if time_us % self.every_us == 0:
            outputs.wind_ned[0] = 1e-6 * time_us + 1e-3 * self.calls


class Signs:
    """A scenario that changes nothing but the sign of a zero."""

    def step(self, time_us, inputs, outputs):
        outputs.wind_ned[0] = -0.0 if time_us % 20_000 == 0 else 0.0


def recorded(scenario, **options):
    return Simulation(PLANT, TIMELINE, scenario=scenario, record=True, **options)


def replayed(sim, plant=PLANT, timeline=TIMELINE, **options):
    return Simulation(plant, timeline, replay=sim.streams, **options).run()


def test_a_scenario_is_kept_where_it_changes():
    """Each event that fires, landing and the first boundary: a handful of rows for a hundred boundaries."""
    sim = simulation(Scenario().arm(at_s=0.01).at(0.05).wind_step((3.0, 0.0, 0.0)), record=True).run()
    streams = sim.streams
    times_us = sim.timeline.time_us[streams.scenario_at[:-1]].tolist()
    assert times_us == [0, 10_000, 50_000]
    assert streams.scenario_at[-1] == len(sim.timeline)
    assert streams.scenarios["arm"].tolist() == [0, 1, 1]
    by_boundary = streams.scenario_by_boundary()
    assert len(by_boundary) == len(sim.timeline)
    assert np.array_equal(by_boundary["arm"], sim.timeline.time_us >= 10_000)


def test_a_replay_of_every_event_is_bit_identical():
    """Triggers and actions of every kind, in Python too; recorded again, the replay has the same streams."""
    sim = everything(record=True).run()
    again = Simulation(
        iris(pos_ned=(0.0, 0.0, -50.0)), sim.timeline, integrator=sim.integrator, replay=sim.streams, record=True
    ).run()
    assert again.digest() == sim.digest()
    assert again.log["inputs"]["faults"].tobytes() == sim.log["inputs"]["faults"].tobytes()
    for name in ("commands", "winds", "scenarios", "scenario_at"):
        assert getattr(again.streams, name).tobytes() == getattr(sim.streams, name).tobytes()


def test_a_crash_is_replayed():
    """The scenario ends the replay where it ended the flight."""
    aircraft = iris(pos_ned=(0.0, 0.0, -3.0))
    sim = simulation(Scenario().arm(at_s=0.01), 3.0, command=0.0, aircraft=aircraft, record=True).run()
    assert sim.is_crashed
    again = Simulation(aircraft, sim.timeline, integrator=sim.integrator, replay=sim.streams).run()
    assert again.is_crashed
    assert again.time_us == sim.time_us
    assert again.digest() == sim.digest()


@pytest.mark.parametrize("room", [1, 2, 1_000, 3_001])
def test_a_scenario_that_changes_at_every_boundary_gets_room(room, monkeypatch):
    """The loop leaves for it in the middle of a boundary, and nothing shows: not in the flight, not in its replay."""
    monkeypatch.setattr(buffers, "FIRST_CHANGES", room)
    sim = recorded(Blows()).run()
    assert np.array_equal(sim.streams.scenario_at, np.arange(3_002))
    monkeypatch.undo()
    assert sim.digest() == recorded(Blows()).run().digest()
    assert replayed(sim).digest() == sim.digest()
    assert sim._sources["scenario"].calls == 3_001


def test_a_scenario_that_changes_seldom_needs_little_room():
    """An object in Python is compared to the bit with the boundary before."""
    sim = recorded(Blows(every_us=100_000)).run()
    assert len(sim.streams.scenarios) == 31
    assert replayed(sim).digest() == sim.digest()
    assert replayed(sim).statistics.python_calls == 0


def test_the_sign_of_a_zero_is_a_change():
    """The digest sees it."""
    sim = recorded(Signs()).run()
    # -0.0 at multiples of 20 ms, 0.0 one boundary later
    assert len(sim.streams.scenarios) == 2 * 150 + 1
    assert replayed(sim).digest() == sim.digest()


@pytest.mark.parametrize("room", [4, 1_024])
def test_snapshots_have_the_stream(room, monkeypatch):
    """Restored into a simulation that has less room, and into the one that went on; both end alike."""
    whole = recorded(Blows(every_us=7_000)).run()
    sim = recorded(Blows(every_us=7_000)).run(until_us=2_000_000)
    snapshot = sim.snapshot()
    sim.run()
    monkeypatch.setattr(buffers, "FIRST_CHANGES", room)
    other = recorded(Blows(every_us=7_000))
    for one in (sim, other):
        one.restore(snapshot)
        one.run()
        assert one.digest() == whole.digest()
        assert one.streams.scenarios.tobytes() == whole.streams.scenarios.tobytes()
        assert one.streams.scenario_at.tobytes() == whole.streams.scenario_at.tobytes()
    assert replayed(sim).digest() == whole.digest()


def test_a_change_after_going_back_is_seen():
    """Outputs that are those of the future from which a snapshot went back, but not those of the snapshot."""

    class Steps:
        """Writes 0, and 1 from 1 s on; after going back, 1 at once."""

        def __init__(self):
            self.first_us = [1_000_000]

        def snapshot(self):
            return None

        def restore(self, saved):
            self.first_us = [0]

        def step(self, time_us, inputs, outputs):
            outputs.wind_ned[0] = float(time_us >= self.first_us[0])

    sim = recorded(Steps()).run(until_us=500_000)
    snapshot = sim.snapshot()
    sim.run()
    sim.restore(snapshot)
    sim.run()
    assert TIMELINE.time_us[sim.streams.scenario_at[:-1]].tolist() == [0, 500_000]
    assert replayed(sim).digest() == sim.digest()


def test_a_replay_goes_on_from_a_snapshot():
    """Its place in the stream is part of it."""
    sim = recorded(Blows(every_us=9_000)).run()
    half = Simulation(PLANT, TIMELINE, replay=sim.streams).run(until_us=1_000_000)
    other = Simulation(PLANT, TIMELINE, replay=sim.streams)
    other.restore(half.snapshot())
    assert other.run().digest() == sim.digest()


def test_streams_that_do_not_cover_the_run_are_refused():
    """A run that was stopped, and streams that were put together wrongly."""
    half = recorded(Blows()).run(until_us=1_000_000)
    with pytest.raises(InputError, match="'scenarios' covers 1000 boundaries; the timeline has 3001"):
        replayed(half)
    streams = recorded(Blows(every_us=1_000_000)).run().streams
    for at in ([0, 1000, 3001], [1, 1000, 2000, 3000, 3001], [0, 2000, 1000, 3000, 3001]):
        with pytest.raises(InputError, match="'scenario_at' must rise from 0, with one value more than the 4 rows"):
            Simulation(PLANT, TIMELINE, replay=replace(streams, scenario_at=np.array(at)))
    with pytest.raises(InputError, match="'scenario_at' has another layout"):
        Simulation(PLANT, TIMELINE, replay=replace(streams, scenario_at=streams.scenario_at.astype(float)))


def test_more_than_fits_into_memory_is_an_error(monkeypatch):
    """Not a machine that swaps."""
    sim = recorded(Blows())
    monkeypatch.setattr(buffers, "MAX_BYTES", 1_000_000)
    with pytest.raises(InputError, match="the scenario changes so often"):
        sim.run()


TICKING = Timeline(100_000, autopilot=Periodic(4_000), wind=Periodic(2_000), log=Periodic(10_000))


def ticking_streams(timeline=TICKING):
    """The streams of a run with an autopilot and a wind, whose scenario changes twice."""
    return Simulation(PLANT, timeline, scenario=Blows(every_us=40_000), record=True).run().streams


def without_last(array):
    return array[:-1]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("time_us", without_last, "must rise strictly, two of them at least, each with its axes"),
        ("due", without_last, "each with its axes"),
        ("time_us", lambda times: times[::-1], "must rise strictly"),
        ("time_us", lambda times: np.where(times == 4_000, 2_000, times), "must rise strictly"),
        ("commands", without_last, "'commands' has 25 rows; the timeline needs 26"),
        ("winds", without_last, "'winds' has 50 rows; the timeline needs 51"),
        ("winds", lambda winds: np.repeat(winds, 2), "'winds' has 102 rows; the timeline needs 51"),
        ("commands", lambda commands: commands["motors"], "'commands' has another layout"),
        ("winds", lambda winds: winds.astype(winds.dtype.newbyteorder(">")), "'winds' has another layout"),
        ("scenarios", without_last, "'scenario_at' must rise from 0, with one value more than the 2 rows"),
        ("scenario_at", without_last, "'scenario_at' must rise from 0, with one value more than the 3 rows"),
        ("scenario_at", lambda at: at + 1, "'scenario_at' must rise from 0"),
        ("scenario_at", lambda at: at[[0, 2, 1, 3]], "'scenario_at' must rise from 0"),
        (
            "scenario_at",
            lambda at: at + 5 * (np.arange(4) == 3),
            "'scenarios' covers 56 boundaries; the timeline has 51",
        ),
        ("gusts", lambda gusts: np.repeat(gusts, 2), "'gusts' has 2 rows; it must be 1"),
        ("gusts", lambda gusts: gusts[:0], "'gusts' has 0 rows; it must be 1"),
    ],
)
def test_streams_that_do_not_fit_together_are_refused(name, change, message):
    """Each part, alone."""
    streams = ticking_streams()
    streams.check()
    with pytest.raises(InputError, match=message):
        replace(streams, **{name: change(getattr(streams, name))}).check()


@pytest.mark.parametrize("physics_us", [2_000, 1_000, 500])
def test_streams_go_onto_a_timeline_with_other_physics_steps(physics_us):
    """Every change of the scenario stays at its time, and so does everything else."""
    streams = ticking_streams()
    finer = Timeline(
        100_000,
        autopilot=Periodic(4_000),
        wind=Periodic(2_000),
        log=Periodic(10_000),
        physics=Periodic(physics_us),
    )
    moved = streams.on(finer)
    moved.check()
    assert np.array_equal(moved.time_us, finer.time_us)
    assert moved.scenario_at[-1] == len(finer)
    changes_us = moved.time_us[moved.scenario_at[:-1]]
    assert changes_us.tolist() == streams.time_us[streams.scenario_at[:-1]].tolist() == [0, 40_000, 80_000]
    assert moved.commands is streams.commands
    back = moved.on(TICKING)
    assert np.array_equal(back.scenario_at, streams.scenario_at)
    assert np.array_equal(back.due, streams.due)


@pytest.mark.parametrize(
    ("axes", "axis"),
    [
        ({"autopilot": Periodic(2_000)}, "autopilot"),
        ({"autopilot": Periodic(4_000, phase_us=2_000)}, "autopilot"),
        ({"wind": Periodic(4_000)}, "wind"),
        ({"log": Periodic(20_000)}, "log"),
        ({"scenario": Periodic(50_000)}, "scenario"),
        ({"wind": None}, "wind"),
    ],
)
def test_streams_do_not_go_onto_other_axes(axes, axis):
    """The first that ticks at other times is named."""
    other = {"autopilot": Periodic(4_000), "wind": Periodic(2_000), "log": Periodic(10_000)} | axes
    with pytest.raises(InputError, match=f"the {axis} axis ticks at other times than when the flight was recorded"):
        ticking_streams().on(Timeline(100_000, **other))


def test_a_change_at_a_physics_step_needs_that_step():
    """A scenario that changes at every boundary, on a timeline that lacks some of them."""
    streams = Simulation(PLANT, TIMELINE, scenario=Blows(), record=True).run().streams
    with pytest.raises(InputError, match="the scenario changed at a physics step that the timeline does not have"):
        streams.on(Timeline(3_000_000, log=Periodic(10_000)))
