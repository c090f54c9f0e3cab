"""Logs as CSV and Parquet: exact, complete or absent, the same bytes each time."""

import csv
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pa_parquet

import px4lockstep
from flights import disturbed
from px4lockstep.cli import main
from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write, to_json
from px4lockstep.log import arrow
from px4lockstep.log.csv import IN_FILE, IN_SCHEMA, NAMES, read_csv, write_csv
from px4lockstep.log.log import Log
from px4lockstep.log.parquet import read_parquet, write_parquet
from px4lockstep.log.schema import BY_NAME, COLUMNS, COUNTED

FORMATS = {"csv": (write_csv, read_csv), "parquet": (write_parquet, read_parquet)}
each_format = pytest.mark.parametrize("kind", FORMATS)


@pytest.fixture(scope="module")
def log():
    return Log.of(disturbed(end_s=8).run())


@pytest.fixture
def odd():
    """Return a log of numbers that are hard to write."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**64, (1000, 3), np.uint64).view(np.float64)
    bits[:8, 0] = [np.nan, np.inf, -np.inf, -0.0, 0.1, 5e-324, 1.7976931348623157e308, 1e22]
    time_us = np.arange(1000, dtype=np.uint64) + np.uint64(2**63)
    armed = np.array([-(2**63), 2**63 - 1] * 500, np.int64)
    return Log({"time_us": time_us, "pos_ned": bits, "armed": armed})


def assert_same(a, b):
    """Check that two logs are bit-identical, except for the payload of NaN."""
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype
        nan = np.isnan(a[name])
        assert np.array_equal(nan, np.isnan(b[name]))
        assert a[name][~nan].tobytes() == b[name][~nan].tobytes(), name


@each_format
def test_a_flight_is_read_back_exactly(kind, log, tmp_path):
    """All columns, including NaN setpoints."""
    write, read = FORMATS[kind]
    write(log, tmp_path / "log")
    assert_same(log, read(tmp_path / "log"))


@each_format
def test_numbers_are_read_back_exactly(kind, odd, tmp_path, monkeypatch):
    """Random bits, infinities, NaN, signed zeros, the largest integers; over several chunks."""
    monkeypatch.setattr(arrow, "ROWS_PER_CHUNK", 300)
    write, read = FORMATS[kind]
    write(odd, tmp_path / "log")
    assert_same(odd, read(tmp_path / "log"))


@each_format
def test_an_empty_log_is_read_back(kind, log, tmp_path):
    """A run that has not begun has columns but no rows."""
    write, read = FORMATS[kind]
    empty = Log({name: log[name][:0] for name in log.names})
    write(empty, tmp_path / "log")
    assert_same(empty, read(tmp_path / "log"))


@each_format
def test_the_same_run_gives_the_same_bytes(kind, tmp_path):
    """Flown twice, written twice: no time of writing, no dependence on set order."""
    write, _ = FORMATS[kind]
    for name in ("a", "b"):
        write(Log.of(disturbed(end_s=3).run()), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@each_format
def test_selected_columns_are_written(kind, log, tmp_path):
    """Together with the time."""
    write, read = FORMATS[kind]
    write(log, tmp_path / "log", columns=["soc", "vel_ned"])
    assert list(read(tmp_path / "log").names) == ["time_us", "vel_ned", "soc"]
    with pytest.raises(InputError, match="did you mean 'vel_ned'"):
        write(log, tmp_path / "other", columns=["vel_nde"])
    assert sorted(os.listdir(tmp_path)) == (["log", "log.json"] if kind == "csv" else ["log"])


def test_the_first_line_of_a_csv_file_is_its_header(log, tmp_path):
    """Names alone, then plain numbers, as pandas and PlotJuggler expect it."""
    write_csv(log.select(["pos_ned", "armed"]), tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text("utf-8").splitlines()
    assert lines[0] == "time_us,pos_x,pos_y,pos_z,armed"
    assert lines[1] == "0,0,0,0,0"
    assert len(lines) == 1 + log.rows
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == log.rows
    assert [float(rows[498][f"pos_{axis}"]) for axis in "xyz"] == log["pos_ned"][498].tolist()
    plain = np.genfromtxt(tmp_path / "log.csv", delimiter=",", skip_header=1)
    assert np.array_equal(plain[:, 1:4], log["pos_ned"])


def test_units_and_version_of_a_csv_file_are_in_its_side_file(log, tmp_path):
    """With the digest of the flight if it is known; a log is read without its side file, too."""
    path, side = tmp_path / "log.csv", tmp_path / "log.csv.json"
    write_csv(log.select(["pos_ned", "soc"]), path, digest="1234")
    about = json.loads(side.read_text("utf-8"))
    assert (about["schema"], about["schema_version"], about["digest"]) == ("px4lockstep.log", 2, "1234")
    assert [(column["name"], column["column"], column["unit"]) for column in about["columns"]] == [
        ("time_us", "time_us", "us"),
        ("pos_x", "pos_ned_n", "m"),
        ("pos_y", "pos_ned_e", "m"),
        ("pos_z", "pos_ned_d", "m"),
        ("soc_1", "soc_1", "1"),
    ]
    assert about["columns"][3]["description"] == BY_NAME["pos_ned"].description
    side.unlink()
    assert_same(log.select(["pos_ned", "soc"]), read_csv(path))
    for text, message in (
        (to_json(about | {"schema_version": 3}), "is a log of version 3; this px4lockstep reads versions 1 to 2"),
        (to_json(about | {"schema": "other"}), "is not a log: its schema must be px4lockstep.log"),
        (to_json(about | {"columns": [{"column": "soc_1", "unit": "V"}]}), "'soc_1' has unit 'V'; it must be '1'"),
        (to_json(about | {"columns": 7}), "must have a list of columns"),
        ("7", "must have a list of columns"),
        ("{", "is not JSON"),
    ):
        side.write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            read_csv(path)
        assert "log.csv" in str(caught.value)


PLOTTED = ["time_s", *(f"{name}_{axis}" for name in ("pos", "vel", "pos_sp", "vel_sp") for axis in "xyz"), "air_bz"]
PLOTTED += ["mission_seq", "mission_count", "batt_v", "batt_a", "batt_rem", "batt_warn", "rho"]
PLOTTED += [f"{name}{i}" for name in ("m", "rotor_T", "rotor_w") for i in range(1, 5)]
"""The columns that the CSV plot scripts of PX4Lockstep.jl read: plot_sim_log.py and plot_sim_log_overlay.py."""


def test_plot_scripts_of_px4lockstep_jl_find_their_columns(log, tmp_path):
    """Read as the scripts do: lines that begin with # are skipped, all values are numbers."""
    write_csv(log, tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    data = {name: [float(row[name]) for row in rows] for name in rows[0]}
    assert [name for name in PLOTTED if name not in data] == []
    assert data["time_s"] == log.time_s.tolist()
    assert data["pos_z"] == log["pos_ned"][:, 2].tolist()
    assert data["batt_v"] == log["battery_voltage_v"][:, 0].tolist()
    assert data["rotor_T4"] == log["rotor_thrust_n"][:, 3].tolist()
    assert data["air_bz"] == log["air_vel_body"][:, 2].tolist()
    assert max(data["mission_seq"]) == log["mission_item"].max()


def test_names_in_csv_files_are_unambiguous(log):
    """No name of PX4Lockstep.jl is that of another column; every battery has its own."""
    assert len(IN_SCHEMA) == len(IN_FILE)
    assert all(arrow.column_of(name) is None for name in IN_SCHEMA)
    assert (IN_FILE["battery_voltage_v_1"], IN_FILE["battery_voltage_v_2"]) == ("batt_v", "batt2_v")
    assert {BY_NAME[name].shape for name in NAMES if "#" in NAMES[name]} <= set(COUNTED)


DATA = Path(__file__).parent / "data"
DIGEST = "d25b88a44dc7ab371cf1f525a8ab414f9fadbc815446b0be31a4241f8ae9a3c6"
"""Digest of the flight whose logs are in `data`: iris, 0.1 s, a row every 20 ms."""


def test_logs_of_schema_version_1_are_read(tmp_path):
    """CSV with units in its header, with and without the version line of 0.1.0, and Parquet: the flight of today."""
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 0.1, "timeline.dt_log_s": 0.02})
    assert run.digest == DIGEST
    oldest = tmp_path / "oldest.csv"
    oldest.write_bytes(b"# px4lockstep.log version 1\n" + (DATA / "version_1.csv").read_bytes())
    shutil.copy(DATA / "version_1.parquet", tmp_path / "log.parquet")
    (tmp_path / "spec.toml").touch()
    for old in (
        read_csv(DATA / "version_1.csv"),
        read_csv(oldest),
        read_parquet(DATA / "version_1.parquet"),
        px4lockstep.read_log(tmp_path),
    ):
        assert_same(old, run.log.select(old.names))
        assert len(old.names) > 60


