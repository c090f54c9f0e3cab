"""A flight exported as ULog, read by pyulog: the log's values in PX4's topics, times, parameters, texts, size."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from exported_ulogs import assert_float32, read_ulog
from pyulog.px4 import PX4ULog

import px4lockstep
from px4lockstep.autopilots.base import UNKNOWN_MODE
from px4lockstep.environment.projection import MapProjection
from px4lockstep.flights.exports import read_source
from px4lockstep.flights.parameters import parameters_of
from px4lockstep.log.export_source import About, ExportOptions, ExportSource, HomePosition
from px4lockstep.log.log import Log
from px4lockstep.log.ulog import export_ulog
from px4lockstep.log.ulog_topics import GPS_TOPIC, IDEAL_GPS, MOTION, SENSORS, SETPOINTS, STATUS_TOPICS, topics_of
from px4lockstep.px4.uorb.logged import logged_layouts

DATA = Path(__file__).parent / "data"
END_S = 9.0
CHANGES = {
    "timeline.t_end_s": END_S,
    "power.batteries": [{"id": "left", "cells": 3}, {"id": "right", "cells": 3, "capacity_ah": 4.0}],
    "scenario.events": [{"at_s": 6.0, "action": "disable_motor", "motor": 2}],
    "autopilot.params": {"MPC_XY_CRUISE": 4.0, "COM_LOW_BAT_ACT": 2},
}
HOME = HomePosition(47.397742, 8.545594, 488.0)
VECTORS = {
    ("vehicle_attitude", "q"): "est_q_bn",
    ("vehicle_angular_velocity", "xyz"): "est_omega_body",
    ("vehicle_attitude_groundtruth", "q"): "q_bn",
    ("vehicle_angular_velocity_groundtruth", "xyz"): "omega_body",
    ("vehicle_attitude_setpoint", "q_d"): "q_sp",
    ("vehicle_attitude_setpoint", "thrust_body"): "thrust_sp_body",
    ("vehicle_thrust_setpoint", "xyz"): "thrust_sp_body",
    ("vehicle_torque_setpoint", "xyz"): "torque_sp_body",
    ("trajectory_setpoint", "position"): "pos_sp_ned",
    ("trajectory_setpoint", "velocity"): "vel_sp_ned",
    ("trajectory_setpoint", "acceleration"): "acc_sp_ned",
    ("actuator_motors", "control"): "motors",
}
SCALARS = {
    ("vehicle_local_position", "x y z"): "est_pos_ned",
    ("vehicle_local_position", "vx vy vz"): "est_vel_ned",
    ("vehicle_local_position_groundtruth", "x y z"): "pos_ned",
    ("vehicle_local_position_groundtruth", "vx vy vz"): "vel_ned",
    ("vehicle_rates_setpoint", "roll pitch yaw"): "rate_sp_body",
    ("vehicle_local_position_setpoint", "x y z"): "pos_sp_ned",
    ("vehicle_local_position_setpoint", "vx vy vz"): "vel_sp_ned",
}


@pytest.fixture(scope="module")
def run():
    return px4lockstep.simulate("iris", overrides=CHANGES)


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """The run folder of the flight, exported when it was written."""
    return run.save(tmp_path_factory.mktemp("runs") / "run", plots=False, exports=["ulog"])


@pytest.fixture(scope="module")
def ulog(folder):
    return read_ulog(folder / "export.ulg")


def exported(log, path, about=None, rate_hz=None, summary=None):
    """Export a log and return what pyulog reads."""
    export_ulog(ExportSource(log, about or About(home=HOME), summary or {}), path, ExportOptions(rate_hz=rate_hz))
    return read_ulog(path)


# -- values ------------------------------------------------------------------------------------------------------------


def test_every_state_topic_has_the_log_to_float32_at_every_row(run, ulog):
    """Attitude, rates, position, velocity, setpoints and motors; estimate and truth are not mixed up."""
    log = run.log
    assert not np.array_equal(log["est_pos_ned"], log["pos_ned"])
    for (topic, field), column in VECTORS.items():
        data = ulog.get_dataset(topic).data
        assert np.array_equal(data["timestamp"], log.time_us), topic
        for i in range(log[column].shape[1]):
            assert_float32(data[f"{field}[{i}]"], log[column][:, i])
    for (topic, fields), column in SCALARS.items():
        data = ulog.get_dataset(topic).data
        assert np.array_equal(data["timestamp"], log.time_us), topic
        for i, field in enumerate(fields.split()):
            assert_float32(data[field], log[column][:, i])
    assert_float32(ulog.get_dataset("trajectory_setpoint").data["yaw"], log["yaw_sp"])
    assert_float32(ulog.get_dataset("vehicle_local_position_groundtruth").data["heading"], log["euler_bn"][:, 2])
    assert np.isnan(ulog.get_dataset("actuator_motors").data["control[4]"]).all()


def test_batteries_are_instances_with_the_values_of_their_columns(run, ulog):
    """Ten times per second; capacity and cells are those of the spec."""
    log = run.log
    assert log["battery_voltage_v"].shape[1] == 2
    for i, capacity_mah in ((0, 5000), (1, 4000)):
        data = ulog.get_dataset("battery_status", i).data
        rows = np.searchsorted(log.time_us, data["timestamp"])
        assert np.array_equal(log.time_us[rows], data["timestamp"])
        assert END_S * 10 <= len(rows) <= END_S * 10 + 3
        for field in ("voltage_v", "current_a", "remaining"):
            assert_float32(data[field], log[f"battery_{field}"][rows, i])
        assert set(data["cell_count"]) == {3}
        assert set(data["capacity"]) == {capacity_mah}
        assert set(data["id"]) == {i + 1}
        assert set(data["connected"]) == {1}


def test_status_topics_have_every_change_and_a_message_per_second(run, ulog):
    """Arming, modes, failsafe, landing and the progress of the mission, at the row of the change."""
    log = run.log
    data = ulog.get_dataset("vehicle_status").data
    assert {*range(0, int(1e6 * END_S), 1_000_000)} <= set(data["timestamp"].tolist())
    for field, column in (
        ("arming_state", log["armed"] + 1),
        ("nav_state", log["nav_state"]),
        ("failsafe", log["failsafe"] > 0),
    ):
        rows = np.searchsorted(data["timestamp"], log.time_us, "right") - 1  # the newest message at each row
        assert np.array_equal(data[field][rows], column), field
    assert len(data["timestamp"]) < 40
    armed_us = int(log.time_us[np.flatnonzero(log["armed"])[0]])
    assert {0, armed_us} == set(data["armed_time"].tolist())
    assert set(data["system_type"]) == {2}
    landed = ulog.get_dataset("vehicle_land_detected").data
    rows = np.searchsorted(landed["timestamp"], log.time_us, "right") - 1
    assert np.array_equal(landed["landed"][rows], log["landed"])
    mission = ulog.get_dataset("mission_result").data
    rows = np.searchsorted(mission["timestamp"], log.time_us, "right") - 1
    assert np.array_equal(mission["seq_current"][rows], log["mission_item"])
    assert mission["seq_reached"][0] == -1
    flags = ulog.get_dataset("failsafe_flags").data
    assert set(flags["fd_motor_failure"]) == {0, 1}
    assert set(flags["geofence_breached"]) == {0}
    assert ulog.get_dataset("estimator_status").data["solution_status_flags"][-1] == 0x3F


def test_global_positions_are_those_of_the_map_projection(run, ulog):
    """Against `MapProjection.to_global`, in double precision; altitude above sea level."""
    projection = MapProjection(HOME.lat_deg, HOME.lon_deg)
    for topic, column in (
        ("vehicle_global_position", "est_pos_ned"),
        ("vehicle_global_position_groundtruth", "pos_ned"),
    ):
        data = ulog.get_dataset(topic).data
        rows = np.searchsorted(run.log.time_us, data["timestamp"])
        assert len(rows) >= 10 * END_S
        positions = run.log[column][rows]
        wanted = np.array([projection.to_global(north, east) for north, east, _ in positions])
        assert np.array_equal(data["lat"], wanted[:, 0])
        assert np.array_equal(data["lon"], wanted[:, 1])
        assert_float32(data["alt"], HOME.alt_msl_m - positions[:, 2])
    home = ulog.get_dataset("home_position").data
    assert (home["lat"][0], home["lon"][0], home["alt"][0]) == (HOME.lat_deg, HOME.lon_deg, HOME.alt_msl_m)


def test_motor_outputs_are_pulses(run, tmp_path):
    """1000 to 2000 us for 0 to 1, and 900 us for a motor that is not driven, which is NaN among the commands."""
    changed = {name: np.array(run.log[name]) for name in run.log.names}
    changed["motors"][:, 1] = np.nan
    found = exported(Log(changed), tmp_path / "x.ulg")
    data = found.get_dataset("actuator_outputs").data
    motors = run.log["motors"][np.searchsorted(run.log.time_us, data["timestamp"])]
    assert set(data["noutputs"]) == {4}
    for i in (0, 2, 3):
        assert_float32(data[f"output[{i}]"], 1000.0 + 1000.0 * motors[:, i])
    assert set(data["output[1]"]) == {900.0}
    assert set(data["output[4]"]) == {0.0}
    assert np.isnan(found.get_dataset("actuator_motors").data["control[1]"]).all()


# -- definitions and texts ---------------------------------------------------------------------------------------------


def test_information_is_what_readers_expect_and_has_no_clock(ulog):
    """Names that Flight Review and PlotJuggler read; a version has a byte each for major, minor, patch and kind."""
    major, minor, patch = map(int, px4lockstep.__version__.split(".")[:3])
    release = major << 24 | minor << 16 | patch << 8 | (0 if "dev" in px4lockstep.__version__ else 255)
    assert ulog.msg_info_dict == {
        "sys_name": "PX4",
        "ver_hw": "PX4_SITL",
        "ver_sw": f"px4lockstep {px4lockstep.__version__}",
        "ver_sw_release": release,
        "ver_data_format": 2,
        "time_ref_utc": 0,
        "sys_uuid": "iris",
        "sys_autopilot": "builtin",
        "sim_seed": 1,
    }


def test_all_parameters_have_their_flown_values_and_types(run, ulog):
    """Those of the spec, the defaults of the others, and the aircraft's geometry."""
    flown = parameters_of(run.spec)
    params = ulog.initial_parameters
    assert params["MPC_XY_CRUISE"] == 4.0
    assert params["COM_LOW_BAT_ACT"] == 2
    assert isinstance(params["COM_LOW_BAT_ACT"], int)
    assert isinstance(params["MPC_XY_CRUISE"], float)
    assert params["CA_ROTOR0_PX"] == np.float32(0.1515)
    assert params["CA_ROTOR_COUNT"] == 4
    assert set(params) == {*flown, "MAV_TYPE"}
    assert params["MAV_TYPE"] == 2
    for name, value in flown.items():
        assert (type(params[name]), params[name]) == (
            type(value),
            np.float32(value) if isinstance(value, float) else value,
        )
    known = px4lockstep.px4.resolve({})
    changed = ulog.get_default_parameters(0)
    assert changed["MPC_XY_CRUISE"] == 5.0
    assert {name for name in flown if params[name] != known[name]} == set(changed)


