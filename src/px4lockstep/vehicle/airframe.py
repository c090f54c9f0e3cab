"""The airframe: mass, inertia, the places of the rotors, drag and the initial state.

The equations are in `rigid_body` and `drag`; this is what a user says of them.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import Vector3
from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.jit import interpreted
from px4lockstep.math.quaternion import cross, from_euler
from px4lockstep.part import KEY, Found, Matrix, NotNegativeVector, Part, Quaternion, Vector, entry, fill, misfit, show
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.vehicle import drag
from px4lockstep.vehicle.propulsion import Propulsion

LENGTH_TOLERANCE = 1e-6
MAX_ARM_M = 100.0
"""Of CA_ROTORi_PX, PY and PZ."""
MISSING_INERTIA = "airframe.inertia_diag_kgm2 is missing; it must be given, or airframe.inertia_kgm2"
LEVEL = (1.0, 0.0, 0.0, 0.0)
DOWN = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Rotor:
    """Where a rotor is, along which axis it pushes down the air, how it turns and what drives it."""

    pos_body_m: Vector3  # from the centre of mass
    direction: int  # sign of the reaction torque on the body about the axis
    axis_body: Vector3  # unit vector; thrust acts against it
    channel: int  # the motor command that drives it, from 1


class InitialState(Part, where="airframe.x0", stage="initial_state"):
    """The state at the first boundary."""

    aliases: ClassVar[dict[str, str]] = {"ω_body": "omega_body"}
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("q_bn",), ("euler_deg",), ("euler_rad",))

    pos_ned: Vector = entry((0.0, 0.0, 0.0), "Position.", "m")
    vel_ned: Vector = entry((0.0, 0.0, 0.0), "Velocity.", "m/s")
    q_bn: Quaternion | None = entry(None, "Attitude (w, x, y, z), body to NED; level if no attitude is given.")
    euler_deg: Vector | None = entry(None, "Or roll, pitch, yaw.", "°")
    euler_rad: Vector | None = entry(None, "Or roll, pitch, yaw.", "rad")
    omega_body: Vector = entry((0.0, 0.0, 0.0), "Body rates.", "rad/s")

    def check(self) -> Found:
        """Yield what is wrong with the attitude."""
        given = [name for name in ("q_bn", "euler_deg", "euler_rad") if getattr(self, name) is not None]
        if len(given) > 1:
            text = f"is given, and airframe.x0.{given[0]} too; give one of them"
            yield misfit(given[1], getattr(self, given[1]), text)
        if self.q_bn is not None:
            w, x, y, z = self.q_bn
            norm = math.sqrt(w * w + x * x + y * y + z * z)
            if abs(norm - 1.0) > LENGTH_TOLERANCE:
                yield misfit("q_bn", self.q_bn, f"has norm {norm:.9g}; it must be 1 within 1e-6")

    def attitude(self) -> npt.NDArray[np.float64]:
        """Return the attitude as a unit quaternion, in whichever form it was given."""
        if self.q_bn is not None:
            q_bn = self.q_bn
        elif self.euler_rad is not None:
            q_bn = from_euler(*self.euler_rad)
        else:
            q_bn = from_euler(*(math.radians(angle) for angle in self.euler_deg or (0.0, 0.0, 0.0)))
        w, x, y, z = (float(component) for component in q_bn)
        return np.array((w, x, y, z)) / math.sqrt(w * w + x * x + y * y + z * z)


class Airframe(Part, where="airframe"):
    """The vehicle as a body with rotors."""

    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("inertia_kgm2",), ("inertia_diag_kgm2", "inertia_products_kgm2"))

    kind: Literal["multirotor"] = entry("multirotor", "The model.")
    mass_kg: float = entry(..., "Mass.", "kg", gt=0.0)
    inertia_diag_kgm2: Vector | None = entry(None, "Moments of inertia Ixx, Iyy, Izz.", "kg m²")
    inertia_products_kgm2: Vector | None = entry(None, "Off-diagonal elements of the tensor: xy, xz, yz.", "kg m²")
    inertia_kgm2: Matrix | None = entry(None, "Or the whole tensor: three rows of three, or nine numbers.", "kg m²")
    rotor_pos_body_m: tuple[Vector, ...] = entry(
        ..., "Position of each rotor from the centre of mass.", "m", min_length=1, max_length=MAX_MOTORS
    )
    rotor_axis_body_m: tuple[Vector, ...] | None = entry(
        None, "Unit vector of each rotor; thrust acts against it. Left out: (0, 0, 1)."
    )
    drag: Literal["linear", "body_quadratic"] = entry("linear", "Kind of drag.")
    linear_drag: float = entry(0.0, "Coefficient of linear drag.", "N s/m", ge=0.0)
    drag_area_body_m2: NotNegativeVector = entry(
        (0.0, 0.0, 0.0), "CdA of quadratic drag along each body axis.", "m²", ge=0.0
    )
    angular_damping: NotNegativeVector = entry((0.0, 0.0, 0.0), "Damping of rotation about each axis.", "N m s", ge=0.0)
    x0: InitialState = entry(InitialState(), "Where it starts.")
    propulsion: Propulsion = entry(Propulsion(), "ESC, motor, propeller.")

    def hover_thrust_n(self, mass_kg: float) -> float:
        """Return the thrust of one rotor when all together carry a mass."""
        return mass_kg * STANDARD_GRAVITY_M_S2 / len(self.rotor_pos_body_m)

    @property
    def calibration_thrust_n(self) -> float:
        """The thrust of one rotor at hover that the propulsion is calibrated to: of this mass, or of another."""
        mass_kg = self.propulsion.calibration_mass_kg
        return self.hover_thrust_n(self.mass_kg if mass_kg is None else mass_kg)

    def check(self) -> Found:
        """Yield what is wrong with inertia, places, axes, and counts that are not those of the rotors."""
        yield from self._check_inertia()
        for i, pos in enumerate(self.rotor_pos_body_m):
            if max(abs(part) for part in pos) > MAX_ARM_M:
                text = f"is out of range; PX4 takes at most {MAX_ARM_M:g} m along each axis"
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

    def _check_inertia(self) -> Found:
        whole, diagonal, products = self.inertia_kgm2, self.inertia_diag_kgm2, self.inertia_products_kgm2
        if whole is None and diagonal is None:
            yield (), MISSING_INERTIA
            return
        if whole is not None and (diagonal is not None or products is not None):
            other = "inertia_diag_kgm2" if diagonal is not None else "inertia_products_kgm2"
            yield misfit("inertia_kgm2", whole, f"is given, and airframe.{other} too; give one of the two forms")
            return
        tensor = np.array(self.inertia)
        if not np.array_equal(tensor, tensor.T):
            yield misfit("inertia_kgm2", whole, "is not symmetric; it must be")
            return
        moments = self.principal_moments()
        if moments[0] <= 1e-12 * abs(moments[2]):
            shown = ", ".join(f"{moment:.6g}" for moment in moments)
            beside = f"with airframe.inertia_products_kgm2 = {show(products)} " if products and any(products) else ""
            text = f"{beside}is not positive definite: its principal moments are {shown}; they must be above 0"
            name = "inertia_kgm2" if whole is not None else "inertia_diag_kgm2"
            yield misfit(name, getattr(self, name), text)

    def completed(self) -> "Airframe":
        """Return it with everything that was left out and has a default that depends on the rest."""
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

    @property
    def inertia(self) -> tuple[Vector3, Vector3, Vector3]:
        """The inertia tensor, in whichever form it was given."""
        if self.inertia_kgm2 is not None:
            return self.inertia_kgm2
        xx, yy, zz = self.inertia_diag_kgm2 or (0.0, 0.0, 0.0)
        xy, xz, yz = self.inertia_products_kgm2 or (0.0, 0.0, 0.0)
        return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)

    def principal_moments(self) -> list[float]:
        """Return the principal moments of inertia, smallest first; for checks, never for a flight."""
        moments: list[float] = np.linalg.eigvalsh(np.array(self.inertia, np.float64)).tolist()
        return moments

    def rotors(self, channels: tuple[int, ...]) -> tuple[Rotor, ...]:
        """Return the rotors, with the motor command of each; their axes have unit length."""
        places = zip(
            self.rotor_pos_body_m,
            self.propulsion.rotor_dir or default_directions(len(channels)),
            self.rotor_axis_body_m or (DOWN,) * len(channels),
            channels,
            strict=True,
        )
        return tuple(Rotor(pos, direction, _unit(axis), channel) for pos, direction, axis, channel in places)

    def write(self, body: Any, drag_rec: Any) -> None:
        """Write into a `BODY` and a `DRAG` record."""
        inertia = np.array(self.inertia)
        inverse_mass, inverse_inertia = 1.0 / self.mass_kg, _inverse(inertia)
        fill(body, self, inertia_kgm2=inertia, inverse_mass=inverse_mass, inverse_inertia=inverse_inertia)
        fill(drag_rec, self, kind=drag.KINDS[self.drag], linear_n_s_m=self.linear_drag)


def one_for_each_rotor(count: int, rotors: int) -> str:
    """Say of a key that it has another number than there are rotors."""
    return f"{KEY} has {count}; airframe.rotor_pos_body_m has {rotors} rotors, and there must be one for each"


def default_directions(count: int) -> tuple[int, ...]:
    """Return the signs of rotors that are not given: as the Iris has them if there are four, else alternating."""
    return (1, 1, -1, -1) if count == 4 else tuple(1 if i % 2 == 0 else -1 for i in range(count))


def _length(vector: Vector3) -> float:
    x, y, z = vector
    return math.sqrt(x * x + y * y + z * z)


def _unit(vector: Vector3) -> Vector3:
    x, y, z = vector
    length = _length(vector)
    return x / length, y / length, z / length


def _inverse(a: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the inverse of a 3 x 3 matrix by its adjugate: the same bits everywhere, unlike a library's."""
    rows = np.array([interpreted(cross)(a[i], a[j]) for i, j in ((1, 2), (2, 0), (0, 1))])
    determinant = a[0, 0] * rows[0, 0] + a[0, 1] * rows[0, 1] + a[0, 2] * rows[0, 2]
    inverse: npt.NDArray[np.float64] = rows.T / determinant
    return inverse
