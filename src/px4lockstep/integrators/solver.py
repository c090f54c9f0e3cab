"""The integrator's options, and its record: configuration, step size, counters."""

import math
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from pydantic import Field

from px4lockstep.errors import InputError
from px4lockstep.integrators.butcher import ButcherTableau
from px4lockstep.integrators.tableaux import MAX_STAGES, TABLEAU, TABLEAUX, Kind, Tableau
from px4lockstep.jit import record
from px4lockstep.jit.records import COUNT
from px4lockstep.part import KEY, Found, Part, entry, misfit, spelled
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import GROUPS, STATE
from px4lockstep.timebase import period_to_us

SOLVER = record(
    [
        ("tableau", TABLEAU),
        ("is_adaptive", "i8"),
        ("splits_at_contact", "i8"),  # a fixed step ends where a point touches or leaves the ground
        ("is_quantized", "i8"),  # steps are whole microseconds
        ("max_substeps", "i8"),  # attempts per interval
        ("rtol atol", "f8", len(GROUPS)),
        ("is_controlled", "i8", len(GROUPS)),  # whether a group's error limits the step
        ("kink_tolerance", "f8"),  # fraction of the tolerance allowed for a step across a kink
        ("h_min_us h_max_us safety min_factor max_factor", "f8"),
        ("error_for_max_factor", "f8"),  # below this error the step size grows by max_factor
        ("error_exponent", "f8"),  # step size ~ error ** error_exponent
        ("h_us", "f8"),  # carried from step to step
        ("evaluations accepted rejected", "i8"),  # counters, as are the next two
        ("forced", "i8"),  # steps accepted at h_min although the error exceeded the tolerance
        ("projected", "i8"),  # states that the projection moved
        ("first_forced_us", "f8"),  # start of the first forced step; negative if unknown
        ("last_h_us last_error", "f8"),  # of the last attempt, for error messages, as are the next two
        ("last_group", "i8"),
        ("last_offset_us", "f8"),
    ],
    state="h_us evaluations accepted rejected forced projected first_forced_us "
    "last_h_us last_error last_group last_offset_us",
    limits={"evaluations accepted rejected forced projected": COUNT, "last_group": len(GROUPS) - 1},
)

WORK = record([("k", STATE, MAX_STAGES), ("trial", STATE), ("error", STATE), ("inputs", INPUT)])
"""Scratch memory of one step or check: slopes, trial state, its estimated error, a copy of the inputs."""

PLANT_GROUPS = ("act", "actdot", "rotor", "soc", "v1")
FIRST_STEP_S = 1e-3
SHORTEST_STEP_S = 1e-12
"""Minimum step size when steps need not be whole microseconds."""


LEAST_TOLERANCE = 1e-15
OrInfinite = Annotated[float, Field(allow_inf_nan=True)]
"""A tolerance or step size; with `inf`, it has no effect."""
ATOL: dict[str, Any] = {"ge": LEAST_TOLERANCE, "le": math.inf}
"""Limits of absolute tolerances."""


