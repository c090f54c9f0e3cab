"""A vehicle in the scene: body, spinning rotors, thrust arrows, a line to the ground, and the ghost of its setpoint.

The vehicle may be drawn larger than it is, about its feet, so that it still stands on the ground.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.view import colours, meshes
from px4lockstep.view.flown import Pose
from px4lockstep.view.frames import above, to_scene, to_scene_attitude
from px4lockstep.view.lines import add_lines
from px4lockstep.view.shape import VehicleShape

Array = npt.NDArray[Any]

ARROW = 0.55
"""Length of a thrust arrow at hover, in arms of the vehicle."""
LEVEL = 0.55
"""Height between the texts of two vehicles in one place, in arms of the vehicle."""
MAX_ARROW = 3.0
"""Longest arrow, in hover thrusts."""


class VehicleNode:
    """A vehicle in a scene.

    Args:
        scene: The `scene` of viser.
        name: Name of its node, such as `/world/run0`.
        shape: Its shape.
        colour: Colour of the body.
        label: Text above it; none by default.
        level: Number of the vehicle, by which texts are raised, so that those of vehicles in one place can be read.
        scale: How much larger than it is.
    """

    def __init__(
        self,
        scene: Any,
        name: str,
        shape: VehicleShape,
        *,
        colour: tuple[int, int, int] = colours.INK,
        label: str = "",
        level: int = 0,
        scale: float = 1.0,
    ) -> None:
        self._shape, self._level = shape, level
        self._axes = np.array([rotor.axis_body for rotor in shape.rotors])
        self._hubs = np.array([rotor.pos_body_m for rotor in shape.rotors])
        radii = np.array([rotor.radius_m for rotor in shape.rotors])
        self._tilts = np.array([_from_z(axis) for axis in self._axes])
        plates = self._hubs - 0.09 * shape.arm_m * self._axes
        self.frame = scene.add_frame(name, show_axes=False)
        self._model = scene.add_frame(f"{name}/model", show_axes=False)
        parts = [
            scene.add_mesh_simple(f"{name}/model/body", *meshes.body_mesh(shape), color=colour),
            scene.add_mesh_simple(f"{name}/model/nose", *meshes.nose_mesh(shape), color=colours.ACCENT),
            scene.add_mesh_simple(
                f"{name}/model/discs",
                *meshes.discs_mesh(shape, plates),
                color=(140, 160, 190),
                opacity=0.3,
                cast_shadow=False,
            ),
        ]
        self._blades = scene.add_batched_meshes_simple(
            f"{name}/model/blades",
            *meshes.blade_mesh(),
            self._tilts,
            plates,
            batched_scales=radii,
            batched_colors=(25, 30, 38),
            lod="off",
            receive_shadow=False,  # like arrows, with which blades share a program of the graphics card
        )
        self._arrows = scene.add_arrows(
            f"{name}/model/thrust",
            np.zeros((len(radii), 2, 3)),
            colours.ACCENT,
            shaft_radius=0.022 * shape.arm_m,
            head_radius=0.06 * shape.arm_m,
            head_length=0.13 * shape.arm_m,
            visible=False,
        )
        self._plates = plates
        self._label = scene.add_label(f"{name}/label", label, anchor="bottom-center") if label else None
        self._ghost = scene.add_frame(f"{name}-setpoint", show_axes=False, visible=False)
        outline = meshes.outline(shape)
        self._ghost_model = add_lines(scene, f"{name}-setpoint/model", outline, colours.GHOST, 1.6)
        down = np.array([[(0.0, 0.0, 0.0), (0.0, 0.0, -1.0)]])
        self._drop = add_lines(scene, f"{name}-height", down, colours.GHOST)
        self._parts = [*parts, self._blades, self._arrows, self._ghost_model]
        self.shows_thrust, self.shows_target = True, True
        self.set_scale(scale)

    def set_scale(self, scale: float) -> None:
        """Draw the vehicle larger than it is."""
        raised = np.array((0.0, 0.0, -(scale - 1.0) * self._shape.foot_m))
        for part in self._parts:  # the scale of a frame does not reach all kinds of its children
            part.scale = scale
        self._model.position = self._ghost_model.position = raised
        if self._label is not None:
            height_m = (0.75 + LEVEL * self._level) * scale * self._shape.arm_m
            self._label.position = (0.0, 0.0, raised[2] - height_m)

    def show(self, pose: Pose) -> None:
        """Move the vehicle, its rotors, its arrows and its ghost."""
        self.frame.position, self.frame.wxyz = to_scene(pose.pos_ned), to_scene_attitude(pose.q_bn)
        self._drop.position, self._drop.scale = self.frame.position, (1.0, 1.0, float(-pose.pos_ned[2]))
        half = 0.5 * np.asarray(pose.spin_rad, np.float64)
        self._blades.batched_wxyzs = _product(self._tilts, np.cos(half), np.sin(half)).astype(np.float32)
        has_thrust = self.shows_thrust and pose.thrust is not None
        if has_thrust and pose.thrust is not None:
            length = np.clip(np.nan_to_num(pose.thrust), -MAX_ARROW, MAX_ARROW) * ARROW * self._shape.arm_m
            ends = self._plates - length[:, np.newaxis] * self._axes
            self._arrows.points = np.stack((self._plates, ends), axis=1).astype(np.float32)
        _set_visible(self._arrows, has_thrust)
        has_target = self.shows_target and pose.target_ned is not None
        if has_target and pose.target_ned is not None and pose.target_q_bn is not None:
            self._ghost.position = to_scene(pose.target_ned)
            self._ghost.wxyz = to_scene_attitude(pose.target_q_bn)
        _set_visible(self._ghost, has_target)


def _set_visible(handle: Any, is_visible: bool) -> None:
    if handle.visible != is_visible:
        handle.visible = is_visible


def _from_z(axis: Array) -> Array:
    """Return the rotation that takes z to an axis, by the shortest way."""
    half = above(axis, 1.0)
    length = float(np.linalg.norm(half))
    if length < 1e-9:
        return np.array((0.0, 1.0, 0.0, 0.0))
    x, y, z = half / length
    return np.array((z, -y, x, 0.0))


def _product(q: Array, cosine: Array, sine: Array) -> Array:
    """Return rotations after a turn about z, whose half angle has this cosine and sine."""
    w, x, y, z = q.T
    return np.stack(
        (w * cosine - z * sine, x * cosine + y * sine, y * cosine - x * sine, w * sine + z * cosine), axis=1
    )
