"""What an integrator is told, what it carries from step to step, and what it counts."""

import math
from dataclasses import dataclass, field
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.integrators.tableaux import MAX_STAGES, TABLEAU, TABLEAUX, Tableau
from px4lockstep.jit import record
from px4lockstep.plant.layout import GROUPS, INPUT, STATE
from px4lockstep.timebase import period_to_us

SOLVER = record(
    [
        ("tableau", TABLEAU),
        ("is_adaptive", "i8"),
        ("is_quantized", "i8"),  # steps are whole microseconds
        ("max_substeps", "i8"),  # attempts per interval
        ("rtol", "f8", len(GROUPS)),
        ("atol", "f8", len(GROUPS)),
        ("is_controlled", "i8", len(GROUPS)),  # whether a group's error limits the step
        ("kink_tolerance", "f8"),  # what a step with a kink in it may have of the error that is allowed elsewhere
        ("h_min_us", "f8"),
        ("h_max_us", "f8"),
        ("safety", "f8"),
        ("min_factor", "f8"),
        ("max_factor", "f8"),
        ("error_for_max_factor", "f8"),  # below this error the step grows by max_factor
        ("error_exponent", "f8"),  # step ~ error ** error_exponent
        # carried from step to step
        ("h_us", "f8"),
        # counted
        ("evaluations", "i8"),
        ("accepted", "i8"),
        ("rejected", "i8"),
        ("forced", "i8"),  # accepted at h_min though the error was above its tolerance
        ("projected", "i8"),  # states that the projection moved
        # of the last attempt, for the message of a failure
        ("last_h_us", "f8"),
        ("last_error", "f8"),
        ("last_group", "i8"),
        ("last_offset_us", "f8"),
    ],
    state="h_us evaluations accepted rejected forced projected last_h_us last_error last_group last_offset_us",
)

WORK = record([("k", STATE, MAX_STAGES), ("trial", STATE), ("error", STATE), ("inputs", INPUT)])
"""Slopes, the state that is tried, its estimated error, and a copy of inputs: scratch of one step or check."""

DEFAULT_RTOL = {"att": 0.0}
DEFAULT_ATOL = {
    "pos": 1e-6,
    "vel": 1e-6,
    "att": 1e-6,
    "omega": 1e-6,
    "act": 1e-6,
    "actdot": 1e-4,
    "rotor": 1e-3,
    "soc": 1e-9,
    "v1": 1e-6,
}
PLANT_GROUPS = ("act", "actdot", "rotor", "soc", "v1")


