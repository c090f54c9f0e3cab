"""Overrides of spec values: `environment.wind=ou`, `power.batteries[0].soc0=0.9`."""

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.part import Key, Part, dotted, field_at, freeze, model_at, show
from px4lockstep.reading import parse_toml
from px4lockstep.spec.files import Layers, canonical
from px4lockstep.spec.spec import Spec
from px4lockstep.trust import Chosen

MAX_SHOWN = 100
PART = re.compile(r"[^.\[\]=\s]+|\[\d+\]")
INDEX = re.compile(r"\d{1,9}|\[\d{1,9}\]", re.ASCII)
BARE = re.compile(r"[A-Za-z_./~][\w./~+:-]*")


def parse_override(text: str) -> tuple[str, Any]:
    """Parse `table.key=value` with a TOML value; a word or a path needs no quotes."""
    name, sign, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not sign or not name:
        raise InputError(
            f"{_shown(text)!r} is not an override; it must be table.key=value, such as environment.wind=ou"
        )
    split_key(name)
    try:
        parsed = parse_toml(f"value = {value}", name, "a value")
        if list(parsed) == ["value"]:
            return name, parsed["value"]
    except InputError:
        if BARE.fullmatch(value):
            return name, value
    raise InputError(
        f'{_shown(name)} = {_shown(value)!r} is not a value; give a number, true, a word, "a string" or [an, array]'
    )


def split_key(text: str) -> Key:
    """Split a dotted key: `power.batteries[0].soc0`, or `power.batteries.0.soc0`."""
    parts = PART.findall(text)
    key: Key = tuple(int(part.strip("[]")) if INDEX.fullmatch(part) else part for part in parts)
    rebuilt = {dotted(key), ".".join(str(part) for part in key)}
    if not key or isinstance(key[0], int) or text not in rebuilt:
        raise InputError(f"{_shown(text)!r} is not a key; it must be like environment.wind or power.batteries[0].soc0")
    return key


def apply_overrides(
    layers: Layers,
    overrides: Mapping[str, Any],
    settings: Sequence[str],
    folder: Path | None = None,
    *,
    is_chosen: bool = True,
) -> None:
    """Apply overrides by key and then settings in the form `table.key=value` to the merged files.

    Errors are added to the report. Paths are relative to `folder`, by default the working directory. Code that an
    override names counts as the user's choice, unless the override comes from an untrusted file.
    """
    place_type = Chosen if is_chosen else str
    folder = Path.cwd() if folder is None else folder
    for name, value in overrides.items():
        _apply(layers, place_type(f"override {_shown(name)}"), name, value, folder)
    for text in settings:
        place = place_type(f"--set {_shown(text)}")
        try:
            name, value = parse_override(text)
        except InputError as error:
            layers.report.lines.append(f"{place}: {error}")
        else:
            _apply(layers, place, name, value, folder)


def add_events(layers: Layers, events: Sequence[Mapping[str, Any]]) -> None:
    """Add events of the command line to those of the merged files; errors are added to the report."""
    scenario = layers.data.get("scenario")
    listed = scenario.get("events", ()) if isinstance(scenario, dict) else ()
    if events and isinstance(listed, tuple):
        _apply(layers, Chosen("--event"), "scenario.events", [*listed, *events], Path.cwd())


def _shown(text: str) -> str:
    """Return the user's text on one line, truncated if it is long."""
    line = text if text.isprintable() else repr(text)[1:-1]
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"


@functools.lru_cache(maxsize=1_024)
def canonical_key(text: str) -> Key:
    """Split a dotted key like `split_key`, with the canonical spelling of its parts."""
    done: Key = ()
    for part in split_key(text):
        model = model_at(done, Spec)
        done = (*done, canonical(model, part) if model is not None and isinstance(part, str) else part)
    return done


def _apply(layers: Layers, place: str, name: str, value: Any, folder: Path) -> None:
    layers.places.overrides.append(place)
    try:
        key = canonical_key(name)
        frozen = freeze(value, len(key))
        if key in (("extends",), ("schema_version",), ("compat",)):
            hint = ", or use --compat" if key == ("compat",) else ""
            raise InputError(f"{name} can't be overridden; set it in a file{hint}")
        layers.data = _changed(layers, place, folder, layers.data, (), key, frozen)
    except InputError as error:
        layers.report.lines.append(f"{place}: {error}")
    except RecursionError:
        layers.report.lines.append(f"{place}: the value is nested too deeply")


def _changed(layers: Layers, place: str, folder: Path, here: Any, done: Key, rest: Key, value: Any) -> Any:
    """Return a copy of a table or an array with a key set to a value."""
    part, key = rest[0], (*done, rest[0])
    if isinstance(part, int):
        whole = dotted((*done, *rest))
        if not isinstance(here, tuple):
            raise InputError(f"{whole} = {show(value)} is unknown: {dotted(done)} = {show(here)} is not an array")
        if part >= len(here):
            count = f"{len(here)} item{'' if len(here) == 1 else 's'}"
            raise InputError(f"{whole} = {show(value)} is out of range: {dotted(done)} has {count}, counted from 0")
        items = list(here)
        if len(rest) > 1:
            items[part] = _changed(layers, place, folder, items[part], key, rest[1:], value)
        else:
            items[part] = layers.respell(value, key, place, folder)
            layers.places.files[key] = place
        return tuple(items)
    if not isinstance(here, dict):
        raise InputError(f"{dotted(key)} = {show(value)} is unknown: {dotted(done)} = {show(here)} is not a table")
    copy = dict(here)
    if len(rest) > 1:
        if part not in copy:
            copy[part] = _default(done, part, rest[1])
            layers.places.files[key] = place
        if isinstance(rest[1], str):
            layers.expand_name(copy, part, key)
        copy[part] = _changed(layers, place, folder, copy[part], key, rest[1:], value)
        return copy
    own = layers.respell({part: value}, done, place, folder)
    layers.merge(copy, own, place, done)
    return copy


def _default(done: Key, part: str, next_part: str | int) -> Any:
    """Return the initial value of a key that no file sets: an empty table, or the default items of an array."""
    field = field_at((*done, part), Spec)
    if isinstance(next_part, int) and field is not None and isinstance(field.default, tuple):
        return tuple(
            freeze(item.model_dump(exclude_none=True)) if isinstance(item, Part) else item for item in field.default
        )
    return {}
