"""Objects of the user in a campaign, passed in Python: pickled for the workers, and a new one for each run.

A class or a function without arguments creates the object of each run. An object is copied for each run.
"""

import inspect
import pickle
import sys
from collections.abc import Mapping
from typing import Any

from px4lockstep.engine.stages import check_stage
from px4lockstep.errors import InputError
from px4lockstep.spec.own_parts import KEYS
from px4lockstep.user_code import identify, told

Tables = dict[str, Any]
OF_CLASSES = ("options", "python_dir")
"""Ends of the keys that belong to the class that a file names."""


def pickled(parts: Mapping[str, object]) -> tuple[dict[str, str], bytes]:
    """Return the kinds of the given objects, by stage, and the objects as bytes for the workers; no bytes without any.

    Raises:
        InputError: If an object can't be created, is not a stage, or can't be sent to a worker.
    """
    given = {stage: part for stage, part in parts.items() if part is not None}
    if not given:
        return {}, b""
    kinds: dict[str, str] = {}
    for stage, part in given.items():
        made = _created(stage, part)
        check_stage(stage, made)
        kinds[stage], _ = identify(made)
        home = getattr(part, "__module__", None) or type(part).__module__
        name = getattr(part, "__qualname__", type(part).__qualname__)
        if home == "__main__" or "<locals>" in name:
            raise InputError(
                f"{stage} = {name}: the workers of a campaign can't import it from a script, notebook or function; "
                "define it at the top level of a module, or name it in the spec file: python:MODULE:CLASS"
            )
    try:
        return kinds, pickle.dumps((list(sys.path), pickle.dumps(given)))
    except Exception as error:
        names = ", ".join(given)
        raise InputError(
            f"{names}: can't be sent to the workers of a campaign ({error}); pass a class or a function of a module "
            "that creates the object"
        ) from error


def created(objects: bytes) -> dict[str, Any]:
    """Return new objects for a run, by stage."""
    if not objects:
        return {}
    path, inner = pickle.loads(objects)
    sys.path += [entry for entry in path if entry not in sys.path]  # a worker starts with its own
    try:
        given = pickle.loads(inner)
    except Exception as error:
        raise InputError(f"a worker can't import the objects of the campaign: {told(error)}") from error
    return {stage: _created(stage, part) for stage, part in given.items()}


def _created(stage: str, part: Any) -> Any:
    if not inspect.isclass(part) and (hasattr(part, "step") or not callable(part)):
        return part
    try:
        return part()
    except Exception as error:
        raise InputError(f"{stage} = {part!r:.80}: can't be created without arguments: {told(error)}") from error


def with_kinds(base: Tables, kinds: Mapping[str, str]) -> Tables:
    """Return the tables of a spec file that name the given objects."""
    base = dict(base)
    for stage, kind in kinds.items():
        table, name = map(str, KEYS[stage])
        own = base.get(table)
        kept = own.items() if isinstance(own, Mapping) else ()
        base[table] = {key: value for key, value in kept if not key.endswith(OF_CLASSES)} | {name: kind}
    return base
