"""The user's parts of a recorded flight, to fly it again: a recording has their names, but neither code nor folders."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from px4lockstep.engine.snapshot import copied
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.part import dotted
from px4lockstep.spec.build import Flight
from px4lockstep.spec.code import class_keys
from px4lockstep.spec.load import change_spec, load_spec
from px4lockstep.spec.own_parts import KEYS, SCENARIO, own_kinds, value_of
from px4lockstep.spec.spec import Spec
from px4lockstep.user_code import CLASS

Parts = Mapping[str, Any]
"""Objects by stage; None for those of the spec."""


def given_parts(parts: Parts) -> dict[str, Any]:
    """Return copies of the given objects for one flight."""
    return copied({stage: part for stage, part in parts.items() if part is not None})


def with_code(spec: Spec, source: object, *, trust: bool) -> Spec:
    """Return the spec of a recording with the folders of its classes, if its run folder is trusted.

    `source` is the run folder or `latest`, if there is one. Without trust the spec is unchanged, and building it is
    refused.
    """
    file = run_path(source) / SPEC if isinstance(source, str | Path) else None
    kept = load_spec(file, trust=trust) if file is not None and file.exists() else None
    changes: dict[str, Any] = {}
    for stage, kind in own_kinds(spec).items():
        key = KEYS[stage]
        if kind.prefix != CLASS:
            continue
        is_in_folder = kept is not None and value_of(kept, key) == value_of(spec, key)
        if trust or (kept is not None and is_in_folder and key not in kept.untrusted):
            changes[dotted(key)] = value_of(spec, key)
            folder = value_of(kept, class_keys()[key]) if kept is not None and is_in_folder else None
            changes |= {} if folder is None else {dotted(class_keys()[key]): folder}
    return change_spec(spec, changes) if changes else spec


def check_scenario(recording: Recording, parts: Parts) -> None:
    """Raise if a flight had a scenario in Python that is not given: its spec does not name it."""
    own = recording.source.versions.get(SCENARIO)
    if own is not None and parts.get(SCENARIO) is None:
        raise InputError(f"the flight had the scenario {own.partition(' ')[0]} in Python; pass it: scenario=...")


@contextmanager
def explained(recording: Recording, flight: Flight) -> Iterator[None]:
    """Add to the error of a flight that can't be reproduced which of the user's files have changed since."""
    try:
        yield
    except SimulationError as error:
        changed = []
        for stage, part in flight.own_parts.items():
            before = recording.source.versions.get(stage, "").rpartition(" ")[2]
            if before and before != part.hash.rpartition(" ")[2]:
                changed.append(f"the file of the {stage} {part.identity.partition(' ')[0]} has changed since")
        raise SimulationError("; ".join([str(error), *changed])) from error
