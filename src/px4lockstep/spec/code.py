"""Keys of a spec that name code, and whether the user chose that code.

`path_entry(..., code="px4")` names a file that a kind of autopilot runs. `entry(..., extra=CODE)` may be
`python:MODULE:CLASS`, a class of the user, and has a key next to it for the folder of the module.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from px4lockstep.part import Key, all_tables, dotted, field_at, is_path, keys_of, show
from px4lockstep.spec.report import Report
from px4lockstep.spec.spec import Spec
from px4lockstep.trust import refusal
from px4lockstep.user_code import CLASS, names_code

MAX_SHOWN = 1_000
"""Characters shown of a path: enough to see which code is meant."""


@functools.cache
def code_keys() -> dict[Key, str]:
    """Return the keys that name code, each with the kind of autopilot that runs it, or `CLASS`."""
    found: dict[Key, str] = {}
    for table, model, _ in all_tables(Spec):
        for name, field in keys_of(model).items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and "code" in extra:
                found[(*table.split("."), name)] = str(extra["code"])
    return found


@functools.cache
def class_keys() -> dict[Key, Key]:
    """Return the keys that may name a class of the user, each with the key for the folder of its module."""
    own = [key for key, code in code_keys().items() if code == CLASS]
    folders = {key[:-1]: key for key in own if is_path(field_at(key, Spec))}
    return {key: folders[key[:-1]] for key in own if key not in folders.values()}


def is_code(key: Key, value: Any) -> bool:
    """Return whether the value of a key names code; of a key that chooses a model, only a class does."""
    return key in code_keys() and (key not in class_keys() or names_code(value))


def value_at(tables: Any, key: Key) -> Any:
    """Return a value in nested tables, or None."""
    for name in key:
        tables = tables.get(name) if isinstance(tables, dict) else None
    return tables


def code_in(tables: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    """Yield the keys and values in the tables of a file that name code."""
    for key in code_keys():
        value = value_at(tables, key)
        if value is not None and is_code(key, value):
            yield key, value


def refuse_code(spec: Spec, *, is_strict: bool = False) -> None:
    """Raise if a spec names code that the user has not chosen and its flight would run; if strict, any such code."""
    if not spec.untrusted:
        return
    report = Report(spec.places)
    refused: list[Key] = []
    for key, kind in code_keys().items():
        value = functools.reduce(getattr, map(str, key), spec)
        if value is None or spec.untrusted.get(key) != value or not (is_strict or _is_run(spec, key, kind)):
            continue
        if key in map(class_keys().get, refused):  # one message for a class and its folder
            continue
        refused.append(key)
        name, word = dotted(key), "KIND" if key in class_keys() else "PATH"
        instead = f"name the code yourself with --set {name}={word}"
        report.add(key, refusal(f"{name} = {show(value, MAX_SHOWN)}", instead))
    report.raise_if_any()


def _is_run(spec: Spec, key: Key, kind: str) -> bool:
    """Return whether a flight runs the code that a key names."""
    if kind != CLASS:
        return kind == spec.autopilot.kind
    own = next(own for own, folder in class_keys().items() if key in (own, folder))
    return names_code(functools.reduce(getattr, map(str, own), spec))
