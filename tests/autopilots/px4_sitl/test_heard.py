"""Data that stock PX4's double receives in flight: batteries, faults and ground truth; with a ground station."""

import numpy as np
import pytest
from fleet import iris
from px4_sitl_double import heard, make_flight
from pymavlink import mavutil

from px4lockstep.errors import InputError, SimulationError
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.sensors import (
    Accelerometer,
    Barometer,
    Gps,
    Gyro,
    Imu,
    Magnetometer,
    SensorConfig,
)
from px4lockstep.vehicle.battery import Battery

TICK_US = 4_000
MISSION, RETURN = 3, 5
STANDING = {"boot_s": 0.3, "mission": None, "scenario": Scenario()}


@pytest.fixture
def traced(monkeypatch):
    monkeypatch.setenv("PX4_DOUBLE_TRACE", "1")


def fly(simulation):
    try:
        simulation.run()
    finally:
        simulation.close()


# -- batteries ---------------------------------------------------------------------------------------------------


def told_volts(folder, sitl):
    """Return flight time, battery number and voltage of each battery message."""
    found, time_us = [], 0
    for told in heard(folder, None):
        if told["mavpackettype"] == "HIL_SENSOR":
            time_us = told["time_usec"]
        elif told["mavpackettype"] == "BATTERY_STATUS":
            millivolts = sum(cell for cell in told["voltages"] if cell != 65_535)
            # It is received with the sensor data of the next step.
            found.append((time_us - TICK_US - sitl._offset_us, told["id"], millivolts / 1000.0))
    return found


def test_battery_voltages_reach_px4_in_flight(sitl_build, tmp_path, traced):
    """Within 1 mV, the resolution of the message, of the log's values just before and after."""
    simulation, sitl = make_flight(sitl_build, tmp_path, end_s=5.0)
    fly(simulation)
    logged, times_us = simulation.log["bus"]["battery"]["voltage_v"][:, 0], simulation.log["time_us"]
    flown = [(time_us, volts) for time_us, _, volts in told_volts(tmp_path, sitl) if 0 < time_us < 4_900_000]
    assert len(flown) >= 9  # two a second
    for time_us, volts in flown:
        near = logged[np.abs(times_us.astype(np.int64) - time_us) <= 20_000]
        assert near.min() - 0.001 <= volts <= near.max() + 0.001
    assert max(volts for _, volts in flown) - min(volts for _, volts in flown) > 0.1  # it was loaded


