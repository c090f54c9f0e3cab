"""Logs as CSV.

    time_us,time_s,pos_x,pos_y,pos_z,...
    0,0,0,0,0,...

The first line names the columns, one per component. Columns that PX4Lockstep.jl logs too have its names (`NAMES`), so
that its plot scripts read these files; all others have their names in Parquet. Units, descriptions and the version of
the schema are in a side file, `log.csv.json`. Numbers have enough digits to read the same double back; NaN is `nan`.
The same run gives the same bytes.

Files of schema version 1 are still read. They have units in the header (`pos_ned_n [m]`), no side file, and up to 0.1.0
a line before the header, `# px4lockstep.log version 1`.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write, to_json
from px4lockstep.log.arrow import (
    TYPES,
    arrow_type,
    check_columns,
    check_file,
    check_version,
    column_of,
    gather_table,
    tables,
)
from px4lockstep.log.constants import KEY, Constants, with_constants, without_constants
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.log import Log
from px4lockstep.log.schema import BY_NAME, COMPONENTS, LOG_SCHEMA, LOG_SCHEMA_VERSION, components
from px4lockstep.log.sink import LogSink
from px4lockstep.reading import read_json

VERSION_LINE = re.compile(rb"# (\S+) version (\d+)\r?\n")
FIELD = re.compile(r"(\w+)(?: \[([^\]]+)\])?")
HEADER_LIMIT = 64 * 1024
"""Maximum bytes of the header, with the version line of earlier files."""
SIDE_LIMIT = 1_000_000
SIDE_SUFFIX = ".json"
COUNT_LIMIT = 99
"""Maximum number of motors, rotors and batteries with a name of their own."""

NAMES = {
    "pos_ned": "pos_x pos_y pos_z",
    "vel_ned": "vel_x vel_y vel_z",
    "q_bn": "q_w q_x q_y q_z",
    "omega_body": "p q r",
    "pos_sp_ned": "pos_sp_x pos_sp_y pos_sp_z",
    "vel_sp_ned": "vel_sp_x vel_sp_y vel_sp_z",
    "acc_sp_ned": "acc_sp_x acc_sp_y acc_sp_z",
    "motors": "m#",
    "rotor_speed_rad_s": "rotor_w#",
    "rotor_thrust_n": "rotor_T#",
    "wind_ned": "wind_x wind_y wind_z",
    "air_density_kg_m3": "rho",
    "air_vel_body": "air_bx air_by air_bz",
    "battery_voltage_v": "batt#_v",
    "battery_current_a": "batt#_a",
    "battery_remaining": "batt#_rem",
    "battery_warning": "batt#_warn",
    "mission_item": "mission_seq",
}
"""Names of PX4Lockstep.jl by column; # is the number of the motor, rotor or battery, without one for the first battery.