def test_texts_are_events_waypoints_and_the_outcome(run, ulog):
    """With times and levels; a fault is a warning, a failed flight an error."""
    texts = [(text.timestamp, text.log_level_str(), text.message) for text in ulog.logged_messages]
    assert texts == sorted(texts, key=lambda text: text[0])
    for event in run.summary.events:
        assert (event.time_us, "WARNING" if event.is_fault else "INFO", event.label) in texts
    assert (6_000_000, "WARNING", "motor 2 off") in texts
    assert texts[-1][1] == "ERROR"
    assert texts[-1][2] == f"outcome: {run.summary.outcome}: {run.summary.reason}"
    assert any("vehicle_gps_position is the true position" in text for _, level, text in texts if level == "NOTICE")
    assert not any("no estimate" in text for *_, text in texts)


# -- the same bytes, sizes, rates --------------------------------------------------------------------------------------


def test_the_same_run_folder_gives_the_same_bytes(folder, tmp_path):
    """Exported with the run, from its folder, and from a copy elsewhere."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    for place in (folder, copy):
        source, problem = read_source(place)
        assert problem is None
        export_ulog(source, tmp_path / "again.ulg", ExportOptions())
        assert (tmp_path / "again.ulg").read_bytes() == (folder / "export.ulg").read_bytes()


def test_the_result_does_not_depend_on_the_size_of_a_chunk(folder, tmp_path, monkeypatch):
    """Chunks only limit the memory."""
    monkeypatch.setattr("px4lockstep.log.ulog.ROWS_PER_CHUNK", 97)
    export_ulog(read_source(folder)[0], tmp_path / "again.ulg", ExportOptions())
    assert (tmp_path / "again.ulg").read_bytes() == (folder / "export.ulg").read_bytes()


def test_a_rate_limits_state_topics_and_keeps_every_change_of_status(run, ulog, folder, tmp_path):
    """40 Hz of 100 Hz: rows 20 or 30 ms apart, values of the log."""
    export_ulog(read_source(folder)[0], tmp_path / "slow.ulg", ExportOptions(rate_hz=40.0))
    slow = read_ulog(tmp_path / "slow.ulg")
    data = slow.get_dataset("vehicle_attitude").data
    assert set(np.diff(data["timestamp"].astype(int)).tolist()) == {20_000, 30_000}
    assert len(data["timestamp"]) == 40 * END_S + 1
    rows = np.searchsorted(run.log.time_us, data["timestamp"])
    assert_float32(data["q[0]"], run.log["est_q_bn"][rows, 0])
    for topic in ("vehicle_status", "mission_result", "battery_status"):
        assert np.array_equal(slow.get_dataset(topic).data["timestamp"], ulog.get_dataset(topic).data["timestamp"])


@pytest.mark.parametrize(("rate_hz", "bytes_per_s"), [(None, 160e6 / 1200), (40.0, 60e6 / 1200)])
def test_a_flight_of_20_minutes_stays_below_its_limit(rate_hz, bytes_per_s, folder, tmp_path):
    """160 MB at 100 Hz, 60 MB at 40 Hz, with sensors and two batteries. Definitions do not grow with the flight."""
    source, _ = read_source(folder)
    log = with_sensors(source.log)
    sizes = []
    for seconds in (4.0, 8.0):
        part = Log({name: log[name][: int(100 * seconds)] for name in log.names})
        export_ulog(ExportSource(part, source.about), tmp_path / "part.ulg", ExportOptions(rate_hz=rate_hz))
        sizes.append((tmp_path / "part.ulg").stat().st_size)
    assert (sizes[1] - sizes[0]) / 4.0 < bytes_per_s


def with_sensors(log):
    """Return a log that has sensor columns too, which change at every row."""
    rows = np.arange(log.rows)
    noise = 0.001 * rows
    more = {
        "sensor_gyro_rad_s": np.stack([noise] * 3, axis=1),
        "sensor_accel_m_s2": np.stack([noise, noise, noise - 9.8], axis=1),
        "sensor_mag_gauss": np.stack([0.2 + noise] * 3, axis=1),
        "sensor_abs_pressure_hpa": 955.0 + noise,
        "sensor_pressure_alt_m": 490.0 + noise,
        "sensor_temperature_c": 15.0 + noise,
        "sensor_gps_lat_1e7": 473_977_420 + rows // 10,  # a new sample every 0.1 s
        "sensor_gps_lon_1e7": np.full(log.rows, 85_455_940),
        "sensor_gps_alt_mm": np.full(log.rows, 488_250),
        "sensor_gps_eph_cm": np.where(rows < 50, 65_535, 90),
        "sensor_gps_epv_cm": np.full(log.rows, 180),
        "sensor_gps_vel_cm_s": np.full(log.rows, 250),
        "sensor_gps_vn_cm_s": np.full(log.rows, 150),
        "sensor_gps_ve_cm_s": np.full(log.rows, -200),
        "sensor_gps_vd_cm_s": np.full(log.rows, 10),
        "sensor_gps_cog_cdeg": np.full(log.rows, 9000),
        "sensor_gps_fix_type": np.where(rows < 50, 1, 3),
        "sensor_gps_satellites": np.full(log.rows, 12),
    }
    return Log({**{name: log[name] for name in log.names}, **more})


def test_sensors_have_a_message_for_each_sample_in_px4s_units(run, tmp_path):
    """Inertial sensors at every row, the GPS at its own rate, the others ten times per second."""
    log = with_sensors(run.log)
    found = exported(log, tmp_path / "x.ulg", About(home=HOME, autopilot_period_us=4_000))
    imu = found.get_dataset("sensor_combined").data
    assert np.array_equal(imu["timestamp"], log.time_us)
    assert_float32(imu["accelerometer_m_s2[2]"], log["sensor_accel_m_s2"][:, 2])
    assert_float32(imu["gyro_rad[0]"], log["sensor_gyro_rad_s"][:, 0])
    assert set(imu["gyro_integral_dt"]) == {4_000}
    baro = found.get_dataset("vehicle_air_data").data
    assert_float32(baro["baro_pressure_pa"], 100.0 * log["sensor_abs_pressure_hpa"][::10])
    assert_float32(baro["baro_alt_meter"], log["sensor_pressure_alt_m"][::10])
    mag = found.get_dataset("vehicle_magnetometer").data
    assert_float32(mag["magnetometer_ga[1]"], log["sensor_mag_gauss"][::10, 1])
    gps = found.get_dataset("vehicle_gps_position").data
    assert gps["timestamp"].tolist() == log.time_us[::10].tolist()
    assert gps["latitude_deg"][10] == pytest.approx(47.3977430, abs=1e-12)
    assert gps["altitude_msl_m"][0] == pytest.approx(488.25)
    assert gps["cog_rad"][0] == np.float32(np.pi / 2)
    assert [gps["vel_m_s"][0], gps["vel_e_m_s"][0]] == [2.5, -2.0]
    assert np.isnan(gps["eph"][0])
    assert gps["eph"][-1] == np.float32(0.9)
    assert (gps["fix_type"][0], gps["fix_type"][-1]) == (1, 3)
    assert (gps["vel_ned_valid"][0], gps["vel_ned_valid"][-1]) == (0, 1)
    assert set(gps["satellites_used"]) == {12}
    assert not any("true position" in text.message for text in found.logged_messages)


# -- logs that lack something ------------------------------------------------------------------------------------------


def test_without_an_estimate_the_plain_topics_have_the_true_state(run, tmp_path):
    """As for stock PX4, whose estimate stays in PX4; a text says so."""
    log = Log({name: run.log[name] for name in run.log.names if not name.startswith("est_")})
    found = exported(log, tmp_path / "x.ulg")
    for topic, field, column in (
        ("vehicle_attitude", "q[1]", "q_bn"),
        ("vehicle_angular_velocity", "xyz[1]", "omega_body"),
    ):
        assert_float32(found.get_dataset(topic).data[field], log[column][:, 1])
    assert_float32(found.get_dataset("vehicle_local_position").data["z"], log["pos_ned"][:, 2])
    assert set(found.get_dataset("vehicle_local_position").data["xy_valid"]) == {1}
    assert any("no estimate" in text.message for text in found.logged_messages)
    assert "estimator_status" not in {data.name for data in found.data_list}
    other = exported(run.log, tmp_path / "y.ulg", About(home=HOME, estimates_itself=True))
    assert_float32(other.get_dataset("vehicle_local_position").data["z"], log["pos_ned"][:, 2])
    assert "estimator_status" not in {data.name for data in other.data_list}


def test_without_home_there_are_no_global_positions(run, tmp_path):
    """A log file on its own: local positions say that they have no global reference."""
    found = exported(run.log, tmp_path / "x.ulg", About())
    names = {data.name for data in found.data_list}
    assert "vehicle_local_position" in names
    assert names.isdisjoint({"vehicle_global_position", "vehicle_gps_position", "home_position"})
    local = found.get_dataset("vehicle_local_position").data
    assert set(local["xy_global"]) == {0}
    assert np.isnan(local["ref_lat"]).all()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_logs_of_version_1_are_exported(kind, tmp_path):
    """Files of 0.1.0."""
    source, problem = read_source(DATA / f"version_1.{kind}")
    assert "no spec" in problem
    export_ulog(source, tmp_path / "x.ulg", ExportOptions())
    found = read_ulog(tmp_path / "x.ulg")
    log = source.log
    assert_float32(found.get_dataset("vehicle_attitude_groundtruth").data["q[0]"], log["q_bn"][:, 0])
    assert_float32(found.get_dataset("vehicle_local_position_groundtruth").data["x"], log["pos_ned"][:, 0])
    assert "vehicle_status" in {data.name for data in found.data_list}


def test_a_run_folder_whose_spec_is_damaged_is_exported_without_it(folder, tmp_path):
    """Log and summary are enough; the problem is reported."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "spec.toml").write_text("[airframe]\nmass = 3\n")
    source, problem = read_source(copy)
    assert "mass" in problem
    export_ulog(source, tmp_path / "x.ulg", ExportOptions())
    found = read_ulog(tmp_path / "x.ulg")
    assert found.initial_parameters == {"MAV_TYPE": 2}
    assert found.logged_messages[-1].message.startswith("outcome: ")


