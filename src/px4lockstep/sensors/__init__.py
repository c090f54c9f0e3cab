"""Sensors of a flight controller, computed from the true state, for autopilots with their own estimator."""

from px4lockstep.sensors.airspeed import Airspeed
from px4lockstep.sensors.barometer import Barometer
from px4lockstep.sensors.gps import Gps
from px4lockstep.sensors.imu import Accelerometer, Gyro, Imu
from px4lockstep.sensors.magnetometer import Magnetometer
from px4lockstep.sensors.suite import SensorConfig, SensorSuite
from px4lockstep.sensors.vibration import Vibration

__all__ = [
    "Accelerometer",
    "Airspeed",
    "Barometer",
    "Gps",
    "Gyro",
    "Imu",
    "Magnetometer",
    "SensorConfig",
    "SensorSuite",
    "Vibration",
]
