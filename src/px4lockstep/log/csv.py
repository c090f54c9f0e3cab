"""Logs as CSV.

    time_us [us],time_s [s],pos_ned_n [m],pos_ned_e [m],...
    0,0,0,0,...

The first line is the header: one column per component, each with its unit; "1" means dimensionless. Numbers have
enough digits to read the same double back; NaN is `nan`. The same run gives the same bytes.

Files of earlier versions have a line before the header, `# px4lockstep.log version 1`, and are still read.
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

VERSION_LINE = re.compile(rb"# (\S+) version (\d+)\r?\n")
FIELD = re.compile(r"(\w+) \[([^\]]+)\]")
HEADER_LIMIT = 64 * 1024
"""Maximum bytes of the header, with the version line of earlier files."""


def write_csv(log: Log, path: str | Path, columns: Iterable[str] | None = None) -> None:
    """Write a log, or some of its columns and the time.

    Raises:
        InputError: If there is no such column, or the file can't be written; no partial file is left.
    """
    from pyarrow import csv

    chosen = log if columns is None else log.select(columns)
    header = ",".join(f"{name} [{column.unit}]" for name, column, _ in chosen.flat())
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with atomic_write(path) as file:
        file.write(f"{header}\n".encode())
        for table in tables(chosen):
            csv.write_csv(table, file, options)


def read_csv(path: str | Path) -> Log:
    """Read a log that `write_csv` wrote; all values are restored exactly.

    Raises:
        InputError: If the file can't be read, or is not a log of this version.
    """
    import pyarrow as pa
    from pyarrow import csv

    check_file(path)
    try:
        with Path(path).open("rb") as file:
            head = file.read(HEADER_LIMIT)
        names, units, lines = _header(path, head)
        kinds = {name: arrow_type(name) for name in names}
        check_columns(path, [(name, unit, kinds[name]) for name, unit in zip(names, units, strict=True)])
        table = csv.read_csv(
            pa.OSFile(os.fsencode(path)),
            read_options=csv.ReadOptions(use_threads=False, skip_rows=lines, column_names=names),
            convert_options=csv.ConvertOptions(column_types=kinds, null_values=[], strings_can_be_null=False),
        )
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise InputError(f"{path} is damaged: {error}") from error
    return gather_table(path, table)


def _header(path: str | Path, head: bytes) -> tuple[list[str], list[str], int]:
    """Return names and units from the header, and the number of lines before the first row."""
    version = VERSION_LINE.match(head)
    if version is not None and version[1].decode("ascii", "replace") != LOG_SCHEMA:
        raise InputError(f"{path} is not a log: its schema must be {LOG_SCHEMA}")
    if version is not None and int(version[2]) != LOG_SCHEMA_VERSION:
        raise InputError(f"{path} is a log of version {int(version[2])}; this is version {LOG_SCHEMA_VERSION}")
    line, newline, _ = head[version.end() if version else 0 :].partition(b"\n")
    fields = [FIELD.fullmatch(field) for field in line.decode("utf-8", "replace").strip().split(",")]
    if not newline or not all(fields):
        raise InputError(f"{path} is not a log: its first line must name columns with units, such as 'pos_ned_n [m]'")
    lines = 1 if version is None else 2
    return [field[1] for field in fields if field], [field[2] for field in fields if field], lines