def test_a_mission_that_was_removed_does_not_matter(folder, tmp_path):
    """The spec names a file that is gone."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    text = (copy / "spec.toml").read_text()
    (copy / "spec.toml").write_text(text.replace('mission_path = "simple"', 'mission_path = "gone.waypoints"'))
    source, problem = read_source(copy)
    assert problem is None
    assert source.about.mission is None
    assert source.about.parameters["MPC_XY_CRUISE"] == 4.0


def test_setpoints_without_numbers_and_an_unknown_mode_are_valid(run, tmp_path):
    """Stock PX4 reports no setpoints: topics of NaN are omitted. A mode without a number is PX4's maximum."""
    changed = {name: run.log[name] for name in run.log.names}
    changed["q_sp"] = np.full_like(changed["q_sp"], np.nan)
    changed["nav_state"] = np.full_like(changed["nav_state"], UNKNOWN_MODE + 0x0405)
    found = exported(Log(changed), tmp_path / "x.ulg")
    assert "vehicle_attitude_setpoint" not in {data.name for data in found.data_list}
    assert set(found.get_dataset("vehicle_status").data["nav_state"]) == {31}


def test_a_log_without_rows_is_a_valid_file(run, tmp_path):
    """A run that was killed before its first row."""
    found = exported(Log({name: run.log[name][:0] for name in run.log.names}), tmp_path / "x.ulg")
    assert found.data_list == []


