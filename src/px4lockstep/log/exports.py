"""The export formats, for `px4lockstep export`, the spec key `run.exports` and `Run.save`.

To add a format, write `export_…(source, path, options)` in a file of its own and add a row to `FORMATS`. The file is
imported when the format is used.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from px4lockstep.errors import InputError, suggestion
from px4lockstep.log.csv import SIDE_SUFFIX
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.resampling import period_us


@dataclass(frozen=True)
class ExportFormat:
    """A format to which a flight can be exported."""

    name: str
    file_name: str  # in the run folder
    description: str
    writer: str  # module of this package and function, `csv.export_csv`
    takes_columns: bool = False  # accepts `ExportOptions.columns`
    takes_rate: bool = False  # accepts `ExportOptions.rate_hz`
    needs_spec: bool = False  # uses `ExportSource.about`
    takes_start: bool = False  # accepts `ExportOptions.start`
    side_suffix: str = ""  # of a second file, written next to the first one
    constants_in: str = ""  # where the values of constant columns are; {} is the path of the export

    def write(self, source: ExportSource, path: Path, options: ExportOptions) -> None:
        """Export a flight to a file."""
        module, _, function = self.writer.partition(".")
        getattr(import_module(f"px4lockstep.log.{module}"), function)(source, path, options)

    def files(self, path: Path) -> tuple[Path, ...]:
        """Return the paths of all files that an export to `path` writes."""
        return (path, Path(f"{path}{self.side_suffix}")) if self.side_suffix else (path,)


FORMATS = {
    each.name: each
    for each in (
        ExportFormat(
            "csv",
            "export.csv",
            "CSV with a side file of units",
            "csv.export_csv",
            takes_columns=True,
            side_suffix=SIDE_SUFFIX,
            constants_in=f"{{}}{SIDE_SUFFIX}",
        ),
        ExportFormat(
            "parquet",
            "export.parquet",
            "Apache Parquet",
            "parquet.export_parquet",
            takes_columns=True,
            constants_in="the metadata of {}",
        ),
        ExportFormat(
            "ulog", "export.ulg", "ULog, PX4's log format", "ulog.export_ulog", takes_rate=True, needs_spec=True
        ),
        ExportFormat("kml", "export.kml", "KML, for Google Earth", "maps.export_kml", takes_rate=True, needs_spec=True),
        ExportFormat(
            "gpx",
            "export.gpx",
            "GPX, a GPS track",
            "maps.export_gpx",
            takes_rate=True,
            takes_start=True,
            needs_spec=True,
        ),
        ExportFormat(
            "mat",
            "export.mat",
            "MAT file, for MATLAB and Octave",
            "matlab.export_matlab",
            takes_columns=True,
            needs_spec=True,
            constants_in="flight.constants of {}",
        ),
        ExportFormat(
            "params", "export.params", "parameters, for QGroundControl", "params.export_params", needs_spec=True
        ),
    )
}
"""All formats by name."""


def format_named(name: str, what: str = "export format") -> ExportFormat:
    """Return a format; `what` names the option in the error."""
    if name not in FORMATS:
        hint = suggestion(name, FORMATS)
        raise InputError(f"unknown {what} {name!r}{hint}; allowed: {', '.join(FORMATS)}")
    return FORMATS[name]


def check_options(chosen: ExportFormat, options: ExportOptions) -> None:
    """Raise `InputError` for an option that a format does not have, or a rate that is out of range."""
    for is_given, is_taken, option in (
        (options.columns is not None, chosen.takes_columns, "columns"),
        (options.rate_hz is not None, chosen.takes_rate, "rate"),
        (options.start is not None, chosen.takes_start, "start"),
    ):
        if is_given and not is_taken:
            having = [each.name for each in FORMATS.values() if getattr(each, f"takes_{option}")]
            raise InputError(f"--{option} is not an option of {chosen.name}; it is for {', '.join(having)}")
    if options.all_columns and not chosen.takes_columns:
        having = [each.name for each in FORMATS.values() if each.takes_columns]
        raise InputError(f"--all-columns is not an option of {chosen.name}; it is for {', '.join(having)}")
    if options.rate_hz is not None:
        period_us(options.rate_hz)


def check_formats(names: Iterable[str]) -> tuple[ExportFormat, ...]:
    """Return the formats of a list of names; raise `InputError` for an unknown or repeated one."""
    chosen: dict[str, ExportFormat] = {}
    for name in names:
        if name in chosen:
            raise InputError(f"export format {name!r} is listed twice; list each format once")
        chosen[name] = format_named(name)
    return tuple(chosen.values())
