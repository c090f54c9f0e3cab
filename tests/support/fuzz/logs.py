"""Logs: Parquet, CSV and the row folder of a killed run; read, plotted and exported."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import px4lockstep
from fuzz import expect
from fuzz.mutations import ODD_NUMBERS, TOKENS, mutated_bytes, mutated_tree, toml_of
from px4lockstep.flights.figure import draw_folder
from px4lockstep.flights.folder import RunFolder, read_log
from px4lockstep.log.csv import read_csv, write_csv
from px4lockstep.log.log import Log
from px4lockstep.log.parquet import write_parquet
from px4lockstep.log.rows import HEAD

SPEC, PARQUET, CSV, ROWS = "spec.toml", "log.parquet", "log.csv", "log.rows"
DRAWN = "drawn"


@functools.cache
def base():
    """Return the files of a run of 0.2 s: spec, Parquet, CSV and row folder."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris", {"timeline.t_end_s": 0.2}))
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder.create(Path(place) / "out", flight, holds_log=True).path
        flight.simulation.run()
        rows = {path.name: path.read_bytes() for path in (folder / ROWS).iterdir()}
        log = Log.of(flight.simulation)
        write_parquet(log, folder / PARQUET)
        write_csv(log, folder / CSV)
        return {name: (folder / name).read_bytes() for name in (SPEC, PARQUET, CSV)} | {ROWS: rows}


def write(folder, rng):
    """Write a run folder with one of the three formats."""
    (folder / SPEC).write_bytes(base()[SPEC])
    kind = PARQUET if rng is None else rng.choice((PARQUET, PARQUET, CSV, ROWS, ROWS))
    {PARQUET: _write_parquet, CSV: _write_csv, ROWS: _write_rows}[kind](folder, rng)
    if rng is not None and rng.random() < 0.1:
        import tomllib

        tree = mutated_tree(tomllib.loads(base()[SPEC].decode()), rng)
        (folder / SPEC).write_text(toml_of(tree), "utf-8")
    if rng is None or rng.random() < 0.03:
        (folder / DRAWN).touch()


def _write_parquet(folder, rng):
    data = base()[PARQUET]
    if rng is not None and rng.random() < 0.35:
        data = mutated_bytes(data, rng)
    elif rng is not None:
        table = _edited(pq.read_table(pa.BufferReader(data)), rng)
        with pa.BufferOutputStream() as stream:
            pq.write_table(table, stream)
            data = stream.getvalue().to_pybytes()
    (folder / PARQUET).write_bytes(data)


def _edited(table, rng):
    """Return a table with a column or some rows changed."""
    i, way = rng.randrange(table.num_columns), rng.random()
    i = 0 if rng.random() < 0.3 else i
    name, column = table.column_names[i], table.column(i).combine_chunks()
    if way < 0.15:
        return table.append_column(name, column)
    if way < 0.25:
        return table.remove_column(i)
    if way < 0.35:
        return table.rename_columns([own + "x" if own == name else own for own in table.column_names])
    if way < 0.5:
        order = list(range(table.num_rows))
        rng.shuffle(order)
        return table.take(pa.array(order if rng.random() < 0.5 else order[: rng.randrange(4)], pa.int64()))
    if way < 0.6:
        return table.set_column(i, name, pa.array([str(j) for j in range(table.num_rows)]))
    if way < 0.7:
        return table.set_column(i, name, pa.nulls(table.num_rows, column.type))
    if way < 0.8:
        return table.replace_schema_metadata(
            {key: mutated_bytes(value, rng) for key, value in (table.schema.metadata or {}).items()}
        )
    values = column.to_pylist()
    values[rng.randrange(len(values))] = rng.choice((0, 1, None, -1 if pa.types.is_signed_integer(column.type) else 7))
    return table.set_column(i, name, pa.array(values, column.type))


def _write_csv(folder, rng):
    data = base()[CSV]
    if rng is not None:
        lines = data.split(b"\n")
        if rng.random() < 0.5:
            row = rng.randrange(len(lines))
            words = lines[row].split(b",")
            words[rng.randrange(len(words))] = str(rng.choice(ODD_NUMBERS)).encode()
            lines[row] = b",".join(words)
            data = b"\n".join(lines)
        elif rng.random() < 0.3:
            rng.shuffle(lines)
            data = b"\n".join(lines)
        else:
            data = mutated_bytes(data, rng, tokens=(*TOKENS, b",,", b'"', b"time_us,"))
    (folder / CSV).write_bytes(data)


def _write_rows(folder, rng):
    rows = dict(base()[ROWS])
    name = rng.choice(sorted(rows))
    if rng.random() < 0.5:
        head = np.frombuffer(bytearray(rows["head"][: HEAD.itemsize]), HEAD)
        head[rng.choice(("logged", "logged", "states", "has_sensors"))] = rng.choice(
            (-1, -5, 0, 1, 20, 22, 99, 2**62, -(2**63))
        )
        rows["head"] = head.tobytes()
    elif rng.random() < 0.3:
        del rows[name]
    else:
        rows[name] = mutated_bytes(rows[name], rng, tokens=(b"\0" * 8, b"\xff" * 8))
    (folder / ROWS).mkdir()
    for name, data in rows.items():
        (folder / ROWS / name).write_bytes(data)


def use(folder):
    """Read the log, write it again, and plot it if requested."""
    if (folder / CSV).exists():
        log = read_csv(folder / CSV)
    else:
        log = read_log(folder)
    times = log.time_us
    expect(bool(np.all(times[1:] > times[:-1])), "the times of the log don't rise")
    for name in log:
        expect(len(log[name]) == log.rows, f"{name} has not as many rows as the log")
    write_csv(log, folder / "again.csv")
    if (folder / DRAWN).exists():
        import matplotlib.pyplot as plt

        figure, _ = draw_folder(folder, log)
        plt.close(figure)
