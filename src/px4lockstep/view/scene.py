"""The scene of flights: ground, tracks, waypoints, fences, wind, marks of events, and a vehicle per flight.

It knows nothing of where poses come from: `show` moves the vehicles to the poses that it is given.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import zones_of
from px4lockstep.log.resampling import interpolated
from px4lockstep.plots.looks import dashes_of, is_drawn
from px4lockstep.plots.panels.marks import Marks, numbered
from px4lockstep.view import colours, meshes
from px4lockstep.view.flown import Pose, ViewedFlight
from px4lockstep.view.frames import above, to_scene
from px4lockstep.view.ground import Ground
from px4lockstep.view.lines import add_lines
from px4lockstep.view.shape import VehicleShape
from px4lockstep.view.surroundings import (
    add_ceiling,
    add_fence,
    add_rally_points,
    add_waypoints,
    light_scene,
    places_of,
)
from px4lockstep.view.track import even_rows, track_rows
from px4lockstep.view.vehicle import LEVEL, VehicleNode

Array = npt.NDArray[Any]

WORLD = "/world"
"""Parent of everything: it moves if the camera follows a vehicle."""
SPEED, ERROR, RUN = "speed", "error", "run"
VISIBLE_PART = 0.11
"""Width of a drawn vehicle, as a fraction of the scene, if it is drawn larger than it is."""
FIELD_OF_VIEW_RAD = 0.75
"""Vertical angle of the camera; the default of viser is wide and distorts."""
NEAR_PART = 0.5
"""How far around the tracks fences and rally points belong to the scene, as a fraction of the width of the tracks."""
TRACK_PX = 2.8
"""Thickness of tracks [pixels]."""
MIN_DASHED = 12
"""Pieces of a track below which it is solid."""
WIND_S = 0.2
"""Length of the wind's arrow: how far the air moves in this time, times the scale of the vehicle."""


