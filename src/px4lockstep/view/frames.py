"""The frame of the scene: x east, y north, z up; the only place where NED is converted.

    p_scene = C p_ned,    C = (0 1 0; 1 0 0; 0 0 -1),    q_scene = q_C q_bn

C is a rotation, by half a turn about (1, 1, 0). So parts of the vehicle stay in body axes (FRD), and `q_scene` rotates
them into the scene.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

HALF = 0.5**0.5
"""q_C = (0, HALF, HALF, 0)."""


def to_scene(vectors_ned: npt.NDArray[Any]) -> Array:
    """Return positions or vectors of NED in the frame of the scene; the last axis has their components."""
    ned = np.asarray(vectors_ned, np.float64)
    return np.stack((ned[..., 1], ned[..., 0], -ned[..., 2]), axis=-1)


def to_scene_attitude(q_bn: npt.NDArray[Any]) -> Array:
    """Return attitudes, body to NED, as rotations from body axes to the scene."""
    w, x, y, z = np.moveaxis(np.asarray(q_bn, np.float64), -1, 0)
    return HALF * np.stack((-x - y, w + z, w - z, y - x), axis=-1)


def above(place: npt.NDArray[Any], height_m: float) -> Array:
    """Return a place of the scene that is higher."""
    return np.asarray(place + np.array((0.0, 0.0, height_m)))


def yaw_attitude(yaw_rad: npt.NDArray[Any] | float) -> Array:
    """Return level attitudes, body to NED, of a heading."""
    half = 0.5 * np.asarray(yaw_rad, np.float64)
    return np.stack((np.cos(half), 0.0 * half, 0.0 * half, np.sin(half)), axis=-1)
