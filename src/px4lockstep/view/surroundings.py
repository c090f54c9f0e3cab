"""What surrounds a track: ground with north arrow, waypoints, fence and rally points."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import Area, Zone
from px4lockstep.view import colours, meshes
from px4lockstep.view.frames import above, to_scene
from px4lockstep.view.lines import add_lines

Array = npt.NDArray[Any]
Place = tuple[float, float, float]

CORNERS_OF_CIRCLE = 72
SAME_M = 0.5
"""Distance below which waypoints share a mark."""


def add_ground(scene: Any, name: str, low: Array, high: Array, extent_m: float) -> None:
    """Add the ground at home's altitude with a grid of round cells, and an arrow to the north at home."""
    cell_m = round_below(extent_m / 8.0)
    middle = 0.5 * (low + high)
    width_m = cell_m * float(np.ceil(3.2 * extent_m / cell_m))
    snapped = np.round(middle / cell_m) * cell_m
    scene.add_grid(
        name,
        width_m,
        width_m,
        cell_size=cell_m,
        section_size=5.0 * cell_m,
        cell_color=(214, 219, 226),
        section_color=(170, 178, 190),
        plane_color=(236, 239, 243),
        plane_opacity=1.0,
        shadow_opacity=0.18,
        fade_distance=4.5 * extent_m,
        fade_from="camera",
        position=(snapped[0], snapped[1], 0.0),
    )
    far_m, thin_m = 0.12 * extent_m, 0.0022 * extent_m
    ends = np.array([[(0.0, 0.0, thin_m), (0.0, far_m, thin_m)]])
    look = {"shaft_radius": thin_m, "head_radius": 3.0 * thin_m, "head_length": 8.0 * thin_m}
    scene.add_arrows(f"{name}-north", ends, colours.INK, **look)
    scene.add_label(f"{name}-north/label", f"N, cell {cell_m:g} m", position=(0.0, 1.06 * far_m, 0.0))


def light_scene(scene: Any) -> None:
    """Light the scene from the sky and the ground."""
    scene.add_light_hemisphere("/sky", sky_color=(255, 255, 255), ground_color=(190, 190, 185), intensity=1.6)


def round_below(value: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above a value."""
    power = math.pow(10.0, math.floor(math.log10(value)))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= value * (1.0 + 1e-9))


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
    add_lines(scene, f"{name}-posts", posts, (150, 158, 170))
    balls = meshes.joined(
        [meshes.Mesh(size_m * meshes.ball().vertices + where, meshes.ball().faces) for where in places]
    )
    scene.add_mesh_simple(name, *balls, color=(250, 250, 250))
    for i, (where, numbers) in enumerate(groups):
        top = above(where, 1.6 * size_m)
        scene.add_label(f"{name}-{i}", ", ".join(numbers), position=top, anchor="bottom-center")


def add_fence(scene: Any, name: str, area: Area, shift: Place, height_m: float) -> None:
    """Add the fence as walls: solid edges around zones to stay inside, dashed and hatched ones to stay outside."""
    height_m = area.height_m if area.height_m > 0.0 else max(2.0, 1.1 * height_m)
    zones = list(area.zones)
    if area.radius_m > 0.0:
        zones.append(Zone("GF_MAX_HOR_DIST", True, ((0.0, 0.0),), area.radius_m))
    for i, zone in enumerate(zones):
        corners = to_scene(np.column_stack((_outline(zone), np.zeros(len(_outline(zone))))) + shift)
        corners[:, 2] = 0.0
        following, top = np.roll(corners, -1, axis=0), np.array((0.0, 0.0, height_m))
        edges = [*np.stack((corners, following), axis=1), *np.stack((corners + top, following + top), axis=1)]
        if len(corners) < CORNERS_OF_CIRCLE:
            edges += list(np.stack((corners, corners + top), axis=1))
        if not zone.is_inclusion:
            edges = _dashed(edges, height_m / 9.0) + _hatching(corners, following, top)
        add_lines(scene, f"{name}{i}", np.array(edges), colours.FENCE, 2.2)
        count = len(corners)
        walls = np.concatenate((corners, corners + top))
        faces = [(k, (k + 1) % count, count + k) for k in range(count)]
        faces += [((k + 1) % count, count + (k + 1) % count, count + k) for k in range(count)]
        colour = (120, 140, 170) if zone.is_inclusion else colours.FAULT
        scene.add_mesh_simple(
            f"{name}{i}-walls", walls, np.array(faces), color=colour, opacity=0.1, side="double", cast_shadow=False
        )
        text = "stay inside" if zone.is_inclusion else "stay outside"
        scene.add_label(f"{name}{i}-label", text, position=corners[0] + top, font_screen_scale=0.85)


def add_rally_points(scene: Any, name: str, area: Area, shift: Place, size_m: float) -> None:
    """Add a cube with the letter R at each rally point."""
    for i, (north_m, east_m) in enumerate(area.rally_points):
        cube = meshes.cube()
        place = to_scene(np.array((north_m, east_m, 0.0)) + shift) * (1.0, 1.0, 0.0)
        scene.add_mesh_simple(f"{name}{i}", size_m * cube.vertices, cube.faces, color=(250, 250, 250), position=place)
        scene.add_label(f"{name}{i}/label", f"R{i}", position=(0.0, 0.0, 1.5 * size_m))


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


def _hatching(corners: Array, following: Array, top: Array) -> list[Array]:
    """Return slanted lines across the walls."""
    lines = []
    for start, end in zip(corners, following, strict=True):
        count = max(1, round(float(np.linalg.norm(end - start)) / float(top[2])))
        for k in range(count):
            lines.append(np.stack((start + k / count * (end - start), start + (k + 1) / count * (end - start) + top)))
    return lines
