"""The recorded streams: the scenario is stored only where it changes, and a replay is still bit-identical."""

from dataclasses import replace

import numpy as np
import pytest
from fleet import iris
from scenario_flight import everything, simulation

from px4lockstep.engine import buffers
from px4lockstep.engine.log_layout import WHOLE, layout_of
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario

PLANT = Oscillator(wind_gain=1.0)
TIMELINE = Timeline(3_000_000, log=Periodic(10_000), physics=Periodic(1_000))


class Blows:
    """A scenario whose wind changes at every boundary, or less often."""

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


def test_the_scenario_is_stored_where_it_changes():
    """It has one row for the first boundary and one for each event that fires."""
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
    """It covers all triggers and actions, including Python ones. A recording of the replay has the same streams."""
    sim = everything(record=True).run()
    again = Simulation(
        iris(pos_ned=(0.0, 0.0, -50.0)), sim.timeline, integrator=sim.integrator, replay=sim.streams, record=True
    ).run()
    assert again.digest() == sim.digest()
    whole = layout_of(WHOLE)  # the replay knows which faults occur; the flight could not, because of its functions
    ours, theirs = (whole.rows(whole.words_of(each.log))["inputs"]["faults"] for each in (again, sim))
    assert ours.tobytes() == theirs.tobytes()
    for name in ("commands", "winds", "scenarios", "scenario_at"):
        assert getattr(again.streams, name).tobytes() == getattr(sim.streams, name).tobytes()


def test_a_crash_is_replayed():
    """The replay ends at the same time as the flight."""
    aircraft = iris(pos_ned=(0.0, 0.0, -3.0))
    sim = simulation(Scenario().arm(at_s=0.01), 3.0, command=0.0, aircraft=aircraft, record=True).run()
    assert sim.is_crashed
    again = Simulation(aircraft, sim.timeline, integrator=sim.integrator, replay=sim.streams).run()
    assert again.is_crashed
    assert again.time_us == sim.time_us
    assert again.digest() == sim.digest()


@pytest.mark.parametrize("rows", [1, 2, 1_000, 3_001])
def test_buffers_grow_if_the_scenario_changes_at_every_boundary(rows, monkeypatch):
    """The loop returns within a boundary to extend the buffers, which changes neither the flight nor its replay."""
    monkeypatch.setattr(buffers, "FIRST_CHANGES", rows)
    sim = recorded(Blows()).run()
    assert np.array_equal(sim.streams.scenario_at, np.arange(3_002))
    monkeypatch.undo()
    assert sim.digest() == recorded(Blows()).run().digest()
    assert replayed(sim).digest() == sim.digest()
    assert sim._sources["scenario"].calls == 3_001


def test_a_scenario_that_rarely_changes_has_few_rows():
    """The outputs of a Python scenario are compared bit for bit with those of the previous boundary."""
    sim = recorded(Blows(every_us=100_000)).run()
    assert len(sim.streams.scenarios) == 31
    assert replayed(sim).digest() == sim.digest()
    assert replayed(sim).statistics.python_calls == 0


def test_the_sign_of_a_zero_is_a_change():
    """The digest covers the sign of a zero too."""
    sim = recorded(Signs()).run()
    # -0.0 at multiples of 20 ms, 0.0 one boundary later
    assert len(sim.streams.scenarios) == 2 * 150 + 1
    assert replayed(sim).digest() == sim.digest()


@pytest.mark.parametrize("rows", [4, 1_024])
def test_snapshots_contain_the_scenario_stream(rows, monkeypatch):
    """Restored in a simulation with smaller buffers and in the original one, it gives the same result."""
    whole = recorded(Blows(every_us=7_000)).run()
    sim = recorded(Blows(every_us=7_000)).run(until_us=2_000_000)
    snapshot = sim.snapshot()
    sim.run()
    monkeypatch.setattr(buffers, "FIRST_CHANGES", rows)
    other = recorded(Blows(every_us=7_000))
    for one in (sim, other):
        one.restore(snapshot)
        one.run()
        assert one.digest() == whole.digest()
        assert one.streams.scenarios.tobytes() == whole.streams.scenarios.tobytes()
        assert one.streams.scenario_at.tobytes() == whole.streams.scenario_at.tobytes()
    assert replayed(sim).digest() == whole.digest()


def test_a_change_after_restoring_a_snapshot_is_detected():
    """The new outputs equal those before the snapshot was restored, but differ from those in the snapshot."""

    class Steps:
        """Writes 0, and 1 from 1 s on; after a snapshot is restored, always 1."""

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


def test_a_replay_continues_from_a_snapshot():
    """The snapshot contains the position in the stream."""
    sim = recorded(Blows(every_us=9_000)).run()
    half = Simulation(PLANT, TIMELINE, replay=sim.streams).run(until_us=1_000_000)
    other = Simulation(PLANT, TIMELINE, replay=sim.streams)
    other.restore(half.snapshot())
    assert other.run().digest() == sim.digest()


