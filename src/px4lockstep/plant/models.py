"""Plant models: parameters and initial states, which are checked and written into the loop's records."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import check_positive
from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.errors import InputError
from px4lockstep.jit import callback
from px4lockstep.part import fill
from px4lockstep.plant import reference
from px4lockstep.plant import user as user_plant
from px4lockstep.plant.layout import GROUPS, MAX_STATES, USER_PLANT

Vector = npt.NDArray[np.float64]


class PlantModel(Protocol):
    """The interface of a plant model."""

    @property
    def groups(self) -> Mapping[str, int]:
        """The number of states in each group of `layout.GROUPS`, in that order."""

    def initial_state(self) -> Vector:
        """Return the state at the first boundary."""

    def write(self, plant: Any) -> None:
        """Write kind, parameters and traits into a `PLANT` record whose traits are still 0; ignore the initial state.

        A model may have an attribute `configuration`: a model that writes the same record, and is the same object for
        flights that differ in the initial state only.
        """


def configuration_of(model: Any) -> Any:
    """Return a model that has the same record, and is the same for flights that differ in the initial state only."""
    return getattr(model, "configuration", model)


def checked_start(model: PlantModel) -> Vector:
    """Check the groups and the initial state of a model; return the initial state."""
    unknown = [name for name in model.groups if name not in GROUPS]
    if unknown:
        raise InputError(f"unknown state groups {unknown}; allowed: {', '.join(GROUPS)}")
    for name, size in model.groups.items():
        if type(size) is not int or size < 0:  # a bool is no size
            raise InputError(f"state group {name!r} has {size!r} states; it must be a non-negative integer")
    order = [name for name in GROUPS if name in model.groups]
    if list(model.groups) != order:
        raise InputError(f"state groups are given in the order {list(model.groups)}; the required order is {order}")
    count = sum(model.groups.values())
    if model.groups.get("att", 0) not in (0, 4):
        raise InputError(f"state group 'att' has {model.groups['att']} states; it must have 4 (a quaternion) or none")
    if not 1 <= count <= MAX_STATES:
        raise InputError(f"the plant has {count} states; it must have 1 to {MAX_STATES}")
    initial = np.asarray(model.initial_state(), np.float64)
    if initial.shape != (count,):
        raise InputError(f"the initial state has shape {initial.shape}; its groups add up to {count} states")
    values = initial.tolist()
    if not all(map(math.isfinite, values)):
        raise InputError(f"the initial state is not finite: {values}")
    if model.groups.get("att", 0):
        first = sum(model.groups.get(name, 0) for name in GROUPS[: GROUPS.index("att")])
        norm = math.hypot(*values[first : first + 4])
        if abs(norm - 1.0) > 1e-10:
            raise InputError(f"the initial quaternion has norm {norm!r}; normalize it to 1 within 1e-10")
    return initial


def write_plant(model: PlantModel, plant: Any) -> None:
    """Write a model with valid groups into a `PLANT` record."""
    start = 0
    for index, name in enumerate(GROUPS):
        plant["group_start"][index] = start
        start += model.groups.get(name, 0)
        plant["group_stop"][index] = start
    plant["n_x"] = start
    plant["traits"] = 0
    model.write(plant)


class ReferencePlant:
    """A reference problem; fields with the name of a field of `reference.REFERENCE` are its parameters."""

    kind: ClassVar[int]

    def write(self, plant: Any) -> None:
        plant["kind"] = self.kind
        fill(plant["reference"], self)


@dataclass(frozen=True)
class Oscillator(ReferencePlant):
    """Harmonic oscillator, forced by motor command 1 and the north wind component if the gains are not 0."""

    kind: ClassVar[int] = reference.OSCILLATOR
    omega_rad_s: float = 1.0
    position: float = 1.0
    velocity: float = 0.0
    motor_gain: float = 0.0
    wind_gain: float = 0.0
    groups: Mapping[str, int] = field(default_factory=lambda: {"pos": 1, "vel": 1})

    def initial_state(self) -> Vector:
        return np.array([self.position, self.velocity])


@dataclass(frozen=True)
class Pendulum(ReferencePlant):
    """Mathematical pendulum, released at rest."""

    kind: ClassVar[int] = reference.PENDULUM
    omega_rad_s: float = 1.0
    angle_rad: float = 0.01
    groups: Mapping[str, int] = field(default_factory=lambda: {"pos": 1, "vel": 1})

    def initial_state(self) -> Vector:
        return np.array([self.angle_rad, 0.0])


@dataclass(frozen=True)
class KeplerOrbit(ReferencePlant):
    """Circular orbit that starts on the first axis and is inclined about it."""

    kind: ClassVar[int] = reference.KEPLER
    mu_m3_s2: float = 1.0
    radius_m: float = 1.0
    inclination_rad: float = 0.0
    groups: Mapping[str, int] = field(default_factory=lambda: {"pos": 3, "vel": 3})

    def initial_state(self) -> Vector:
        check_positive("radius_m", self.radius_m)
        speed = math.sqrt(check_positive("mu_m3_s2", self.mu_m3_s2) / self.radius_m)
        tilt = self.inclination_rad
        return np.array([self.radius_m, 0.0, 0.0, 0.0, speed * math.cos(tilt), speed * math.sin(tilt)])


@dataclass(frozen=True)
class TorqueFreeBody(ReferencePlant):
    """Torque-free rigid body in principal axes."""

    kind: ClassVar[int] = reference.RIGID_BODY
    inertia_kgm2: tuple[float, float, float] = (1.0, 2.0, 3.0)
    omega_body: tuple[float, float, float] = (0.1, 2.0, 0.3)
    q_bn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    groups: Mapping[str, int] = field(default_factory=lambda: {"att": 4, "omega": 3})

    def initial_state(self) -> Vector:
        return np.array([*self.q_bn, *self.omega_body])

    def write(self, plant: Any) -> None:
        if min(self.inertia_kgm2) <= 0.0:
            raise InputError(f"inertia_kgm2 = {self.inertia_kgm2} must be positive")
        super().write(plant)


@dataclass(frozen=True)
class ConstantRate(ReferencePlant):
    """Attitude with a constant body rate."""

    kind: ClassVar[int] = reference.CONSTANT_RATE
    rate_body_rad_s: tuple[float, float, float] = (0.0, 0.0, math.pi)
    q_bn: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    groups: Mapping[str, int] = field(default_factory=lambda: {"att": 4})

    def initial_state(self) -> Vector:
        return np.array(self.q_bn)


@dataclass(frozen=True)
class FreeFall(ReferencePlant):
    """Point mass in uniform gravity, with down positive."""

    kind: ClassVar[int] = reference.FREE_FALL
    gravity_m_s2: float = STANDARD_GRAVITY_M_S2
    pos_ned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    vel_ned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    groups: Mapping[str, int] = field(default_factory=lambda: {"pos": 3, "vel": 3})

    def initial_state(self) -> Vector:
        return np.array([*self.pos_ned, *self.vel_ned])


@dataclass(frozen=True)
class UserPlant:
    """A user-defined plant: see `user` for the signatures, `docs/howto/own_plant.md` for an example.

    All functions are Python functions or addresses of C functions.

    Args:
        groups: The number of states in each group, in the order of `layout.GROUPS`. Tolerances are set per group.
        initial: The state at the first boundary.
        rhs: The right-hand side.
        outputs: Writes the outputs of the plant besides its state.
        project: Moves the state back into its bounds.
        autopilot_tick: Changes the state at autopilot ticks.
        parameters: At most 64 numbers, `params.values` in the functions.
    """

    groups: Mapping[str, int]
    initial: Sequence[float]
    rhs: Callable[..., None] | int
    outputs: Callable[..., None] | int | None = None
    project: Callable[..., int] | int | None = None
    autopilot_tick: Callable[..., None] | int | None = None
    parameters: Sequence[float] = ()

    def initial_state(self) -> Vector:
        return np.asarray(self.initial, np.float64)

    def write(self, plant: Any) -> None:
        if len(self.parameters) > user_plant.MAX_PARAMETERS:
            raise InputError(
                f"the plant has {len(self.parameters)} parameters; at most {user_plant.MAX_PARAMETERS} are allowed"
            )
        plant["kind"] = USER_PLANT
        user = plant["user"]
        user["values"][: len(self.parameters)] = self.parameters
        if self.rhs is None:
            raise InputError("the plant has no right-hand side: rhs is None")
        for name, signature in user_plant.SIGNATURES.items():
            user[f"{name}_address"] = _address(getattr(self, name), signature)


def _address(function: Callable[..., Any] | int | None, signature: tuple[str, tuple[Any, ...]]) -> int:
    if function is None:
        return 0
    if callable(function):
        return callback(function, *signature)
    if isinstance(function, bool) or not isinstance(function, int) or function == 0:
        raise InputError(f"a function of the plant is {function!r}; it must be a function or the address of one")
    return function
