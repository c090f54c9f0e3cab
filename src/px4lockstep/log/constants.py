"""Columns that are constant in a flight: exported tables leave them out, and keep their values beside the table.

A typical flight has no faults, no failsafe and no request beyond arming and the mission: half of the columns of its log
never change. They are noise in a spreadsheet, but not lost: a CSV file has them in its side file, a Parquet file in its
metadata, a MAT file in `flight.constants`, and reading the file back restores them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.log import Log
from px4lockstep.log.schema import BY_NAME, COMPONENTS
from px4lockstep.plant.layout import MAX_STATES

Array = npt.NDArray[Any]
KEY = "constants"
"""The key of the values in side files and metadata."""
TIMES = ("time_us", "time_s")
Constants = dict[str, Any]
"""The value of each constant column, a number or a list; a number that is not finite is a string."""


def constants_in(log: Log, options: ExportOptions) -> tuple[str, ...]:
    """Return the columns that an export leaves out: those that are constant, unless columns were chosen."""
    return () if options.all_columns or options.columns is not None else constant_columns(log)


def constant_columns(log: Log) -> tuple[str, ...]:
    """Return the columns whose values have the same bits in all rows; none for a log with fewer than two rows."""
    if log.rows < 2:
        return ()
    return tuple(name for name in log.names if name not in TIMES and is_constant(log, name))


def is_constant(log: Log, name: str) -> bool:
    """Return whether all rows of a column have the same bits, so that -0.0 and 0.0 differ and NaN equals itself."""
    values = log[name]
    first = values[0].tobytes()
    return bool(values[-1].tobytes() == first and values.tobytes() == first * len(values))


def without_constants(log: Log) -> tuple[Log, Constants]:
    """Return a log without its constant columns, and their values."""
    left_out = constant_columns(log)
    return log.select(name for name in log.names if name not in left_out), values_of(log, left_out)


def values_of(log: Log, names: tuple[str, ...]) -> Constants:
    """Return the values of constant columns for JSON."""
    return {name: _for_json(log.part(name, slice(0, 1))[0]) for name in names}


def _for_json(value: Any) -> Any:
    if np.ndim(value):
        return [_for_json(item) for item in value]
    number = value.item()
    return number if isinstance(number, int) or np.isfinite(number) else str(number)


def with_constants(log: Log, constants: object, types: Mapping[str, np.dtype[Any]], path: object) -> Log:
    """Return a log with the constant columns that its file left out; raise if they are damaged."""
    if not isinstance(constants, dict):
        raise InputError(f"{path} is damaged: its constants must be a table of values by column")
    arrays: dict[str, Array] = {}
    for name, value in constants.items():
        if name in log.names or name not in types:
            why = "is also in the table" if name in log.names else "is not in the log schema"
            raise InputError(f"{path} is damaged: its constant column {str(name)[:100]!r} {why}")
        arrays[name] = np.repeat(_checked(name, value, types[name], path)[np.newaxis], log.rows, axis=0)
    if not arrays:
        return log
    return Log({name: log[name] for name in log.names} | arrays)


def _checked(name: str, value: Any, dtype: np.dtype[Any], path: object) -> Array:
    """Return the value of a constant column, with the shape that the schema prescribes."""
    shape = BY_NAME[name].shape
    items = value if isinstance(value, list) else [value]
    size = None if shape == "" else len(COMPONENTS[shape]) if shape in COMPONENTS else min(len(items), MAX_STATES)
    is_shape = isinstance(value, list) == (shape != "") and len(items) == (1 if size is None else size) and items
    try:
        if not is_shape or any(isinstance(item, bool) or not isinstance(item, int | float | str) for item in items):
            raise ValueError(f"{str(value)[:100]} has the wrong shape or type")
        array = np.array([_number(item, dtype) for item in items], dtype)
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(f"{path} is damaged: its constant column {name!r} can't be read: {error}") from error
    return array if shape != "" else np.asarray(array[0])


def _number(item: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number; a string is one that is not finite, which only a float can be."""
    if dtype.kind == "f":
        number = float(item)
        if isinstance(item, str) and np.isfinite(number):
            raise ValueError(f"{item[:100]!r} is not a number")
        return number
    if not isinstance(item, int):
        raise ValueError(f"{str(item)[:100]!r} is not a whole number")
    return item
