"""Recordings of shipped aircraft, for tests."""

from functools import cache

import px4lockstep
from px4lockstep.recording.recording import Recording
from px4lockstep.runs.recorded import source_of


@cache
def recording_of(name="iris", end_s=6.0, settings=()):
    """Return the recording of a flight that ends at a time, with settings as `--set` takes them; flown once each."""
    spec = px4lockstep.load_spec(name, {"timeline.t_end_s": end_s}, settings)
    flight = px4lockstep.build(spec, record=True)
    flight.simulation.run()
    return Recording.of(flight.simulation, source_of(flight))
