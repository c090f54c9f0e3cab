"""The land detector: no motion and low thrust for long enough."""

import numpy as np
import pytest
from builtin_modules import estimates

from px4lockstep.autopilots.builtin.land_detector import LAND_DETECTOR, detect_land
from px4lockstep.jit import interpreted, view

LEAST, HOVER = 0.1, 0.5
LOW = 0.1 + 0.3 * 0.4  # three tenths of the way from minimum to hover thrust
TRIGGER_US = 1_000_000


class Detector:
    """A detector with PX4's limits, run once per call."""

    def __init__(self):
        self.record = np.zeros(1, LAND_DETECTOR)
        self.record["speed_z_m_s"], self.record["speed_xy_m_s"] = 0.25, 1.5
        self.record["rate_rad_s"], self.record["trigger_us"] = 0.35, TRIGGER_US

    def landed(self, time_us, thrust=LOW, **estimate):
        """Return whether it has landed, at a time, with an estimate and a thrust."""
        told = view(estimates(**estimate), writable=False)
        interpreted(detect_land)(view(self.record, writable=True), time_us, told, thrust, LEAST, HOVER)
        return int(self.record["landed"][0])


def test_landed_after_no_motion_for_the_trigger_time():
    """To the microsecond; any motion restarts the time."""
    detector = Detector()
    assert detector.landed(5_000_000, vel_ned=(0.0, 0.0, 0.25)) == 0
    assert detector.landed(5_999_999) == 0
    assert detector.landed(6_000_000) == 1
    assert detector.landed(6_500_000, thrust=0.5) == 0
    assert detector.landed(7_499_999) == 0
    assert detector.landed(7_500_000) == 1


@pytest.mark.parametrize(
    ("changes", "is_still"),
    [
        ({"vel_ned": (0.0, 0.0, 0.2499)}, True),
        ({"vel_ned": (0.0, 0.0, -0.2499)}, True),
        ({"vel_ned": (0.0, 0.0, 0.25)}, False),
        ({"vel_ned": (0.0, 0.0, -0.25)}, False),
        ({"vel_ned": (0.89, -1.2, 0.0)}, True),
        ({"vel_ned": (0.9, -1.2, 0.0)}, False),
        ({"omega_body": (0.2, 0.2, 0.2)}, True),
        ({"omega_body": (0.21, -0.21, 0.21)}, False),
        ({"thrust": LOW}, True),
        ({"thrust": LOW + 1e-9}, False),
    ],
)
def test_speed_rate_and_thrust_have_limits(changes, is_still):
    """Each one prevents landing detection; a speed at its limit counts as motion."""
    detector = Detector()
    detector.landed(0)
    assert detector.landed(TRIGGER_US, **changes) == is_still


def test_without_a_position_it_keeps_its_state():
    """Landed or not."""
    detector = Detector()
    assert detector.landed(2_000_000) == 1
    assert detector.landed(3_000_000, thrust=0.5, is_valid=0.0) == 1
    assert detector.landed(3_000_001, thrust=0.5) == 0
    assert detector.landed(9_000_000, is_valid=0.0) == 0
