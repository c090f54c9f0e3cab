"""Attitude control: the weighted heading error."""

import math

import numpy as np
import pytest

from px4lockstep.autopilots.builtin.attitude_control import (
    ATTITUDE_CONTROL,
    SMALL_SINE,
    weighted_half_angle,
    yaw_series,
)


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.4, 1.0])
def test_the_series_equals_sine_and_cosine_of_the_heading_error(weight):
    """Within 4 roundings (4 × 2⁻⁵³ relative), up to the limit of the series and beyond."""
    control = np.zeros(1, ATTITUDE_CONTROL)[0]
    control["yaw_weight"] = weight
    control["yaw_sine"], control["yaw_cosine"] = yaw_series(weight)
    inside, outside = 0.999 * SMALL_SINE, SMALL_SINE
    for x in (-1.0, -0.5, -outside, -inside, 0.0, 1e-9, 0.003, 0.01, 0.02, inside, 0.04, 1.0):
        sine, cosine = weighted_half_angle(control, x)
        assert sine == pytest.approx(math.sin(weight * math.asin(x)), rel=4.5e-16, abs=0.0)
        assert cosine == pytest.approx(math.cos(weight * math.asin(x)), rel=4.5e-16, abs=0.0)
