"""Logs as tables of pyarrow, a chunk of rows at a time, so that writing one takes little memory besides it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import LOG_ROW
from px4lockstep.errors import InputError
from px4lockstep.io import blocks
from px4lockstep.log.log import Log, gather
from px4lockstep.log.schema import BY_NAME, COLUMNS, COMPONENTS, LOG_SCHEMA, LOG_SCHEMA_VERSION, Column
from px4lockstep.sensors.suite import SENSOR_OUT

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_CHUNK = 8_192


def schema_of(log: Log) -> "pa.Schema":
    """Return the schema of a log's table, with units and descriptions."""
    import pyarrow as pa

    fields = [
        pa.field(name, pa.from_numpy_dtype(array.dtype), nullable=False, metadata=metadata)
        for name, column, array in log.flat()
        for metadata in [{"unit": column.unit, "description": column.description, "source": column.source}]
    ]
    return pa.schema(fields, metadata={"schema": LOG_SCHEMA, "schema_version": str(LOG_SCHEMA_VERSION)})


def tables(log: Log) -> "Iterator[pa.Table]":
    """Go through a log as tables of some of its rows."""
    import pyarrow as pa

    schema, arrays = schema_of(log), [array for _, _, array in log.flat()]
    for rows in blocks(arrays[0], ROWS_PER_CHUNK):
        yield pa.Table.from_arrays([pa.array(np.ascontiguousarray(array[rows])) for array in arrays], schema=schema)


def gather_table(path: str | Path, table: "pa.Table", units: dict[str, str]) -> Log:
    """Return a table of a file as a log; refuse one that has not a log's columns, or not in the schema's units."""
    flat: dict[str, npt.NDArray[Any]] = {}
    for name in table.column_names:
        column = table.column(name)
        if column.type != arrow_type(name) or column.null_count:
            raise InputError(f"{path}: column {name!r} is {column.type}; it must be {arrow_type(name)}, without gaps")
        flat[name] = column.to_numpy()
    try:
        log = gather(flat)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    for name, unit in units.items():
        known = column_of(name)
        if known is not None and unit != known.unit:
            raise InputError(f"{path}: column {name!r} is in {unit!r}; it must be in {known.unit!r}")
    return log


def column_of(name: str) -> Column | None:
    """Return the column that a name in a file belongs to, or None."""
    if name in BY_NAME:
        return BY_NAME[name]
    stem, _, end = name.rpartition("_")
    column = BY_NAME.get(stem)
    if column is None or column.shape == "":
        return None
    is_component = end in COMPONENTS[column.shape] if column.shape in COMPONENTS else end.isdecimal()
    return column if is_component else None


def arrow_type(name: str) -> "pa.DataType":
    """Return the type of a column, by its name in a file; double if it is not the schema's."""
    import pyarrow as pa

    column = column_of(name)
    return pa.from_numpy_dtype(TYPES[column.name]) if column is not None else pa.float64()


def _type_of(column: Column) -> np.dtype[Any]:
    """Return the type of a column's numbers, from the layout that it is logged with."""
    part, _, path = column.source.partition(".")
    if part in ("derived", "state"):
        return np.dtype("f8")
    if column.needs == "sensors":
        part, path = path.split(".")  # it is not in the row but beside it
    dtype = SENSOR_OUT if part == "sensors" else LOG_ROW[part]
    for field in path.split(".") if path else ():
        dtype = dtype[field] if dtype.subdtype is None else dtype.subdtype[0][field]
    return dtype if dtype.subdtype is None else dtype.subdtype[0]


TYPES = {column.name: _type_of(column) for column in COLUMNS}
"""The type of each column's numbers."""