class FlightScene:
    """Flights in a scene of viser.

    Args:
        server: The server of viser.
        flights: The flights.
        colour_by: What the tracks are coloured by: `speed`, `error` or `run`.
        scale: How much larger than they are vehicles are drawn; by default, so that they can be seen.
        dark: Whether the background is dark.
    """

    def __init__(
        self,
        server: Any,
        flights: Sequence[ViewedFlight],
        *,
        colour_by: str = SPEED,
        scale: float | None = None,
        dark: bool = False,
    ) -> None:
        self._scene, self.flights = server.scene, tuple(flights)
        self.world = self._scene.add_frame(WORLD, show_axes=False)
        light_scene(self._scene)
        self.low, self.high = _bounds(self.flights)
        self.extent_m = float(max(4.0, np.max(self.high - self.low)))
        widest_m = max(flight.shape.span_m for flight in self.flights)
        self.scale = max(1.0, VISIBLE_PART * self.extent_m / widest_m) if scale is None else scale
        self.colour_by = colour_by
        self.ground = Ground(self._scene, f"{WORLD}/ground", self.low, self.high, self.extent_m, dark=dark)
        self._tracks: list[Any] = []
        self._rows: list[Array] = []  # of each flight, the rows of the points of its track
        self._vehicles: list[VehicleNode] = []
        self._winds: list[WindNode | None] = []
        for i, flight in enumerate(self.flights):
            self._add_flight(i, flight)
        self.marks: dict[str, int] = {}
        """Times of the marks [us], by the name of their node."""
        self.mark_handles: list[Any] = []
        self._add_marks()
        self.aim_camera(server.initial_camera)

    def _add_flight(self, i: int, flight: ViewedFlight) -> None:
        several = len(self.flights) > 1
        name, shift = f"{WORLD}/run{i}", flight.shift_ned
        count = len(self.flights)
        rows = even_rows(flight, count) if dashes_of(i) else track_rows(flight, self.extent_m, count)
        self._rows.append(rows)
        segments = _segments(to_scene(flight.pos_ned[rows]), i)
        self._tracks.append(add_lines(self._scene, f"{name}-track", segments, self._track_colours(i, flight), TRACK_PX))
        if i == 0 or flight.waypoints != self.flights[0].waypoints or shift != self.flights[0].shift_ned:
            size_m = 0.006 * self.extent_m
            add_waypoints(self._scene, f"{name}-waypoints", flight.waypoints, shift, size_m)
            add_fence(self._scene, f"{name}-fence", flight.area, shift, float(self.high[2] - self.low[2]))
            if flight.area.height_m > 0.0 and not zones_of(flight.area):
                ceiling_m = flight.area.height_m - shift[2]
                add_ceiling(self._scene, f"{name}-ceiling", ceiling_m, self.low, self.high)
            add_rally_points(self._scene, f"{name}-rally", flight.area, shift, 1.6 * size_m)
        colour = colours.RUNS[i % len(colours.RUNS)] if several else colours.INK
        look: dict[str, Any] = {"colour": colour, "label": flight.name if several else "", "level": i}
        self._vehicles.append(VehicleNode(self._scene, name, flight.shape, **look, scale=self.scale))
        has_wind, level = "wind_ned" in flight.log, len(self.flights) - 1 + i  # above the names of all vehicles
        wind = WindNode(self._scene, f"{name}-wind", flight.shape, self.scale, level) if has_wind else None
        self._winds.append(wind)

    def _track_colours(self, i: int, flight: ViewedFlight) -> Array:
        rows = self._rows[i]
        if self.colour_by == RUN:
            each = np.tile(np.array(colours.RUNS[i % len(colours.RUNS)], np.uint8), (len(rows), 1))
        else:
            values = flight.speed_m_s if self.colour_by == SPEED else flight.error_m
            each = colours.scaled(values[rows], *self.limits)
        return _segments(each, i)

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the colour scale [m/s or m], over all flights."""
        many = [flight.speed_m_s if self.colour_by == SPEED else flight.error_m for flight in self.flights]
        values = np.concatenate(many)
        values = values[np.isfinite(values)]
        return 0.0, float(np.ceil(10.0 * values.max()) / 10.0) if len(values) and values.max() > 0.0 else 1.0

    def colour_tracks(self, colour_by: str) -> None:
        """Colour the tracks by speed, error or run."""
        self.colour_by = colour_by
        for i, (track, flight) in enumerate(zip(self._tracks, self.flights, strict=True)):
            track.colors = colours.linear(self._track_colours(i, flight))

    def _add_marks(self) -> None:
        """Add a mark on the track for each group of events: a cube for faults, an octahedron for others."""
        for i, flight in enumerate(self.flights):
            for number, group in marks_of(flight):
                fault = next((event for event in group if event.is_fault), None)
                time_us = (fault or group[0]).time_us
                place = to_scene(interpolated(flight.time_us, flight.pos_ned, np.array([time_us]))[0])
                name = f"{WORLD}/run{i}-event{number}"
                mesh = meshes.octahedron() if fault is None else meshes.cube()
                colour = colours.EVENT if fault is None else colours.FAULT
                size_m = 0.006 * self.extent_m
                scaled = meshes.Mesh(size_m * mesh.vertices, mesh.faces)
                look = {"color": colour, "position": place, "cast_shadow": False}
                self.mark_handles.append(self._scene.add_mesh_simple(name, *scaled, **look))
                self.marks[name] = time_us
                if fault is not None:
                    self._scene.add_label(f"{name}/label", f"! {fault.label}", position=(0.0, 0.0, 1.5 * size_m))

    def show(self, poses: Sequence[Pose]) -> None:
        """Move the vehicles to poses, one per flight."""
        for vehicle, wind, pose in zip(self._vehicles, self._winds, poses, strict=True):
            vehicle.show(pose)
            if wind is not None:
                wind.show(pose)

    def show_time(self, time_us: int) -> None:
        """Move all vehicles to a time."""
        self.show([flight.pose(time_us) for flight in self.flights])

    def set_scale(self, scale: float) -> None:
        """Draw the vehicles larger than they are."""
        self.scale = scale
        for vehicle, wind in zip(self._vehicles, self._winds, strict=True):
            vehicle.set_scale(scale)
            if wind is not None:
                wind.scale = scale

    def set_layers(self, *, thrust: bool, target: bool, wind: bool, marks: bool) -> None:
        """Show or hide thrust arrows, setpoint ghosts, wind arrows and marks of events."""
        for vehicle in self._vehicles:
            vehicle.shows_thrust, vehicle.shows_target = thrust, target
        for node in self._winds:
            if node is not None:
                node.is_shown = wind
        for handle in self.mark_handles:
            handle.visible = marks

    def aim_camera(self, camera: Any) -> None:
        """Look at all tracks from the south-east, from above."""
        middle, away = 0.5 * (self.low + self.high), 1.65 * max(4.0, float(np.linalg.norm(self.high - self.low)))
        aim(camera, middle + away * np.array((0.55, -0.72, 0.43)), middle)
        camera.far = 20.0 * self.extent_m + 1_000.0

    def close_up(self, camera: Any, place: Array) -> None:
        """Look at a vehicle from behind and above, a few spans away."""
        span_m = self.scale * max(flight.shape.span_m for flight in self.flights)
        aim(camera, place + span_m * np.array((1.9, -3.0, 1.5)), place)


def aim(camera: Any, position: Array, look_at: Array) -> None:
    """Place a camera and turn it; in this order, because viser moves the point that it looks at with its position."""
    camera.fov, camera.position = FIELD_OF_VIEW_RAD, position
    camera.look_at = look_at


class WindNode:
    """The arrow of the wind above a vehicle: it points where the air goes, and is as long as the wind is fast."""

    def __init__(self, scene: Any, name: str, shape: VehicleShape, scale: float, level: int = 0) -> None:
        self._above_m, self.scale, self.is_shown = (1.5 + LEVEL * level) * shape.arm_m, scale, True
        self._foot_m = shape.foot_m
        thin = 0.012 * scale
        self._arrow = scene.add_arrows(
            name,
            np.zeros((1, 2, 3)),
            colours.WIND,
            shaft_radius=thin,
            head_radius=3.0 * thin,
            head_length=6.0 * thin,
            visible=False,
        )
        # A text that changes, such as the speed, is laid out again in the browser, which takes another frame.
        scene.add_label(f"{name}/label", "wind", anchor="bottom-left", font_screen_scale=0.8)

    def show(self, pose: Pose) -> None:
        """Move the arrow to a vehicle."""
        assert pose.wind_ned is not None
        speed_m_s = float(np.linalg.norm(pose.wind_ned))
        is_visible = self.is_shown and speed_m_s > 0.05
        if is_visible:
            above_m = self.scale * self._above_m + (self.scale - 1.0) * self._foot_m
            middle = above(to_scene(pose.pos_ned), above_m)
            half = 0.5 * WIND_S * self.scale * to_scene(pose.wind_ned)
            self._arrow.points = np.stack((-half, half))[np.newaxis].astype(np.float32)
            self._arrow.position = middle
        if self._arrow.visible != is_visible:
            self._arrow.visible = is_visible


def marks_of(flight: ViewedFlight) -> Marks:
    """Return the events of a flight in numbered groups; events close together share a number, as in figures."""
    return numbered(flight.time_us, flight.events)


def _segments(points: Array, number: int) -> Array:
    """Return the segments between points, (n, 2, 3), that belong to the dashes of the line with a number."""
    if len(points) == 1:
        points = np.concatenate([points, points])
    segments = np.stack((points[:-1], points[1:]), axis=1)
    return segments[is_drawn(number, len(segments))] if len(segments) > MIN_DASHED else segments


def _bounds(flights: Sequence[ViewedFlight]) -> tuple[Array, Array]:
    """Return the corners of the box around all tracks and waypoints, and what is near of fences, in the scene's frame.

    A fence may be far larger than a flight, which would be too small to see.
    """
    points = [to_scene(flight.pos_ned) for flight in flights]
    points += [
        to_scene(np.array(list(flight.waypoints.values())) + flight.shift_ned) for flight in flights if flight.waypoints
    ]
    every = np.concatenate([*points, np.zeros((1, 3))])
    low, high = every.min(axis=0), every.max(axis=0)
    margin_m = NEAR_PART * float(np.max(high - low))
    for flight in flights:
        area = places_of(flight.area)
        places = to_scene(np.column_stack((area, np.zeros(len(area)))) + flight.shift_ned)
        near = np.clip(places, low - margin_m, high + margin_m)
        low, high = np.vstack((near, low)).min(axis=0), np.vstack((near, high)).max(axis=0)
        high[2] = max(high[2], min(flight.area.height_m - flight.shift_ned[2], high[2] + margin_m))
    return low, high