Columns with the same name in both (`time_us`, `time_s`, `yaw_sp`, `nav_state`, `mission_count`, ...) are not listed.
"""


def _names_in_file() -> dict[str, str]:
    """Return the names in a CSV file by the names in Parquet, where they differ."""
    names: dict[str, str] = {}
    for column, text in NAMES.items():
        if "#" in text:
            own = components(BY_NAME[column], COUNT_LIMIT)
            first = "" if text.startswith("batt") else "1"
            given = [text.replace("#", first if i == 1 else str(i)) for i in range(1, COUNT_LIMIT + 1)]
        else:
            own, given = components(BY_NAME[column], len(COMPONENTS.get(BY_NAME[column].shape, ""))), text.split()
        names.update(zip(own, given, strict=True))
    return names


IN_FILE = _names_in_file()
IN_SCHEMA = {name: own for own, name in IN_FILE.items()}


def write_csv(
    log: Log,
    path: str | Path,
    columns: Iterable[str] | None = None,
    *,
    digest: str | None = None,
    all_columns: bool = True,
) -> None:
    """Write a log, or some of its columns and the time, and its side file.

    Args:
        log: The log.
        path: Output file; the side file is `side_file(path)`.
        columns: Names of columns; all by default.
        digest: Digest of the flight, for the side file.
        all_columns: Whether to write columns that are constant, too; otherwise their values are in the side file, from
            which `read_csv` restores them. Columns that are named are always written.

    Raises:
        InputError: If there is no such column, or a file can't be written; no partial file is left.
    """
    chosen, constants = log.select(columns), Constants()
    if columns is None and not all_columns:
        chosen, constants = without_constants(log)
    with atomic_write(path) as file:
        file.write(_header_of(chosen))
        _write_rows(chosen, file)
    with atomic_write(side_file(path)) as file:
        file.write(_side_text(chosen, digest, constants).encode())


def export_csv(source: ExportSource, path: Path, options: ExportOptions) -> None:
    """Export a flight as CSV: see `log.exports`."""
    digest = source.summary.get("digest")
    known = None if digest is None else str(digest)
    write_csv(source.log, path, options.columns, digest=known, all_columns=options.all_columns)


class CsvSink(LogSink):
    """A CSV file that grows while the simulation runs: after each chunk it has all rows up to then.

    An existing file is replaced when the run begins. Its side file has no digest, which is only known at the end.

    Args:
        path: Output file.
        columns: Names of columns; all by default.
    """

    def __init__(self, path: str | Path, columns: Iterable[str] | None = None) -> None:
        self.path = Path(path)
        self.columns = None if columns is None else list(columns)

    def open(self, log: Log) -> None:
        """Write the header and the side file."""
        chosen = log.select(self.columns)
        for path, data in (self.path, _header_of(chosen)), (side_file(self.path), _side_text(chosen).encode()):
            with atomic_write(path) as file:
                file.write(data)

    def write(self, log: Log) -> None:
        """Append rows."""
        with self.path.open("ab") as file:
            _write_rows(log.select(self.columns), file)


def side_file(path: str | Path) -> Path:
    """Return the path of the side file of a CSV file."""
    return Path(f"{path}{SIDE_SUFFIX}")


def _header_of(log: Log) -> bytes:
    return (",".join(IN_FILE.get(name, name) for name, _, _ in log.flat()) + "\n").encode()


def _write_rows(log: Log, file: BinaryIO) -> None:
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, quoting_style="none")
    for table in tables(log):
        csv.write_csv(table, file, options)


def _side_text(log: Log, digest: str | None = None, constants: Constants | None = None) -> str:
    about = {"schema": LOG_SCHEMA, "schema_version": LOG_SCHEMA_VERSION}
    columns = [
        {"name": IN_FILE.get(name, name), "column": name, "unit": column.unit, "description": column.description}
        for name, column, _ in log.flat()
    ]
    known = {} if digest is None else {"digest": digest}
    left_out = {KEY: constants} if constants else {}
    return to_json({**about, **known, "columns": columns, **left_out}, indent=1) + "\n"


def read_csv(path: str | Path) -> Log:
    """Read a log that `write_csv` or `CsvSink` wrote; all values are restored exactly.

    The side file may be missing; then so are the columns that were left out because they are constant.

    Raises:
        InputError: If the file can't be read, or is not a log of this version or an earlier one.
    """
    import pyarrow as pa
    from pyarrow import csv

    check_file(path)
    try:
        with Path(path).open("rb") as file:
            head = file.read(HEADER_LIMIT)
        about = _about(path)
        names, units, lines = _header(path, head, about)
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
    log = gather_table(path, table)
    return log if KEY not in about else with_constants(log, about[KEY], TYPES, side_file(path))


def _header(path: str | Path, head: bytes, about: dict[str, Any]) -> tuple[list[str], list[str], int]:
    """Return names in the schema and units from the header, and the number of lines before the first row."""
    version = VERSION_LINE.match(head)
    if version is not None:
        check_version(path, version[1].decode("ascii", "replace"), int(version[2]))
    line, newline, _ = head[version.end() if version else 0 :].partition(b"\n")
    found = [FIELD.fullmatch(field) for field in line.decode("utf-8", "replace").strip().split(",")]
    fields = [field for field in found if field]
    if not newline or len(fields) < len(found) or len({field[2] is None for field in fields}) > 1:
        raise InputError(f"{path} is not a log: its first line must name its columns, such as 'time_us,pos_x'")
    lines = 1 if version is None else 2
    if fields[0][2] is not None:
        return [field[1] for field in fields], [field[2] for field in fields], lines
    names = [IN_SCHEMA.get(field[1], field[1]) for field in fields]
    given = {str(column.get("column")): str(column.get("unit")) for column in about.get("columns", ())}
    return names, [given.get(name) or getattr(column_of(name), "unit", "") for name in names], lines


def _about(path: str | Path) -> dict[str, Any]:
    """Return the contents of the side file of a log; empty if there is none."""
    side = side_file(path)
    if not side.exists():
        return {}
    about = read_json(side, SIDE_LIMIT, "the side file of a log")
    columns = about.get("columns") if isinstance(about, dict) else None
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise InputError(f"{side} is damaged: it must have a list of columns, each with name and unit")
    check_version(side, about.get("schema"), about.get("schema_version"))
    return dict(about)
