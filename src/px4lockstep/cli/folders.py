"""`px4lockstep plot` and `export`: look at a run folder again."""

import sys
from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.logs.csv import write_csv
from px4lockstep.logs.parquet import write_parquet
from px4lockstep.runs.folder import LOG_PARQUET, PLOTS, read_log

WRITERS = {"csv": write_csv, "parquet": write_parquet}


def plot_run(folder: Path, out: Path | None) -> int:
    """Draw the flight in a run folder."""
    from px4lockstep.report.plots import plot_flight, save_plot

    target = out or folder / PLOTS
    save_plot(plot_flight(read_log(folder), title=folder.name), target)
    sys.stdout.write(f"{target}\n")
    return 0


def export_run(folder: Path, to: str, out: Path | None, columns: str | None) -> int:
    """Write the log of a run folder in a format."""
    if to not in WRITERS:
        raise InputError(f"--format {to} is unknown; allowed are {', '.join(WRITERS)}")
    target = out or folder / f"export.{to}"
    if target.exists() and target.resolve() == (folder / LOG_PARQUET).resolve():
        raise InputError(f"{target} is the run's own log; give --out another name")
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    WRITERS[to](read_log(folder), target, names)
    sys.stdout.write(f"{target}\n")
    return 0
