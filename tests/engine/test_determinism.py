"""Runs are bit-identical; `tests/jit/test_bits.py` checks that they do not depend on the compiler."""

import hashlib
import struct

import numpy as np
import pytest
from flown import FORCED_BODY, INTEGRATORS, TIMELINE, NoisyWind, make

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.math.philox import normal4, stream_key
from px4lockstep.plant.models import Oscillator


@pytest.fixture(scope="module")
def digests_here():
    return {kind: make(kind).run().digest() for kind in INTEGRATORS}


def test_repeating_a_run_gives_the_same_digest(digests_here):
    """In one process; each integrator has a different digest, so the comparison is meaningful."""
    assert {kind: make(kind).run().digest() for kind in INTEGRATORS} == digests_here
    assert len(set(digests_here.values())) == len(INTEGRATORS)


def flip_one_bit(part, name, index):
    """Return a hook that flips one bit of the held inputs or of the state, once."""

    class Flip:
        def step(self, time_us, inputs):
            if time_us == 200_000:
                bits = self.core[part][name][0].view(np.int64) if index is not None else self.core[part]["faults"][name]
                bits[index or 0] ^= 1

    return Flip()


@pytest.mark.parametrize(
    ("part", "name", "index"),
    [("state", "x", 9), ("inputs", "wind_ned", 2)]
    + [("inputs", name, None) for name in ("motor_disabled_mask", "battery_disconnected", "sensor_fault_mask")],
)
def test_the_digest_depends_on_every_bit(part, name, index):
    """Changing one bit of one field at one boundary changes the digest."""
    flip = flip_one_bit(part, name, index)
    sim = Simulation(Oscillator() if part == "inputs" else FORCED_BODY, TIMELINE, hooks=[flip])
    flip.core = sim._core
    plain = Simulation(Oscillator() if part == "inputs" else FORCED_BODY, TIMELINE)
    assert sim.run().digest() != plain.run().digest()


class OneCommand:
    def __init__(self, name, index, value):
        self.name, self.index, self.value = name, index, value

    def step(self, time_us, inputs, outputs):
        getattr(outputs, self.name)[self.index] = self.value if time_us == 200_000 else 0.0


@pytest.mark.parametrize(("name", "index"), [("motors", 11), ("servos", 7)])
def test_the_digest_depends_on_every_command(name, index):
    """The smallest positive number on the last channel, at one tick, changes the digest."""
    digests = {
        Simulation(Oscillator(), TIMELINE, autopilot=OneCommand(name, index, value)).run().digest()
        for value in (0.0, 5e-324)
    }
    assert len(digests) == 2


def test_the_digest_has_the_documented_definition():
    """SHA-256 over packed little-endian time, state, motors, servos, wind and faults, with the end appended."""
    sim = Simulation(Oscillator(), Timeline(20_000, log=Periodic(10_000))).run()
    packed = b"".join(
        struct.pack("<Q2d12d8d3d5q24d", int(time_us), *state, *[0.0] * 23, *[0] * 5, *[0.0] * 24)
        for time_us, state in [*zip(sim.log["time_us"], sim.log_state, strict=True), (20_000, sim.plant.x)]
    )
    assert sim.digest() == hashlib.sha256(packed).hexdigest()


def test_the_seed_changes_the_flight():
    """Otherwise the noise would have no effect."""
    assert make(seed=7).run().digest() != make(seed=8).run().digest()


def test_adding_a_noise_stream_changes_no_other():
    """The wind is the same with and without a noisy estimator."""
    with_estimator = make().run()
    alone = Simulation(FORCED_BODY, TIMELINE, wind=NoisyWind(7)).run()
    assert with_estimator.log["bus"]["wind"].tobytes() == alone.log["bus"]["wind"].tobytes()
    key = np.uint64(stream_key(7, "wind"))
    expected = normal4(key, np.int64(0), np.int64(0), np.int64(0))[:3]
    assert alone.log["bus"]["wind"]["vel_ned"][0].tolist() == list(expected)


@pytest.mark.parametrize("kind", INTEGRATORS)
def test_a_snapshot_at_any_boundary_continues_to_the_same_digest(kind, digests_here):
    """Run to a boundary, copy, run to the end, restore, run again: both have the digest of an uninterrupted run."""
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
    """It contains everything: log, streams and the state of the sources."""
    first = make(record=True)
    saved = first.run(until_us=200_000).snapshot()
    first.run()
    second = make(seed=99, record=True)
    second.restore(saved)
    assert second.run().digest() == first.digest() == digests_here["RK45"]
    assert second.live_digest() == first.live_digest()
    assert second.streams.winds.tobytes() == first.streams.winds.tobytes()


def test_several_calls_of_run_give_the_same_result(digests_here):
    """The end of a call of `run` has no effect on the flight."""
    sim = make()
    for until_us in range(0, 400_001, 7_001):
        sim.run(until_us=until_us)
    assert sim.run().digest() == digests_here["RK45"]
