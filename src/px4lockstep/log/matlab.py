"""Flights as MAT files (version 5), for MATLAB, Octave and `scipy.io.loadmat`.

The file has one variable, the struct `flight`, with a field for each column of the log: `flight.pos_ned` has a row for
each time in `flight.time_s`, and three columns. `flight.constants` has one value of each column that is constant in the
flight, `flight.units` the unit of each column, `flight.about` the name, home, outcome and digest of the flight.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.log.constants import constants_in
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.geographic import with_home

VARIABLE = "flight"
HEADER = b"MATLAB 5.0 MAT-file, created by px4lockstep"
HEADER_BYTES = 116
"""Size of the text at the start, in which SciPy writes the time: the same flight must give the same bytes."""
MAX_BYTES = 2**31 - 2**20
"""Limit of a variable in version 5."""
GEOGRAPHIC = ("lat_deg", "lon_deg", "alt_msl_m")


def export_matlab(source: ExportSource, path: Path, options: ExportOptions) -> None:
    """Write a flight, with latitude, longitude and altitude if home is known."""
    from scipy.io import savemat

    about, log = source.about, source.log
    left_out = constants_in(log, options)
    constants: dict[str, Any] = {name: log.part(name, slice(0, 1))[0] for name in left_out}
    names = (
        list(options.columns) if options.columns is not None else [name for name in log.names if name not in constants]
    )
    if about.home is not None and "pos_ned" in log:
        log = with_home(log, about.home)
        names += GEOGRAPHIC if options.columns is None else ()
    chosen = log.select(names)
    columns: dict[str, Any] = {name: np.array(chosen[name]) for name in chosen.names}
    total = sum(array.nbytes for array in columns.values())
    if total > MAX_BYTES:
        raise InputError(
            f"the log has {total / 1e9:.1f} GB; a MAT file can hold {MAX_BYTES / 1e9:.1f} GB. Use --columns or Parquet"
        )
    known = {"name": about.name, "autopilot": about.autopilot}
    known |= {key: str(source.summary[key]) for key in ("outcome", "digest") if source.summary.get(key) is not None}
    facts: dict[str, Any] = dict(known)
    if about.home is not None:
        facts["home"] = vars(about.home)
    units = {name: log.unit(name) for name in (*chosen.names, *left_out)}
    data = io.BytesIO()
    flight = {**columns, **({"constants": constants} if constants else {}), "units": units, "about": facts}
    savemat(data, {VARIABLE: flight}, long_field_names=True, do_compression=True, oned_as="column")
    with atomic_write(path) as file:
        file.write(HEADER.ljust(HEADER_BYTES) + data.getvalue()[HEADER_BYTES:])
