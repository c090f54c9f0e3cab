"""Columns that are constant in a flight: left out of exported tables, kept beside them, restored when they are read."""

import json

import numpy as np
import pytest

import px4lockstep
from px4lockstep import InputError, Log, read_csv, read_parquet, write_csv, write_parquet
from px4lockstep.log.constants import constant_columns, without_constants

FORMATS = {"csv": (write_csv, read_csv), "parquet": (write_parquet, read_parquet)}
each_format = pytest.mark.parametrize("kind", FORMATS)


@pytest.fixture(scope="module")
def log():
    """Return the log of a few seconds, in which the vehicle arms."""
    return px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 2.5}).log


def assert_same(one, other):
    """All columns, types and bits."""
    assert one.names == other.names
    for name in one.names:
        assert one[name].dtype == other[name].dtype, name
        assert one[name].tobytes() == other[name].tobytes(), name


def test_columns_whose_bits_never_change_are_constant():
    """-0.0 is not 0.0, NaN is equal to itself, and a vector is constant if all its components are."""
    rows = 3
    log = Log(
        {
            "time_us": np.arange(rows, dtype=np.uint64),
            "armed": np.array([1, 1, 1]),
            "yaw_sp": np.full(rows, np.nan),
            "pos_ned": np.array([[1.0, 2.0, 3.0]] * rows),
            "vel_ned": np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 1.0, 2.5]]),
            "acc_sp_ned": np.array([[0.0, 0.0, 0.0], [-0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        }
    )
    assert set(constant_columns(log)) == {"armed", "yaw_sp", "pos_ned"}
    left, constants = without_constants(log)
    assert set(left.names) == {"time_us", "vel_ned", "acc_sp_ned"}
    assert constants == {"pos_ned": [1.0, 2.0, 3.0], "armed": 1, "yaw_sp": "nan"}


@pytest.mark.parametrize("rows", [0, 1])
def test_a_log_without_two_rows_keeps_everything(log, rows):
    """Nothing can be called constant there."""
    assert constant_columns(Log({name: log[name][:rows] for name in log.names})) == ()


@each_format
def test_what_is_left_out_is_restored(kind, log, tmp_path):
    """All values, types and bits; the file itself lacks the columns."""
    write, read = FORMATS[kind]
    write(log, tmp_path / "some", all_columns=False)
    write(log, tmp_path / "all")
    left_out = constant_columns(log)
    assert {"failsafe", "crashed", "request_land"} <= set(left_out)
    assert not {"time_us", "time_s", "pos_ned", "armed"} & set(left_out)
    assert_same(read(tmp_path / "some"), read(tmp_path / "all"))
    assert (tmp_path / "some").stat().st_size < (tmp_path / "all").stat().st_size
    if kind == "csv":
        header = (tmp_path / "some").read_text().splitlines()[0].split(",")
        assert not {"failsafe", "crashed"} & set(header)
        assert json.loads((tmp_path / "some.json").read_text())["constants"]["failsafe"] == 0
        (tmp_path / "some.json").unlink()
        alone = read(tmp_path / "some")
        assert set(alone.names) == set(log.names) - set(left_out)
    assert_same(px4lockstep.read_log(_named(tmp_path / "all", kind)), log)


def _named(path, kind):
    """Return the file under a name that `read_log` knows, with its side file."""
    for suffix in ("", ".json"):
        if path.with_name(path.name + suffix).exists():
            path.with_name(path.name + suffix).rename(path.with_name(f"{path.name}.{kind}{suffix}"))
    return path.with_name(f"{path.name}.{kind}")


@each_format
def test_columns_that_are_named_are_written(kind, log, tmp_path):
    """Whether they are constant or not."""
    write, read = FORMATS[kind]
    write(log, tmp_path / "a", ["failsafe", "pos_ned"], all_columns=False)
    assert read(tmp_path / "a").names == ("time_us", "pos_ned", "failsafe")


@pytest.mark.parametrize(
    ("constants", "text"),
    [
        ([], "its constants must be a table"),
        ({"nonsense": 1}, "'nonsense' is not in the log schema"),
        ({"pos_ned": [1.0, 2.0, 3.0]}, "'pos_ned' is also in the table"),
        ({"failsafe": "nan"}, "'failsafe' can't be read: 'nan' is not a whole number"),
        ({"failsafe": 10**30}, "'failsafe' can't be read"),
        ({"failsafe": [0]}, "has the wrong shape or type"),
        ({"failsafe": True}, "has the wrong shape or type"),
        ({"acc_sp_ned": [0.0, 0.0]}, "has the wrong shape or type"),
        ({"acc_sp_ned": [0.0, 0.0, "1.0"]}, "'1.0' is not a number"),
        ({"acc_sp_ned": [0.0, 0.0, "north"]}, "'acc_sp_ned' can't be read"),
        ({"motors": []}, "has the wrong shape or type"),
        ({"motors": [None]}, "has the wrong shape or type"),
    ],
)
def test_damaged_constants_are_refused(constants, text, log, tmp_path):
    """With the side file, the column and the reason."""
    write_csv(log.select(["pos_ned"]), tmp_path / "a.csv")
    side = tmp_path / "a.csv.json"
    side.write_text(json.dumps(json.loads(side.read_text()) | {"constants": constants}))
    with pytest.raises(InputError) as error:
        read_csv(tmp_path / "a.csv")
    assert text in str(error.value)
    assert "a.csv.json is damaged" in str(error.value)
