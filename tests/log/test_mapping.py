"""A log as a mapping and as a pandas DataFrame: one key per column of a table, vectors under their own names."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import px4lockstep
from px4lockstep import InputError, Log


@pytest.fixture(scope="module")
def log():
    """Return the log of half a second."""
    return px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 0.5}).log


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5, which still allows it
def test_a_column_that_its_reader_reshapes_stays_as_it_was(log):
    """A log in memory makes the view of a column once, but gives each reader its own."""
    for name in ("pos_ned", "pos_ned_n", "euler_bn"):
        mine, shape = log[name], log[name].shape
        mine.shape = (*shape, 1)
        assert log[name].shape == shape
        assert np.shares_memory(mine, log[name])
        with pytest.raises(ValueError, match="read-only"):
            log[name][0] = 1.0


def test_keys_are_the_columns_of_a_table(log):
    """Iteration, length, keys, values and items agree, and each value has one dimension."""
    keys = list(log)
    assert keys == list(log.keys()) == list(reversed(list(reversed(log))))
    assert len(log) == len(keys) == len(set(keys))
    assert keys[:5] == ["time_us", "time_s", "pos_ned_n", "pos_ned_e", "pos_ned_d"]
    assert {"motors_1", "motors_4", "soc_1", "armed"} <= set(keys)
    for (name, values), same in zip(log.items(), log.values(), strict=True):
        assert values.shape == (log.rows,)
        assert values.tobytes() == same.tobytes() == log[name].tobytes()


def test_vectors_and_their_components_are_in_a_log(log):
    """`in`, `[]`, `get` and `unit` take both; other names are refused as before."""
    for name in ("pos_ned", "pos_ned_d", "motors", "motors_4", "armed"):
        assert name in log
        assert name in log.keys()  # noqa: SIM118 - the view of keys must agree
    for name in ("motors_5", "motors_0", "pos_ned_x", "armed_1", "motors_01", "nonsense", 7):
        assert name not in log
    assert np.array_equal(log["pos_ned_d"], log["pos_ned"][:, 2])
    assert log.unit("pos_ned_d") == "m"
    assert log.get("motors_9") is None
    assert log.get("motors_9", 3.0) == 3.0
    assert log.names[:3] == ("time_us", "time_s", "pos_ned")
    with pytest.raises(InputError, match="there is no column 'pos_nde'; did you mean 'pos_ned'"):
        log["pos_nde"]
    with pytest.raises(InputError, match="'pos_ned_d' is a component of the column 'pos_ned'; select 'pos_ned'"):
        log.select(["pos_ned_d"])


def test_a_data_frame_has_a_column_for_each_component(log):
    """`pd.DataFrame(log)` gave a frame of the names."""
    frame = pd.DataFrame(log)
    assert list(frame.columns) == list(log)
    assert frame.shape == (log.rows, len(log))
    for name in log:
        assert np.array_equal(frame[name], log[name], equal_nan=True)
        assert frame[name].dtype == log[name].dtype


def test_to_pandas_has_the_time_as_index(log):
    """In seconds; some columns can be chosen."""
    frame = log.to_pandas()
    assert frame.index.name == "time_s"
    assert np.array_equal(frame.index, log.time_s)
    assert list(frame.columns) == [name for name in log if name != "time_s"]
    some = log.to_pandas(["pos_ned", "armed"])
    assert list(some.columns) == ["time_us", "pos_ned_n", "pos_ned_e", "pos_ned_d", "armed"]
    assert np.array_equal(some["pos_ned_d"], log["pos_ned"][:, 2])
    assert some["pos_ned_d"].loc[0.2:0.3].shape == (6,)


def test_without_pandas_the_error_says_how_to_install_it(log, monkeypatch):
    """It is not a dependency."""
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        log.to_pandas()


def test_a_log_is_made_from_its_table_again(log):
    """Also of a copy, and of a pickle."""
    for again in (Log(dict(log)), Log(log.copy()), copy.copy(log)):
        assert again.names == log.names
        for name in log.names:
            assert again[name].tobytes() == log[name].tobytes()
    moved = Log(dict(log) | {"pos_ned": log["pos_ned"] + 1.0})  # a whole column replaces its components
    assert np.array_equal(moved["pos_ned_n"], log["pos_ned_n"] + 1.0)
    small = log.select(["pos_ned"])
    small["pos_ned"]
    held = Log({name: small[name] for name in small.names})
    assert np.array_equal(pickle.loads(pickle.dumps(held))["pos_ned"], log["pos_ned"])
    assert set(log | {"more": 1}) == {*log, "more"} == set({"more": 1} | log)
    with pytest.raises(InputError, match=r"has .* of its components"):
        Log({"time_us": log["time_us"], "pos_ned_n": log["pos_ned_n"]})


def test_a_log_cannot_be_changed(log):
    """It is a view of a flight, although it is a dict to pandas."""
    for change in (
        lambda: log.__setitem__("armed", 1),
        lambda: log.__delitem__("armed"),
        lambda: log.update(armed=1),
        lambda: log.pop("armed"),
        log.popitem,
        log.clear,
        lambda: log.setdefault("armed", 1),
    ):
        with pytest.raises(TypeError, match="a Log can't be changed"):
            change()
    assert log == log
    assert log != Log(dict(log))
    assert len({log, log}) == 1


def test_a_part_of_a_log_has_its_rows(log):
    """Both limits are included; derived columns and those on request are cut, too."""
    part = log.between(0.1, 0.2)
    assert part.time_us.tolist() == list(range(100_000, 200_001, 20_000))
    assert np.array_equal(part["euler_bn"], log["euler_bn"][5:11])
    assert np.array_equal(part["lat_deg"], log["lat_deg"][5:11])
    assert log.between(None, None) is log
    assert log.between(to_s=0.1).rows == 6
    assert log.between(from_s=0.4).rows == 6
    for limits in ((0.6, None), (None, -1.0), (0.3, 0.2), (0.101, 0.119)):
        with pytest.raises(InputError, match=r"there are no rows .*; the log has 0 to 0\.5 s"):
            log.between(*limits)


def test_the_repr_of_a_log_is_short(log):
    """Rows, time and the first columns."""
    assert repr(log).startswith("<Log: 26 rows, 0.000 to 0.500 s, 7")
    assert "pos_ned" in repr(log)
    assert len(repr(log)) < 500
    assert repr(Log({"time_us": np.zeros(0, np.uint64)})) == "<Log: 0 rows, 1 columns: time_us>"
