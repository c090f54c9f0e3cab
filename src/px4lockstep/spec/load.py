"""Load a spec file or a built-in aircraft into a complete, validated `Spec`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from px4lockstep.engine.builder import Builder
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.part import CHECK_LATER, Key, Part, checks_of, dotted, keys_of, show
from px4lockstep.part.wording import unknown
from px4lockstep.px4.missions import parse_mission
from px4lockstep.spec.build import build_aircraft, build_parts
from px4lockstep.spec.checks import CHECKS, Tables
from px4lockstep.spec.code import code_in
from px4lockstep.spec.compat import NAME, differences, is_theirs, with_defaults
from px4lockstep.spec.files import Layers, find_file
from px4lockstep.spec.mission_time import with_requests
from px4lockstep.spec.overrides import add_events, apply_overrides
from px4lockstep.spec.params_value import read_params_file
from px4lockstep.spec.report import MAX_FOUND
from px4lockstep.spec.shipped import check_strictly, is_name, mission_of, shipped_aircraft
from px4lockstep.spec.spec import Places, Spec
from px4lockstep.spec.stages import file_values
from px4lockstep.trust import Chosen
from px4lockstep.vehicle.actuators import Actuation
from px4lockstep.vehicle.aircraft import Aircraft, completed_power
from px4lockstep.vehicle.airframe import MISSING_INERTIA, Airframe


def load_spec(
    source: str | Path,
    overrides: Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    *,
    events: Sequence[Mapping[str, Any]] = (),
    reads_mission: bool = True,
    trust: bool = False,
    compat: bool = False,
) -> Spec:
    """Load a spec file, fill in the defaults and validate it.

    Args:
        source: Name of a built-in aircraft (`x500`), or path of a TOML file.
        overrides: Values by dotted key that replace those of the file: `{"environment.wind": "ou"}`.
        settings: Overrides in the form of the command line: `["environment.wind=ou"]`.
        events: Events in addition to those of the file: `[{"at_s": 40.0, "action": "return"}]`.
        reads_mission: Whether to read the mission as well; otherwise `spec.mission` reads it on first access.
        trust: Whether to run code that the files name, in any folder: see docs/howto/untrusted_files.md.
        compat: Whether omitted keys have the defaults of PX4Lockstep.jl, as with the key `compat` in the file.

    Returns:
        All values, with defaults for omitted keys, and the mission.

    Raises:
        InputError: If the file is invalid. The report has a line for each error, with file, key, value, what is
            allowed, and the closest known key.
    """
    path = find_file(source)
    layers = Layers(Places(str(path)), trust=trust)
    layers.add_file(path)
    layers.report.raise_if_any()  # errors that follow from a missing file would only confuse
    if compat and path in shipped_aircraft().values():
        raise InputError(f"--compat is for files of PX4Lockstep.jl; {source} is a built-in aircraft")
    layers.data |= {"compat": NAME} if compat else {}
    could_be_theirs = is_theirs(layers.data, iter(layers.read))
    apply_overrides(layers, overrides or {}, settings)
    add_events(layers, events)
    spec = checked(layers, reads_mission=reads_mission)
    if could_be_theirs:
        spec._warnings = differences(layers.data, vars(spec), str(source))
    return spec


def parse_spec(text: str, name: str = "the spec", *, missions: Mapping[str, str] | None = None) -> Spec:
    """Parse and validate the text of a spec stored with results, without reading any file.

    Errors call the file `name`; `missions` maps the paths in `px4.mission_path` to the texts of the missions. A text
    that names any other file, to read, write or run, is rejected.
    """
    layers = Layers(Places(name))
    for path, mission in (missions or {}).items():
        try:
            layers.missions[path] = parse_mission(mission, path)
        except InputError as error:
            _add_mission_errors(layers, error)
    layers.add_text(text, name)
    layers.report.raise_if_any()
    for key, value in file_values(layers.data):
        if key != ("px4", "mission_path") or not (value in layers.missions or is_name(str(value))):
            layers.report.add(key, f"{dotted(key)} = {show(value)} is not allowed in the spec of a result")
    layers.report.raise_if_any()
    return checked(layers)


def change_spec(spec: Spec, overrides: Mapping[str, Any] | None = None, settings: Sequence[str] = ()) -> Spec:
    """Return a validated copy of a spec with some values changed; the mission changes only if its path does."""
    layers = Layers(spec.places.copy(), spec.model_dump(by_alias=True, exclude_none=True), dict(spec.missions))
    apply_overrides(layers, overrides or {}, settings)
    changed = checked(layers)
    kept = spec.untrusted.items() & changed.untrusted.items()  # parts created in Python need no trust
    changed._untrusted = dict(kept)
    changed._commands = spec.commands
    return changed


def load_aircraft(
    source: str | Path, overrides: Mapping[str, Any] | None = None, settings: Sequence[str] = ()
) -> Aircraft:
    """Load the aircraft of a spec file, to fly it with a custom timeline or autopilot.

    Args:
        source: Name of a built-in aircraft (`x500`), or path of a TOML file.
        overrides: Values by dotted key that replace those of the file: `{"airframe.mass_kg": 1.8}`.
        settings: Overrides in the form of the command line: `["airframe.mass_kg=1.8"]`.

    Raises:
        InputError: If the file is invalid, with all errors in one report.
    """
    return build_aircraft(load_spec(source, overrides, settings, reads_mission=False))


def checked(layers: Layers, builder: Builder | None = None, *, reads_mission: bool = True) -> Spec:
    """Return the merged tables as a validated `Spec`, or raise all errors in one report."""
    builder = builder or Builder()
    read_params_file(layers)
    data = with_defaults(layers.data)
    report, tables = layers.report, _tables(layers, data, builder)
    body = data.get("airframe", {})
    if isinstance(body, dict) and "inertia_kgm2" not in body and "inertia_diag_kgm2" not in body:
        report.add(("airframe",), MISSING_INERTIA)  # even if other keys are missing
    _fill_in(tables, builder.derived)
    unchecked = builder.unchecked(tables)
    for name, table in tables.items():
        if name in unchecked:
            for key, text in islice(checks_of(table, (name,)), MAX_FOUND + 1):
                report.add(key, text, (name,))
    for check in CHECKS:
        is_due = check.reads_files or not unchecked.isdisjoint(check.tables)
        if is_due and all(name in tables for name in check.needed):
            for key, text in check.find(*map(tables.get, check.tables)):
                report.add(key, text, check.needed)
                if report.is_full:
                    break
    if reads_mission and "px4" in tables and "scenario" in tables:
        path = tables["px4"].mission_path
        if path is not None and path not in layers.missions:
            try:
                layers.missions[path] = mission_of(path)
            except InputError as error:
                _add_mission_errors(layers, error)
        if path in layers.missions:
            try:
                check_strictly(layers.missions[path], tables["px4"].mission_strict)
            except InputError as error:
                _add_mission_errors(layers, error)
    if report.lines:
        _add_build_errors(tables, layers)
    report.raise_if_any()
    builder.accept(tables)
    spec = Spec.model_construct(**tables)  # its tables are valid
    spec._places, spec._missions = layers.places, layers.missions
    named = code_in(layers.data)
    spec._untrusted = {key: value for key, value in named if not isinstance(layers.places.own(key), Chosen)}
    return spec


def _fill_in(tables: Tables, derived: Callable[..., Any]) -> None:
    """Fill in omitted values that follow from other (valid) tables, so that the resolved file shows them."""
    if "airframe" in tables:
        tables["airframe"] = derived(Airframe.completed, tables["airframe"])
    if {"airframe", "actuation"} <= tables.keys():
        tables["actuation"] = derived(
            Actuation.completed, tables["actuation"], len(tables["airframe"].rotor_pos_body_m)
        )
    if {"actuation", "power"} <= tables.keys():
        tables["power"] = derived(completed_power, tables["actuation"], tables["power"])
    if {"px4", "scenario"} <= tables.keys():
        tables["scenario"] = derived(with_requests, tables["scenario"], tables["px4"].mission_path is not None)
    if {"timeline", "estimator"} <= tables.keys():
        tables["estimator"] = derived(_estimator, tables["estimator"], tables["timeline"].dt_autopilot_s)


def _estimator(estimator: Estimator, tick_s: float) -> Estimator:
    return estimator if estimator.dt_est_s is not None else estimator.model_copy(update={"dt_est_s": tick_s})


def _add_mission_errors(layers: Layers, error: InputError) -> None:
    for line in str(error).splitlines():
        text = line if line.startswith("px4.mission_path") else f"px4.mission_path: {line}"
        layers.report.add(("px4", "mission_path"), text, ("px4", "scenario"))


def _add_build_errors(tables: Tables, layers: Layers) -> None:
    """Add errors that would otherwise appear only when the flight is built, as far as the tables are valid."""
    valid = {name: table for name, table in tables.items() if name not in layers.report.tables}
    spec = Spec.model_construct(_fields_set=set(), **valid)
    for name in Spec.model_fields.keys() - valid.keys():
        vars(spec).pop(name, None)  # `model_construct` fills in defaults
    spec._missions = layers.missions
    build_parts(spec, layers.report, Builder())


def _tables(layers: Layers, data: Mapping[str, Any], builder: Builder) -> Tables:
    """Return the valid top-level tables; add the errors of the others to the report."""
    tables: Tables = {}
    fields = keys_of(Spec)
    for name, value in data.items():
        if name not in fields and not layers.report.is_full:
            layers.report.add((name,), unknown((name,), value, Spec))
    for name, field in fields.items():
        if name not in data and not field.is_required():
            tables[name] = field.default
            continue
        # A missing required table is checked as an empty one, so that the report lists its required keys.
        value = data.get(name, {})
        try:
            tables[name] = builder.made(_validator(name), value)
        except ValidationError as error:
            layers.report.add_validation((name,), error)
            unknown_keys = [found["loc"] for found in error.errors() if found["type"] == "extra_forbidden"]
            if len(unknown_keys) == error.error_count():  # check the rest without them
                try:
                    tables[name] = _validator(name)(_without(value, unknown_keys))
                except ValidationError as rest:
                    layers.report.add_validation((name,), rest)
    return tables


@functools.cache
def _validator(name: str) -> Callable[[Any], Any]:
    """Return a function that creates a top-level table and validates each value separately."""
    annotation: Any = keys_of(Spec)[name].annotation
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return lambda value: annotation.model_validate(value, context=CHECK_LATER)
    adapter = TypeAdapter[Any](annotation)
    return lambda value: adapter.validate_python(value, context=CHECK_LATER)


def _without(value: Any, keys: list[Key]) -> Any:
    """Return a copy of a table or an array of tables without the given keys."""
    if not keys:
        return value
    inner: dict[str | int, list[Key]] = {}
    for first, *rest in keys:
        inner.setdefault(first, []).append(tuple(rest))
    items = enumerate(value) if isinstance(value, tuple) else value.items()
    kept = {name: _without(item, inner.get(name, [])) for name, item in items if inner.get(name) != [()]}
    return tuple(kept.values()) if isinstance(value, tuple) else kept
