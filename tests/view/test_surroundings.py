"""Fences and rally points in 3D: where they are, and what tells them apart without colours."""

from dataclasses import replace

import numpy as np
import pytest
from fenced_plan import BLOCK, LIMIT_M, POLYGON, RALLY, TREE, TREE_M, write_fenced_plan
from viewed import served

from px4lockstep import read_run, simulate
from px4lockstep.autopilots.area import Area, Zone
from px4lockstep.view import meshes
from px4lockstep.view.flown import viewed_flights
from px4lockstep.view.scene import FlightScene
from px4lockstep.view.scene_legend import legend_rows

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def flight(tmp_path_factory):
    """A flight around a block of buildings, with polygons, circles and rally points."""
    folder = tmp_path_factory.mktemp("fenced")
    flown = simulate("x500", overrides={"px4.mission_path": str(write_fenced_plan(folder / "fenced.plan"))})
    [flight] = viewed_flights([read_run(flown.save(folder / "run", plots=False))])
    return flight


def ground(node):
    """Return north and east of the ends of lines that are on the ground."""
    ends = node.points.reshape(-1, 3)
    return ends[ends[:, 2] == 0.0][:, [1, 0]]


def test_every_zone_has_edges_and_walls_in_its_place(flight):
    """To 1 mm for corners, whose positions pass through degrees and floats of 32 bits; to 0.1 % for circles."""
    with served() as server:
        scene = FlightScene(server, [flight])
        node = server.scene.get_handle_by_name
        names = {zone.name: f"/world/run0-fence{i}" for i, zone in enumerate(flight.area.zones)}
        assert list(names) == [f"geoFence {kind}[{i}]" for kind in ("polygons", "circles") for i in (0, 1)]
        for name, corners in (("geoFence polygons[0]", POLYGON), ("geoFence polygons[1]", BLOCK)):
            walls = node(f"{names[name]}-walls").vertices
            for north_m, east_m in corners:
                for height_m in (0.0, walls[:, 2].max()):
                    away_m = np.linalg.norm(walls - (east_m, north_m, height_m), axis=1)
                    assert away_m.min() < 1e-3 + 1e-4 * abs(east_m)
        for name, centre, radius_m in (
            ("geoFence circles[0]", TREE, TREE_M),
            ("geoFence circles[1]", (4.0, 2.0), LIMIT_M),
        ):
            radii_m = np.linalg.norm(ground(node(names[name])) - centre, axis=1)
            assert radii_m == pytest.approx(radius_m, rel=1e-3)
        assert node(f"{names['geoFence polygons[0]']}-walls").vertices[:, 2].max() > 12.0  # above the flight
        assert scene.high[0] > 32.0  # the fence is in view


