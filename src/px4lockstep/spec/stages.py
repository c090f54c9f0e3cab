"""Stages: what each key of a spec acts on, and so where it may be changed.

Every key belongs to one stage: its own (`entry(..., stage="wind")`), that of its table (`stage` of the class), or that
of the table around it. Replays, branches and forks ask the stage of a key that was changed; no key is free by default.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from px4lockstep.part import Key, field_at, is_path, stage_of
from px4lockstep.spec.spec import Spec

FILES = "files"
"""The stage of paths: a recording leaves them out, because it is the same wherever it was written."""


@dataclass(frozen=True)
class Stage:
    """What a group of keys acts on."""

    meaning: str
    is_recorded: bool = False  # a replay takes the result from the recording, so that a change would have no effect
    is_fixed: bool = False  # they must stay as they are during a flight
    is_started_with: bool = False  # real PX4 and its host take them at their start only
    is_of_the_flight: bool = True  # they have any effect on the flight


STAGES = {
    FILES: Stage("Paths and numbers of this machine: where things are, and where results go.", is_of_the_flight=False),
    "output": Stage("What a run keeps, and how much it checks.", is_of_the_flight=False),
    "name": Stage("Names and versions, which nothing computes with."),
    "home": Stage("The origin of the world frame.", is_fixed=True),
    "initial_state": Stage("The state at the first boundary.", is_fixed=True),
    "plant": Stage("Aircraft, ground, air and gravity, and how they are integrated."),
    "physics_axis": Stage("The longest step of the physics.", is_fixed=True),
    "axes": Stage("The periods of autopilot, wind and log.", is_recorded=True, is_fixed=True),
    "end": Stage("The end of the run.", is_recorded=True),
    "seed": Stage("The random seed.", is_recorded=True),
    "wind": Stage("Wind and gusts.", is_recorded=True),
    "scenario": Stage("Requests and faults.", is_recorded=True),
    "sensors": Stage("Sensors.", is_recorded=True),
    "estimator": Stage("The estimate that the autopilot gets.", is_recorded=True),
    "mission": Stage("The mission.", is_recorded=True, is_fixed=True),
    "autopilot": Stage("The autopilot and its parameters.", is_recorded=True),
    "autopilot_kind": Stage("Which autopilot flies.", is_recorded=True, is_fixed=True),
    "autopilot_start": Stage("What PX4 and its host are started with.", is_recorded=True, is_started_with=True),
}


def file_values(tables: Mapping[str, Any], key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield what the tables of a file have to do with files of a machine: paths, and the numbers of its processes."""
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
