"""Between a flight and its recording: where a flight came from, and its spec once more."""

import platform

import numba
import numpy as np

from px4lockstep import __version__
from px4lockstep.engine.snapshot import Snapshot
from px4lockstep.flights.recording.recording import Recording, Source
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.flight_tables import Autopilot
from px4lockstep.spec.load import parse_spec
from px4lockstep.spec.px4_tables import Sitl, Uorb
from px4lockstep.spec.shipped import mission_file
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import to_toml

SPEC = "spec.toml"
RECORDED_SPEC = "the recording's spec file"
NOT_OF_THE_FLIGHT = {"mode": "live", "log_csv": None, "recording_in": None, "recording_out": None}
"""Keys of `[run]` that say where things go: a recording is the same wherever it was written."""


def source_of(flight: Flight) -> Source:
    """Return where a flight came from, as its recording keeps it."""
    spec, mission, identity = flight.spec, flight.mission, flight.simulation.autopilot.identity
    name = None if mission is None else mission_file(mission)
    recorded = spec.model_copy(
        update={
            "px4": spec.px4.model_copy(
                update={"mission_path": name, "libpath": None, "msg_dir": None, "sitl": _anywhere(spec.px4.sitl)}
            ),
            "run": spec.run.model_copy(update=NOT_OF_THE_FLIGHT),
        }
    )
    return Source(
        spec=to_toml(recorded),
        mission=None if mission is None else mission.text,
        mission_name=name,
        autopilot=f"{spec.autopilot.kind} {__version__ if identity is None else identity}",
        seed=spec.aircraft.seed,
        versions={
            "px4lockstep": __version__,
            "python": platform.python_version(),
            "numba": numba.__version__,
            "numpy": np.__version__,
        },
    )


def _anywhere(sitl: Sitl) -> Sitl:
    """Leave out where stock PX4 was."""
    return sitl.model_copy(update={"build_dir": None, "instance": None})


def made_with(spec: Spec) -> Snapshot:
    """Return a live flight before its first boundary; the built-in autopilot is there in the place of real PX4."""
    if spec.autopilot.kind == "px4":
        spec = spec.model_copy(
            update={"autopilot": Autopilot(), "px4": spec.px4.model_copy(update={"params": (), "uorb": Uorb()})}
        )
    return build(spec, record=True).simulation.snapshot()


def recorded_spec(recording: Recording) -> Spec:
    """Return the spec of a recording, with its mission.

    Raises:
        InputError: If anything is wrong with it.
    """
    source = recording.source
    is_kept = source.mission is not None and source.mission_name is not None
    missions = {str(source.mission_name): str(source.mission)} if is_kept else {}
    return parse_spec(source.spec, RECORDED_SPEC, missions=missions)