class Integrator(Part):
    """The integration method, its tolerances and step sizes."""

    aliases: ClassVar[dict[str, str]] = {"rtol_ω": "rtol_omega", "atol_ω": "atol_omega"}
    name_key: ClassVar[str | None] = "kind"
    where: ClassVar[str] = "plant.integrator"
    stage: ClassVar[str | None] = "plant"

    kind: Annotated[Kind, spelled((*TABLEAUX, "tableau"))] = entry(
        "RK45", "Integration method, or `tableau` for your own. RK23 and RK45 have adaptive step size."
    )
    tableau: ButcherTableau | None = entry(None, 'Method of `kind = "tableau"`; other kinds do not use it.')
    adaptive: bool = entry(
        True,
        "Whether RK23, RK45 and tableaux with embedded weights adapt their step size. Otherwise they take one step per "
        "interval, like RK4.",
    )
    split_at_contact: bool = entry(
        False,
        "Whether a fixed step in which a point touches or leaves the ground ends there, to the microsecond, and "
        "another step follows. Adaptive steps do so by `kink_tolerance`.",
    )
    rtol_pos: float = entry(1e-6, "Relative tolerance of the position.", ge=0.0)
    atol_pos: OrInfinite = entry(1e-6, "Absolute tolerance of the position.", "m", **ATOL)
    rtol_vel: float = entry(1e-6, "Relative tolerance of the velocity.", ge=0.0)
    atol_vel: OrInfinite = entry(1e-6, "Absolute tolerance of the velocity.", "m/s", **ATOL)
    rtol_omega: float = entry(1e-6, "Relative tolerance of the body rates; also `rtol_ω`.", ge=0.0)
    atol_omega: OrInfinite = entry(1e-6, "Absolute tolerance of the body rates; also `atol_ω`.", "rad/s", **ATOL)
    atol_att_rad: OrInfinite = entry(
        1e-6, "Absolute tolerance of the attitude, which has no relative tolerance.", "rad", **ATOL
    )
    plant_error_control: bool = entry(True, "Whether errors of actuators, rotors and batteries limit the step size.")
    rtol_act: float = entry(1e-6, "Relative tolerance of the actuators' outputs.", ge=0.0)
    atol_act: OrInfinite = entry(1e-6, "Absolute tolerance of the actuators' outputs.", **ATOL)
    rtol_actdot: float = entry(1e-6, "Relative tolerance of the actuators' rates.", ge=0.0)
    atol_actdot: OrInfinite = entry(1e-4, "Absolute tolerance of the actuators' rates.", "1/s", **ATOL)
    rtol_rotor: float = entry(1e-6, "Relative tolerance of the rotor speeds.", ge=0.0)
    atol_rotor: OrInfinite = entry(1e-3, "Absolute tolerance of the rotor speeds.", "rad/s", **ATOL)
    rtol_soc: float = entry(1e-6, "Relative tolerance of the states of charge.", ge=0.0)
    atol_soc: OrInfinite = entry(1e-9, "Absolute tolerance of the states of charge.", **ATOL)
    rtol_v1: float = entry(1e-6, "Relative tolerance of the polarization voltages.", ge=0.0)
    atol_v1: OrInfinite = entry(1e-6, "Absolute tolerance of the polarization voltages.", "V", **ATOL)
    h_min: float = entry(
        1e-6,
        "Minimum step size. A step of this size is accepted even if its error exceeds the tolerance, and counted.",
        "s",
        gt=0.0,
        le=1e7,
    )
    h_max: OrInfinite = entry(0.1, "Maximum step size; `inf` for no limit.", "s", gt=0.0, le=math.inf)
    h_init: float = entry(0.0, "Initial step size. 0 for 1 ms, limited to `h_min` to `h_max`.", "s", ge=0.0)
    max_substeps: int = entry(
        100_000, "Maximum number of step attempts between two event boundaries; more is an error.", ge=1, lt=2**53
    )
    safety: float = entry(
        0.9, "Safety factor applied to the step size suggested by the error estimate.", gt=0.0, lt=1.0
    )
    min_factor: float = entry(0.2, "Smallest factor from one step size to the next.", gt=0.0, lt=1.0)
    max_factor: float = entry(5.0, "Largest factor from one step size to the next.", gt=1.0)
    kink_tolerance: float = entry(
        1e-8,
        "Fraction of the error tolerance allowed for a step across a discontinuity of the model; 1 turns this off.",
        gt=0.0,
        le=1.0,
    )
    quantize_us: bool = entry(True, "Whether step sizes are whole microseconds.")

    def check(self) -> Found:
        """Check tableau and order of the step sizes, and that they are whole microseconds if quantized."""
        if self.kind == "tableau" and self.tableau is None:
            yield ("tableau",), f"{KEY} is missing; an integrator of kind 'tableau' needs its coefficients"
        if self.tableau is not None and "kind" not in self.model_fields_set:
            yield ("tableau",), f'{KEY} has no effect without kind = "tableau"; add it'
        if self.h_min > self.h_max:
            yield misfit("h_min", self.h_min, f"is above h_max = {self.h_max}; it must be at most h_max")
        elif not self.h_min <= self.first_step_s <= self.h_max:
            text = f"is not between h_min = {self.h_min} and h_max = {self.h_max}; use a value in between, or 0"
            yield misfit("h_init", self.h_init, text)
        if not self.quantize_us and self.h_min < SHORTEST_STEP_S:
            yield misfit("h_min", self.h_min, f"is too short; it must be at least {SHORTEST_STEP_S}")
        for name in ("h_min", "h_max", "h_init") if self.quantize_us else ():
            try:
                if math.isfinite(step_s := getattr(self, name)) and step_s:
                    period_to_us(step_s, KEY)
            except InputError as error:
                yield (name,), f"{error}, or plant.integrator.quantize_us = false"

    @property
    def first_step_s(self) -> float:
        """The initial step size."""
        return self.h_init or min(max(FIRST_STEP_S, self.h_min), self.h_max)

    @property
    def method(self) -> Tableau:
        """The method's coefficients."""
        if self.kind != "tableau":
            return TABLEAUX[self.kind]
        assert self.tableau is not None
        return self.tableau.method

    @property
    def chooses_steps(self) -> bool:
        """Whether the step size is adaptive: the method supports it and `adaptive` is set."""
        return self.adaptive and bool(self.method.e)

    @property
    def keeps_its_order(self) -> bool:
        """Whether no step of RK4 crosses the kink where a point touches the ground."""
        return self.kind == "RK4" and self.split_at_contact

    def rtol_of(self, group: str) -> float:
        """Return the relative tolerance of a group."""
        return 0.0 if group == "att" else float(getattr(self, f"rtol_{group}"))

    def atol_of(self, group: str) -> float:
        """Return the absolute tolerance of a group."""
        return float(getattr(self, "atol_att_rad" if group == "att" else f"atol_{group}"))

    def _step_us(self, seconds: float) -> float:
        """Return a step size in microseconds, a whole number if steps are quantized."""
        is_whole = self.quantize_us and math.isfinite(seconds)
        return float(period_to_us(seconds, "step")) if is_whole else seconds * 1e6

    def write(self, solver: Any) -> None:
        """Write the options and the initial step size into a `SOLVER` record."""
        method = self.method
        method.write(solver["tableau"])
        solver["is_adaptive"], solver["is_quantized"] = self.chooses_steps, self.quantize_us
        solver["splits_at_contact"] = self.split_at_contact and not self.chooses_steps
        for index, group in enumerate(GROUPS):
            solver["rtol"][index] = self.rtol_of(group)
            solver["atol"][index] = self.atol_of(group)
            is_on = self.plant_error_control or group not in PLANT_GROUPS
            solver["is_controlled"][index] = is_on and math.isfinite(self.atol_of(group))
        for name, step_s in (("h_min_us", self.h_min), ("h_max_us", self.h_max), ("h_us", self.first_step_s)):
            solver[name] = self._step_us(step_s)
        for name in ("max_substeps", "safety", "min_factor", "max_factor", "kink_tolerance"):
            solver[name] = getattr(self, name)
        # solve safety * error ** (-1 / order) = max_factor for the error, using only products
        error = 1.0
        for _ in range(method.order):
            error *= self.safety / self.max_factor
        solver["error_for_max_factor"] = error
        solver["error_exponent"] = -1.0 / method.order
        solver["first_forced_us"] = -1.0


def tolerances(rtol: float, atol: float, groups: Iterable[str] = GROUPS) -> dict[str, Any]:
    """Return `Integrator` arguments that set the same tolerances for groups; attitude has no relative tolerance."""
    keys: dict[str, Any] = {"atol_att_rad" if group == "att" else f"atol_{group}": atol for group in groups}
    return keys | {f"rtol_{group}": rtol for group in groups if group != "att"}
