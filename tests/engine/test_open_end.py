"""Runs with a requested end and runs in several chunks are bit-identical to a run with a fixed end."""

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
    """Return a simulation of a vehicle that falls in wind from a great height."""
    scenario = Scenario().at(0.123456).wind_step((1.0, 0.0, 0.0)).at(0.7).disable_motor(1)
    plant = iris(pos_ned=(0.0, 0.0, -500.0))
    options = {"record": True, "seed": 3} | options
    return Simulation(plant, timeline(end_us), wind=Wind("ou"), scenario=scenario, **options)


@pytest.fixture
def chunks(monkeypatch):
    """Use chunks of a few hundred boundaries."""
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
    """A hook that requests the end of the run at a given time."""

    def __init__(self, time_us):
        self.time_us = time_us
        self.simulation = None

    def step(self, time_us, inputs):
        if time_us == self.time_us:
            self.simulation.request_end()


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("until_us", [None, 1_000, 777_777])
def test_results_do_not_depend_on_where_the_buffers_are(until_us, tmp_path):
    """In memory and in files, with one or several calls of `run`."""
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


def test_a_run_in_chunks_is_identical_to_one_without(chunks, monkeypatch):
    """The result does not depend on the size of a chunk."""
    pieces = falling().run()
    monkeypatch.undo()
    whole = falling()
    assert whole._buffers.is_complete
    assert_same(pieces, whole.run())


@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_end_requested_between_two_calls_is_the_next_boundary(is_chunked, request):
    """A fixed end at that boundary gives the same run, and the replay has the same digest."""
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
def test_an_end_requested_by_a_hook_is_the_following_boundary(at_us, is_chunked, request):
    """The stages of the current boundary have begun. The next one has a row of the log only because it is the end."""
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


def test_an_end_requested_before_the_start_leaves_two_boundaries():
    """A timeline always has a start and an end."""
    simulation = falling()
    simulation.request_end()
    assert_same(simulation.run(), falling(300).run())


def test_an_end_requested_by_another_thread_is_recorded():
    """It is before the end of the timeline, and a fixed end at that time gives the same run."""
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


def test_restoring_a_snapshot_cancels_the_requested_end(chunks):
    """A restored snapshot runs to the end of the timeline, in the same simulation and in another."""
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


def test_short_streams_of_another_flight_are_refused():
    """All boundaries of the streams must match the timeline."""
    streams = falling(1_000_000).run().streams
    times = Timeline(BOUND_US, autopilot=Periodic(4_000), wind=Periodic(1_000), log=Periodic(10_000))
    with pytest.raises(InputError, match="the streams are from another timeline"):
        Simulation(iris(pos_ned=(0.0, 0.0, -500.0)), times, replay=streams)
    with pytest.raises(InputError, match=r"another timeline: \d+ boundaries to 1000000 us, not \d+ to 500000 us"):
        Simulation(iris(pos_ned=(0.0, 0.0, -500.0)), timeline(500_000), replay=streams)
