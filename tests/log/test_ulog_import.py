"""Importing ULog files as logs: columns, times, and what is missing."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from ulog_files import START_US, attitude, flight, old_flight, place, shared_file

from px4lockstep import import_ulog, read_log, read_parquet, write_parquet
from px4lockstep.errors import InputError
from px4lockstep.log import ulog_import
from px4lockstep.log.arrow import TYPES
from px4lockstep.log.events import events_of
from px4lockstep.log.ulog_power import motors, rotor_speeds

ROUNDING = 1e-7
"""Relative rounding of float32, 2**-24, with a margin."""


@pytest.fixture
def imported(tmp_path):
    def make(data, **options):
        path = tmp_path / "flight.ulg"
        path.write_bytes(data)
        return import_ulog(path, **options)

    return make


def test_without_ground_truth_the_estimate_is_the_state(imported):
    """And the report says so; there are no columns of an estimate that would show an error of 0."""
    log = imported(flight(4.0))
    assert log.report.state_is_estimate
    assert "the state (pos_ned, vel_ned, q_bn, omega_body) is PX4's estimate" in log.report.notes[0]
    assert not any(name.startswith("est_") for name in log.names)
    assert log.report.start_us == START_US
    times = log.time_us.tolist()
    assert times == list(range(0, 4_000_001, 10_000))
    for row in (0, 150, 333, 400):
        pos, vel = place(times[row])
        assert log["pos_ned"][row] == pytest.approx(pos, abs=1e-6)
        assert log["vel_ned"][row] == pytest.approx(vel, abs=1e-6)
        assert log["q_bn"][row] == pytest.approx(attitude(times[row]), abs=ROUNDING)
    assert log["omega_body"][7] == pytest.approx((0.0, 0.0, 0.2), rel=ROUNDING)
    assert log["euler_bn"][400, 2] == pytest.approx(0.8, rel=1e-6)


def test_ground_truth_is_the_state_and_the_estimate_is_apart(imported):
    """The file's estimate is 0.25 m north of the truth."""
    log = imported(flight(3.0, truth=True))
    assert not log.report.state_is_estimate
    assert log["est_pos_ned"] - log["pos_ned"] == pytest.approx(np.tile([0.25, 0.0, 0.0], (log.rows, 1)), abs=1e-6)
    assert log.report.sources["pos_ned"] == "vehicle_local_position_groundtruth"
    assert log.report.sources["est_pos_ned"] == "vehicle_local_position"


def test_status_motors_batteries_and_events(imported):
    """Unknown currents are NaN, unused motors are left out, and events are found as in any log."""
    log = imported(flight(4.0))
    assert log["motors"].shape == (401, 4)
    assert np.isnan(log["motors"][:100]).all()
    assert (log["motors"][100:] == 0.5).all()
    assert log["battery_voltage_v"][200, 0] == pytest.approx(15.8, rel=ROUNDING)
    assert np.isnan(log["battery_current_a"]).all()
    assert [(event.time_us, event.label) for event in events_of(log)] == [
        (1_000_000, "armed"),
        (2_100_000, "mode hold"),
    ]
    assert log["landed"][0] == 1
    assert log["landed"][-1] == 0


@pytest.mark.parametrize("off_a", [0.0, 0.05])
def test_placeholders_of_escs_are_not_rotor_speeds(off_a):
    """With a MAVLink simulator, PX4 computes speed and current from the motor commands; measured ones differ."""
    commands, times_us = np.array([[0.0, 0.0], [0.5123, 0.7007], [1.0, 0.25]]), np.array([0, 10, 20])
    columns = {"timestamp": times_us, "esc_count": np.full(3, 2)}
    for i in range(2):
        columns[f"esc[{i}].esc_rpm"] = (6_000.0 * commands[:, i]).astype(np.int32)
        columns[f"esc[{i}].esc_current"] = np.where(commands[:, i] > 0.0, 1.0 + 15.0 * commands[:, i] + off_a, 0.0)
    found = rotor_speeds(SimpleNamespace(instances=lambda topic: [columns]), times_us)
    if off_a:
        assert found.columns["rotor_speed_rad_s"][0][2] == pytest.approx([200.0 * np.pi, 50.0 * np.pi])
    else:
        assert not found.columns
        assert "placeholders" in found.missing[0]


def special(**topics):
    """Return a file with some topics, each with the same two times, for the functions of `ulog_power`."""
    with_times = {name: {"timestamp": np.array([0, 10]), **columns} for name, columns in topics.items()}
    return SimpleNamespace(instances=lambda topic: [with_times[topic]] if topic in with_times else [], parameters={})


def outputs(*rows, **more):
    return {f"output[{i}]": np.array(column) for i, column in enumerate(zip(*rows, strict=True))} | more


TWO_ROWS = np.array([0, 10])


