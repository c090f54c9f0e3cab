"""The same bytes: run to run, process to process, compiled or interpreted, on any CPU target."""

from pathlib import Path

import flown
import numpy as np
import pytest
from flown import FORCED_BODY, INTEGRATORS, TIMELINE, NoisyWind, make

from px4lockstep.engine.simulation import Simulation
from px4lockstep.math.philox import normal4, stream_key

SCRIPT = Path(flown.__file__)


@pytest.fixture(scope="module")
def digests_here():
    return {kind: make(kind).run().digest() for kind in INTEGRATORS}


def test_the_same_run_twice_gives_one_digest(digests_here):
    """In one process, and different for each integrator, so that the digest shows something."""
    assert {kind: make(kind).run().digest() for kind in INTEGRATORS} == digests_here
    assert len(set(digests_here.values())) == len(INTEGRATORS)


@pytest.mark.parametrize(
    "environment",
    [{}, {"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}],
    ids=["fresh process", "interpreted", "generic CPU"],
)
def test_digests_do_not_depend_on_process_jit_or_cpu(python, digests_here, environment):
    """Every integrator, on a plant by address and a shipped one, with noise, events and feedback."""
    lines = [line.split() for line in python(SCRIPT, **environment).stdout.splitlines() if " " in line]
    assert len(lines) == 2 * len(INTEGRATORS)
    assert {kind: digest for kind, digest, _ in lines[::2]} == digests_here


def test_the_seed_changes_the_flight():
    """Otherwise the noise would not be in it."""
    assert make(seed=7).run().digest() != make(seed=8).run().digest()


def test_adding_a_noise_stream_changes_no_other():
    """The wind of a run with an estimator that draws noise is the wind of a run without."""
    with_estimator = make().run()
    alone = Simulation(FORCED_BODY, TIMELINE, wind=NoisyWind(7)).run()
    assert with_estimator.log["bus"]["wind"].tobytes() == alone.log["bus"]["wind"].tobytes()
    key = np.uint64(stream_key(7, "wind"))
    expected = normal4(key, np.int64(0), np.int64(0), np.int64(0))[:3]
    assert alone.log["bus"]["wind"]["vel_ned"][0].tolist() == list(expected)


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_a_snapshot_at_any_boundary_continues_to_the_same_digest(kind, digests_here):
    """Run to a boundary, copy, run on to the end, go back, run again: twice the digest of the uninterrupted run."""
    boundaries = np.linspace(0, len(TIMELINE) - 1, 12).astype(int)
    for boundary in boundaries:
        sim = make(kind)
        sim.run(until_us=int(TIMELINE.time_us[boundary]))
        assert sim.boundary == boundary
        saved = sim.snapshot()
        assert sim.run().digest() == digests_here[kind]
        sim.restore(saved)
        assert sim.boundary == boundary
        assert sim.run().digest() == digests_here[kind]


def test_a_snapshot_continues_in_another_simulation(digests_here):
    """It holds everything: log and streams so far, the sources' own state."""
    first = make(record=True)
    saved = first.run(until_us=200_000).snapshot()
    first.run()
    second = make(seed=99, record=True)
    second.restore(saved)
    assert second.run().digest() == first.digest() == digests_here["RK45"]
    assert second.live_digest() == first.live_digest()
    assert second.streams.winds.tobytes() == first.streams.winds.tobytes()


def test_running_in_pieces_changes_nothing(digests_here):
    """Where a call stops is not a boundary of the flight."""
    sim = make()
    for until_us in range(0, 400_001, 7_001):
        sim.run(until_us=until_us)
    assert sim.run().digest() == digests_here["RK45"]