def test_each_battery_is_sent_with_its_number(sitl_build, tmp_path, traced):
    """Two batteries on a shared bus."""
    aircraft = iris(batteries=(Battery(), Battery()))
    simulation, sitl = make_flight(sitl_build, tmp_path, aircraft=aircraft, end_s=1.2, **STANDING)
    fly(simulation)
    told = told_volts(tmp_path, sitl)
    assert [number for _, number, _ in told] == [0, 1] * (len(told) // 2)
    assert len(told) >= 4


def test_a_battery_voltage_beyond_the_message_range_is_an_error(sitl_build, tmp_path):
    """Before the flight; PX4 can simulate its own battery instead."""
    aircraft = iris(batteries=(Battery(ocv_v=(600.0, 700.0)),))
    with pytest.raises(
        InputError, match=r"power\.batteries\[0\] has 700 V, but MAVLink can send stock PX4 at most 655\.34 V"
    ):
        make_flight(sitl_build, tmp_path, aircraft=aircraft)
    make_flight(sitl_build, tmp_path, aircraft=aircraft, battery=False)


# -- faults of sensors -------------------------------------------------------------------------------------------

FAULT_US = 1_000_000
NO_FIX, FIX_3D, UNKNOWN = 1, 3, 65_535
SENSORS = {"gyro": "xgyro", "accel": "xacc", "mag": "xmag", "baro": "abs_pressure", "gps": "alt"}
"""The field by which each is known."""
SIZES = {"xgyro": 0.1, "xacc": 1.0, "xmag": 0.5, "abs_pressure": 1.0, "alt": 10_000.0}
"""Fault size by message field, in its units: rad/s, m/s², gauss, hPa, mm; at least 37 times the noise of each."""
NOISES = {"xgyro": 5.5e-4, "xacc": 7.7e-3, "xmag": 0.0041, "abs_pressure": 0.027, "alt": 100.0}
BITS = {"xgyro": 0x38, "xacc": 0x07, "xmag": 0x1C0, "abs_pressure": 0x1A00}


def faulty(kind):
    """Return a sensor configuration in which each sensor has a fault of a given size."""
    return SensorConfig(
        imu=Imu(
            gyro=Gyro(on_fault=kind, fault_size=(0.1,) * 3), accel=Accelerometer(on_fault=kind, fault_size=(1.0,) * 3)
        ),
        mag=Magnetometer(on_fault=kind, fault_size=(0.5,) * 3),
        baro=Barometer(on_fault=kind, fault_size_pa=100.0),
        gps=Gps(on_fault=kind, fault_size_m=(10.0, 10.0, -10.0)),
    )


def samples(folder, name, offset_us):
    """Return times since the fault [s] and values of a field, from the messages in which it is new."""
    if name == "alt":
        new = [one for one in heard(folder, "HIL_GPS") if one["fix_type"] == FIX_3D]
    else:
        new = [one for one in heard(folder, "HIL_SENSOR") if one["fields_updated"] & BITS[name] == BITS[name]]
    times_us = np.array([one["time_usec"] for one in new], dtype=np.int64)
    return (times_us - offset_us - FAULT_US) / 1e6, np.array([one[name] for one in new])


def is_frozen(name, times_s, before, after):
    assert set(after) == {before[-1]}


def is_biased(name, times_s, before, after):
    assert np.abs(after - before.mean() - SIZES[name]).max() < 8.0 * NOISES[name]


def is_drifting(name, times_s, before, after):
    line = SIZES[name] * (times_s - times_s[0])
    assert np.abs(after - before.mean() - line).max() < 8.0 * NOISES[name]


def is_noisy(name, times_s, before, after):
    # Nine messages of the GPS at least: 0.4 and 1.8 are 1 in 1000 each.
    assert 0.4 * SIZES[name] < after.std() < 1.8 * SIZES[name]
    assert before.std() < 3.0 * NOISES[name]


def is_missing(name, times_s, before, after):
    assert len(before) >= 6  # GPS messages, five per second
    assert len(after) == 0


@pytest.mark.parametrize(
    ("kind", "check", "sensors"),
    [
        ("dropout", is_missing, ("mag", "baro", "gps")),
        ("freeze", is_frozen, SENSORS),
        ("bias", is_biased, SENSORS),
        ("drift", is_drifting, SENSORS),
        ("noise", is_noisy, SENSORS),
    ],
)
def test_sensor_faults_reach_px4(sitl_build, tmp_path, traced, kind, check, sensors):
    """For all five sensors, from the fault's time on; PX4 keeps answering."""
    scenario = Scenario()
    for sensor in sensors:
        scenario = scenario.at(FAULT_US / 1e6).sensor_fault(sensor)
    options = STANDING | {"scenario": scenario, "sensors": faulty(kind), "end_s": 3.0}
    simulation, sitl = make_flight(sitl_build, tmp_path, **options)
    fly(simulation)
    assert sitl.missed == 0
    for sensor in sensors:
        name = SENSORS[sensor]
        times_s, values = samples(tmp_path, name, sitl._offset_us)
        is_after = times_s >= 0.0
        assert is_after.sum() >= 9 or kind == "dropout"
        check(name, times_s[is_after], values[~is_after], values[is_after])


def test_a_gps_dropout_is_reported_as_no_fix(sitl_build, tmp_path, traced):
    """Messages continue at 5 Hz, without satellites and accuracies."""
    scenario = Scenario().at(FAULT_US / 1e6).sensor_fault("gps")
    options = STANDING | {"scenario": scenario, "sensors": faulty("dropout"), "end_s": 3.0}
    simulation, sitl = make_flight(sitl_build, tmp_path, **options)
    fly(simulation)
    told = [one for one in heard(tmp_path, "HIL_GPS") if one["time_usec"] >= sitl._offset_us + FAULT_US]
    assert len(told) >= 9
    fields = ("fix_type", "satellites_visible", "eph", "epv")
    assert {tuple(one[name] for name in fields) for one in told} == {(NO_FIX, 0, UNKNOWN, UNKNOWN)}


@pytest.mark.parametrize(("sensor", "said"), [("gyro", "gyro"), ("accel", "accelerometer")])
def test_an_imu_dropout_reaches_px4_and_stops_the_flight(sitl_build, tmp_path, traced, sensor, said):
    """From the fault's time on; PX4 never answers without an IMU."""
    scenario = Scenario().at(FAULT_US / 1e6).sensor_fault(sensor)
    options = STANDING | {"scenario": scenario, "sensors": faulty("dropout"), "end_s": 3.0, "answer_timeout_s": 0.5}
    simulation, sitl = make_flight(sitl_build, tmp_path, **options)
    with pytest.raises(SimulationError, match=f"did not answer 3 steps in a row .* has stopped the {said}"):
        fly(simulation)
    times_s, _ = samples(tmp_path, SENSORS[sensor], sitl._offset_us)
    assert times_s[-1] == -TICK_US / 1e6


# -- the truth ---------------------------------------------------------------------------------------------------


def test_ground_truth_has_no_sensor_errors(sitl_build, tmp_path, traced):
    """A settling vehicle has no lateral specific force, to the mg, while the accelerometer has a fault and noise."""
    scenario = Scenario().at(0.5).sensor_fault("accel")
    options = STANDING | {"scenario": scenario, "sensors": faulty("bias"), "ground_truth": True, "end_s": 1.0}
    simulation, _ = make_flight(sitl_build, tmp_path, **options)
    fly(simulation)
    truth = heard(tmp_path, "HIL_STATE_QUATERNION")
    assert len(truth) > 50
    assert {(told["xacc"], told["yacc"]) for told in truth} == {(0, 0)}
    assert truth[-1]["zacc"] == pytest.approx(-1000, abs=50)
    assert heard(tmp_path, "HIL_SENSOR")[-1]["xacc"] > 0.9


# -- a ground station --------------------------------------------------------------------------------------------


class GroundStation:
    """A minimal QGroundControl: sends heartbeats, watches, and sends commands."""

    def __init__(self, instance):
        self.link = mavutil.mavlink_connection(
            f"udpout:127.0.0.1:{18570 + instance}", source_system=255, source_component=190
        )
        self.heard = {}

    def look(self):
        """Send a heartbeat, and receive messages."""
        self.link.mav.heartbeat_send(6, 8, 0, 0, 4)
        while (told := self.link.recv_msg()) is not None:
            self.heard.setdefault(told.get_type(), []).append(told)

    def command(self, number, *params):
        self.link.mav.command_long_send(self.link.target_system, 1, number, 0, *params, *[0.0] * (7 - len(params)))


def test_a_ground_station_can_watch_and_command_during_the_flight(sitl_build, tmp_path):
    """It gets heartbeats and positions; PX4 obeys its RTL, and the host does not override it."""
    simulation, sitl = make_flight(sitl_build, tmp_path, end_s=18.0)
    simulation.run(1_000)
    station = GroundStation(sitl.instance)
    try:
        for second in range(1, 13):
            simulation.run(1_000_000 * second)
            station.look()
        last = station.heard["GLOBAL_POSITION_INT"][-1]
        # The double's estimate, 0.2 s old at 4 m/s at most.
        assert last.relative_alt / 1e3 == pytest.approx(-simulation.plant.x[2], abs=2.0)
        beats = station.heard["HEARTBEAT"]
        assert {beat.get_srcSystem() for beat in beats} == {1 + sitl.instance}
        assert (beats[-1].base_mode & 128, beats[-1].custom_mode >> 24) == (128, 4)  # armed, in its mission
        station.command(176, 1.0, 4.0, 5.0)
        for second in range(13, 19):
            simulation.run(1_000_000 * second)
            station.look()
        simulation.run()
    finally:
        station.link.close()
        simulation.close()
    acks = [(ack.command, ack.result) for ack in station.heard["COMMAND_ACK"] if ack.target_system == 255]
    assert acks == [(176, 0)]
    modes, time_s = simulation.log["bus"]["autopilot"]["nav_state"], simulation.log["time_us"] / 1e6
    assert modes[time_s == 11.0] == MISSION
    assert set(modes[time_s > 13.2]) == {RETURN}
    assert simulation.warnings == ()