def test_zones_to_stay_outside_are_dashed_hatched_and_labelled(flight):
    """No meaning is in a colour alone."""
    with served() as server:
        scene = FlightScene(server, [flight])
        node = server.scene.get_handle_by_name
        for i, zone in enumerate(flight.area.zones):
            name, points = f"/world/run0-fence{i}", node(f"/world/run0-fence{i}").points
            drawn_m = float(np.linalg.norm(points[:, 1] - points[:, 0], axis=1).sum())
            corners = node(f"{name}-walls").vertices
            lower, height_m = corners[: len(corners) // 2], float(corners[:, 2].max())
            around_m = float(np.linalg.norm(np.roll(lower, -1, axis=0) - lower, axis=1).sum())
            whole_m = 2.0 * around_m + (0.0 if zone.radius_m else len(lower) * height_m)
            text = node(f"{name}-label").text
            if zone.is_inclusion:
                assert text == "stay inside"
                assert drawn_m == pytest.approx(whole_m, rel=1e-4)
                assert node(f"{name}-hatching") is None
            else:
                assert text == "stay outside"
                assert 0.5 * whole_m < drawn_m < 0.7 * whole_m
                slanted = node(f"{name}-hatching").points
                assert slanted[..., 2].min() == 0.0
                assert slanted[..., 2].max() == pytest.approx(height_m, rel=1e-6)
        assert "dashed and hatched: stay outside" in legend_rows(scene)


def test_rally_points_are_cubes_with_their_numbers_on_the_ground(flight):
    """As R0, R1 in figures."""
    with served() as server:
        scene = FlightScene(server, [flight])
        node = server.scene.get_handle_by_name
        for i, (north_m, east_m) in enumerate(RALLY):
            cube = node(f"/world/run0-rally{i}")
            assert cube.position[:2] == pytest.approx((east_m, north_m), abs=0.01)
            assert (cube.vertices + cube.position)[:, 2].min() == pytest.approx(0.0, abs=1e-6)
            assert node(f"/world/run0-rally{i}/label").text == f"R{i}"
            square = node(f"/world/run0-rally{i}-square").points[..., :2].reshape(-1, 2)
            assert square.mean(axis=0) == pytest.approx((east_m, north_m), abs=0.01)
        assert "rally points" in legend_rows(scene)


def test_a_limit_of_the_distance_is_a_wall_that_does_not_shrink_the_flight(flight):
    """GF_MAX_HOR_DIST of 5 km: drawn, but not in view as a whole; and its height is GF_MAX_VER_DIST."""
    far = replace(flight, area=Area((), (), radius_m=5_000.0, height_m=40.0))
    with served() as server:
        scene = FlightScene(server, [far])
        walls = server.scene.get_handle_by_name("/world/run0-fence0-walls").vertices
        assert np.linalg.norm(walls[:, :2], axis=1) == pytest.approx(5_000.0, rel=1e-5)
        assert walls[:, 2].max() == 40.0
        assert scene.extent_m < 100.0


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("is_inside", [True, False])
def test_walls_are_seen_from_the_side_that_matters(turn, is_inside):
    """Faces of a square point inward or outward, whichever way round its corners are given."""
    corners = np.array([(0.0, 0.0, 0.0), (4.0, 0.0, 0.0), (4.0, 4.0, 0.0), (0.0, 4.0, 0.0)])[::turn]
    mesh = meshes.walls(corners, 3.0, is_seen_from_inside=is_inside)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normals, inward = np.cross(b - a, c - a), np.array((2.0, 2.0, 1.5)) - (a + b + c) / 3.0
    assert ((np.einsum("ij,ij->i", normals, inward) > 0.0) == is_inside).all()


def test_an_outline_of_a_tiny_zone_is_hatched(flight):
    """A zone that is far narrower than it is high."""
    tiny = replace(flight, area=Area((Zone("tiny", False, ((3.0, 3.0),), 0.2),)))
    with served() as server:
        FlightScene(server, [tiny])
        points = server.scene.get_handle_by_name("/world/run0-fence0-hatching").points
        assert np.isfinite(points).all()
        assert np.linalg.norm(points[..., [1, 0]].reshape(-1, 2) - 3.0, axis=1).max() < 0.21


def test_a_limit_of_the_height_alone_is_a_ceiling(flight):
    """GF_MAX_VER_DIST without zones: a grid above all of the track, with its height as text."""
    low = replace(flight, area=Area((), (), height_m=20.0))
    with served() as server:
        scene = FlightScene(server, [low])
        node = server.scene.get_handle_by_name
        points = node("/world/run0-ceiling").points.reshape(-1, 3)
        assert (points[:, 2] == 20.0).all()
        assert (points[:, :2].min(axis=0) < low.pos_ned[:, [1, 0]].min(axis=0)).all()
        assert (points[:, :2].max(axis=0) > low.pos_ned[:, [1, 0]].max(axis=0)).all()
        assert node("/world/run0-ceiling-label").text == "stay below 20 m"
        assert scene.high[2] == 20.0  # it is in view
        assert "stay below" in legend_rows(scene)


def test_a_ceiling_belongs_to_the_walls_of_zones(flight):
    """Walls already end there."""
    both = replace(flight, area=Area((), (), radius_m=50.0, height_m=20.0))
    with served() as server:
        FlightScene(server, [both])
        assert server.scene.get_handle_by_name("/world/run0-ceiling") is None
