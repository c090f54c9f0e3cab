"""Logs as Parquet: one plain column per component (`pos_ned_n`), which every Parquet reader supports.

The metadata of the file contains `schema` and `schema_version`; that of each column `unit`, `description` and `source`.
The time of writing is not stored: the same run gives the same bytes with the same version of pyarrow.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.log.arrow import check_columns, check_file, gather_table, schema_of, tables
from px4lockstep.log.log import Log
from px4lockstep.log.schema import LOG_SCHEMA, LOG_SCHEMA_VERSION


def write_parquet(log: Log, path: str | Path, columns: Iterable[str] | None = None) -> None:
    """Write a log, or some of its columns and the time.

    Args:
        log: The log.
        path: Output file.
        columns: Names of columns; all by default.

    Raises:
        InputError: If there is no such column, or the file can't be written; no partial file is left.
    """
    import pyarrow as pa
    from pyarrow import parquet

    chosen = log if columns is None else log.select(columns)
    schema = schema_of(chosen)
    # Dictionary encoding is for values that repeat; for doubles it gives larger files and takes longer.
    repeating = [field.name for field in schema if field.type != pa.float64()]
    with (
        atomic_write(path) as file,
        parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeating) as writer,
    ):
        for table in tables(chosen):
            writer.write_table(table)
    pa.default_memory_pool().release_unused()  # the pool holds on to tens of megabytes after a long log


def read_parquet(path: str | Path) -> Log:
    """Read a log that `write_parquet` wrote; all values are restored exactly.

    Raises:
        InputError: If the file can't be read, or is not a log of this version.
    """
    import pyarrow as pa
    from pyarrow import parquet

    check_file(path)
    try:
        # Open the file here, because pyarrow rejects file names that are not UTF-8.
        with pa.OSFile(os.fsencode(path)) as raw, parquet.ParquetFile(raw) as file:
            schema = file.schema_arrow
            _check_schema(path, schema.metadata or {})
            units = [(field.metadata or {}).get(b"unit", b"").decode("utf-8", "replace") for field in schema]
            check_columns(path, list(zip(schema.names, units, schema.types, strict=True)), file.metadata.num_rows)
            table = file.read(use_threads=False)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is damaged or not a Parquet file: {error}") from error
    return gather_table(path, table)


def _check_schema(path: str | Path, metadata: dict[bytes, bytes]) -> None:
    """Check that a file is a log of this version."""
    if metadata.get(b"schema") != LOG_SCHEMA.encode():
        raise InputError(f"{path} is not a log: its metadata must have schema = {LOG_SCHEMA}")
    version = metadata.get(b"schema_version", b"").decode("utf-8", "replace")
    if version != str(LOG_SCHEMA_VERSION):
        raise InputError(f"{path} is a log of version {version or '?'}; this is version {LOG_SCHEMA_VERSION}")
