"""Meshes: closed, with their faces outward, and in their places."""

import numpy as np
import pytest

from px4lockstep import load_spec
from px4lockstep.view import meshes
from px4lockstep.view.shape import shape_of

SHAPE = shape_of(load_spec("x500"))


def volume(mesh):
    """Return the volume of a closed mesh; negative if its faces point inward."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def test_round_bodies_have_the_volumes_of_their_polyhedra():
    """A sphere of 64 sections to 0.5 %; a tube of 16 sections is a prism, at any place and in any direction."""
    assert volume(meshes.ball(8)) == pytest.approx(4.0 / 3.0 * np.pi, rel=5e-3)
    prism = 8.0 * np.sin(np.pi / 8.0) * 0.1**2 * 2.0
    for way in np.eye(3):
        start = np.array((5.0, -3.0, 2.0))
        assert volume(meshes._tube(start, start + 2.0 * way, 0.1)) == pytest.approx(prism, rel=1e-9)
    assert volume(meshes.cube()) == pytest.approx(1.6**3)
    assert volume(meshes.octahedron()) == pytest.approx(4.0 / 3.0)


def test_the_nose_points_forward_and_faces_outward():
    """Its tip is its foremost point, on the body's x axis."""
    nose = meshes.nose_mesh(SHAPE)
    tip = nose.vertices[np.argmax(nose.vertices[:, 0])]
    assert tip == pytest.approx((0.76 * SHAPE.arm_m, 0.0, 0.0))
    assert volume(nose) > 0.0


def test_the_body_reaches_all_rotors_and_feet():
    """Down is positive in body axes, so the feet are its largest z; all parts face outward."""
    body = meshes.body_mesh(SHAPE)
    assert volume(body) > 0.0
    assert body.vertices[:, 2].max() == pytest.approx(SHAPE.foot_m, abs=0.03 * SHAPE.arm_m)
    for rotor in SHAPE.rotors:
        assert np.linalg.norm(body.vertices - rotor.pos_body_m, axis=1).min() < 0.1 * SHAPE.arm_m
    lines = meshes.outline(SHAPE)
    assert lines.shape[1:] == (2, 3)
    assert np.abs(lines).max() <= SHAPE.span_m
