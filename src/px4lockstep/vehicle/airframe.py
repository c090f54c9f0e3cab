"""The airframe: mass, inertia, rotor positions, drag and initial state.

This module has the user's parameters; the equations are in `rigid_body` and `drag`.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import Vector3
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.math.quaternion import cross, from_euler
from px4lockstep.part import (
    KEY,
    Found,
    Matrix,
    NotNegativeVector,
    Number,
    Part,
    Quaternion,
    Vector,
    entry,
    fill,
    misfit,
    show,
)
from px4lockstep.part.limits import FLOAT32
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.px4.parameters import check_known
from px4lockstep.vehicle import drag
from px4lockstep.vehicle.loading import Loading, loading_of
from px4lockstep.vehicle.propulsion import Propulsion

LENGTH_TOLERANCE = 1e-6
MAX_ARM_M = 100.0
"""Limit of CA_ROTORi_PX, PY and PZ."""
MISSING_INERTIA = "airframe.inertia_diag_kgm2 is missing; give it or airframe.inertia_kgm2"
LEVEL = (1.0, 0.0, 0.0, 0.0)
DOWN = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Rotor:
    """Position, axis, direction and channel of a rotor."""

    pos_body_m: Vector3  # from the centre of mass, or the nominal one
    direction: int  # sign of the reaction torque on the body about the axis
    axis_body: Vector3  # unit vector; thrust acts along its negative
    channel: int  # motor command that drives the rotor, from 1


class InitialState(Part, where="airframe.x0", stage="initial_state"):
    """State at the first boundary."""

    aliases: ClassVar[dict[str, str]] = {"ω_body": "omega_body"}
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("q_bn",), ("euler_deg",), ("euler_rad",))

    pos_ned: Vector = entry((0.0, 0.0, 0.0), "Initial position (north, east, down).", "m")
    vel_ned: Vector = entry((0.0, 0.0, 0.0), "Initial velocity (north, east, down).", "m/s")
    q_bn: Quaternion | None = entry(
        None,
        "Initial attitude as a quaternion (w, x, y, z) from body to NED, of any length. Level if no attitude is given.",
    )
    euler_deg: Vector | None = entry(None, "Initial attitude as roll, pitch, yaw in degrees, instead of `q_bn`.", "°")
    euler_rad: Vector | None = entry(None, "Initial attitude as roll, pitch, yaw in radians, instead of `q_bn`.", "rad")
    omega_body: Vector = entry((0.0, 0.0, 0.0), "Initial body rates. Alias: `ω_body`.", "rad/s")

    def check(self) -> Found:
        """Check that the attitude is given in one form and the quaternion is not zero; it need not be normalized."""
        given = [name for name in ("q_bn", "euler_deg", "euler_rad") if getattr(self, name) is not None]
        if len(given) > 1:
            text = f"is given together with airframe.x0.{given[0]}; give only one of them"
            yield misfit(given[1], getattr(self, given[1]), text)
        if self.q_bn is not None:
            w, x, y, z = self.q_bn
            norm = math.sqrt(w * w + x * x + y * y + z * z)
            if norm < LENGTH_TOLERANCE:
                yield misfit("q_bn", self.q_bn, f"has norm {norm:.9g}; it must be at least {LENGTH_TOLERANCE}")

    def attitude(self) -> npt.NDArray[np.float64]:
        """Return the attitude as a unit quaternion, converted from the given form."""
        if self.q_bn is not None:
            q_bn = self.q_bn
        elif self.euler_rad is not None:
            q_bn = from_euler(*self.euler_rad)
        else:
            q_bn = from_euler(*(math.radians(angle) for angle in self.euler_deg or (0.0, 0.0, 0.0)))
        w, x, y, z = (float(component) for component in q_bn)
        return np.array((w, x, y, z)) / math.sqrt(w * w + x * x + y * y + z * z)


class Airframe(Part, where="airframe"):
    """Rigid body, rotors and propulsion of the vehicle."""

    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("inertia_kgm2",), ("inertia_diag_kgm2", "inertia_products_kgm2"))

    kind: Literal["multirotor"] = entry("multirotor", "Vehicle model.")
    mass_kg: float = entry(..., "Mass of the vehicle.", "kg", gt=0.0)
    inertia_diag_kgm2: Vector | None = entry(None, "Moments of inertia Ixx, Iyy, Izz.", "kg m²")
    inertia_products_kgm2: Vector | None = entry(
        None, "Off-diagonal elements xy, xz, yz of the inertia tensor.", "kg m²"
    )
    inertia_kgm2: Matrix | None = entry(
        None, "Full inertia tensor, instead of `inertia_diag_kgm2` and `inertia_products_kgm2`.", "kg m²"
    )
    payload_kg: float = entry(
        0.0,
        "Mass of a payload, in addition to `mass_kg`. The motors are the same with and without it.",
        "kg",
        ge=0.0,
    )
    payload_pos_body_m: Vector = entry(
        (0.0, 0.0, 0.0), "Position of the payload, a point mass, relative to the nominal centre of mass.", "m"
    )
    cg_offset_body_m: Vector = entry(
        (0.0, 0.0, 0.0),
        "Offset of the centre of mass, without payload, from the nominal one, to which rotors, feet, IMU and `x0` "
        "refer. The autopilot does not know it.",
        "m",
    )
    rotor_pos_body_m: tuple[Vector, ...] = entry(
        ..., "Position of each rotor relative to the nominal centre of mass.", "m", min_length=1, max_length=MAX_MOTORS
    )
    rotor_axis_body_m: tuple[Vector, ...] | None = entry(
        None, "Axis of each rotor as a unit vector; thrust acts along its negative. Default: (0, 0, 1)."
    )
    drag: Literal["linear", "body_quadratic"] = entry("linear", "Model of the fuselage drag.")
    linear_drag: float = entry(0.0, "Drag coefficient of the `linear` model.", "N s/m", ge=0.0)
    drag_area_body_m2: NotNegativeVector = entry(
        (0.0, 0.0, 0.0), "Drag area CdA along each body axis, for `body_quadratic`.", "m²", ge=0.0
    )
    angular_damping: NotNegativeVector = entry(
        (0.0, 0.0, 0.0), "Damping torque per body rate about each axis.", "N m s", ge=0.0
    )
    x0: InitialState = entry(InitialState(), "Initial state of the rigid body.")
    propulsion: Propulsion = entry(Propulsion(), "ESCs, motors and propellers.")
    px4_params: dict[str, Number] = entry(
        {},
        "PX4 parameters of the airframe, by name, for every autopilot; the built-in one ignores those that it does not "
        "use. They override parameters derived from the geometry; `autopilot.params` and `px4.params` override them.",
        stage="autopilot",
        **FLOAT32,
    )

    def check(self) -> Found:
        """Check inertia, rotors and parameters, and that each array has one item per rotor."""
        yield from self._check_inertia()
        yield from self._check_px4_params()
        for i, pos in enumerate(self.rotor_pos_body_m):
            if max(abs(part) for part in pos) > MAX_ARM_M:
                text = f"is out of range; PX4 allows at most {MAX_ARM_M:g} m along each axis"
                yield ("rotor_pos_body_m", i), f"{KEY} = {show(pos)} {text}"
        rotors, axes = len(self.rotor_pos_body_m), self.rotor_axis_body_m
        if axes is not None and len(axes) != rotors:
            yield ("rotor_axis_body_m",), one_for_each_rotor(len(axes), rotors)
        for i, axis in enumerate(axes or ()):
            length = _length(axis)
            if abs(length - 1.0) > LENGTH_TOLERANCE:
                text = f"{KEY} = {show(axis)} has length {length:.6g}; it must be 1 within 1e-6"
                yield ("rotor_axis_body_m", i), text
        directions = self.propulsion.rotor_dir
        if directions is not None and len(directions) != rotors:
            yield ("propulsion", "rotor_dir"), one_for_each_rotor(len(directions), rotors)
        for k, override in enumerate(self.propulsion.overrides):
            for i, rotor in enumerate(override.rotors):
                if rotor > rotors:
                    text = f"{KEY} = {rotor} does not exist; airframe.rotor_pos_body_m has {rotors} rotors"
                    yield ("propulsion", "overrides", k, "rotors", i), text

    def _check_px4_params(self) -> Found:
        for name, value in self.px4_params.items():
            try:
                check_known(name, value)
            except InputError as error:
                yield ("px4_params", name), f"{KEY}: {error}"
        for i, direction in enumerate(self.propulsion.rotor_dir or default_directions(len(self.rotor_pos_body_m))):
            name = f"CA_ROTOR{i}_KM"
            ratio_m = self.px4_params.get(name, 0.0)
            if ratio_m * direction < 0.0:
                text = f"has the wrong sign for airframe.propulsion.rotor_dir[{i}] = {direction}; change one of them"
                yield ("px4_params", name), f"{KEY} = {show(ratio_m)} {text}"

    def _check_inertia(self) -> Found:
        whole, diagonal, products = self.inertia_kgm2, self.inertia_diag_kgm2, self.inertia_products_kgm2
        if whole is None and diagonal is None:
            yield (), MISSING_INERTIA
            return
        if whole is not None and (diagonal is not None or products is not None):
            other = "inertia_diag_kgm2" if diagonal is not None else "inertia_products_kgm2"
            yield misfit("inertia_kgm2", whole, f"is given together with airframe.{other}; give one form")
            return
        tensor = np.array(self.inertia)
        if not np.array_equal(tensor, tensor.T):
            yield misfit("inertia_kgm2", whole, "is not symmetric; an inertia tensor must be symmetric")
            return
        moments = self.principal_moments()
        if moments[0] <= 1e-12 * abs(moments[2]):
            shown = ", ".join(f"{moment:.6g}" for moment in moments)
            beside = f"with airframe.inertia_products_kgm2 = {show(products)} " if products and any(products) else ""
            text = f"{beside}is not positive definite: its principal moments are {shown}; they must be above 0"
            name = "inertia_kgm2" if whole is not None else "inertia_diag_kgm2"
            yield misfit(name, getattr(self, name), text)

    def completed(self) -> "Airframe":
        """Return a copy with the defaults that depend on other values filled in."""
        rotors = len(self.rotor_pos_body_m)
        changes: dict[str, Any] = {}
        if self.rotor_axis_body_m is None:
            changes["rotor_axis_body_m"] = (DOWN,) * rotors
        if self.propulsion.rotor_dir is None:
            changes["propulsion"] = self.propulsion.model_copy(update={"rotor_dir": default_directions(rotors)})
        if self.inertia_diag_kgm2 is not None and self.inertia_products_kgm2 is None:
            changes["inertia_products_kgm2"] = (0.0, 0.0, 0.0)
        x0 = self.x0
        if x0.q_bn is None and x0.euler_deg is None and x0.euler_rad is None:
            changes["x0"] = x0.model_copy(update={"q_bn": LEVEL})
        return self.model_copy(update=changes) if changes else self

    def without_start(self) -> "Airframe":
        """Return a copy with the default initial state."""
        return self.model_copy(update={"x0": InitialState()})

    @property
    def inertia(self) -> tuple[Vector3, Vector3, Vector3]:
        """Inertia tensor, converted from the given form."""
        if self.inertia_kgm2 is not None:
            return self.inertia_kgm2
        xx, yy, zz = self.inertia_diag_kgm2 or (0.0, 0.0, 0.0)
        xy, xz, yz = self.inertia_products_kgm2 or (0.0, 0.0, 0.0)
        return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)

    @property
    def loading(self) -> Loading:
        """Mass, centre of mass and inertia with the payload and the offset."""
        return loading_of(self.mass_kg, self.inertia, self.cg_offset_body_m, self.payload_kg, self.payload_pos_body_m)

    def principal_moments(self) -> list[float]:
        """Return the principal moments of inertia in ascending order; for checks only, never for a flight."""
        moments: list[float] = np.linalg.eigvalsh(np.array(self.inertia, np.float64)).tolist()
        return moments

    def rotors(self, channels: tuple[int, ...]) -> tuple[Rotor, ...]:
        """Return the rotors with their motor channels; their axes are normalized."""
        places = zip(
            self.rotor_pos_body_m,
            self.propulsion.rotor_dir or default_directions(len(channels)),
            self.rotor_axis_body_m or (DOWN,) * len(channels),
            channels,
            strict=True,
        )
        return tuple(Rotor(pos, direction, _unit(axis), channel) for pos, direction, axis, channel in places)

    def write(self, body: Any, drag_rec: Any) -> None:
        """Write a `BODY` and a `DRAG` record."""
        mass_kg, _, tensor = self.loading
        inertia = np.array(tensor)
        inverses = {"inverse_mass": 1.0 / mass_kg, "inverse_inertia": _inverse(inertia)}
        fill(body, self, mass_kg=mass_kg, inertia_kgm2=inertia, **inverses)
        fill(drag_rec, self, kind=drag.KINDS[self.drag], linear_n_s_m=self.linear_drag)


def one_for_each_rotor(count: int, rotors: int) -> str:
    """Return the message for an array that does not have one item per rotor."""
    return f"{KEY} has {count} items for {rotors} rotors in airframe.rotor_pos_body_m; there must be one per rotor"


def default_directions(count: int) -> tuple[int, ...]:
    """Return the default rotor directions: those of the Iris for four rotors, otherwise alternating."""
    return (1, 1, -1, -1) if count == 4 else tuple(1 if i % 2 == 0 else -1 for i in range(count))


def _length(vector: Vector3) -> float:
    x, y, z = vector
    return math.sqrt(x * x + y * y + z * z)


def _unit(vector: Vector3) -> Vector3:
    x, y, z = vector
    length = _length(vector)
    return x / length, y / length, z / length


def _inverse(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the inverse of a 3 x 3 matrix by its adjugate: bit-identical on all machines, unlike LAPACK's."""
    rows = np.array([interpreted(cross)(a[i], a[j]) for i, j in ((1, 2), (2, 0), (0, 1))])
    determinant = a[0, 0] * rows[0, 0] + a[0, 1] * rows[0, 1] + a[0, 2] * rows[0, 2]
    inverse: npt.NDArray[np.float64] = rows.T / determinant
    return inverse
