"""Sensors as an aircraft file has them: tables that change some of the defaults."""

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.sensors.config import SensorConfig


def config_of(table: Mapping[str, Any], name: str = "sensors") -> SensorConfig:
    """Return the sensors of a table: `{"gps": {"on_fault": "freeze"}}`; what is left out is as by default.

    Args:
        table: By name of the sensor, and of its setting.
        name: What the table is called in the file.

    Raises:
        InputError: If a name is unknown, or a value is not allowed.
    """
    made: SensorConfig = _made(SensorConfig, table, name)
    return made


def _made(kind: type[Any], table: Any, name: str) -> Any:
    if not isinstance(table, Mapping):
        raise InputError(f"{name} = {table!r} is not allowed; it must be a table")
    types_of = typing.get_type_hints(kind)
    hints = {own.name: types_of[own.name] for own in dataclasses.fields(kind)}
    values = {}
    for key, value in table.items():
        if key not in hints:
            near = difflib.get_close_matches(str(key), hints, 1)
            hint = f"did you mean {near[0]!r}? Allowed" if near else "allowed"
            raise InputError(f"{name}.{key} = {value!r} is unknown; {hint} are {', '.join(hints)}")
        values[key] = _value(hints[key], value, f"{name}.{key}")
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} has a value of another type than it must have: {error}") from error


def _value(hint: Any, value: Any, name: str) -> Any:
    """Return a value for a field of a type."""
    options = [part for part in typing.get_args(hint) if part is not types.NoneType]
    if isinstance(hint, types.UnionType) and len(options) == 1:
        hint = options[0]
    if dataclasses.is_dataclass(hint):
        return _made(typing.cast(type[Any], hint), value, name)
    if typing.get_origin(hint) is tuple:
        size = len(typing.get_args(hint))
        if not isinstance(value, list | tuple) or len(value) != size:
            raise InputError(f"{name} = {value!r} is not allowed; it must be an array of {size}")
        return tuple(
            _value(part, item, f"{name}[{i}]")
            for i, (part, item) in enumerate(zip(typing.get_args(hint), value, strict=True))
        )
    wanted = {float: "a number", int: "a whole number", str: "a string"}[hint]
    is_right = isinstance(value, int | float if hint is float else hint) and not isinstance(value, bool)
    if not is_right:
        raise InputError(f"{name} = {value!r} is not allowed; it must be {wanted}")
    return float(value) if hint is float else value
