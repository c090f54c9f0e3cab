"""Logs as Parquet: one plain column per component (`pos_ned_n`), which every Parquet reader supports.

The metadata of the file contains `schema` and `schema_version`; that of each column `unit`, `description` and `source`.
The time of writing is not stored: the same run gives the same bytes with the same version of pyarrow.
"""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write, to_json
from px4lockstep.log.arrow import (
    ROWS_PER_CHUNK,
    TYPES,
    check_columns,
    check_file,
    check_version,
    gather_table,
    schema_of,
    tables,
)
from px4lockstep.log.constants import KEY, Constants, with_constants, without_constants
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.log import Log
from px4lockstep.log.sink import LogSink
from px4lockstep.reading import parse_json

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet


def write_parquet(
    log: Log, path: str | Path, columns: Iterable[str] | None = None, *, all_columns: bool = True
) -> None:
    """Write a log, or some of its columns and the time.

    Args:
        log: The log.
        path: Output file.
        columns: Names of columns; all by default.
        all_columns: Whether to write columns that are constant, too; otherwise their values are in the metadata of the
            file, from which `read_parquet` restores them. Columns that are named are always written.

    Raises:
        InputError: If there is no such column, or the file can't be written; no partial file is left.
    """
    import pyarrow as pa

    chosen, constants = log.select(columns), Constants()
    if columns is None and not all_columns:
        chosen, constants = without_constants(log)
    schema = schema_of(chosen)
    if constants:
        schema = schema.with_metadata({**schema.metadata, KEY: to_json(constants)})
    with atomic_write(path) as file, _writer(file, schema) as writer:
        for table in tables(chosen):
            writer.write_table(table.replace_schema_metadata(schema.metadata))
    pa.default_memory_pool().release_unused()  # the pool holds on to tens of megabytes after a long log


def export_parquet(source: ExportSource, path: Path, options: ExportOptions) -> None:
    """Export a flight as Parquet: see `log.exports`."""
    write_parquet(source.log, path, options.columns, all_columns=options.all_columns)


class ParquetSink(LogSink):
    """A Parquet file with the rows of a simulation, written while it runs; it appears when the run ends.

    Args:
        path: Output file.
        columns: Names of columns; all by default.
    """

    def __init__(self, path: str | Path, columns: Iterable[str] | None = None) -> None:
        self.path = Path(path)
        self.columns = None if columns is None else list(columns)
        self._stack = ExitStack()
        self._held: list[pa.Table] = []
        self._writer: parquet.ParquetWriter | None = None

    def open(self, log: Log) -> None:
        """Begin a temporary file next to the output file."""
        with ExitStack() as stack:
            file = stack.enter_context(atomic_write(self.path))
            self._writer = stack.enter_context(_writer(file, schema_of(log.select(self.columns))))
            stack.callback(self._flush)
            self._stack = stack.pop_all()

    def write(self, log: Log) -> None:
        """Write rows; small chunks are collected, because each part of the file costs some kilobytes."""
        self._held += tables(log.select(self.columns))
        if sum(table.num_rows for table in self._held) >= ROWS_PER_CHUNK:
            self._flush()

    def close(self) -> None:
        """Complete the file."""
        self._stack.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._held and self._writer is not None:
            self._writer.write_table(pa.concat_tables(self._held))
        self._held = []


def _writer(file: BinaryIO, schema: "pa.Schema") -> "parquet.ParquetWriter":
    import pyarrow as pa
    from pyarrow import parquet

    # Dictionary encoding is for values that repeat; for doubles it gives larger files and takes longer.
    repeating = [field.name for field in schema if field.type != pa.float64()]
    return parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeating)


def read_parquet(path: str | Path) -> Log:
    """Read a log that `write_parquet` wrote; all values are restored exactly.

    Raises:
        InputError: If the file can't be read, or is not a log of this version or an earlier one.
    """
    import pyarrow as pa
    from pyarrow import parquet

    check_file(path)
    try:
        # Open the file here, because pyarrow rejects file names that are not UTF-8.
        with pa.OSFile(os.fsencode(path)) as raw, parquet.ParquetFile(raw) as file:
            schema = file.schema_arrow
            about = {key: value.decode("utf-8", "replace") for key, value in (schema.metadata or {}).items()}
            version = about.get(b"schema_version", "")
            check_version(path, about.get(b"schema"), int(version) if version.isdecimal() else version or "?")
            units = [(field.metadata or {}).get(b"unit", b"").decode("utf-8", "replace") for field in schema]
            check_columns(path, list(zip(schema.names, units, schema.types, strict=True)), file.metadata.num_rows)
            table = file.read(use_threads=False)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is damaged or not a Parquet file: {error}") from error
    log = gather_table(path, table)
    text = about.get(KEY.encode())
    return log if text is None else with_constants(log, parse_json(text, str(path), "a log"), TYPES, path)