def test_numbers_beyond_float32_do_not_stop_an_export(run, tmp_path):
    """They become infinite, as in a C cast."""
    changed = {name: np.array(run.log[name]) for name in run.log.names}
    changed["vel_ned"][5] = 1e300
    found = exported(Log(changed), tmp_path / "x.ulg")
    assert np.isinf(found.get_dataset("vehicle_local_position_groundtruth").data["vx"][5])


# -- what tools need ---------------------------------------------------------------------------------------------------


def test_flight_review_finds_what_it_draws(ulog):
    """Topics and fields that its plots read (PX4/flight_review, app/plot_app), and angles that it computes."""
    needed = {
        "vehicle_attitude": "q[0]",
        "vehicle_attitude_setpoint": "yaw_sp_move_rate",
        "vehicle_attitude_groundtruth": "q[3]",
        "vehicle_angular_velocity": "xyz[2]",
        "vehicle_angular_velocity_groundtruth": "xyz[2]",
        "vehicle_rates_setpoint": "yaw",
        "vehicle_local_position": "dist_bottom_valid",
        "vehicle_local_position_setpoint": "vz",
        "vehicle_local_position_groundtruth": "y",
        "vehicle_global_position": "alt",
        "vehicle_gps_position": "altitude_msl_m",
        "vehicle_thrust_setpoint": "xyz[2]",
        "vehicle_torque_setpoint": "xyz[0]",
        "actuator_motors": "control[0]",
        "actuator_outputs": "noutputs",
        "battery_status": "internal_resistance_estimate",
        "vehicle_status": "failsafe_and_user_took_over",
        "failsafe_flags": "battery_warning",
        "estimator_status": "time_slip",
    }
    for topic, field in needed.items():
        assert field in ulog.get_dataset(topic).data, topic
    px4 = PX4ULog(ulog)
    px4.add_roll_pitch_yaw()
    assert px4.get_mav_type() == "Quadrotor"
    assert np.isfinite(ulog.get_dataset("vehicle_attitude").data["yaw"]).all()