@dataclass(frozen=True)
class Integrator:
    """An integrator and its limits.

    Args:
        kind: `Euler`, `RK4`, `RK23` or `RK45`.
        adaptive: Whether RK23 and RK45 choose their steps; otherwise they take one step per interval, as the others.
        rtol: Relative tolerance by group, 1e-6 for those not named (attitude has none).
        atol: Absolute tolerance by group; `att` in radians.
        plant_error_control: Whether actuators, rotors and batteries limit the step too.
        h_min_s: The shortest step. Where even it does not meet the tolerance it is taken, and counted as forced.
        h_max_s: The longest step.
        h_init_s: The first step that is tried.
        max_substeps: Attempts per interval between two boundaries; more is an error.
        safety: Fraction of the step that the error estimate suggests.
        min_factor: The most that a step shrinks by.
        max_factor: The most that a step grows by.
        kink_tolerance: What a step with a kink of the plant in it may have of the error that is allowed elsewhere; 1
            for no difference.
        quantize_us: Whether steps are whole microseconds.

    Raises:
        InputError: If a name is unknown or a value out of range.
    """

    kind: str = "RK45"
    adaptive: bool = True
    rtol: dict[str, float] = field(default_factory=dict)
    atol: dict[str, float] = field(default_factory=dict)
    plant_error_control: bool = True
    h_min_s: float = 1e-6
    h_max_s: float = 0.1
    h_init_s: float = 1e-3
    max_substeps: int = 100_000
    safety: float = 0.9
    min_factor: float = 0.2
    max_factor: float = 5.0
    kink_tolerance: float = 1e-8
    quantize_us: bool = True

    def __post_init__(self) -> None:
        """Check names and ranges."""
        if self.kind not in TABLEAUX:
            raise InputError(f"integrator {self.kind!r} is unknown; allowed are {', '.join(TABLEAUX)}")
        for label, given in (("rtol", self.rtol), ("atol", self.atol)):
            for group, value in given.items():
                if group not in GROUPS:
                    raise InputError(f"integrator.{label} of {group!r}: unknown group; allowed: {', '.join(GROUPS)}")
                if not (math.isfinite(value) and value >= 0.0 and (label == "rtol" or value > 0.0)):
                    least = "0 or more" if label == "rtol" else "above 0"
                    raise InputError(f"integrator.{label} of {group!r} = {value}; it must be finite and {least}")
        shortest_s = 1e-6 if self.quantize_us else 1e-12
        if not shortest_s <= self.h_min_s <= self.h_init_s <= self.h_max_s < math.inf:
            raise InputError(
                f"integrator steps h_min = {self.h_min_s}, h_init = {self.h_init_s}, h_max = {self.h_max_s} s "
                f"must rise in this order, from {shortest_s} at least"
            )
        if not 0.0 < self.safety < 1.0:
            raise InputError(f"integrator.safety = {self.safety} must lie between 0 and 1")
        if not 0.0 < self.min_factor < 1.0 < self.max_factor < math.inf:
            raise InputError(
                f"integrator.min_factor = {self.min_factor} must lie between 0 and 1, max_factor = {self.max_factor} "
                "above 1"
            )
        if not 0.0 < self.kink_tolerance <= 1.0:
            raise InputError(f"integrator.kink_tolerance = {self.kink_tolerance} must lie above 0, and be 1 at most")
        if isinstance(self.max_substeps, bool) or not isinstance(self.max_substeps, int) or self.max_substeps < 1:
            raise InputError(f"integrator.max_substeps = {self.max_substeps} must be an integer of 1 or more")
        for name in ("h_min_s", "h_max_s", "h_init_s"):
            self._step_us(name)

    @property
    def tableau(self) -> Tableau:
        """The method's coefficients."""
        return TABLEAUX[self.kind]

    @property
    def chooses_steps(self) -> bool:
        """Whether the steps are adaptive: the method can, and was not told otherwise."""
        return self.adaptive and bool(self.tableau.e)

    def rtol_of(self, group: str) -> float:
        """Return the relative tolerance of a group."""
        return self.rtol.get(group, DEFAULT_RTOL.get(group, 1e-6))

    def atol_of(self, group: str) -> float:
        """Return the absolute tolerance of a group."""
        return self.atol.get(group, DEFAULT_ATOL[group])

    def _step_us(self, name: str) -> float:
        """Return a step in microseconds, which is a whole number of them if steps are to be."""
        seconds = getattr(self, name)
        return float(period_to_us(seconds, f"integrator.{name}")) if self.quantize_us else seconds * 1e6

    def write(self, solver: Any) -> None:
        """Write parameters and the first step into a `SOLVER` record."""
        order = self.tableau.order
        self.tableau.write(solver["tableau"])
        solver["is_adaptive"] = self.chooses_steps
        solver["is_quantized"] = self.quantize_us
        solver["max_substeps"] = self.max_substeps
        for index, group in enumerate(GROUPS):
            solver["rtol"][index] = self.rtol_of(group)
            solver["atol"][index] = self.atol_of(group)
            solver["is_controlled"][index] = self.plant_error_control or group not in PLANT_GROUPS
        solver["h_min_us"] = self._step_us("h_min_s")
        solver["h_max_us"] = self._step_us("h_max_s")
        solver["h_us"] = self._step_us("h_init_s")
        for name in ("safety", "min_factor", "max_factor", "kink_tolerance"):
            solver[name] = getattr(self, name)
        # safety * error ** (-1 / order) = max_factor, solved for the error by products alone
        error = 1.0
        for _ in range(order):
            error *= self.safety / self.max_factor
        solver["error_for_max_factor"] = error
        solver["error_exponent"] = -1.0 / order
