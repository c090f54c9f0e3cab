"""Between a flight and its recording: the source of a flight, and the spec of a recording."""

import platform
from typing import Any, TypeVar

import numba
import numpy as np

from px4lockstep import __version__
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.options import Uorb
from px4lockstep.engine.snapshot import Snapshot
from px4lockstep.flights.recording.recording import FlightSource, Recording
from px4lockstep.part import Key, Part, stage_of
from px4lockstep.scenario.commands import rows_of
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.flight_tables import RunTable
from px4lockstep.spec.load import parse_spec
from px4lockstep.spec.own_parts import own_kinds, with_kinds
from px4lockstep.spec.shipped import mission_file
from px4lockstep.spec.spec import Spec, with_commands
from px4lockstep.spec.stages import FILES
from px4lockstep.spec.toml_text import to_toml

PartT = TypeVar("PartT", bound=Part)

SPEC = "spec.toml"
RECORDED_SPEC = "the recording's spec file"


def source_of(flight: Flight) -> FlightSource:
    """Return the source of a flight, as its recording stores it."""
    spec, mission, identity = flight.spec, flight.mission, flight.simulation.autopilot.identity
    name = None if mission is None else mission_file(mission)
    portable = without_files(spec)
    recorded = portable.model_copy(
        update={
            "px4": portable.px4.model_copy(update={"mission_path": name}),
            "run": live(spec.run),
        }
    )
    return FlightSource(
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
            **{stage: part.identity for stage, part in flight.own_parts.items()},
        },
    )


def live(run: RunTable) -> RunTable:
    """Return the `run` table of a live flight that writes no files outside its run folder."""
    return without_files(run, ("run",)).model_copy(update={"mode": "live"})


def without_files(part: PartT, key: Key = ()) -> PartT:
    """Return a spec with all keys that name files and folders of this machine set to None."""
    update: dict[str, Any] = {}
    for name, field in type(part).model_fields.items():
        value, own = getattr(part, name), (*key, field.alias or name)
        if isinstance(value, Part):
            update[name] = without_files(value, own)
        elif stage_of(own, Spec) == FILES:
            update[name] = None
    return part.model_copy(update=update)


def made_with(spec: Spec) -> Snapshot:
    """Return a live flight before its first boundary, with the default autopilot instead of real PX4.

    Parts in Python are left out: this is the start of a replay, which does not need them.
    """
    spec = with_kinds(spec, dict.fromkeys(own_kinds(spec), "none"))
    if spec.autopilot.capabilities.branches_by_fork:
        spec = spec.model_copy(
            update={"autopilot": AutopilotOptions(), "px4": spec.px4.model_copy(update={"params": (), "uorb": Uorb()})}
        )
    return build(spec, record=True).simulation.snapshot()


def recorded_spec(recording: Recording) -> Spec:
    """Return the spec of a recording, including its mission."""
    source = recording.source
    is_kept = source.mission is not None and source.mission_name is not None
    missions = {str(source.mission_name): str(source.mission)} if is_kept else {}
    spec = parse_spec(source.spec, RECORDED_SPEC, missions=missions)
    return with_commands(spec, rows_of(recording.commands, f"the commands of {recording.name}"))
