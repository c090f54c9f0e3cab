"""The results of a campaign: a Parquet dataset in a folder of part files, with one row per run.

    results/part-00000.parquet   results/part-00001.parquet   ...

Rows arrive in the order in which flights finish. A part is written atomically once it holds a twentieth of the rows
already written, so a killed campaign loses at most that fraction, and a million runs make about three hundred files.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.distributions import SAMPLED
from px4lockstep.campaigns.file_tables import MAX_RUNS, Vary
from px4lockstep.campaigns.result_rows import ABOUT, Row
from px4lockstep.campaigns.results_table import MetricColumn, Results
from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.part import freeze

MAX_COLUMNS = 2_000

SCHEMA_NAME, SCHEMA_VERSION = "px4lockstep.campaign", 1
PART = "part-{:05d}.parquet"
ROWS_BEFORE = 20
"""Rows already written per row of a new part."""


def schema_of(campaign: Campaign) -> pa.Schema:
    """Return the columns of a campaign's results, each with its role, and metrics with their unit."""
    types = {"index": pa.int64(), "passed": pa.bool_(), "seed": pa.int64()}
    fields = [pa.field(name, types.get(name, pa.string()), metadata={"role": "about"}) for name in ABOUT]
    fields += [pa.field(own.key, _type_of(own), metadata={"role": "input"}) for own in campaign.vary]
    for metric in campaign.metrics:
        kind = pa.bool_() if metric.is_bool else pa.float64()
        fields.append(pa.field(metric.name, kind, metadata={"role": "metric", "unit": metric.unit}))
    about = {"schema": SCHEMA_NAME, "schema_version": str(SCHEMA_VERSION), "campaign": campaign.identity}
    return pa.schema(fields, metadata=about)


def _type_of(vary: Vary) -> pa.DataType:
    """Return the type of an input's column."""
    if vary.distribution in SAMPLED and vary.distribution != "choice":
        return pa.int64() if vary.whole else pa.float64()
    values = vary.values or ()
    types = {bool: pa.bool_(), str: pa.string(), tuple: pa.list_(pa.float64())}
    number = pa.int64() if all(isinstance(value, int) for value in values) else pa.float64()
    return types.get(type(values[0]), number)


class ResultsWriter:
    """Writes rows to a folder as they arrive.

    Args:
        folder: The folder of the dataset; created if it does not exist.
        schema: The columns.
        written: How many rows the folder already has.
    """

    def __init__(self, folder: Path, schema: pa.Schema, written: int = 0) -> None:
        try:
            if folder.is_symlink():
                raise InputError(f"{folder} is a symbolic link; results are written only inside the campaign folder")
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"can't create {folder}: {error.strerror}") from error
        self._folder, self._schema, self._written = folder, schema, written
        self._number = 0
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Add a row; write a part if it is due."""
        self._rows.append(row)
        if len(self._rows) * ROWS_BEFORE >= self._written:
            self.flush()

    def flush(self) -> None:
        """Write the rows added since the last part."""
        if not self._rows:
            return
        flat = [{name: getattr(row, name) for name in ABOUT} | row.inputs | row.metrics for row in self._rows]
        table = pa.Table.from_pylist(flat, self._schema)
        while (place := self._folder / PART.format(self._number)).exists():  # numbers may have gaps
            self._number += 1
        with atomic_write(place) as file:
            pq.write_table(table, file)
        self._written += len(self._rows)
        self._rows = []


def parts_of(folder: Path) -> list[Path]:
    """Return the part files of a dataset, in order."""
    return sorted(folder.glob("part-*.parquet"))


def read_results(folder: Path) -> pa.Table:
    """Return all rows, sorted by index."""
    parts = parts_of(folder)
    if not parts:
        raise InputError(f"no results in {folder}; no run of this campaign has finished")
    tables = []
    for part in parts:
        try:
            tables.append(_read_part(part))
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"can't read {part}: {error}; remove it and resume the campaign") from error
        if not tables[0].schema.equals(tables[-1].schema, check_metadata=True):
            raise InputError(f"{part} belongs to a different campaign than {parts[0].name}; remove it")
    for name in ABOUT:
        if tables[0].column_names.count(name) != 1 or any(
            table[name].null_count for table in tables if name == "index"
        ):
            raise InputError(f"{folder} is damaged: column {name!r} is missing, duplicated, or lacks values")
    rows = pa.concat_tables(tables).sort_by("index")
    indexes = rows["index"].to_pylist()
    if len(dict.fromkeys(indexes)) != len(indexes):
        raise InputError(f"{folder} has duplicate runs; remove the part files that were copied into it")
    return rows


def _read_part(part: Path) -> pa.Table:
    """Return the rows of a part file, after checking that it is a regular file and not too large."""
    if not part.is_file():  # reading a named pipe would block
        raise InputError(f"{part} is not a regular file; remove it and resume the campaign")
    with pa.OSFile(os.fsencode(part)) as raw, pq.ParquetFile(raw) as file:
        rows, columns = file.metadata.num_rows, len(file.schema_arrow.names)
        if rows > MAX_RUNS or columns > MAX_COLUMNS:
            limit = f"the limit is {MAX_RUNS:,} rows and {MAX_COLUMNS:,} columns"
            raise InputError(f"{part} has {rows:,} rows and {columns:,} columns; {limit}")
        return file.read()


def rows_of(table: pa.Table) -> list[Row]:
    """Return the rows of a dataset."""
    inputs, metrics = ([field.name for field in _fields_of(role, table)] for role in ("input", "metric"))
    return [
        Row(
            **{name: record[name] for name in ABOUT},
            inputs={name: freeze(record[name]) for name in inputs},
            metrics={name: record[name] for name in metrics},
        )
        for record in table.to_pylist()
    ]


def _fields_of(role: str, table: pa.Table) -> list[pa.Field]:
    return [field for field in table.schema if (field.metadata or {}).get(b"role") == role.encode()]


def results_of(campaign: Campaign, table: pa.Table) -> Results:
    """Return the rows of a dataset for statistics and figures."""
    columns = {}
    for name in table.column_names:
        values = table[name].to_pylist()
        columns[name] = np.empty(len(values), object)
        columns[name][:] = values
    inputs = tuple(own.key for own in campaign.vary)
    metrics = tuple(
        MetricColumn(field.name, field.metadata.get(b"unit", b"").decode(), pa.types.is_boolean(field.type))
        for field in _fields_of("metric", table)
    )
    about = campaign.file.campaign
    names = campaign.name, about.sampling, _variation(campaign), campaign.labels
    return Results(columns, inputs, metrics, campaign.file.pass_, *names)


def _variation(campaign: Campaign) -> tuple[str, ...]:
    """Return how the inputs of a campaign vary: see `Results.methods`."""
    about = campaign.file.campaign
    if not campaign.vary:
        return ("seeds",) if about.own_seeds else ()
    ways = (about.sampling if own.distribution in SAMPLED else own.distribution for own in campaign.vary)
    return tuple(dict.fromkeys(ways))
