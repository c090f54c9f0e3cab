"""Comparing flights by their logs: alignment, differences, and the round trip through ULog."""

import numpy as np
import pytest
from ulog_files import ARMED_US, flight

from px4lockstep import MetricTable, diff_logs, import_ulog, metrics_of, read_run, simulate, write_parquet
from px4lockstep.campaigns.metrics import metric_of
from px4lockstep.errors import InputError, MetricError
from px4lockstep.flights.alignment import alignment_of, armed_at_us, shifted, took_off_at_us
from px4lockstep.flights.imported import save_import
from px4lockstep.log.log import Log
from px4lockstep.plots.overlay import distance_between


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A simulated flight of 12 s, and its folder with the export as ULog."""
    run = simulate("x500", **{"timeline.t_end_s": 12.0})
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


def test_a_difference_above_rounding_is_found_with_its_time(exported, tmp_path):
    """A hundredth of a millimetre in one row of the log."""
    log, folder = exported
    again = import_ulog(folder / "export.ulg")
    pos = again["pos_ned"].copy()
    pos[300, 0] += 1e-5
    changed = Log({name: pos if name == "pos_ned" else again[name] for name in again})
    write_parquet(changed, tmp_path / "changed.parquet")
    found = diff_logs(folder, tmp_path / "changed.parquet")
    wrong = [each for each in found.differences if not each.is_rounding and not each.name.startswith("battery")]
    assert [each.name for each in wrong] == ["pos_ned"]
    assert wrong[0].at_s == log.time_s[300]
    assert wrong[0].largest == pytest.approx(1e-5, rel=0.1)
    assert not found.is_same


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
    assert run.plot().get_suptitle() == "real, PX4's estimate"
    with pytest.raises(InputError, match="contains an imported flight; use --force"):
        save_import(log, folder, "real")
    save_import(log, folder, "real", force=True, plots=False)


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
