"""Logs as CSV.

    # px4lockstep.log version 1
    time_us [us],time_s [s],pos_ned_n [m],pos_ned_e [m],...
    0,0,0,0,...

The first line names schema and version; readers of CSV skip it as a comment, or by its number. The second has the
columns, one per component, each with its unit; "1" is none. Numbers have as many digits as it takes to read the same
double back; NaN is `nan`. The same run gives the same bytes.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.log.arrow import arrow_type, check_columns, check_file, gather_table, tables
from px4lockstep.log.log import Log
from px4lockstep.log.schema import LOG_SCHEMA, LOG_SCHEMA_VERSION

FIRST_LINE = re.compile(rb"# (\S+) version (\d+)\r?\n")
FIELD = re.compile(r"(\w+) \[([^\]]+)\]")
HEADER_LIMIT = 64 * 1024
"""Bytes that the first two lines have at most."""


def write_csv(log: Log, path: str | Path, columns: Iterable[str] | None = None) -> None:
    """Write a log, or some of its columns and the time.

    Raises:
        InputError: If there is no such column, or the file can't be written; nothing is left of it then.
    """
    from pyarrow import csv

    chosen = log if columns is None else log.select(columns)
    header = ",".join(f"{name} [{column.unit}]" for name, column, _ in chosen.flat())
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with atomic_write(path) as file:
        file.write(f"# {LOG_SCHEMA} version {LOG_SCHEMA_VERSION}\n{header}\n".encode())
        for table in tables(chosen):
            csv.write_csv(table, file, options)


def read_csv(path: str | Path) -> Log:
    """Read what `write_csv` wrote, exactly.

    Raises:
        InputError: If the file can't be read, or is no log of this version.
    """
    import pyarrow as pa
    from pyarrow import csv

    check_file(path)
    try:
        with Path(path).open("rb") as file:
            head = file.read(HEADER_LIMIT)
        names, units = _header(path, head)
        kinds = {name: arrow_type(name) for name in names}
        check_columns(path, [(name, unit, kinds[name]) for name, unit in zip(names, units, strict=True)])
        table = csv.read_csv(
            pa.OSFile(os.fsencode(path)),
            read_options=csv.ReadOptions(use_threads=False, skip_rows=2, column_names=names),
            convert_options=csv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
        )
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is damaged: {error}") from error
    return gather_table(path, table)


def _header(path: str | Path, head: bytes) -> tuple[list[str], list[str]]:
    """Return names and units from the first two lines."""
    first = FIRST_LINE.match(head)
    if first is None or first[1].decode("ascii", "replace") != LOG_SCHEMA:
        raise InputError(f"{path} is no log: its first line must be '# {LOG_SCHEMA} version {LOG_SCHEMA_VERSION}'")
    if int(first[2]) != LOG_SCHEMA_VERSION:
        raise InputError(f"{path} is a log of version {int(first[2])}; this is version {LOG_SCHEMA_VERSION}")
    line, newline, _ = head[first.end() :].partition(b"\n")
    fields = [FIELD.fullmatch(field) for field in line.decode("utf-8", "replace").strip().split(",")]
    if not newline or not all(fields):
        raise InputError(f"{path} is damaged: its second line must have the columns, such as 'pos_ned_n [m]'")
    return [field[1] for field in fields if field], [field[2] for field in fields if field]
