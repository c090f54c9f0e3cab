"""Keys of a spec that name code (`path_entry(..., code="px4")`), and whether the user chose that code."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from px4lockstep.part import Key, all_tables, dotted, keys_of, show
from px4lockstep.spec.report import Report
from px4lockstep.spec.spec import Spec
from px4lockstep.trust import refusal

MAX_SHOWN = 1_000
"""Characters shown of a path: enough to see which code is meant."""


@functools.cache
def code_keys() -> dict[Key, str]:
    """Return the keys that name code, each with the kind of autopilot that runs it."""
    found: dict[Key, str] = {}
    for table, model, _ in all_tables(Spec):
        for name, field in keys_of(model).items():
            extra = field.json_schema_extra
            if isinstance(extra, dict) and "code" in extra:
                found[(*table.split("."), name)] = str(extra["code"])
    return found


def code_in(tables: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    """Yield the keys and values in the tables of a file that name code."""
    for key in code_keys():
        value: Any = tables
        for name in key:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            yield key, value


def refuse_code(spec: Spec, *, is_strict: bool = False) -> None:
    """Raise if a spec names code that the user has not chosen and its autopilot would run; if strict, any such code."""
    report = Report(spec.places)
    for key, kind in code_keys().items():
        value = functools.reduce(getattr, map(str, key), spec)
        if value is None or spec.untrusted.get(key) != value or not (is_strict or kind == spec.autopilot.kind):
            continue
        name = dotted(key)
        report.add(key, refusal(f"{name} = {show(value, MAX_SHOWN)}", f"name the code yourself with --set {name}=PATH"))
    report.raise_if_any()
