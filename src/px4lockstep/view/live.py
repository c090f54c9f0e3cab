"""A live vehicle in the browser: poses are pushed as they arrive, and the track grows."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.spec.spec import Spec
from px4lockstep.view import colours
from px4lockstep.view.flown import SLOWER, USUAL_SPEED_RAD_S, Pose
from px4lockstep.view.frames import to_scene
from px4lockstep.view.ground import Ground
from px4lockstep.view.lines import add_lines
from px4lockstep.view.page import BOX
from px4lockstep.view.scene import WORLD, WindNode, aim
from px4lockstep.view.server import DEFAULT_PORT, HOST, start_server, stop_server
from px4lockstep.view.shape import shape_of
from px4lockstep.view.surroundings import light_scene
from px4lockstep.view.track import simplified
from px4lockstep.view.vehicle import VehicleNode

Vector = Sequence[float] | npt.NDArray[Any]

PIECE = 200
"""Points of a piece of the track: only the last piece is sent again when a point is added."""
MIN_STEP_M = 0.05
"""Shortest distance between two points of the track."""
TOLERANCE_M = 0.05
"""How far the line of a full piece may be from the points that it leaves out."""
TEXT_US = 100_000
"""Shortest simulated time between two updates of the text."""
EXTENT_M = 60.0
"""Width of the ground's detail and first distance of the camera."""


