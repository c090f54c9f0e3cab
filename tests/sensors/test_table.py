"""Sensors from an aircraft file: some settings changed, the rest as by default; mistakes are named."""

import pytest

from px4lockstep.errors import InputError
from px4lockstep.sensors import SensorConfig
from px4lockstep.sensors.table import config_of


def test_what_is_left_out_is_as_by_default():
    """All of it, or some."""
    assert config_of({}) == SensorConfig()
    made = config_of({"gps": {"on_fault": "freeze", "satellites": 9}, "imu": {"gyro": {"fault_size": [0, 0, 1]}}})
    assert (made.gps.on_fault, made.gps.satellites, made.imu.gyro.fault_size) == ("freeze", 9, (0.0, 0.0, 1.0))
    assert made.baro == SensorConfig().baro
    assert made.imu.accel == SensorConfig().imu.accel
    assert config_of({"airspeed": {}}).airspeed is not None


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"gsp": {}}, r"sensors\.gsp = \{\} is unknown; did you mean 'gps'\?"),
        ({"gps": {"onfault": "freeze"}}, r"sensors\.gps\.onfault = 'freeze' is unknown; did you mean 'on_fault'\?"),
        ({"gps": {"stream": "x"}}, r"sensors\.gps\.stream = 'x' is unknown; .*are period_us, latency_us"),
        ({"gps": 3}, r"sensors\.gps = 3 is not allowed; it must be a table"),
        ({"gps": {"satellites": 9.5}}, r"sensors\.gps\.satellites = 9\.5 is not allowed; it must be a whole number"),
        ({"baro": {"noise_sigma_pa": True}}, r"sensors\.baro\.noise_sigma_pa = True .* must be a number"),
        ({"mag": {"hard_iron_gauss": [0.0]}}, r"sensors\.mag\.hard_iron_gauss = \[0\.0\] .* an array of 3"),
        ({"mag": {"on_fault": "melt"}}, r"sensors\.mag: .*on_fault = 'melt'"),
        ({"baro": {"noise_sigma_pa": -1.0}}, r"sensors\.baro: .*noise_sigma_pa = -1\.0"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(table, said):
    """Place, value, remedy."""
    with pytest.raises(InputError, match=said):
        config_of(table)
