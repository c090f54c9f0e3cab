"""The frame of the scene: east, north, up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from px4lockstep.view.frames import to_scene, to_scene_attitude, yaw_attitude

AXES = np.eye(3)


def rotated(q, vector):
    """Return a vector rotated by a quaternion, by its matrix, written out."""
    w, x, y, z = q
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return matrix @ vector


def test_north_is_y_east_is_x_and_up_is_z():
    """By hand."""
    assert to_scene(np.array((1.0, 2.0, 3.0))).tolist() == [2.0, 1.0, -3.0]
    assert to_scene(np.zeros((5, 2, 3))).shape == (5, 2, 3)


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 0.1))
def test_an_attitude_turns_body_axes_as_in_ned_and_then_into_the_scene(parts):
    """Rotating in NED and converting the result is the same as rotating into the scene; to rounding."""
    q = np.array(parts) / np.linalg.norm(parts)
    for axis in AXES:
        expected = to_scene(rotated(q, axis))
        assert rotated(to_scene_attitude(q), axis) == pytest.approx(expected, abs=1e-12)


def test_a_level_vehicle_that_heads_east_has_its_nose_along_x_and_its_belly_down():
    """A heading of 90 degrees is east."""
    q = to_scene_attitude(yaw_attitude(np.pi / 2))
    assert rotated(q, AXES[0]) == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)
    assert rotated(q, AXES[2]) == pytest.approx((0.0, 0.0, -1.0), abs=1e-12)
