"""What surrounds a track: light, waypoints, fence and rally points."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import Area, Zone, zones_of
from px4lockstep.view import colours, meshes
from px4lockstep.view.frames import above, to_scene
from px4lockstep.view.lines import add_lines

Array = npt.NDArray[Any]
Place = tuple[float, float, float]

CORNERS_OF_CIRCLE = 72
CEILING_CELLS = 4
MAX_ROUND = 12
"""Waypoints that are round balls; many have an eighth of the triangles, and smaller numbers."""
SAME_M = 0.5
"""Distance below which waypoints share a mark."""


def light_scene(scene: Any) -> None:
    """Light the scene from the sky and the ground."""
    scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(190, 190, 185), intensity=1.6)


def add_waypoints(scene: Any, name: str, waypoints: Mapping[int, Place], shift: Place, size_m: float) -> None:
    """Add a ball with its number at each waypoint, on a thin post."""
    groups: list[tuple[Array, list[str]]] = []
    for number, place in waypoints.items():
        where = to_scene(np.array(place) + shift)
        for other, numbers in groups:
            if float(np.linalg.norm(other - where)) < SAME_M:
                numbers.append(str(number))
                break
        else:
            groups.append((where, [str(number)]))
    if not groups:
        return
    places = np.array([where for where, _ in groups])
    posts = np.stack((places, places * (1.0, 1.0, 0.0)), axis=1)
    add_lines(scene, f"{name}-posts", posts, (150, 158, 170), 1.0)
    are_few = len(places) <= MAX_ROUND
    ball = meshes.ball(2 if are_few else 0)
    balls = meshes.joined([meshes.Mesh(size_m * ball.vertices + where, ball.faces) for where in places])
    scene.add_mesh_simple(name, *balls, color=(250, 250, 250))
    for i, (where, numbers) in enumerate(groups):
        top = above(where, 1.6 * size_m)
        look = {"anchor": "bottom-center", "font_screen_scale": 1.0 if are_few else 0.85}
        scene.add_label(f"{name}-{i}", ", ".join(numbers), position=top, **look)


def add_fence(scene: Any, name: str, area: Area, shift: Place, height_m: float) -> None:
    """Add the fence as walls: solid edges around zones to stay inside, dashed and hatched ones to stay outside."""
    height_m = area.height_m if area.height_m > 0.0 else max(2.0, 1.1 * height_m)
    for i, zone in enumerate(zones_of(area)):
        corners = to_scene(np.column_stack((_outline(zone), np.zeros(len(_outline(zone))))) + shift)
        corners[:, 2] = 0.0
        following, top = np.roll(corners, -1, axis=0), np.array((0.0, 0.0, height_m))
        edges = [*np.stack((corners, following), axis=1), *np.stack((corners + top, following + top), axis=1)]
        if len(corners) < CORNERS_OF_CIRCLE:
            edges += list(np.stack((corners, corners + top), axis=1))
        if not zone.is_inclusion:
            edges = _dashed(edges, height_m / 9.0) if len(corners) < CORNERS_OF_CIRCLE else _dashed_circles(edges)
            add_lines(scene, f"{name}{i}-hatching", _hatching(corners, height_m), colours.FENCE, 1.0)
        add_lines(scene, f"{name}{i}", np.array(edges), colours.FENCE, 2.2)
        walls = meshes.walls(corners, height_m, is_seen_from_inside=zone.is_inclusion)
        colour = (120, 140, 170) if zone.is_inclusion else colours.FAULT
        scene.add_mesh_simple(f"{name}{i}-walls", *walls, color=colour, opacity=0.1, cast_shadow=False)
        text = "stay inside" if zone.is_inclusion else "stay outside"
        front = corners[int(np.argmax(corners @ np.array((0.55, -0.72, 0.0))))]  # towards the first camera
        scene.add_label(f"{name}{i}-label", text, position=front + top, font_screen_scale=0.85, anchor="bottom-center")


def add_ceiling(scene: Any, name: str, height_m: float, low: Array, high: Array) -> None:
    """Add the largest height, GF_MAX_VER_DIST, as a grid above the tracks; without zones, there are no walls to it."""
    margin = 0.06 * (high - low)
    (west, south, _), (east, north, _) = low - margin, high + margin
    columns, rows = np.linspace(west, east, CEILING_CELLS + 1), np.linspace(south, north, CEILING_CELLS + 1)
    lines = [((x, south, height_m), (x, north, height_m)) for x in columns]
    lines += [((west, y, height_m), (east, y, height_m)) for y in rows]
    add_lines(scene, name, np.array(lines), colours.FENCE, 1.6)
    corners = np.array(
        [(west, south, height_m), (east, south, height_m), (east, north, height_m), (west, north, height_m)]
    )
    faces = np.array([(0, 1, 2), (0, 2, 3)])
    scene.add_mesh_simple(f"{name}-plane", corners, faces, color=(120, 140, 170), opacity=0.12, cast_shadow=False)
    text = f"stay below {height_m:g} m"
    scene.add_label(f"{name}-label", text, position=corners[1], font_screen_scale=0.85, anchor="bottom-center")


def places_of(area: Area) -> Array:
    """Return the corners of all zones and the rally points, north and east."""
    return np.concatenate([np.zeros((0, 2)), *map(_outline, zones_of(area)), np.reshape(area.rally_points, (-1, 2))])


def add_rally_points(scene: Any, name: str, area: Area, shift: Place, size_m: float) -> None:
    """Add a cube with the letter R at each rally point, on a square on the ground."""
    square = np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
    for i, (north_m, east_m) in enumerate(area.rally_points):
        cube = meshes.cube()
        place = to_scene(np.array((north_m, east_m, 0.0)) + shift) * (1.0, 1.0, 0.0)
        look = {"color": colours.RALLY, "position": above(place, 0.8 * size_m), "cast_shadow": False}
        scene.add_mesh_simple(f"{name}{i}", size_m * cube.vertices, cube.faces, **look)
        corners = above(place + 2.2 * size_m * square, 0.05 * size_m)
        add_lines(
            scene, f"{name}{i}-square", np.stack((corners, np.roll(corners, -1, axis=0)), axis=1), colours.RALLY, 2.2
        )
        scene.add_label(f"{name}{i}/label", f"R{i}", position=(0.0, 0.0, 1.2 * size_m), anchor="bottom-center")


def _outline(zone: Zone) -> Array:
    """Return the corners of a zone, north and east."""
    if zone.radius_m > 0.0:
        around = np.linspace(0.0, 2.0 * np.pi, CORNERS_OF_CIRCLE + 1)[:-1]
        return np.array(zone.points[0]) + zone.radius_m * np.column_stack((np.cos(around), np.sin(around)))
    return np.array(zone.points)


def _dashed(edges: list[Array], dash_m: float) -> list[Array]:
    """Return edges as dashes."""
    dashes = []
    for start, end in edges:
        count = max(1, round(float(np.linalg.norm(end - start)) / (2.0 * dash_m)))
        for k in range(count):
            dashes.append(
                np.stack((start + (k + 0.2) / count * (end - start), start + (k + 0.75) / count * (end - start)))
            )
    return dashes


def _dashed_circles(edges: list[Array]) -> list[Array]:
    """Return the edges of circles without every third."""
    return [edge for k, edge in enumerate(edges) if k % 3 != 2]


def _hatching(corners: Array, height_m: float) -> Array:
    """Return slanted lines, (n, 2, 3), that rise around the walls over the corners of a zone; at most 40 of them."""
    sides_m = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    at_m = np.concatenate(((0.0,), np.cumsum(sides_m)))
    closed = np.vstack((corners, corners[:1]))
    lines = []
    for start_m in np.linspace(0.0, at_m[-1], min(40, max(4, round(4.0 * at_m[-1] / height_m))), endpoint=False):
        end_m = start_m + min(height_m, 0.5 * at_m[-1])
        bends = np.concatenate((at_m, at_m[1:] + at_m[-1]))
        bends = bends[(bends > start_m) & (bends < end_m)]
        way_m = np.concatenate(((start_m,), bends[:: max(1, len(bends) // 10)], (end_m,)))
        ground = np.stack([np.interp(way_m % at_m[-1], at_m, closed[:, k]) for k in range(2)], axis=1)
        points = np.column_stack((ground, height_m * (way_m - start_m) / (end_m - start_m)))
        lines.append(np.stack((points[:-1], points[1:]), axis=1))
    return np.concatenate(lines)