@pytest.mark.parametrize("rows", [((0, 0), (72, 950)), ((0, 0), (1_100, 8_191)), ((1, 1), (1_300, 1_999))])
def test_outputs_of_dshot_and_uavcan_are_not_pulse_widths(rows):
    """They are missing; DShot is 1 to 1999 and idles far below the shortest pulse, UAVCAN is up to 8191."""
    found = motors(special(actuator_outputs=outputs(*rows)), TWO_ROWS)
    assert not found.columns
    assert found.missing == ["motors (actuator_outputs has no pulse widths: DShot or UAVCAN)"]


def test_counts_that_are_not_numbers_do_not_limit_motors():
    """A file may declare any type: NaN, infinite and negative counts."""
    for count in (np.nan, np.inf):
        file = special(actuator_outputs=outputs((900, 1_000), (1_500, 2_000), noutputs=np.full(2, count)))
        assert motors(file, TWO_ROWS).columns["motors"][0].tolist() == [[0.0, 0.0], [0.5, 1.0]]
        file = special(esc_status={"esc[0].esc_rpm": np.array([600, 1_200]), "esc_count": np.full(2, count)})
        assert rotor_speeds(file, TWO_ROWS).columns["rotor_speed_rad_s"][0].shape == (2, 1)
    file = special(actuator_outputs=outputs((900, 1_000), (1_500, 2_000), noutputs=np.full(2, -3)))
    assert not motors(file, TWO_ROWS).columns


def test_unknown_accuracies_and_courses_of_a_gps(imported):
    """The accuracy is 65535, as in our own logs; the last known course is held, and one that is never known missing."""
    fields = [("float", 1, name) for name in ("eph", "epv", "cog_rad")]

    def gps(*messages):
        def write(log):
            log.topic("sensor_gps", fields)

        def add(log):
            for i, message in enumerate(messages):
                log.write("sensor_gps", START_US + 100_000 * i, message)

        return imported(flight(0.3, topics=(write,), changes=(add,)))

    nan, west = float("nan"), np.radians(-90.0)
    log = gps((nan, 1.5, nan), (0.9, nan, west), (nan, nan, nan))
    assert log["sensor_gps_eph_cm"][[0, 15, 25]].tolist() == [65_535, 90, 65_535]
    assert log["sensor_gps_epv_cm"][[0, 15, 25]].tolist() == [150, 65_535, 65_535]
    assert set(log["sensor_gps_cog_cdeg"]) == {27_000}
    assert not any("cog" in each for each in log.report.missing)
    never = gps((1.0, 1.0, nan))
    assert "sensor_gps_cog_cdeg" not in never
    assert "sensor_gps_cog_cdeg (sensor_gps)" in never.report.missing
    full_turn = gps((1.0, 1.0, np.radians(-0.001)))
    assert set(full_turn["sensor_gps_cog_cdeg"]) == {0}  # 359.999 degrees, rounded


@pytest.mark.parametrize("pressure", [955.25, 95_525.0])
def test_pressures_of_sensor_baro_are_in_hpa_or_pa(imported, pressure):
    """PX4 changed the unit but not the name; the column is in hPa."""

    def add(log):
        log.write("sensor_baro", START_US, (pressure,))

    log = imported(
        flight(0.1, topics=(lambda log: log.topic("sensor_baro", [("float", 1, "pressure")]),), changes=(add,))
    )
    assert log["sensor_abs_pressure_hpa"] == pytest.approx(955.25, rel=ROUNDING)
    assert log.report.sources["sensor_abs_pressure_hpa"] == "sensor_baro"


def test_a_setpoint_is_nan_before_it_is_published(imported):
    """It is published from arming on."""
    log = imported(flight(4.0))
    assert np.isnan(log["rate_sp_body"][:100]).all()
    assert log["rate_sp_body"][100:, 2] == pytest.approx(0.2, rel=ROUNDING)


def test_the_topics_of_2016(imported):
    """Rates are in the attitude, motors are pulse widths, and the position is less frequent than the attitude."""
    log = imported(old_flight(4.0))
    assert log.report.sources["omega_body"] == "vehicle_attitude"
    assert log.report.row_times == "at the times of vehicle_attitude"
    assert log.rows == 401
    assert (log["motors"][:100] == 0.0).all()  # 900 us, disarmed
    assert (log["motors"][100:] == 0.5).all()  # 1500 us between PWM_MIN 1100 and PWM_MAX 1900
    assert log["pos_ned"][317, 2] == pytest.approx(place(3_170_000)[0][2], abs=1e-6)  # between two messages
    assert log["torque_sp_body"][5] == pytest.approx((0.1, 0.2, 0.3), rel=ROUNDING)
    assert any("from 1100 to 1900 us" in note for note in log.report.notes)
    assert any(missing.startswith("battery_voltage_v ") for missing in log.report.missing)


