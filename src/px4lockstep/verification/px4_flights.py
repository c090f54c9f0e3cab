"""Flights of the user's PX4 library against recorded flights of real PX4: positions and times of events.

`px4_flights.npz` is a digest of flights that were recorded with another simulator (tests/against/golden): the position
every 0.1 s, and the times of arming, modes, waypoints and landing, to the tick of 4 ms. `tools/px4_digest.py` writes
it. The same flights here have no wind, the true state as the estimate, and no angular acceleration.

PX4 computes in single precision, and the loop amplifies its rounding: with 1e-13 more mass, relative, the return flight
moves by 1 to 8 mm in the descent over home. Two builds of the same PX4 therefore agree to centimetres, not to the bit.
A controller with another gain, frame or rate is decimetres to metres away.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.events import MODES
from px4lockstep.log.log import Log
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

Columns = Mapping[str, npt.NDArray[Any]] | Log
RECORDED = Path(__file__).with_name("px4_flights.npz")
PERIOD_US = 100_000
"""Interval of the positions in the digest."""
TOLERANCE_M = 0.02
TOLERANCE_US = 20_000
"""Largest difference from the recorded flight: distance, and time of an event (5 ticks)."""

SETTINGS: Mapping[str, Any] = {
    "autopilot.kind": "px4",
    "autopilot.angular_acceleration": False,
    "environment.wind": "none",
    "estimator.kind": "none",
    "plant.integrator": "RK4",
    "timeline.dt_phys_s": 0.001,
    "timeline.dt_log_s": 0.004,
    "run.mode": "live",
}
_YAW = str(Path(__file__).with_name("yaw.waypoints"))
FLIGHTS: Mapping[str, Mapping[str, Any]] = {
    "straight": {"px4.mission_path": "simple", "timeline.t_end_s": 69.996},
    "yaw": {"px4.mission_path": _YAW, "timeline.t_end_s": 60.996},
    "return": {
        "px4.mission_path": _YAW,
        "timeline.t_end_s": 96.0,
        "scenario.events": [{"at_s": 24.0, "action": "return"}],
    },
}
"""Settings of each flight, besides `SETTINGS`."""


@dataclass(frozen=True)
class Track:
    """A flight as it is compared: positions, and events with their names."""

    time_us: npt.NDArray[np.int64]
    pos_ned: npt.NDArray[np.float64]
    event_us: npt.NDArray[np.int64]
    event: tuple[str, ...]

    @classmethod
    def of(cls, columns: Columns) -> "Track":
        """Return the track of a log with a row per tick."""
        time_us = columns["time_us"].astype(np.int64)
        rows = np.flatnonzero(time_us % PERIOD_US == 0)
        events = sorted(_events(columns), key=lambda event: event[0])
        return cls(
            time_us[rows],
            columns["pos_ned"][rows].astype(np.float64),
            np.array([time for time, _ in events], np.int64),
            tuple(name for _, name in events),
        )


def _events(columns: Columns) -> Iterator[tuple[int, str]]:
    """Yield time and name of each event."""

    def changes(name: str) -> Iterator[tuple[int, int, int]]:
        values = columns[name].astype(np.int64)
        for row in np.flatnonzero(np.diff(values)) + 1:
            yield int(columns["time_us"][row]), int(values[row - 1]), int(values[row])

    yield from ((time, "armed" if now else "disarmed") for time, _, now in changes("armed"))
    yield from ((time, f"mode {MODES.get(now, now)}") for time, _, now in changes("nav_state") if now)
    yield from ((time, f"waypoint {before}") for time, before, now in changes("mission_item") if now > before)
    yield from ((time, "landed") for time, _, now in changes("landed") if now)


@cache
def recorded_tracks() -> dict[str, Track]:
    """Return the recorded flights by name."""
    with np.load(RECORDED) as data:
        return {
            name: Track(
                data[f"{name}_time_us"],
                data[f"{name}_pos_ned"],
                data[f"{name}_event_us"],
                tuple(data[f"{name}_event"].tolist()),
            )
            for name in FLIGHTS
        }


@dataclass(frozen=True)
class FlightComparison:
    """A flight of the user's PX4 next to the recorded one.

    Args:
        flight: Name of the flight.
        max_distance_m: Largest distance between the two positions at the same time.
        max_distance_s: When that is.
        events: Name of each event, its recorded time and its time now [s]; None for an event that one flight lacks.
        first_s: When the flights first differ by more than the tolerance; None if they do not.
    """

    flight: str
    max_distance_m: float
    max_distance_s: float
    events: tuple[tuple[str, float | None, float | None], ...]
    first_s: float | None

    @property
    def passed(self) -> bool:
        """Whether the flights agree within the tolerance."""
        return self.first_s is None

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        names = ("event", "recorded_s", "flown_s")
        events = [dict(zip(names, event, strict=True)) for event in self.events]
        return asdict(self) | {"events": events, "passed": self.passed}


def compare(flight: str, recorded: Track, flown: Track) -> FlightComparison:
    """Compare a flight with the recorded one."""
    times_us, ours, theirs = np.intersect1d(flown.time_us, recorded.time_us, return_indices=True)
    apart_m = np.linalg.norm(flown.pos_ned[ours] - recorded.pos_ned[theirs], axis=1)
    worst = int(np.argmax(apart_m))
    parted_us = [int(time_us) for time_us in times_us[apart_m > TOLERANCE_M][:1]]
    if times_us[-1] < recorded.time_us[-1]:  # it ended early, such as by a crash
        parted_us.append(int(times_us[-1]))
    events = list(_paired(recorded, flown))
    for _, before_us, after_us in events:
        given_us = [time_us for time_us in (before_us, after_us) if time_us is not None]
        if len(given_us) < 2 or max(given_us) - min(given_us) > TOLERANCE_US:
            parted_us.append(min(given_us))
    return FlightComparison(
        flight,
        float(apart_m[worst]),
        int(times_us[worst]) / 1e6,
        tuple((name, _seconds(before_us), _seconds(after_us)) for name, before_us, after_us in events),
        min(parted_us) / 1e6 if parted_us else None,
    )


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / 1e6


def _paired(recorded: Track, flown: Track) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield name, recorded time and time now of each event; equal names are paired in order of time."""
    for name in dict.fromkeys((*recorded.event, *flown.event)):
        times = [
            [int(time_us) for time_us, own in zip(track.event_us, track.event, strict=True) if own == name]
            for track in (recorded, flown)
        ]
        for i in range(max(map(len, times))):
            before_us, after_us = (own[i] if i < len(own) else None for own in times)
            yield name, before_us, after_us


def fly(flight: str, library: str | Path) -> FlightComparison:
    """Fly one of `FLIGHTS` with a library, and compare it; the library has one life per process.

    Raises:
        InputError: If PX4 can't be loaded.
        SimulationError: If the run can't continue.
    """
    settings = {**SETTINGS, **FLIGHTS[flight], "px4.libpath": str(library)}
    simulation = build(load_spec("iris", settings)).simulation
    try:
        return compare(flight, recorded_tracks()[flight], Track.of(Log.of(simulation.run())))
    finally:
        simulation.close()
