"""Recordings for tests."""

import px4lockstep
from px4lockstep.recording.recording import Recording
from px4lockstep.runs.recorded import source_of

SHORT = {"timeline.t_end_s": 1.0}


def recorded(name="iris", **overrides):
    """Fly a shipped aircraft for a second, or as the overrides have it, and return the recording."""
    flight = px4lockstep.build(px4lockstep.load_spec(name, {**SHORT, **overrides}), record=True)
    flight.simulation.run()
    return Recording.of(flight.simulation, source_of(flight))