@pytest.mark.parametrize("rate_hz", [1.0, 30.0, 250.0])
def test_rows_at_a_rate(imported, rate_hz):
    """Values are interpolated; the turn is uniform, so the attitude is, too."""
    log = imported(flight(4.0), rate_hz=rate_hz)
    period_us = round(1e6 / rate_hz)
    assert log.time_us.tolist() == list(range(0, 4_000_001, period_us))
    wanted = np.array([attitude(time_us) for time_us in log.time_us.tolist()])
    assert log["q_bn"] == pytest.approx(wanted, abs=2e-7)  # float32, and chords instead of arcs of 1e-3 rad
    assert log.report.row_times == f"every {period_us} us"


@pytest.mark.parametrize("rate_hz", [0.0, -1.0, float("nan"), float("inf"), 1e5, 1e-20, 5e-324])
def test_a_rate_out_of_range_is_refused(imported, rate_hz):
    """Instead of no rows, or too many."""
    with pytest.raises(InputError, match="Hz is out of range; it must be 1e-06 to 10000 Hz"):
        imported(flight(0.1), rate_hz=rate_hz)


def test_more_rows_than_the_limit_are_refused(imported, monkeypatch):
    """With the remedy."""
    monkeypatch.setattr(ulog_import, "MAX_LOG_BYTES", 100_000)
    assert imported(flight(0.5)).rows == 51
    with pytest.raises(InputError, match=r"401 rows; the limit is 100\. Give a lower rate"):
        imported(flight(4.0))


def test_a_file_without_a_flight_is_refused(imported):
    """Neither position nor attitude."""
    data = (
        flight(0.1)
        .replace(b"vehicle_local_position", b"vehicle_somewhere_else")
        .replace(b"vehicle_att", b"vehicle_ttt")
    )
    with pytest.raises(InputError, match="neither vehicle_local_position nor vehicle_attitude"):
        imported(data)


def test_dropouts_and_damage_are_noted(imported):
    """So that a gap in a figure has a reason."""
    log = imported(flight(0.5, changes=(lambda log: log.dropout(250), lambda log: log.raw(b"\xff\xff"))))
    assert any("lost data 1 time, up to 0.250 s" in note for note in log.report.notes)
    assert any("2 of its" in note for note in log.report.notes)


def test_all_columns_have_the_types_of_the_schema_and_survive_a_file(imported, tmp_path):
    """Otherwise Parquet files of imports could not be read."""
    for data in (flight(0.5, truth=True), old_flight(0.5)):
        log = imported(data)
        for name in log.names:
            assert log[name].dtype == TYPES[name], name
        write_parquet(log, tmp_path / "log.parquet")
        again = read_parquet(tmp_path / "log.parquet")
        assert list(again) == list(log)
        for name in log.names:
            assert np.array_equal(again[name], log[name], equal_nan=log[name].dtype.kind == "f"), name


def test_read_log_reads_it_too(tmp_path):
    """As it reads CSV and Parquet files."""
    (tmp_path / "flight.ULG").write_bytes(flight(0.1))
    assert read_log(tmp_path / "flight.ULG").rows == 11


def test_a_recorded_file_of_2016_is_imported(tmp_path):
    """A vehicle on the bench, shaken by hand: disarmed, without GPS."""
    log = import_ulog(shared_file("real_flight_auav_x21.ulg", tmp_path))
    assert log.report.system == "PX4 fd483321a5 AUAV_X21"
    assert log.report.state_is_estimate
    assert log.rows == 6_452
    assert log.time_s[-1] == pytest.approx(68.8, abs=0.05)
    assert np.degrees(np.abs(log["euler_bn"][:, 0]).max()) == pytest.approx(21.8, abs=0.5)
    assert log["motors"].shape[1] == 4
    assert (log["motors"] == 0.0).all()
    assert not log["armed"].any()
    assert "PX4 reports no valid horizontal position in 100 % of its estimates" in log.report.notes


def test_the_log_of_stock_px4_is_imported_in_seconds(tmp_path):
    """18 MB with all topics, of which this takes the wanted ones; the truth is apart from PX4's estimate."""
    path = shared_file("stock_px4_iris.ulg.xz", tmp_path)
    start_s = time.process_time()
    log = import_ulog(path)
    assert time.process_time() - start_s < 10.0  # measured: see docs/howto/real_flights.md
    assert not log.report.state_is_estimate
    assert log.report.missing == ("rotor_speed_rad_s (esc_status has placeholders: PX4 had a MAVLink simulator)",)
    assert log.rows == 3_652
    assert -log["pos_ned"][:, 2].min() == pytest.approx(12.8, abs=0.2)
    error_m = np.linalg.norm(log["est_pos_ned"] - log["pos_ned"], axis=1)
    assert 0.1 < error_m.max() < 3.0  # of an estimator with a GPS
    assert [event.label for event in events_of(log)][:2] == ["armed", "mode mission"]
    assert 0.5 < np.nanmean(log["motors"][1_000:3_000]) < 0.7