def test_the_import_gives_the_exported_log_back(run, folder):
    """To float32, at every row: true state, estimate, setpoints, motors and status."""
    log, found = run.log, px4lockstep.import_ulog(folder / "export.ulg")
    assert np.array_equal(found.time_us, log.time_us)
    assert not found.report.state_is_estimate
    assert found.report.origin_deg_m == (HOME.lat_deg, HOME.lon_deg, HOME.alt_msl_m)
    numbers = ("pos_ned", "vel_ned", "omega_body", "est_pos_ned", "est_vel_ned", "est_omega_body")
    for name in (*numbers, "pos_sp_ned", "vel_sp_ned", "rate_sp_body", "torque_sp_body", "thrust_sp_body", "motors"):
        assert_float32(found[name], log[name])
    for name in ("q_bn", "est_q_bn"):  # the import normalizes them
        assert np.abs(found[name] - log[name]).max() < 2e-7
    for name in ("armed", "nav_state", "mission_item", "mission_count", "mission_finished", "landed"):
        assert np.array_equal(found[name], log[name]), name


def test_every_field_of_every_topic_exists_in_px4s_message():
    """A name that PX4 does not have would be an error when it is written."""
    for topic in (*MOTION, *SETPOINTS, *STATUS_TOPICS, *SENSORS, GPS_TOPIC, IDEAL_GPS):
        assert set(topic.fields) <= set(logged_layouts()[topic.name].dtype.names), topic.name
        assert topic.fields["timestamp"] in ("time_us", "stamp_us"), topic.name


def test_a_plant_that_is_no_aircraft_has_what_its_log_has():
    """Only the columns decide."""
    log = Log({"time_us": np.arange(3, dtype=np.uint64), "pos_ned": np.zeros((3, 3)), "vel_ned": np.zeros((3, 3))})
    assert topics_of(log, About()) == []
