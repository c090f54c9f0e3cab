"""Messages sent to PX4 at a step, decoded by pymavlink."""

from types import SimpleNamespace

import numpy as np
import pytest
from pymavlink.dialects.v20 import common

from px4lockstep.autopilots.px4_sitl.hil_sensors import HilSensors

HOME = (47.397742, 8.545594)
READINGS = np.array([1.5, -2.5, -9.5, 0.25, -0.5, 0.75, 0.125, -0.375, 0.4375, 956.5, 3.5, 481.25, 17.5])


def inputs_of(pos=(0.0, 0.0, 0.0), vel=(0.0, 0.0, 0.0), omega=(0.0, 0.0, 0.0)):
    x = np.array([*pos, *vel, 1.0, 0.0, 0.0, 0.0, *omega])
    shown = SimpleNamespace(outputs=SimpleNamespace(air_vel_body=np.array([3.0, 0.0, -4.0])))
    return SimpleNamespace(plant=SimpleNamespace(x=x), bus=shown)


class Stage:
    """A sensor stage with fixed readings, all different and nonzero."""

    def __init__(self, readings=READINGS):
        self.readings = np.array(readings)
        self.true_accel_m_s2 = np.array([0.0, 0.0, -9.80665])
        self.out = SimpleNamespace(
            fields_updated=0x1A3F,
            gps_updated=1,
            gps_lat_1e7=473_977_421,
            gps_lon_1e7=-85_455_943,
            gps_alt_mm=488_123,
            gps_eph_cm=31,
            gps_epv_cm=47,
            gps_vel_cm_s=583,
            gps_vn_cm_s=-300,
            gps_ve_cm_s=500,
            gps_vd_cm_s=-120,
            gps_cog_cdeg=12_096,
            gps_fix_type=4,
            gps_satellites=13,
        )


def sensors_of(stage, **options):
    return HilSensors(stage, 488.0, HOME, **{"ground_truth": False} | options)


def decoded(data):
    return common.MAVLink(None).parse_buffer(data)


def test_the_imu_comes_first_and_the_gps_only_when_new():
    """The GPS message follows the sensors of its step."""
    stage = Stage()
    sensors = sensors_of(stage)
    assert [told.get_type() for told in decoded(sensors.frames(1_000_000, inputs_of()))] == ["HIL_SENSOR", "HIL_GPS"]
    stage.out.gps_updated = 0
    assert [told.get_type() for told in decoded(sensors.frames(1_004_000, inputs_of()))] == ["HIL_SENSOR"]
    assert sensors.fields_updated == 0x1A3F


def test_values_beyond_px4s_range_are_clipped():
    """±16 g and ±2000 °/s would wrap in PX4's 16 bits."""
    stage = Stage([0.0, -500.0, 490.0, 40.0, -40.0, 1.0, *READINGS[6:]])
    told = decoded(sensors_of(stage).frames(1_004_000, inputs_of()))[0]
    assert (told.xacc, told.yacc, told.zacc) == pytest.approx((0.0, -156.9016, 156.9016), rel=1e-6)
    assert (told.xgyro, told.ygyro, told.zgyro) == pytest.approx((34.90552, -34.90552, 1.0), rel=1e-6)
    assert np.float32(told.zacc) / np.float32(9.80665 / 2048.0) < 32_767.5  # as PX4 rounds it
    assert np.float32(told.xgyro) / np.float32(np.radians(2000.0) / 32_768.0) < 32_767.5


def test_the_true_state_is_sent_every_fifth_step():
    """In MAVLink's units: 1e-7 °, mm, cm/s, mg."""
    stage = Stage()
    stage.out.gps_updated = 0
    sensors = sensors_of(stage, ground_truth=True)
    moving = inputs_of(pos=(100.0, 0.0, -12.0), vel=(1.0, -2.0, 0.5), omega=(0.1, 0.2, 0.3))
    told = [decoded(sensors.frames(1_000_000 + 4_000 * i, moving)) for i in range(5)]
    assert [frames[-1].get_type() for frames in told] == [*["HIL_SENSOR"] * 4, "HIL_STATE_QUATERNION"]
    truth = told[-1][-1]
    assert truth.lat == pytest.approx(473_977_420 + 100.0 / 6_371_000.0 * 57.29578e7, abs=2)
    assert (truth.lon, truth.alt) == (85_455_940, 500_000)
    assert (truth.vx, truth.vy, truth.vz, truth.true_airspeed) == (100, -200, 50, 500)
    assert (truth.xacc, truth.yacc, truth.zacc) == (0, 0, -1000)
    assert (truth.rollspeed, truth.yawspeed) == pytest.approx((0.1, 0.3))


def test_every_sensor_value_is_in_its_field():
    """In MAVLink's units, which are also the sensors'; each value is exact in the message's 32 bits."""
    sensor, gps = decoded(sensors_of(Stage()).frames(1_234_000, inputs_of()))
    kept = ("mavpackettype", "id", "yaw")  # constants, and fields that are never set
    assert {name: value for name, value in sensor.to_dict().items() if name not in kept} == {
        "time_usec": 1_234_000,
        "xacc": 1.5,
        "yacc": -2.5,
        "zacc": -9.5,
        "xgyro": 0.25,
        "ygyro": -0.5,
        "zgyro": 0.75,
        "xmag": 0.125,
        "ymag": -0.375,
        "zmag": 0.4375,
        "abs_pressure": 956.5,
        "diff_pressure": 3.5,
        "pressure_alt": 481.25,
        "temperature": 17.5,
        "fields_updated": 0x1A3F,
    }
    assert {name: value for name, value in gps.to_dict().items() if name not in kept} == {
        "time_usec": 1_234_000,
        "fix_type": 4,
        "lat": 473_977_421,
        "lon": -85_455_943,
        "alt": 488_123,
        "eph": 31,
        "epv": 47,
        "vel": 583,
        "vn": -300,
        "ve": 500,
        "vd": -120,
        "cog": 12_096,
        "satellites_visible": 13,
    }
