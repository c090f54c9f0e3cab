"""Comparing flights by their logs: alignment, differences, and the round trip through ULog."""

import shutil

import numpy as np
import pytest
from ulog_files import ARMED_US, flight

from px4lockstep import MetricTable, diff_logs, import_ulog, metrics_of, read_run, simulate, write_parquet
from px4lockstep.campaigns.metrics import metric_of
from px4lockstep.cli.diff import diff_runs
from px4lockstep.cli.diff_logs import diff_log_files
from px4lockstep.errors import InputError, MetricError
from px4lockstep.flights.alignment import alignment_of, armed_at_us, shifted, took_off_at_us
from px4lockstep.flights.imported import save_import
from px4lockstep.log.log import Log
from px4lockstep.plots.overlay import distance_between


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A simulated flight of 12 s, and its folder with the export as ULog."""
    run = simulate("x500", overrides={"timeline.t_end_s": 12.0})
    return run.log, run.save(tmp_path_factory.mktemp("runs") / "sim", plots=False, exports=["ulog"])


@pytest.fixture
def ulog(tmp_path):
    """Write a small flight; return its path."""

    def write(name, *arguments, **options):
        path = tmp_path / f"{name}.ulg"
        path.write_bytes(flight(*arguments, **options))
        return path

    return write


def test_export_and_import_restore_a_flight_to_the_rounding_of_float32(exported):
    """All columns that both have, at their common times; slower topics only at the times of their messages."""
    log, folder = exported
    found = diff_logs(folder, folder / "export.ulg")
    assert [each.name for each in found.differences if not each.is_rounding] == []
    assert found.is_same
    names = {each.name for each in found.differences}
    assert {"pos_ned", "vel_ned", "q_bn", "omega_body", "est_pos_ned", "motors", "nav_state", "q_sp"} <= names
    assert {"battery_voltage_v", "armed", "landed", "mission_item"} <= names
    assert found.alignment.offset_us == 0
    assert found.first.rows == log.rows


def test_a_run_without_a_recording_is_compared_by_its_log(exported, tmp_path, capsys):
    """A killed or live run has none; with a recording on the other side, or none at all."""
    _, folder = exported
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copy(folder / "log.parquet", tmp_path / name)
        (tmp_path / name / "INCOMPLETE").touch()
    for pair in ((folder, tmp_path / "one"), (tmp_path / "one", folder), (tmp_path / "one", tmp_path / "two")):
        assert diff_runs(*pair, plots=False, force=False, as_json=False) == 0
        assert "the logs are equal up to the rounding of float32" in capsys.readouterr().out
    with pytest.raises(InputError, match="run folder not found"):
        diff_runs(folder, tmp_path / "three", plots=False, force=False, as_json=False)


def test_a_difference_above_rounding_is_found_with_its_time(exported, tmp_path):
    """A hundredth of a millimetre in one row of the log."""
    log, folder = exported
    again = import_ulog(folder / "export.ulg")
    pos = again["pos_ned"].copy()
    pos[300, 0] += 1e-5
    changed = Log({name: pos if name == "pos_ned" else again[name] for name in again.names})
    write_parquet(changed, tmp_path / "changed.parquet")
    found = diff_logs(folder, tmp_path / "changed.parquet")
    wrong = [each for each in found.differences if not each.is_rounding and not each.name.startswith("battery")]
    assert [each.name for each in wrong] == ["pos_ned"]
    assert wrong[0].at_s == log.time_s[300]
    assert wrong[0].largest == pytest.approx(1e-5, rel=0.1)
    assert not found.is_same


def small_log(rows=20, **columns):
    """Return a log with a position at rest, and other columns."""
    time_us = np.arange(rows, dtype=np.uint64) * np.uint64(10_000)
    return Log({"time_us": time_us, "pos_ned": np.zeros((rows, 3)), **columns})


def differences_of(tmp_path, ours, theirs):
    """Return the comparison of two logs with one column each, besides the position."""
    for name, log in (("a", ours), ("b", theirs)):
        write_parquet(log, tmp_path / f"{name}.parquet")
    return diff_logs(tmp_path / "a.parquet", tmp_path / "b.parquet", way="start")


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["vel_ned", "motors", "yaw_sp", "q_sp"])
def test_a_value_that_only_one_log_has_is_a_difference(tmp_path, name, odd):
    """In either log, in one component of one row; in both at the same time, it is none."""
    width = {"vel_ned": 3, "motors": 4, "yaw_sp": 0, "q_sp": 4}[name]
    whole = np.full((20, width) if width else 20, 0.5)
    holed = whole.copy()
    holed[(7, 1) if width else 7] = odd
    for pair in ((whole, holed), (holed, whole)):
        found = differences_of(tmp_path, *(small_log(**{name: values}) for values in pair))
        worst = next(each for each in found.differences if each.name == name)
        assert not found.is_same
        assert (worst.is_rounding, worst.one_sided_rows, worst.at_s, worst.largest) == (False, 1, 0.07, 0.0)
    same = differences_of(tmp_path, small_log(**{name: holed}), small_log(**{name: holed}))
    assert same.is_same
    assert [each.one_sided_rows for each in same.differences] == [0, 0]


def test_values_beside_a_nan_in_both_logs_are_compared(tmp_path):
    """PX4 sets the height alone: the other components of the setpoint are NaN in both logs."""
    ours = np.tile([np.nan, np.nan, -5.0], (20, 1))
    found = differences_of(tmp_path, small_log(pos_sp_ned=ours), small_log(pos_sp_ned=ours + 0.25))
    worst = next(each for each in found.differences if each.name == "pos_sp_ned")
    assert (worst.largest, worst.rms, worst.one_sided_rows) == (0.25, 0.25, 0)
    assert not found.is_same


@pytest.mark.parametrize(("name", "shape"), [("vel_ned", (20, 3)), ("yaw_sp", (20,)), ("motors", (20, 4))])
def test_a_difference_beyond_the_largest_number_is_a_difference(tmp_path, name, shape):
    """Its length overflows, as that of the vectors themselves does."""
    huge = np.full(shape, 1.5e308)
    found = differences_of(tmp_path, small_log(**{name: huge}), small_log(**{name: -huge}))
    assert not found.is_same
    assert differences_of(tmp_path, small_log(**{name: huge}), small_log(**{name: huge})).is_same


def test_a_column_that_one_log_has_without_numbers_is_a_difference(tmp_path):
    """There is no difference to measure, but the verdict counts it; NaN in both logs is not listed."""
    numbers, nothing = small_log(yaw_sp=np.ones(20)), small_log(yaw_sp=np.full(20, np.nan))
    found = differences_of(tmp_path, numbers, nothing)
    assert not found.is_same
    worst = next(each for each in found.differences if each.name == "yaw_sp")
    assert np.isnan([worst.rms, worst.largest]).all()
    assert worst.one_sided_rows == 20
    assert [each.name for each in differences_of(tmp_path, nothing, nothing).differences] == ["pos_ned"]


def test_different_numbers_of_motors_are_a_difference(tmp_path):
    """The common ones are compared; the JSON has both numbers."""
    found = differences_of(tmp_path, small_log(motors=np.ones((20, 4))), small_log(motors=np.ones((20, 6))))
    worst = next(each for each in found.differences if each.name == "motors")
    assert (worst.largest, worst.is_rounding, worst.as_dict()["widths"]) == (0.0, False, [4, 6])
    assert not found.is_same


def test_the_difference_that_only_one_log_shows_is_printed(tmp_path, capsys):
    """With its first time, and the number of rows."""
    holed = np.ones((20, 4))
    holed[7, 1] = np.nan
    for name, motors in (("a", holed), ("b", np.ones((20, 5)))):
        write_parquet(small_log(motors=motors), tmp_path / f"{name}.parquet")
    sources = tmp_path / "a.parquet", tmp_path / "b.parquet"
    assert diff_log_files(*sources, None, as_json=False, align="start", offset_s=None) == 1
    said = capsys.readouterr().out
    assert "motors: NaN or infinite in one log only, in 1 row, first at 0.070 s" in said
    assert "motors: 4 in RUN_A, 5 in RUN_B" in said


def test_a_log_that_starts_armed_does_not_show_its_arming():
    """PX4 starts to log at arming, so that take-off is what both logs show."""
    height_m = np.maximum(0.0, np.arange(200) - 100.0) * 0.1
    pos_ned = np.stack([0.0 * height_m, 0.0 * height_m, -height_m], axis=1)
    from_start = Log({"time_us": np.arange(200, dtype=np.uint64) * np.uint64(10_000), "pos_ned": pos_ned,
                      "armed": (np.arange(200) >= 20).astype(np.int64)})  # fmt: skip
    from_arming = Log({name: from_start[name][50:] for name in ("pos_ned", "armed")} | {
        "time_us": from_start.time_us[:-50]
    })  # fmt: skip
    assert armed_at_us(from_start) == 200_000
    assert armed_at_us(from_arming) is None
    alignment = alignment_of(from_start, from_arming)
    assert (alignment.way, alignment.offset_us) == ("takeoff", 500_000)
    with pytest.raises(InputError, match="aligned by arming: one of the logs starts armed, or never arms; use another"):
        alignment_of(from_start, from_arming, "arming")


def test_batteries_of_ulog_files_are_drawn(ulog):
    """Current and charge, from `battery_status`."""
    figure = diff_logs(ulog("one", 1.5), ulog("two", 1.5)).plot()
    panels = {axes.get_title(loc="left") or axes.get_title(): axes for axes in figure.axes}
    for title in ("Battery current, smoothed", "Charge"):
        assert len(panels[title].lines) == 2, title
        assert not panels[title].texts


def test_flights_of_different_clocks_are_aligned_by_arming(ulog):
    """The same flight, half a second of which is cut from the beginning of the second log."""
    whole = ulog("whole", 4.0)
    log = import_ulog(whole)
    late = Log({name: log[name][50:] for name in log if name not in ("time_us", "time_s")} | {
        "time_us": (log.time_us[50:] - log.time_us[50]), "time_s": log.time_s[50:] - log.time_s[50]
    })  # fmt: skip
    alignment = alignment_of(log, late)
    assert (alignment.offset_us, alignment.way) == (500_000, "arming")
    assert armed_at_us(log) == ARMED_US
    by_takeoff = alignment_of(log, late, "takeoff")
    assert (by_takeoff.offset_us, by_takeoff.way) == (500_000, "takeoff")
    assert alignment_of(log, late, "start").offset_us == 0
    assert alignment_of(log, late, offset_s=-1.25).offset_us == -1_250_000
    time_s, apart_m = distance_between(log, shifted(late, alignment))
    assert time_s[0] == 0.5
    assert apart_m.max() == 0.0


def test_take_off_is_half_a_metre_above_the_lowest_height(ulog):
    """The small flight rises at 1 m/s from 2 s on, whatever its origin."""
    log = import_ulog(ulog("one"))
    assert took_off_at_us(log) == 2_510_000
    higher = log["pos_ned"] - np.array([0.0, 0.0, 700.0])
    assert took_off_at_us(Log({"time_us": log.time_us, "pos_ned": higher})) == 2_510_000
    assert took_off_at_us(Log({"time_us": log.time_us[:100], "pos_ned": log["pos_ned"][:100]})) is None


def test_differences_are_taken_at_the_rows_of_the_first(ulog):
    """The second has rows at 4 ms instead of 10 ms and starts elsewhere; linear motion is interpolated exactly."""
    first, second = ulog("first"), ulog("second", step_us=4_000, start_us=77_000_000)
    found = diff_logs(first, second)
    differences = {each.name: each for each in found.differences}
    assert found.first.rows == found.second.rows == 401
    assert differences["pos_ned"].largest < 1e-6
    assert differences["q_bn"].largest < 1e-4  # degrees: chords instead of arcs
    assert found.only_in == ((), ())


def test_flights_without_a_common_time_are_refused(ulog):
    """With the remedy."""
    first, second = ulog("first", 1.5), ulog("second", 1.5)
    with pytest.raises(InputError, match="no time in common with an offset of \\+99"):
        diff_logs(first, second, offset_s=99.0)
    for odd in (float("nan"), float("inf"), 1e12):
        with pytest.raises(InputError, match="must be a number of seconds"):
            diff_logs(first, second, offset_s=odd)
    with pytest.raises(InputError, match="can't be aligned by takeoff"):
        diff_logs(first, second, way="takeoff")
    with pytest.raises(InputError, match="unknown alignment 'landing'"):
        diff_logs(first, second, way="landing")


def test_an_imported_flight_has_no_verdict(ulog, tmp_path):
    """Its folder has a log, a summary with the report, and a figure; a second import needs force."""
    log = import_ulog(ulog("real", 4.0))
    folder = save_import(log, tmp_path / "real", "real")
    run = read_run(folder)
    summary = run.summary
    assert (summary["outcome"], summary["reason"], summary["digest"]) == ("imported", None, None)
    assert summary["imported"]["state_is_estimate"] is True
    assert "motors" not in " ".join(summary["imported"]["missing"])
    assert summary["max_altitude_m"] == pytest.approx(2.0, abs=1e-6)
    assert [event["label"] for event in summary["events"]] == ["armed", "mode hold"]
    assert run.log.rows == log.rows
    assert sorted(path.name for path in folder.iterdir()) == ["log.parquet", "plots.png", "summary.json"]
    figure = run.plot()
    assert figure.get_suptitle() == "real: imported"
    assert any("no verdict" in text.get_text() and "PX4's estimate" in text.get_text() for text in figure.texts)
    with pytest.raises(InputError, match="contains an imported flight; use --force"):
        save_import(log, folder, "real")
    save_import(log, folder, "real", force=True, plots=False)
    assert sorted(path.name for path in folder.iterdir()) == ["log.parquet", "summary.json"]  # no figure of another log
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"contains other files than an import: notes\.txt; move them"):
        save_import(log, folder, "real", force=True)


def test_a_folder_with_other_files_is_never_overwritten(ulog, exported, tmp_path):
    """Also with force."""
    log = import_ulog(ulog("real", 0.5))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("mine")
    for folder in (tmp_path / "own", exported[1]):
        with pytest.raises(InputError, match="is not empty; an import needs a new or empty folder"):
            save_import(log, folder, "real", force=True)


def test_metrics_of_an_imported_flight(ulog, tmp_path):
    """Those of signals are computed from its log; one that needs what it lacks says so."""
    run = read_run(save_import(import_ulog(ulog("real", 4.0)), tmp_path / "real", "real", plots=False))
    tables = [MetricTable(name="top", kind="max", signal="altitude_m")]
    tables.append(
        MetricTable(name="settled", kind="settling", signal="speed_m_s", target=1.118, band=0.01, after_s=1.0)
    )
    metrics = {metric.name: metric for metric in metrics_of(tables, tmp_path)}
    assert metrics["top"](run) == pytest.approx(2.0, abs=1e-6)
    assert metrics["settled"](run) == pytest.approx(1.01)
    plain = {name: metric_of(MetricTable(name=name, kind=name), tmp_path) for name in ("duration_s", "landed")}
    assert {name: metric(run) for name, metric in plain.items()} == {"duration_s": 4.0, "landed": False}
    for name in ("crashed", "touchdown_speed"):
        with pytest.raises(MetricError, match=f"metric '{name}'"):
            (metric_of(MetricTable(name=name, kind=name), tmp_path))(run)