def test_streams_that_do_not_cover_the_run_are_refused():
    """A run that was stopped early, and inconsistent streams."""
    half = recorded(Blows()).run(until_us=1_000_000)
    with pytest.raises(InputError, match="'scenarios' covers 1000 boundaries; the timeline has 3001"):
        replayed(half)
    streams = recorded(Blows(every_us=1_000_000)).run().streams
    for at in ([0, 1000, 3001], [1, 1000, 2000, 3000, 3001], [0, 2000, 1000, 3000, 3001]):
        with pytest.raises(InputError, match="'scenario_at' must increase from 0 and have one value more than the 4"):
            Simulation(PLANT, TIMELINE, replay=replace(streams, scenario_at=np.array(at)))
    with pytest.raises(InputError, match="the layout of stream 'scenario_at' differs from this version's"):
        Simulation(PLANT, TIMELINE, replay=replace(streams, scenario_at=streams.scenario_at.astype(float)))


def test_exceeding_the_memory_limit_is_an_error(monkeypatch):
    """The run must not make the machine swap."""
    sim = recorded(Blows())
    monkeypatch.setattr(buffers, "MAX_BYTES", 1_000_000)
    with pytest.raises(InputError, match="the scenario changes so often"):
        sim.run()


TICKING = Timeline(100_000, autopilot=Periodic(4_000), wind=Periodic(2_000), log=Periodic(10_000))


def ticking_streams(timeline=TICKING):
    """Return the streams of a run with autopilot and wind axes, whose scenario changes twice."""
    return Simulation(PLANT, timeline, scenario=Blows(every_us=40_000), record=True).run().streams


def without_last(array):
    return array[:-1]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("time_us", without_last, "must have at least two times, strictly increasing, each with its due axes"),
        ("due", without_last, "each with its due axes"),
        ("time_us", lambda times: times[::-1], "strictly increasing"),
        ("time_us", lambda times: np.where(times == 4_000, 2_000, times), "strictly increasing"),
        ("commands", without_last, "'commands' has 25 rows; the timeline needs 26"),
        ("winds", without_last, "'winds' has 50 rows; the timeline needs 51"),
        ("winds", lambda winds: np.repeat(winds, 2), "'winds' has 102 rows; the timeline needs 51"),
        ("commands", lambda commands: commands["motors"], "the layout of stream 'commands' differs"),
        ("winds", lambda winds: winds.astype(winds.dtype.newbyteorder(">")), "the layout of stream 'winds' differs"),
        ("scenarios", without_last, "'scenario_at' must increase from 0 and have one value more than the 2 rows"),
        ("scenario_at", without_last, "'scenario_at' must increase from 0 and have one value more than the 3 rows"),
        ("scenario_at", lambda at: at + 1, "'scenario_at' must increase from 0"),
        ("scenario_at", lambda at: at[[0, 2, 1, 3]], "'scenario_at' must increase from 0"),
        (
            "scenario_at",
            lambda at: at + 5 * (np.arange(4) == 3),
            "'scenarios' covers 56 boundaries; the timeline has 51",
        ),
        ("gusts", lambda gusts: np.repeat(gusts, 2), "'gusts' has 2 rows; it must have 1"),
        ("gusts", lambda gusts: gusts[:0], "'gusts' has 0 rows; it must have 1"),
    ],
)
def test_inconsistent_streams_are_refused(name, change, message):
    """Each part is changed separately."""
    streams = ticking_streams()
    streams.check()
    with pytest.raises(InputError, match=message):
        replace(streams, **{name: change(getattr(streams, name))}).check()


@pytest.mark.parametrize("physics_us", [2_000, 1_000, 500])
def test_streams_can_move_to_a_timeline_with_other_physics_steps(physics_us):
    """All streams keep their times, including the changes of the scenario."""
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
def test_streams_cannot_move_to_other_axes(axes, axis):
    """The message names the first axis that ticks at other times."""
    other = {"autopilot": Periodic(4_000), "wind": Periodic(2_000), "log": Periodic(10_000)} | axes
    with pytest.raises(InputError, match=f"the {axis} axis ticks at other times than in the recording"):
        ticking_streams().on(Timeline(100_000, **other))


def test_a_change_at_a_physics_step_needs_that_step():
    """The scenario changes at every boundary, and the timeline lacks some of them."""
    streams = Simulation(PLANT, TIMELINE, scenario=Blows(), record=True).run().streams
    with pytest.raises(InputError, match="the scenario changed at a physics step that is not in the timeline"):
        streams.on(Timeline(3_000_000, log=Periodic(10_000)))
