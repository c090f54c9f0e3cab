"""Short recorded flights for tests of recordings, replays, branches and diffs."""

import functools

import px4lockstep
from px4lockstep.flights.recorded import source_of
from px4lockstep.flights.recording.recording import Recording

SHORT = {
    "timeline.t_end_s": 14.0,
    "scenario.arm_time_s": 0.2,
    "scenario.mission_time_s": 0.4,
    "environment.wind": "ou",
    "environment.wind_mean_ned": [2.0, -1.0, 0.0],
    "estimator.kind": "noisy_delayed",
    "aircraft.seed": 5,
}
FAULTS = (  # one on the event axis, one by a condition
    {"at_s": 6.0305, "action": "thrust_loss", "motor": 2, "fraction": 0.15},
    {"when": {"signal": "altitude_m", "above": 5.0}, "action": "wind_step", "vel_ned": [3.0, 0.0, 0.0]},
)


@functools.cache
def recorded(name: str = "iris", with_faults: bool = False) -> Recording:
    """Return the recording of a flight of some seconds, with wind and noise; cached."""
    return record(name, {"scenario.events": list(FAULTS)} if with_faults else {})


def record(name, overrides) -> Recording:
    """Return the recording of such a flight with changes."""
    return _record(px4lockstep.load_spec(name, SHORT | overrides))


@functools.cache
def shipped(name="iris", end_s=6.0, settings=()) -> Recording:
    """Return the recording of a built-in flight up to a time, with settings as for `--set`; cached."""
    return _record(px4lockstep.load_spec(name, {"timeline.t_end_s": end_s}, settings))


def _record(spec) -> Recording:
    flight = px4lockstep.build(spec, record=True)
    flight.simulation.run()
    return Recording.of(flight.simulation, source_of(flight))