class LiveView:
    """A page with a vehicle that moves as poses are pushed.

        view = LiveView(spec)
        view.update(time_us, pos_ned, q_bn, motors=motors)  # 20 to 30 times per second
        view.close()

    Args:
        spec: The aircraft.
        port: Port on 127.0.0.1; 0 for any free one.
        title: Title of the panel; by default the aircraft's name.
        scale: How much larger than it is the vehicle is drawn.

    Raises:
        InputError: If viser is not installed, or the port is in use.
    """

    def __init__(self, spec: Spec, *, port: int = DEFAULT_PORT, title: str = "", scale: float = 3.0) -> None:
        self._shape = shape_of(spec)
        self._server = start_server(port, title or spec.aircraft.name)
        scene, gui = self._server.scene, self._server.gui
        light_scene(scene)
        self._world = scene.add_frame(WORLD, show_axes=False)
        half = np.full(3, 0.5 * EXTENT_M)
        Ground(scene, f"{WORLD}/ground", -half, half, EXTENT_M)
        self._vehicle = VehicleNode(scene, f"{WORLD}/vehicle", self._shape, scale=scale)
        self._wind = WindNode(scene, f"{WORLD}/wind", self._shape, scale)
        self._status = gui.add_html("")
        self._follow = gui.add_checkbox("Follow the vehicle", False)
        aim(self._server.initial_camera, np.array((24.0, -36.0, 20.0)), np.array((0.0, 0.0, 5.0)))
        self._spin_rad = np.zeros(len(self._shape.rotors))
        self._last_us: int | None = None
        self._text_us = 0
        self._piece: list[npt.NDArray[np.float64]] = []
        self._pieces = 0
        self._is_open = True

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self._server.get_port()}"

    def update(
        self,
        time_us: int,
        pos_ned: Vector,
        q_bn: Vector,
        *,
        motors: Vector | None = None,
        rotor_speed_rad_s: Vector | None = None,
        thrust_n: Vector | None = None,
        wind_ned: Vector | None = None,
        target_ned: Vector | None = None,
        text: str = "",
    ) -> None:
        """Move the vehicle; values that are not given are not shown.

        Args:
            time_us: Simulated time.
            pos_ned: Position from home [m].
            q_bn: Attitude, body to NED.
            motors: Motor commands, 0 to 1, for rotors and arrows where speeds or thrusts are not given.
            rotor_speed_rad_s: Speeds of the rotors.
            thrust_n: Thrusts of the rotors.
            wind_ned: Velocity of the air.
            target_ned: Position setpoint.
            text: Text to show below time and position, such as the mode.

        Raises:
            InputError: If the position or the attitude is not finite, or the view is closed.
        """
        if not self._is_open:
            raise InputError("the live view is closed; create a new one")
        pos, attitude = np.asarray(pos_ned, np.float64), np.asarray(q_bn, np.float64)
        if pos.shape != (3,) or attitude.shape != (4,) or not (np.isfinite(pos).all() and np.isfinite(attitude).all()):
            raise InputError(f"a pose must have 3 and 4 finite numbers, not {pos_ned!r} and {q_bn!r}")
        elapsed_us = 0 if self._last_us is None else max(0, time_us - self._last_us)
        self._last_us = time_us
        self._turn(elapsed_us, motors, rotor_speed_rad_s)
        target = None if target_ned is None else np.asarray(target_ned, np.float64)
        if target is not None and not np.isfinite(target).all():
            target = None
        wind = None if wind_ned is None else np.asarray(wind_ned, np.float64)
        pose = Pose(pos, attitude, self._spin_rad, self._thrust(motors, thrust_n), wind, target, attitude)
        with self._server.atomic():
            self._vehicle.show(pose)
            if wind is not None:
                self._wind.show(pose)
            place = to_scene(pos)
            self._world.position = -place if self._follow.value else np.zeros(3)
            self._grow(place)
            if elapsed_us == 0 or not self._text_us <= time_us < self._text_us + TEXT_US:
                self._text_us = time_us
                north_m, east_m, down_m = pos
                lines = (
                    f"<b>{time_us / 1e6:.2f} s</b>",
                    f"N {north_m:.1f} E {east_m:.1f} m, {-down_m:.1f} m high",
                    "" if wind is None else f"wind {np.linalg.norm(wind):.1f} m/s",
                    html.escape(text),
                )
                self._status.content = f'<div style="{BOX}">{"<br>".join(line for line in lines if line)}</div>'

    def _turn(self, elapsed_us: int, motors: Vector | None, speeds: Vector | None) -> None:
        if speeds is None:
            speeds = None if motors is None else USUAL_SPEED_RAD_S * np.nan_to_num(np.asarray(motors, np.float64))
        if speeds is not None:
            count = min(len(self._spin_rad), len(speeds))
            signs = np.array([rotor.direction for rotor in self._shape.rotors[:count]])
            self._spin_rad[:count] -= signs * np.nan_to_num(np.asarray(speeds)[:count]) * elapsed_us / 1e6 / SLOWER

    def _thrust(self, motors: Vector | None, thrust_n: Vector | None) -> npt.NDArray[np.float64] | None:
        count = len(self._shape.rotors)
        if thrust_n is not None and len(thrust_n) >= count and self._shape.hover_thrust_n:
            return np.asarray(thrust_n, np.float64)[:count] / self._shape.hover_thrust_n
        if motors is not None and len(motors) >= count:
            return np.asarray(2.0 * np.nan_to_num(np.asarray(motors, np.float64)[:count]) ** 2)
        return None

    def _grow(self, place: npt.NDArray[np.float64]) -> None:
        """Add a point to the track; a full piece stays, and the next one starts where it ended."""
        if self._piece and float(np.linalg.norm(place - self._piece[-1])) < MIN_STEP_M:
            return
        self._piece.append(place)
        if len(self._piece) < 2:
            return
        points = np.array(self._piece)
        is_full = len(points) >= PIECE
        if is_full:
            points = points[simplified(points, PIECE, TOLERANCE_M)]
        pieces = np.stack((points[:-1], points[1:]), axis=1)
        add_lines(self._server.scene, f"{WORLD}/track{self._pieces}", pieces, colours.RUNS[0], 3.0)
        if is_full:
            self._piece, self._pieces = [place], self._pieces + 1

    def close(self) -> None:
        """Stop the server; the page in the browser says that it is disconnected."""
        if self._is_open:
            self._is_open = False
            stop_server(self._server)
