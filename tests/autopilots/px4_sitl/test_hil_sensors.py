"""What PX4 is sent at a step, decoded by pymavlink."""

from types import SimpleNamespace

import numpy as np
import pytest
from pymavlink.dialects.v20 import common
from sitl_sensors import TruthSuite

from px4lockstep.autopilots.px4_sitl.hil_sensors import Senses
from px4lockstep.environment.gravity import Gravity
from px4lockstep.vehicle.fleet import iris

HOME = (47.397742, 8.545594)


def inputs_of(pos=(0.0, 0.0, 0.0), vel=(0.0, 0.0, 0.0), omega=(0.0, 0.0, 0.0), faults=0):
    x = np.array([*pos, *vel, 1.0, 0.0, 0.0, 0.0, *omega, 1.0, 1.0, 1.0, 1.0])

    class Plant:
        def __getitem__(self, group):
            assert group == "rotor"
            return x[13:]

    plant = Plant()
    plant.x = x
    told = SimpleNamespace(
        scenario=SimpleNamespace(faults=SimpleNamespace(sensor_fault_mask=faults)),
        outputs=SimpleNamespace(air_vel_body=np.array([3.0, 0.0, -4.0])),
    )
    return SimpleNamespace(plant=plant, bus=told, held=SimpleNamespace(wind_ned=np.zeros(3)))


def senses_of(aircraft=None, suite=None, **options):
    aircraft = aircraft or iris()
    suite = suite or TruthSuite(
        seed=1, period_us=4_000, home_lat_deg=HOME[0], home_lon_deg=HOME[1], home_alt_msl_m=488.0
    )
    return Senses(suite, aircraft, HOME, **{"ground_truth": False} | options), suite


def decoded(data):
    return common.MAVLink(None).parse_buffer(data)


def test_the_imu_comes_first_and_the_others_when_they_are_new():
    """GPS after the sensors of its step."""
    senses, suite = senses_of()
    kinds = []
    for i in range(51):
        kinds.append([told.get_type() for told in decoded(senses.frames(1_000_000 + 4_000 * i, inputs_of()))])
    assert kinds[0] == kinds[50] == ["HIL_SENSOR", "HIL_GPS"]
    assert kinds[1:50] == [["HIL_SENSOR"]] * 49
    assert suite.times_us[-1] == 1_200_000
    assert senses.fields_updated == 0x1BFF


def test_a_vehicle_at_rest_feels_its_weight_upwards():
    """In body axes, z down; the pressure is that of 488 m, within the noise of 0.1 m."""
    told = decoded(senses_of()[0].frames(1_000_000, inputs_of()))[0]
    assert (told.xacc, told.yacc, told.zacc) == pytest.approx((0.0, 0.0, -9.80665))
    assert told.abs_pressure == pytest.approx(1013.25 * (1.0 - 488.0 / 44_330.8) ** (1.0 / 0.190263), abs=0.1)
    assert (told.time_usec, told.id) == (1_000_000, 0)


def test_what_px4_can_not_hold_is_clipped():
    """±16 g and ±2000 °/s, which would wrap in its 16 bits."""
    senses, _ = senses_of()
    senses.frames(1_000_000, inputs_of())
    hit = inputs_of(vel=(0.0, -2.0, 2.0), omega=(40.0, -40.0, 1.0))
    told = decoded(senses.frames(1_004_000, hit))[0]
    assert (told.xacc, told.yacc, told.zacc) == pytest.approx((0.0, -156.9016, 156.9016), rel=1e-6)
    assert (told.xgyro, told.ygyro, told.zgyro) == pytest.approx((34.90552, -34.90552, 1.0), rel=1e-6)
    assert np.float32(told.zacc) / np.float32(9.80665 / 2048.0) < 32_767.5  # as PX4 rounds it
    assert np.float32(told.xgyro) / np.float32(np.radians(2000.0) / 32_768.0) < 32_767.5


def test_the_truth_is_told_every_fifth_step():
    """In MAVLink's units: 1e-7 °, mm, cm/s, mg."""
    senses, _ = senses_of(ground_truth=True)
    moving = inputs_of(pos=(100.0, 0.0, -12.0), vel=(1.0, -2.0, 0.5), omega=(0.1, 0.2, 0.3))
    told = [decoded(senses.frames(1_000_000 + 4_000 * i, moving)) for i in range(5)]
    assert [frames[-1].get_type() for frames in told] == ["HIL_GPS", *["HIL_SENSOR"] * 3, "HIL_STATE_QUATERNION"]
    truth = told[-1][-1]
    assert truth.lat == pytest.approx(473_977_420 + 100.0 / 6_371_000.0 * 57.29578e7, abs=2)
    assert (truth.lon, truth.alt) == (85_455_940, 500_000)
    assert (truth.vx, truth.vy, truth.vz, truth.true_airspeed) == (100, -200, 50, 500)
    assert (truth.xacc, truth.yacc, truth.zacc) == (0, 0, -1000)
    assert (truth.rollspeed, truth.yawspeed) == pytest.approx((0.1, 0.3))


def test_faults_and_gravity_reach_the_sensors():
    """Gravity of a sphere falls with the square of the distance: 6371 + 10 km from its centre."""
    senses, suite = senses_of(iris(gravity=Gravity("spherical")))
    told = decoded(senses.frames(1_000_000, inputs_of(pos=(0.0, 0.0, -10_000.0), faults=5)))[0]
    assert suite.faults == [5]
    assert told.zacc == pytest.approx(-3.986004418e14 / 6_381_000.0**2)


class DistinctSuite:
    """Sensors of which no two values are the same, nor 0."""

    readings = np.array([1.5, -2.5, -9.5, 0.25, -0.5, 0.75, 0.125, -0.375, 0.4375, 956.5, 3.5, 481.25, 17.5])

    def __init__(self):
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

    def step(self, *_):
        pass


def test_every_value_of_the_sensors_is_in_its_field():
    """In MAVLink's units, which are the sensors' own; each value is exact in the message's 32 bits."""
    sensor, gps = decoded(senses_of(suite=DistinctSuite())[0].frames(1_234_000, inputs_of()))
    kept = ("mavpackettype", "id", "yaw")  # constants, and what we never tell
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
