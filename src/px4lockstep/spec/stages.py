"""Stages: which part of a simulation each key of a spec affects, and therefore where it may be changed.

Every key belongs to one stage: its own (`entry(..., stage="wind")`), that of its table (`stage` of the class), or that
of the enclosing table. Replays, branches and forks look up the stage of each changed key.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from px4lockstep.part import Key, field_at, is_path, stage_of
from px4lockstep.spec.spec import Spec

FILES = "files"
"""The stage of paths. A recording omits them, so that it does not depend on the machine."""


@dataclass(frozen=True)
class Stage:
    """Part of the simulation that a group of keys affects."""

    meaning: str
    is_recorded: bool = False  # a replay reads the results from the recording, so a change would have no effect
    is_fixed: bool = False  # the keys can't change during a flight
    is_started_with: bool = False  # real PX4 and its host read the keys only at startup
    is_of_the_flight: bool = True  # the keys affect the flight


STAGES = {
    FILES: Stage("Paths and machine-specific numbers of inputs and results.", is_of_the_flight=False),
    "output": Stage("Outputs and runtime checks of a run.", is_of_the_flight=False),
    "name": Stage("Names and versions, which no computation uses."),
    "home": Stage("The origin of the world frame.", is_fixed=True),
    "initial_state": Stage("The state at the first boundary.", is_fixed=True),
    "plant": Stage("Aircraft, ground, air and gravity, and their integration."),
    "physics_axis": Stage("The maximum physics step.", is_fixed=True),
    "axes": Stage("The periods of autopilot, wind and log.", is_recorded=True, is_fixed=True),
    "end": Stage("The end of the run.", is_recorded=True),
    "seed": Stage("The random seed.", is_recorded=True),
    "wind": Stage("Wind and gusts.", is_recorded=True),
    "scenario": Stage("Requests and faults.", is_recorded=True),
    "sensors": Stage("Sensors.", is_recorded=True),
    "estimator": Stage("The estimate that the autopilot receives.", is_recorded=True),
    "mission": Stage("The mission.", is_recorded=True, is_fixed=True),
    "autopilot": Stage("The autopilot and its parameters.", is_recorded=True),
    "autopilot_kind": Stage("Which autopilot flies.", is_recorded=True, is_fixed=True),
    "own_options": Stage("Arguments of your own classes.", is_recorded=True, is_fixed=True),
    "autopilot_start": Stage("Startup options of PX4 and its host.", is_recorded=True, is_started_with=True),
}


def file_values(tables: Mapping[str, Any], key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield the keys and values of a file that depend on the machine: paths, and numbers of its processes."""
    for name, value in tables.items():
        own = (*key, name)
        if isinstance(value, Mapping):
            yield from file_values(value, own)
        elif isinstance(value, tuple) and all(isinstance(item, Mapping) for item in value):
            for i, item in enumerate(value):
                yield from file_values(item, (*own, i))
        elif stage_of(own, Spec) == FILES or is_path(field_at(own, Spec)):
            yield own, value


def stage_at(key: Key) -> Stage:
    """Return the stage of a key of a spec."""
    return STAGES[stage_of(key, Spec) or ""]
