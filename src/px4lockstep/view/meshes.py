"""Meshes of a vehicle in body axes: body with arms and legs, nose, rotor discs and blades; and marks.

Round bodies are revolved profiles. trimesh has them too, but takes a third of a second to import.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.view.shape import VehicleShape

Array = npt.NDArray[np.float64]

BLADE_TWIST = 0.28
"""Height of a blade's leading edge above its trailing edge, as a fraction of the chord."""
CORNERS_OF_RIM = 14
"""Lines around a rotor of the ghost: a line costs more than a hundred triangles."""


class Mesh(NamedTuple):
    """Vertices and triangles."""

    vertices: npt.NDArray[Any]
    faces: npt.NDArray[Any]


def body_mesh(shape: VehicleShape) -> Mesh:
    """Return hull, arms, motors and legs."""
    arm = shape.arm_m
    hull = ball(3)
    parts = [Mesh(hull.vertices * (0.42 * arm, 0.27 * arm, 0.13 * arm), hull.faces)]
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
    return joined(parts)


def nose_mesh(shape: VehicleShape) -> Mesh:
    """Return the nose, an arrowhead that points forward: the front is told by its form, not only by its colour."""
    arm = shape.arm_m
    cone = _revolved([(0.0, 0.0), (0.17 * arm, 0.0), (0.17 * arm, 0.0), (0.0, 0.42 * arm)], 20)
    across, right, along = cone.vertices.T  # about z, which is to be forward
    return Mesh(np.stack((along + 0.34 * arm, right, -0.55 * across), axis=1), cone.faces)


def discs_mesh(shape: VehicleShape, centres: Array) -> Mesh:
    """Return the discs that the rotors sweep, with their centres at these places."""
    around = np.linspace(0.0, 2.0 * np.pi, 37)[:-1]
    faces = np.array([(0, 1 + i, 1 + (i + 1) % 36) for i in range(36)])
    parts = []
    for rotor, centre in zip(shape.rotors, centres, strict=True):
        across, up = _plane(np.array(rotor.axis_body))
        rim = rotor.radius_m * (np.outer(np.cos(around), across) + np.outer(np.sin(around), up))
        parts.append(Mesh(np.vstack((centre, centre + rim)), faces))
    return _two_sided(joined(parts))


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
    return _two_sided(Mesh(np.array(vertices), np.array(faces)))


def outline(shape: VehicleShape) -> Array:
    """Return a vehicle as lines, (n, 2, 3): arms, rims of the rotors, and an arrowhead that points forward."""
    around = np.linspace(0.0, 2.0 * np.pi, CORNERS_OF_RIM + 1)
    circle = np.stack((np.cos(around), np.sin(around), 0.0 * around), axis=1)
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
    return _faceted(Mesh(corners, np.array(faces)))


def ball(detail: int = 2) -> Mesh:
    """Return a sphere of radius 1 m; with detail 0, of as few triangles as still look round at 4 pixels."""
    up = np.linspace(-0.5 * np.pi, 0.5 * np.pi, max(3, 4 * detail) + 1)
    return _revolved(np.stack((np.cos(up), np.sin(up)), axis=1), max(6, 8 * detail))


def cube() -> Mesh:
    """Return a cube with edges of 1.6 m, about as large as the other marks."""
    corners = [(x, y, z) for x in (-0.8, 0.8) for y in (-0.8, 0.8) for z in (-0.8, 0.8)]
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return _faceted(
        Mesh(np.array(corners, np.float64), np.array([half for a, b, c, d in sides for half in ((a, b, c), (a, c, d))]))
    )


def walls(corners: Array, height_m: float, *, is_seen_from_inside: bool) -> Mesh:
    """Return walls over the corners of a polygon on the ground, seen from one side only.

    Walls to stay inside of are seen from inside: they do not hide what is in front of them.
    """
    following = np.roll(corners, -1, axis=0)
    area = float(np.sum(corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]))
    if (area > 0.0) == is_seen_from_inside:
        corners = corners[::-1]
    count = len(corners)
    here, there = np.arange(count), (np.arange(count) + 1) % count
    faces = np.concatenate(
        (np.stack((here, there, count + here), axis=1), np.stack((there, count + there, count + here), axis=1))
    )
    return Mesh(np.concatenate((corners, corners + np.array((0.0, 0.0, height_m)))), faces)


def _revolved(profile: Sequence[tuple[float, float]] | Array, sections: int = 16) -> Mesh:
    """Return a profile of radii and heights, from below, revolved about z; a point given twice is a sharp edge."""
    around = 2.0 * np.pi * np.arange(sections) / sections
    circle = np.stack((np.cos(around), np.sin(around)), axis=1)
    points = np.array(profile)
    vertices = [np.column_stack((radius * circle, np.full(sections, height))) for radius, height in points]
    here, following = np.arange(sections), (np.arange(sections) + 1) % sections
    faces = []
    for k in range(len(points) - 1):
        if not np.array_equal(points[k], points[k + 1]):
            low, high = k * sections, (k + 1) * sections
            faces.append(np.stack((low + here, low + following, high + following), axis=1))
            faces.append(np.stack((low + here, high + following, high + here), axis=1))
    return Mesh(np.concatenate(vertices), np.concatenate(faces))


def _tube(start: Array, end: Array, radius_m: float) -> Mesh:
    """Return a cylinder from one point to another."""
    length = float(np.linalg.norm(end - start))
    if length == 0.0:  # of a rotor in the centre of mass
        end, length = start + np.array((0.0, 0.0, 1e-6)), 1e-6
    straight = _revolved([(0.0, 0.0), *[(radius_m, 0.0)] * 2, *[(radius_m, length)] * 2, (0.0, length)])
    along = (end - start) / length
    return Mesh(straight.vertices @ np.stack((*_plane(along), along)) + start, straight.faces)


def _plane(normal: Array) -> tuple[Array, Array]:
    """Return two directions across a normal and each other, so that the three are right-handed."""
    across = np.cross(np.eye(3)[int(np.argmin(np.abs(normal)))], normal)
    across /= np.linalg.norm(across)
    return across, np.cross(normal, across)


def _faceted(mesh: Mesh) -> Mesh:
    """Return a mesh with corners of its own for each face, so that edges are sharp.

    viser has an option for it, which makes browsers compile another program: 50 ms without a graphics card.
    """
    return Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * len(mesh.faces)).reshape(-1, 3))


def _two_sided(mesh: Mesh) -> Mesh:
    """Return a mesh that is seen from both sides; viser's option makes browsers compile another program."""
    return joined((mesh, Mesh(mesh.vertices, mesh.faces[:, ::-1])))


def joined(parts: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one."""
    firsts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    faces = [part.faces + first for part, first in zip(parts, firsts, strict=True)]
    return Mesh(np.concatenate([part.vertices for part in parts]), np.concatenate(faces))
