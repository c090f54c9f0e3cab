"""From a file, or the name of an aircraft that ships, to a complete and checked `Spec`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from px4lockstep.spec.defaults import Tables, fill_in
from px4lockstep.spec.files import Layers, find_file
from px4lockstep.spec.flight_checks import CHECKS
from px4lockstep.spec.overrides import apply_overrides
from px4lockstep.spec.report import unknown
from px4lockstep.spec.spec import Spec, keys_of


def load_spec(source: str | Path, overrides: Mapping[str, Any] | None = None) -> Spec:
    """Load an aircraft file, complete and checked.

    Args:
        source: The name of an aircraft that ships (`iris`), or the path of a TOML file.
        overrides: Values by dotted key that replace the file's: `{"environment.wind": "ou"}`.

    Returns:
        All values, with defaults for what was left out.

    Raises:
        InputError: If anything is wrong, with all of it in one report: a line for each, with file, key, value, what is
            allowed, and the closest known key.
    """
    path = find_file(source)
    layers = Layers(str(path))
    layers.add_file(path)
    layers.report.raise_if_any()  # without all files, the rest would only be confusing
    apply_overrides(layers, overrides or {})
    return checked(layers)


def checked(layers: Layers) -> Spec:
    """Return what was merged as a `Spec`.

    Raises:
        InputError: If anything is wrong, with all of it in one report.
    """
    report, tables = layers.report, _tables(layers)
    fill_in(tables)
    for check, needed in CHECKS:
        if all(name in tables for name in needed):
            for key, text in check(tables):
                report.add(key, text)
    report.raise_if_any()
    spec = Spec(**tables)
    spec._files.update({**layers.files, (): layers.main})
    return spec


def _tables(layers: Layers) -> Tables:
    """Return the top-level tables that are valid; what is wrong with the others goes into the report."""
    tables: Tables = {}
    fields = keys_of(Spec)
    for name, value in layers.data.items():
        if name not in fields:
            layers.report.add((name,), unknown((name,), value))
    for name, field in fields.items():
        if name not in layers.data and not field.is_required():
            tables[name] = field.default
            continue
        annotation: Any = field.annotation
        try:
            # A table that must be there and is not is checked as an empty one: the report then has its keys.
            tables[name] = TypeAdapter(annotation).validate_python(layers.data.get(name, {}))
        except ValidationError as error:
            layers.report.add_validation((name,), error)
    return tables
