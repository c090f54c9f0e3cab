"""Vector and angle functions of the built-in autopilot."""

import math

import pytest

from px4lockstep.autopilots.builtin.vectors import FARTHEST_RAD, wrap_pi
from px4lockstep.jit import interpreted

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("angle", [0.0, 3.0, -3.0, math.pi, -math.pi, 4.0, -4.0, 100.0, -12_345.6])
def test_an_angle_is_wrapped_to_half_a_turn_either_way(angle):
    """The same angle, at least -π and less than π."""
    wrapped = interpreted(wrap_pi)(angle)
    assert -math.pi <= wrapped < math.pi
    assert math.isclose(math.remainder(wrapped - angle, 2.0 * math.pi), 0.0, abs_tol=1e-9)


@pytest.mark.parametrize("angle", [FARTHEST_RAD, -FARTHEST_RAD, 1e300, math.inf, -math.inf, math.nan])
def test_a_huge_angle_is_nan(angle):
    """Subtracting turns from 1e300 would never end."""
    assert math.isnan(interpreted(wrap_pi)(angle))
