"""Meshes of a vehicle in body axes: body with arms and legs, nose, rotor discs and blades.

trimesh, a dependency of viser, is imported when a mesh is made, so that this module can be imported without it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.view.shape import VehicleShape

Array = npt.NDArray[np.float64]

BLADE_TWIST = 0.28
"""Height of a blade's leading edge above its trailing edge, as a fraction of the chord."""


class Mesh(NamedTuple):
    """Vertices and triangles."""

    vertices: npt.NDArray[Any]
    faces: npt.NDArray[Any]


def body_mesh(shape: VehicleShape) -> Mesh:
    """Return hull, arms, motors and legs."""
    arm = shape.arm_m
    hull = _trimesh().creation.icosphere(subdivisions=2, radius=1.0)
    hull.apply_scale((0.42 * arm, 0.27 * arm, 0.13 * arm))
    parts = [hull]
    for rotor in shape.rotors:
        hub, axis = np.array(rotor.pos_body_m), np.array(rotor.axis_body)
        motor = 0.035 * rotor.radius_m + 0.055 * arm
        parts.append(_tube(np.zeros(3), hub + 0.7 * motor * axis, 0.045 * arm))
        parts.append(_tube(hub - 0.45 * motor * axis, hub + 1.2 * motor * axis, motor))
    for foot in shape.feet_body_m:
        knee = 0.35 * np.array(foot) * (1.0, 1.0, 0.0)
        parts.append(_tube(knee, np.array(foot), 0.022 * arm))
        if abs(foot[0]) > 1e-6:  # skids along the body
            parts.append(_tube(np.array(foot), np.array(foot) * (0.0, 1.0, 1.0), 0.025 * arm))
    return _joined(parts)


def nose_mesh(shape: VehicleShape) -> Mesh:
    """Return the nose, an arrowhead that points forward: the front is told by its form, not only by its colour."""
    arm = shape.arm_m
    cone = _trimesh().creation.cone(radius=0.17 * arm, height=0.42 * arm, sections=20)  # along z
    cone.apply_scale((0.55, 1.0, 1.0))
    cone.apply_transform(_trimesh().transformations.rotation_matrix(0.5 * np.pi, (0.0, 1.0, 0.0)))
    cone.apply_translation((0.34 * arm, 0.0, 0.0))
    return Mesh(cone.vertices, cone.faces)


def disc_mesh() -> Mesh:
    """Return the disc that a rotor of radius 1 m sweeps, in its own plane xy."""
    around = np.linspace(0.0, 2.0 * np.pi, 37)[:-1]
    rim = np.stack((np.cos(around), np.sin(around), np.zeros(36)), axis=1)
    faces = [(0, 1 + i, 1 + (i + 1) % 36) for i in range(36)]
    return Mesh(np.vstack((np.zeros((1, 3)), rim)), np.array(faces))


def blade_mesh() -> Mesh:
    """Return the two blades of a rotor of radius 1 m, in its own plane xy."""
    span, chord = np.linspace(0.08, 1.0, 9), np.array([0.06, 0.11, 0.14, 0.145, 0.14, 0.13, 0.115, 0.095, 0.05])
    vertices: list[tuple[float, float, float]] = []
    faces: list[tuple[int, int, int]] = []
    for side in (1.0, -1.0):
        first = len(vertices)
        for along, wide in zip(span, chord, strict=True):
            lift = 0.5 * BLADE_TWIST * wide * (1.3 - along)
            vertices += [(side * along, side * 0.5 * wide, -lift), (side * along, -side * 0.5 * wide, lift)]
        for i in range(first, len(vertices) - 2, 2):
            faces += [(i, i + 2, i + 1), (i + 1, i + 2, i + 3)]
    return Mesh(np.array(vertices), np.array(faces))


def outline(shape: VehicleShape) -> Array:
    """Return a vehicle as lines, (n, 2, 3): arms, rims of the rotors, and an arrowhead that points forward."""
    around = np.linspace(0.0, 2.0 * np.pi, 25)
    circle = np.stack((np.cos(around), np.sin(around), np.zeros(25)), axis=1)
    lines = []
    for rotor in shape.rotors:
        hub = np.array(rotor.pos_body_m)
        rim = hub + rotor.radius_m * circle
        lines += [np.stack((np.zeros(3), hub)), *np.stack((rim[:-1], rim[1:]), axis=1)]
    tip, left, right = (shape.arm_m * np.array(at) for at in ((0.76, 0.0, 0.0), (0.4, -0.17, 0.0), (0.4, 0.17, 0.0)))
    lines += [np.stack(pair) for pair in ((tip, left), (left, right), (right, tip))]
    return np.array(lines)


def octahedron() -> Mesh:
    """Return an octahedron of radius 1 m, for marks."""
    corners = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], np.float64)
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    return Mesh(corners, np.array(faces))


def ball(detail: int = 2) -> Mesh:
    """Return a sphere of radius 1 m."""
    sphere = _trimesh().creation.icosphere(subdivisions=detail, radius=1.0)
    return Mesh(sphere.vertices, sphere.faces)


def cube() -> Mesh:
    """Return a cube with edges of 1.6 m, about as large as the other marks."""
    box = _trimesh().creation.box((1.6, 1.6, 1.6))
    return Mesh(box.vertices, box.faces)


def _trimesh() -> Any:
    import trimesh

    return trimesh


def _tube(start: Array, end: Array, radius_m: float) -> Any:
    return _trimesh().creation.cylinder(radius=radius_m, segment=np.array((start, end)), sections=16)


def _joined(parts: Sequence[Any]) -> Mesh:
    whole = _trimesh().util.concatenate(list(parts))
    return Mesh(whole.vertices, whole.faces)
