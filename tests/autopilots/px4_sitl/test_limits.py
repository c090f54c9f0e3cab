"""Limits of stock PX4 and MAVLink: errors and warnings before the flight."""

import pytest
from fleet import iris
from px4_sitl_double import make_flight
from sitl_sensors import SILENT, TRUTH

from px4lockstep.autopilots.px4_sitl.limits import full_throttle_a
from px4lockstep.errors import InputError
from px4lockstep.sensors import Magnetometer, SensorConfig


@pytest.mark.parametrize("sensor", ["mag", "baro"])
def test_a_sensor_without_noise_is_an_error(sitl_build, tmp_path, sensor):
    """Before the flight: PX4 would never arm. It does not matter if PX4 is told to do without."""
    quiet = {"mag": SILENT.mag, "baro": SILENT.baro}[sensor]
    sensors = SensorConfig(**dict(TRUTH) | {sensor: quiet})
    with pytest.raises(InputError, match=rf"px4\.sitl\.sensors\.{sensor}\.noise_sigma_\w+ = 0 is too small: PX4 takes"):
        make_flight(sitl_build, tmp_path, sensors=sensors)
    make_flight(sitl_build, tmp_path, sensors=sensors, params={f"SYS_HAS_{sensor.upper()}": 0})


def test_noise_below_the_resolution_is_an_error(sitl_build, tmp_path):
    """The rounded reading is constant, too."""
    sensors = SensorConfig(mag=Magnetometer(noise_sigma_gauss=2e-5))
    with pytest.raises(InputError, match=r"Use at least 3\.7e-05 gauss, or set the parameter SYS_HAS_MAG to 0"):
        make_flight(sitl_build, tmp_path, sensors=sensors)


def test_a_parameter_name_that_mavlink_would_truncate_is_an_error(sitl_build, tmp_path):
    with pytest.raises(
        InputError, match="parameter 'MPC_XY_CRUISE_SPEED' has 19 characters; PX4's names have at most 16"
    ):
        make_flight(sitl_build, tmp_path, params={"MPC_XY_CRUISE_SPEED": 3.0})


def test_currents_beyond_the_message_range_are_a_warning(sitl_build, tmp_path, monkeypatch):
    """Which those of an Iris are not: at full throttle it draws 145 A, below its motors' limit of 60 A each."""
    assert full_throttle_a(iris()) == pytest.approx(145.0, abs=0.5)
    simulation, _ = make_flight(sitl_build, tmp_path)
    assert simulation.warnings == ()
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.limits.MAX_A", 10.0)
    simulation, _ = make_flight(sitl_build, tmp_path)
    [warning] = simulation.warnings
    assert warning.startswith("at full throttle a battery delivers about ")
    assert warning.endswith("but MAVLink can send stock PX4 at most 10 A; it sees larger currents as 10 A")
