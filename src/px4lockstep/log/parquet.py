"""Logs as Parquet: one plain column per component (`pos_ned_n`), which every reader shows as it is.

The file's metadata have `schema` and `schema_version`; each column's have `unit`, `description` and `source`. There is
no time of writing in it: the same run gives the same bytes, with the same version of pyarrow.
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
        path: Where to.
        columns: Their names; all if left out.

    Raises:
        InputError: If there is no such column, or the file can't be written; nothing is left of it then.
    """
    import pyarrow as pa
    from pyarrow import parquet

    chosen = log if columns is None else log.select(columns)
    schema = schema_of(chosen)
    # Dictionaries are for what repeats; of doubles they make larger files, slower.
    repeating = [field.name for field in schema if field.type != pa.float64()]
    with (
        atomic_write(path) as file,
        parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeating) as writer,
    ):
        for table in tables(chosen):
            writer.write_table(table)
    pa.default_memory_pool().release_unused()  # it keeps tens of megabytes of a long log


def read_parquet(path: str | Path) -> Log:
    """Read what `write_parquet` wrote, exactly.

    Raises:
        InputError: If the file can't be read, or is no log of this version.
    """
    import pyarrow as pa
    from pyarrow import parquet

    check_file(path)
    try:
        # A file of ours takes names that are not UTF-8.
        with pa.OSFile(os.fsencode(path)) as raw, parquet.ParquetFile(raw) as file:
            schema = file.schema_arrow
            _check_schema(path, schema.metadata or {})
            units = [(field.metadata or {}).get(b"unit", b"").decode("utf-8", "replace") for field in schema]
            check_columns(path, list(zip(schema.names, units, schema.types, strict=True)), file.metadata.num_rows)
            table = file.read(use_threads=False)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is damaged, or no Parquet file: {error}") from error
    return gather_table(path, table)


def _check_schema(path: str | Path, metadata: dict[bytes, bytes]) -> None:
    """Check that a file is a log of this version."""
    if metadata.get(b"schema") != LOG_SCHEMA.encode():
        raise InputError(f"{path} is no log: its metadata must have schema = {LOG_SCHEMA}")
    version = metadata.get(b"schema_version", b"").decode("utf-8", "replace")
    if version != str(LOG_SCHEMA_VERSION):
        raise InputError(f"{path} is a log of version {version or '?'}; this is version {LOG_SCHEMA_VERSION}")