def test_parquet_has_units_and_descriptions_in_its_metadata(log, tmp_path):
    """For readers without this package."""
    write_parquet(log, tmp_path / "log.parquet")
    schema = pa_parquet.read_schema(tmp_path / "log.parquet")
    assert schema.metadata[b"schema"] == b"px4lockstep.log"
    assert schema.metadata[b"schema_version"] == b"2"
    field = schema.field("pos_ned_d")
    assert field.type == pa.float64()
    assert field.metadata[b"unit"] == b"m"
    assert field.metadata[b"description"].decode() == BY_NAME["pos_ned"].description
    assert field.metadata[b"source"] == b"state.pos"
    assert schema.field("armed").type == pa.int64()
    assert schema.field("rotor_thrust_n_4").metadata[b"unit"] == b"N"


def test_files_have_the_types_of_the_log(log):
    """For every column."""
    assert {name: arrow.TYPES[name] for name in log.names} == {name: log[name].dtype for name in log.names}
    assert len(arrow.TYPES) == len(COLUMNS)


@each_format
def test_a_file_that_can_not_be_written_is_an_input_error(kind, log, tmp_path):
    """No folder, a folder in its place; no partial file is left."""
    write, _ = FORMATS[kind]
    with pytest.raises(InputError, match="there is no folder"):
        write(log, tmp_path / "missing" / "log")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        write(log, tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


@each_format
def test_a_failed_write_keeps_the_previous_file(kind, log, tmp_path, monkeypatch):
    """On a full disk after the first chunk, and on a keyboard interrupt."""
    write, _ = FORMATS[kind]
    path = tmp_path / "log"
    path.write_text("before")
    monkeypatch.setattr(arrow, "ROWS_PER_CHUNK", 300)
    real = arrow.tables
    for failure, expected in (
        (OSError(28, "No space left on device"), InputError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ):

        def fail(log, failure=failure):
            yield next(real(log))
            raise failure

        for module in ("csv", "parquet"):
            monkeypatch.setattr(f"px4lockstep.log.{module}.tables", fail)
        with pytest.raises(expected):
            write(log, path)
        assert os.listdir(tmp_path) == ["log"]
        assert path.read_text() == "before"


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    """Until then, its path is unchanged."""
    path = tmp_path / "file"
    with atomic_write(path) as file:
        file.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert os.listdir(tmp_path) == ["file"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask():
    umask = os.umask(0)
    os.umask(umask)
    return umask


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is not a log: its first line must name its columns"),
        (b"time,x\n0,0\n", "not in the log schema"),
        (b"time_us,pos_x [m]\n0,0\n", "its first line must name its columns"),
        (b"time_us,pos_x,pos_y,pos_z,pos_ned_n\n0,0,0,0,0\n", "duplicate column 'pos_ned_n'"),
        (b"\x00\xff\x13", "is not a log"),
        (b"# other.log version 1\ntime_us [us]\n0\n", "is not a log: its schema must be px4lockstep.log"),
        (b"# px4lockstep.log version 3\ntime_us [us]\n0\n", "version 3; this px4lockstep reads versions 1 to 2"),
        (b"# px4lockstep.log version 1\n", "its first line must name its columns"),
        (b"time_us\n0\n0\n", "row 1 .counted from 0. has 0 after 0"),
        (b"time_us [us],soc_1 [V]\n0,1\n", "'soc_1' has unit 'V'; it must be '1'"),
        (b"time_us [us],speed [m/s]\n0,1\n", "not in the log schema"),
        (b"time_us [us],soc_1 [1]\n0,1\n0\n", "is damaged"),
        (b"time_us [us],soc_1 [1],soc_1 [1]\n0,1,1\n", "duplicate column 'soc_1'"),
        (b"time_us [us]\n0\n5\n5\n", "row 2 .counted from 0. has 5 after 5"),
        (b"time_us [us]\n0\n5\n4\n9\n", "row 2 .counted from 0. has 4 after 5"),
        (b"# px4lockstep.log version 1\ntime_us [us]\n0\n5\n4\n9\n", "row 2 .counted from 0. has 4 after 5"),
        (b"time_us [us],soc_1 [1]\n0,one\n", "is damaged"),
        (b"time_us [us],soc_1 [1]\n0.5,1\n", "is damaged"),
    ],
)
def test_an_invalid_csv_log_is_an_input_error(text, message, tmp_path):
    """The message names the file and the problem."""
    path = tmp_path / "log.csv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=message) as caught:
        read_csv(path)
    assert str(path) in str(caught.value)


def test_an_invalid_parquet_log_is_an_input_error(tmp_path):
    """Damaged, not a log, of another version, with wrong types."""
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(InputError, match="is damaged or not a Parquet file"):
        read_parquet(path)

    def rewrite(table):
        pa_parquet.write_table(table, path)

    times = pa.array(np.arange(3, dtype=np.uint64))
    rewrite(pa.table({"time_us": times}))
    with pytest.raises(InputError, match="is not a log"):
        read_parquet(path)
    metadata = {"schema": "px4lockstep.log", "schema_version": "7"}
    rewrite(pa.table({"time_us": times}).replace_schema_metadata(metadata))
    with pytest.raises(InputError, match="version 7"):
        read_parquet(path)
    metadata["schema_version"] = "1"
    rewrite(pa.table({"time_us": times.cast(pa.float64())}).replace_schema_metadata(metadata))
    with pytest.raises(InputError, match="'time_us' has type double; it must be uint64"):
        read_parquet(path)
    rewrite(pa.table({"time_us": times}).replace_schema_metadata(metadata))
    with pytest.raises(InputError, match="has unit ''; it must be 'us'"):
        read_parquet(path)
    us = pa.field("time_us", pa.uint64(), nullable=False, metadata={"unit": "us"})
    falling = pa.array(np.array([0, 7, 3], np.uint64))
    rewrite(pa.Table.from_arrays([falling], schema=pa.schema([us], metadata)))
    with pytest.raises(InputError, match=r"log\.parquet is damaged: time_us must increase, but row 2 .* has 3 after 7"):
        read_parquet(path)
    rewrite(pa.Table.from_arrays([times, times], schema=pa.schema([us, us], metadata)))
    with pytest.raises(InputError, match="duplicate column 'time_us'"):
        read_parquet(path)
    with pytest.raises(InputError, match="can't be read"):
        read_parquet(tmp_path / "missing")
    with pytest.raises(InputError, match="can't be read"):
        read_csv(tmp_path / "missing")


def rows_swapped(table):
    return table.take(pa.array([1, 0, *range(2, table.num_rows)]))


def column_twice(table):
    return table.append_column(table.schema.field("soc_1"), table.column("soc_1"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rows_swapped, "time_us must increase, but row 1 (counted from 0) has 0 after 10000"),
        (column_twice, "duplicate column 'soc_1'"),
    ],
)
def test_the_command_line_refuses_an_invalid_log_in_one_line(change, message, tmp_path, capsys, monkeypatch):
    """`plot`, `export` and `diff` with exit code 2; `read_run` raises an InputError."""
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 0.2})
    for name in ("first", "second"):
        run.save(tmp_path / name, plots=False)
    path = tmp_path / "second" / "log.parquet"
    pa_parquet.write_table(change(pa_parquet.ParquetFile(path).read()), path)
    folders = [str(tmp_path / "first"), str(tmp_path / "second")]
    for command in (["plot", folders[1]], ["export", folders[1]], ["diff", *folders]):
        monkeypatch.setattr(sys, "argv", ["px4lockstep", *command])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert message in printed.err
        assert printed.err.startswith(f"error: {path}")
        assert printed.err.count("\n") == 1
    with pytest.raises(InputError, match=re.escape(message)):
        _ = px4lockstep.read_run(folders[1]).log


def test_a_pipe_is_not_read_as_a_log(tmp_path):
    """Reading it would block."""
    os.mkfifo(tmp_path / "pipe")
    for read in (read_csv, read_parquet):
        with pytest.raises(InputError, match="it is not a regular file"):
            read(tmp_path / "pipe")


def test_a_parquet_file_that_claims_too_many_rows_is_not_read(tmp_path, monkeypatch):
    """By the number of rows in its metadata."""
    path = tmp_path / "log.parquet"
    write_parquet(Log({"time_us": np.arange(100, dtype=np.uint64)}), path)
    monkeypatch.setattr(arrow, "MAX_BYTES", 100)
    monkeypatch.setattr(pa_parquet.ParquetFile, "read", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(InputError, match="has 100 rows of 1 numbers"):
        read_parquet(path)
