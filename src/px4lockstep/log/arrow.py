"""Logs as pyarrow tables, a chunk of rows at a time, so that writing a log takes little extra memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import LOG_ROW
from px4lockstep.engine.timeline import MAX_BOUNDARIES
from px4lockstep.errors import InputError
from px4lockstep.io import blocks
from px4lockstep.log.log import Log, checked_times, gather
from px4lockstep.log.schema import BY_NAME, COLUMNS, COMPONENTS, LOG_SCHEMA, LOG_SCHEMA_VERSION, Column
from px4lockstep.sensors.suite import SENSOR_OUT

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_CHUNK = 8_192
MAX_BYTES = 8 * 2**30
"""Size limit of a log that is read."""
MAX_LISTED = 20


def schema_of(log: Log) -> "pa.Schema":
    """Return the pyarrow schema of a log, with units and descriptions."""
    import pyarrow as pa

    fields = [
        pa.field(name, pa.from_numpy_dtype(array.dtype), nullable=False, metadata=metadata)
        for name, column, array in log.flat()
        for metadata in [{"unit": column.unit, "description": column.description, "source": column.source}]
    ]
    return pa.schema(fields, metadata={"schema": LOG_SCHEMA, "schema_version": str(LOG_SCHEMA_VERSION)})


def tables(log: Log) -> "Iterator[pa.Table]":
    """Yield a log as tables of a few rows each."""
    import pyarrow as pa

    schema, arrays = schema_of(log), [array for _, _, array in log.flat()]
    for rows in blocks(arrays[0], ROWS_PER_CHUNK):
        yield pa.Table.from_arrays([_column(array[rows]) for array in arrays], schema=schema)


def _column(values: npt.NDArray[Any]) -> "pa.Array":
    """Return numbers as a pyarrow array of the same memory, if they are contiguous.

    `pyarrow.array` would import pandas where it is installed, which takes as long as the import of Numba.
    """
    import pyarrow as pa

    numbers = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)])


def check_file(path: str | Path) -> None:
    """Refuse a path that is not a regular file; reading a pipe would block."""
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"{path} can't be read: it is not a regular file")


def check_version(path: str | Path, schema: object, version: object) -> None:
    """Check that a file is a log, of this version of the schema or an earlier one."""
    if schema != LOG_SCHEMA:
        raise InputError(f"{path} is not a log: its schema must be {LOG_SCHEMA}")
    if not isinstance(version, int) or not 1 <= version <= LOG_SCHEMA_VERSION:
        versions = f"versions 1 to {LOG_SCHEMA_VERSION}; a newer version of px4lockstep may read it"
        raise InputError(f"{path} is a log of version {version}; this px4lockstep reads {versions}")


def check_columns(path: str | Path, fields: "Sequence[tuple[str, str, pa.DataType]]", rows: int = 0) -> None:
    """Check the columns of a file before they are read: names, units, types and number of rows."""
    known = {name: column_of(name) for name, _, _ in fields}
    unknown = [name for name, column in known.items() if column is None]
    if unknown:
        more = f" and {len(unknown) - MAX_LISTED} more" if len(unknown) > MAX_LISTED else ""
        raise InputError(f"{path}: columns {unknown[:MAX_LISTED]}{more} are not in the log schema")
    seen: set[str] = set()
    for name, unit, kind in fields:
        column, wanted = known[name], arrow_type(name)
        if name in seen:
            raise InputError(f"{path}: duplicate column {name!r}")
        if kind != wanted:
            raise InputError(f"{path}: column {name!r} has type {kind}; it must be {wanted}")
        if column is not None and unit != column.unit:
            raise InputError(f"{path}: column {name!r} has unit {unit!r}; it must be {column.unit!r}")
        seen.add(name)
    if rows > MAX_BOUNDARIES or 8 * rows * len(fields) > MAX_BYTES:
        limit = f"the limits are {MAX_BOUNDARIES} rows and {MAX_BYTES / 2**30:.0f} GiB"
        raise InputError(f"{path} has {rows} rows of {len(fields)} numbers; {limit}")


def gather_table(path: str | Path, table: "pa.Table") -> Log:
    """Return the log in a table whose columns were checked; refuse missing values and times that do not increase."""
    for name in table.column_names:
        if table.column(name).null_count:
            raise InputError(f"{path}: column {name!r} has missing values; it needs a number in each row")
    try:
        # Not `to_numpy`, which imports pandas, if it is installed, for a fifth of a second.
        log = gather({name: np.from_dlpack(table.column(name).combine_chunks()) for name in table.column_names})
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return checked_times(path, log)


def column_of(name: str) -> Column | None:
    """Return the column of the schema that a column of a file belongs to, or None."""
    if name in BY_NAME:
        return BY_NAME[name]
    stem, _, end = name.rpartition("_")
    column = BY_NAME.get(stem)
    if column is None or column.shape == "":
        return None
    is_component = end in COMPONENTS[column.shape] if column.shape in COMPONENTS else end.isdecimal()
    return column if is_component else None


def arrow_type(name: str) -> "pa.DataType":
    """Return the type of a file's column by its name; double if it is not in the schema."""
    import pyarrow as pa

    column = column_of(name)
    return pa.from_numpy_dtype(TYPES[column.name]) if column is not None else pa.float64()


def _type_of(column: Column) -> np.dtype[Any]:
    """Return the type of a column's values, from the layout of the log's rows."""
    part, _, path = column.source.partition(".")
    if part in ("derived", "state"):
        return np.dtype("f8")
    if column.needs == "sensors":
        part, path = path.split(".")  # sensors are not in the row but in an array of their own
    dtype = SENSOR_OUT if part == "sensors" else LOG_ROW[part]
    for field in path.split(".") if path else ():
        dtype = dtype[field] if dtype.subdtype is None else dtype.subdtype[0][field]
    return dtype if dtype.subdtype is None else dtype.subdtype[0]


TYPES = {column.name: _type_of(column) for column in COLUMNS}
"""The type of each column's values."""
