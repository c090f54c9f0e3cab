"""The ground: a round grid on multiples of its cell, which fades into the background, or a plane with shadows."""

import numpy as np
import pytest
from viewed import served

from px4lockstep.view import colours
from px4lockstep.view.ground import Ground, grid_lines, round_below


@pytest.mark.parametrize("middle", [(0.0, 0.0), (40.0, -60.0)])
def test_lines_are_on_multiples_of_the_cell_inside_the_circle(middle):
    """Each line ends on the circle; lines of home's axes are sections wherever the grid is."""
    segments, looks = grid_lines(np.array(middle), 20.0, 90.0, colours.GROUND)
    assert (segments[..., 2] == 0.0).all()
    fixed = np.where(segments[:, 0, 0] == segments[:, 1, 0], segments[:, 0, 0], segments[:, 0, 1])
    assert (fixed % 20.0 == 0.0).all()
    outer = np.where((looks == colours.GROUND[2]).all(axis=2))
    assert np.linalg.norm(segments[outer][:, :2] - middle, axis=1) == pytest.approx(90.0)
    assert len(outer[0]) == len(segments)  # one end of each piece fades into the background
    darkest = looks.sum(axis=2).min(axis=1)
    sections = fixed % 100.0 == 0.0
    assert sections.any()
    assert darkest[sections].min() < darkest[~sections].min()


@pytest.mark.parametrize("extent_m", [4.0, 19.9, 24.0, 150.0, 3_000.0])
def test_a_scene_of_any_width_has_few_lines(extent_m):
    """At most 50: without a graphics card, lines cost most of a frame."""
    segments, _ = grid_lines(np.zeros(2), round_below(extent_m / 4.0), 1.2 * extent_m, colours.GROUND)
    assert 16 <= len(segments) // 2 <= 50


def test_shadows_need_a_plane_and_leave_with_it():
    """The lines come back."""
    with served() as server:
        ground = Ground(server.scene, "/ground", np.full(3, -10.0), np.full(3, 10.0), 20.0)
        node = server.scene.get_handle_by_name
        assert node("/ground-plane") is None
        ground.receive_shadows(True)
        assert node("/ground-plane").visible
        assert not node("/ground").visible
        ground.receive_shadows(False)
        assert not node("/ground-plane").visible
        assert node("/ground").visible


def test_on_a_dark_page_the_grid_fades_into_its_background():
    """viser's dark background is #141414."""
    with served() as server:
        Ground(server.scene, "/ground", np.full(3, -10.0), np.full(3, 10.0), 20.0, dark=True)
        darkest = server.scene.get_handle_by_name("/ground").colors.reshape(-1, 3).min(axis=0)
        assert (darkest == colours.linear(np.array([(20, 20, 20)]))[0]).all()
