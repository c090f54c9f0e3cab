"""Runs whose end is decided on the way, and runs in several chunks: bit for bit the run with a fixed end."""

import threading

import numpy as np
import pytest
from fleet import iris

from px4lockstep.engine import buffers
from px4lockstep.engine import timeline as tl
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.log.rows import hold_rows, read_rows
from px4lockstep.scenario.scenario import Scenario

BOUND_US = 3_000_000
EVENTS_US = (123_456, 700_000, 2_900_000)


def timeline(end_us=BOUND_US):
    return Timeline(
        end_us,
        autopilot=Periodic(4_000),
        wind=Periodic(1_000, phase_us=300),
        log=Periodic(10_000),
        scenario=Explicit(tuple(time_us for time_us in EVENTS_US if time_us <= end_us)),
    )


def falling(end_us=BOUND_US, **options):
    """A vehicle that falls in a wind, from high above."""
    scenario = Scenario().at(0.123456).wind_step((1.0, 0.0, 0.0)).at(0.7).disable_motor(1)
    plant = iris(pos_ned=(0.0, 0.0, -500.0))
    options = {"record": True, "seed": 3} | options
    return Simulation(plant, timeline(end_us), wind=Wind("ou"), scenario=scenario, **options)


@pytest.fixture
def chunks(monkeypatch):
    """Chunks of some hundred boundaries."""
    monkeypatch.setattr(buffers, "WHOLE_BYTES", 0)
    monkeypatch.setattr(buffers, "CHUNK_BOUNDARIES", 300)


def assert_same(found, wanted):
    assert found.is_done
    assert found.time_us == wanted.time_us
    assert found.digest() == wanted.digest()
    assert found.live_digest() == wanted.live_digest()
    assert found.log.tobytes() == wanted.log.tobytes()
    assert found.fingerprints.tobytes() == wanted.fingerprints.tobytes()
    assert found.checkpoints.tobytes() == wanted.checkpoints.tobytes()
    for name in ("time_us", "due", "commands", "winds", "scenarios", "scenario_at"):
        assert getattr(found.streams, name).tobytes() == getattr(wanted.streams, name).tobytes(), name


class EndsAt:
    """A hook on the wind axis that asks for the end at a time."""

    def __init__(self, time_us):
        self.time_us = time_us
        self.simulation = None

    def step(self, time_us, inputs):
        if time_us == self.time_us:
            self.simulation.request_end()


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("until_us", [None, 1_000, 777_777])
def test_chunks_do_not_show(until_us, tmp_path):
    """In memory and in files, in one go and in pieces."""
    in_memory, in_files = falling(), falling()
    assert not in_memory._buffers.is_complete
    hold_rows(in_files, tmp_path / "rows")
    for simulation in (in_memory, in_files):
        if until_us is not None:
            for time_us in range(until_us, BOUND_US, until_us):
                simulation.run(time_us)
                assert simulation.time_us >= time_us
                assert len(simulation.log) == -(-simulation.time_us // 10_000)
        simulation.run()
    assert_same(in_memory, in_files)
    assert read_rows(tmp_path / "rows").rows == len(in_files.log) == 301


def test_a_run_in_chunks_is_the_run_in_one(chunks, monkeypatch):
    """The same bits, whatever the size of a chunk."""
    pieces = falling().run()
    monkeypatch.undo()
    whole = falling()
    assert whole._buffers.is_complete
    assert_same(pieces, whole.run())


@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_end_between_two_calls_is_the_next_boundary(is_chunked, request):
    """The first that has not begun; a fixed end there gives the same run, which replays to the same digest."""
    if is_chunked:
        request.getfixturevalue("chunks")
    simulation = falling().run(until_us=1_000_000)
    simulation.request_end()
    simulation.run()
    assert simulation.time_us == 1_000_000
    fixed = falling(1_000_000).run()
    assert_same(simulation, fixed)
    assert int(simulation.streams.due[-1]) & tl.LOG
    plant = iris(pos_ned=(0.0, 0.0, -500.0))
    for times in (timeline(), timeline(1_000_000)):
        again = Simulation(plant, times, replay=simulation.streams).run()
        assert again.is_done
        assert again.digest() == fixed.digest()
    simulation.request_end()
    assert_same(simulation.run(), fixed)


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("at_us", [300, 500_300, 123_300])
def test_an_end_from_a_hook_is_the_boundary_after(at_us, is_chunked, request):
    """Its own has begun; that one has no row of the log unless it is the end."""
    if is_chunked:
        request.getfixturevalue("chunks")
    hook = EndsAt(at_us)
    simulation = falling(hooks=[hook], hook_axes=("wind",))
    hook.simulation = simulation
    simulation.run()
    after = timeline().time_us
    end_us = int(after[np.searchsorted(after, at_us, side="right")])
    assert simulation.time_us == simulation.log["time_us"][-1] == end_us
    idle = EndsAt(-1)
    assert_same(simulation, falling(end_us, hooks=[idle], hook_axes=("wind",)).run())


def test_an_end_before_the_first_boundary_leaves_two():
    """A timeline has a start and an end."""
    simulation = falling()
    simulation.request_end()
    assert_same(simulation.run(), falling(300).run())


def test_an_end_from_another_thread_is_recorded_where_it_came():
    """Somewhere before the bound; the fixed end there gives the same run."""
    plant = iris(pos_ned=(0.0, 0.0, -1e6))
    axes = {"autopilot": Periodic(4_000), "log": Periodic(1_000_000), "physics": Periodic(1_000)}
    simulation = Simulation(plant, Timeline(50_000_000_000, **axes))
    timer = threading.Timer(0.5, simulation.request_end)
    timer.start()
    simulation.run()
    timer.join()
    assert simulation.is_done
    assert 0 < simulation.time_us < 50_000_000_000
    fixed = Simulation(plant, Timeline(simulation.time_us, **axes)).run()
    assert simulation.digest() == fixed.digest()


def test_going_back_takes_the_end_back(chunks):
    """A snapshot from before goes on to the end of the timeline, in the same simulation and in another."""
    whole = falling().run()
    simulation = falling().run(until_us=500_000)
    saved = simulation.snapshot()
    simulation.run(until_us=800_000).request_end()
    assert simulation.run().time_us == 800_000
    other = falling()
    for one in (simulation, other):
        one.restore(saved)
        assert not one.is_done
        one.run()
        assert one.digest() == whole.digest()
        assert one.streams.winds.tobytes() == whole.streams.winds.tobytes()


def test_streams_of_another_flight_are_refused_however_short():
    """Up to their end all boundaries must be the timeline's."""
    streams = falling(1_000_000).run().streams
    times = Timeline(BOUND_US, autopilot=Periodic(4_000), wind=Periodic(1_000), log=Periodic(10_000))
    with pytest.raises(InputError, match="the streams are of another timeline"):
        Simulation(iris(pos_ned=(0.0, 0.0, -500.0)), times, replay=streams)
    with pytest.raises(InputError, match=r"another timeline: \d+ boundaries to 1000000 us, not \d+ to 500000 us"):
        Simulation(iris(pos_ned=(0.0, 0.0, -500.0)), timeline(500_000), replay=streams)
