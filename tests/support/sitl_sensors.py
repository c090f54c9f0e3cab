"""Sensors for tests of stock PX4's host: true values with a little noise, without which PX4 does not arm."""

from px4lockstep.sensors import Barometer, Gps, Magnetometer, SensorConfig

FIELD_NED = (0.2148, 0.0131, 0.4303)
"""Gauss, near Zurich: 3.5° of declination."""

SILENT = SensorConfig(
    mag=Magnetometer(field_ned_gauss=FIELD_NED), baro=Barometer(period_us=40_000), gps=Gps(eph_m=0.3, epv_m=0.4)
).without_errors()
TRUTH = SensorConfig(
    **dict(SILENT)
    | {
        "mag": Magnetometer(**dict(SILENT.mag) | {"noise_sigma_gauss": 1e-3}),
        "baro": Barometer(**dict(SILENT.baro) | {"noise_sigma_pa": 1.2}),
    }
)
