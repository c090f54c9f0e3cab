"""The autopilots that a spec file can ask for: the table `[autopilot]`, and what each kind can do.

The module of a kind is imported when its keys are checked or it is made, not to look at its capabilities. It has

* `make(own, px4, home, mission)`, which returns the autopilot of a flight,
* `check_parameter(own, name, value)`, which refuses one of `autopilot.params`, unless it takes all of PX4's,
* `locate(px4)`, which finds its code, if that is not this package's,
* `check_workers(px4, workers)` if only so many can fly at the same time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Literal

from px4lockstep.autopilots.base import NOBODY, Capabilities
from px4lockstep.errors import InputError
from px4lockstep.part import KEY, Found, Number, Part, entry
from px4lockstep.part.limits import FLOAT32
from px4lockstep.px4.parameters import check_known

SITL_INSTANCES = 10
"""PX4's start script gives all further ones the same port of the API."""


@dataclass(frozen=True)
class Kind:
    """An autopilot of a spec file."""

    capabilities: Capabilities
    doc: str  # for the reference of spec files
    module: str | None = None  # that checks its keys and makes it, if there is something to make

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of its module."""
        assert self.module is not None
        return getattr(import_module(self.module), function)(*arguments)


KINDS = {
    "builtin": Kind(
        Capabilities("the built-in autopilot"), "the built-in autopilot", "px4lockstep.autopilots.builtin.options"
    ),
    "px4": Kind(
        Capabilities("real PX4", needs_child=True, is_copyable=False, takes_px4_params=True),
        "real PX4 by its library",
        "px4lockstep.autopilots.px4_library.options",
    ),
    "px4-sitl": Kind(
        Capabilities(
            "stock PX4",
            is_process=True,
            max_at_once=SITL_INSTANCES,
            is_repeatable=False,
            is_copyable=False,
            is_reusable=False,
            estimates_itself=True,
            reads_sensors=True,
            takes_sensor_faults=True,
            takes_px4_params=True,
        ),
        "stock PX4 over MAVLink",
        "px4lockstep.autopilots.px4_sitl.options",
    ),
    "none": Kind(NOBODY, "no autopilot"),
}
"""All of them; the first is the default."""
DEFAULT = next(iter(KINDS))


class AutopilotOptions(Part):
    """The autopilot."""

    stage: ClassVar[str | None] = "autopilot"
    where: ClassVar[str] = "autopilot"

    kind: Literal[tuple(KINDS)] = entry(  # type: ignore[valid-type]
        DEFAULT,
        f"Which one flies: {'; '.join(f'`{name}`, {kind.doc}' for name, kind in KINDS.items())}.",
        stage="autopilot_kind",
    )
    params: dict[str, Number] = entry(
        {}, "PX4's parameters, by name; for real PX4, `px4.params` come after them.", **FLOAT32
    )
    motor_failure_detection: bool = entry(
        True, "Whether a motor that draws no current is taken out of the allocation of the built-in autopilot."
    )
    hover_thrust_estimate: bool = entry(
        False, "Whether the built-in autopilot estimates the hover thrust in flight, by HTE_*."
    )
    land_detector: Literal["host", "estimate"] = entry(
        "host",
        "How the built-in autopilot knows that it has landed: `host` tells it, as PX4 in lockstep is told; `estimate` "
        "decides from the estimate, by LNDMC_*.",
    )
    angular_acceleration: bool = entry(
        True,
        "Whether rate control gets the derivative of the body rates; false reproduces the recorded flights of PX4.",
        stage="autopilot_start",
    )

    @property
    def capabilities(self) -> Capabilities:
        """What this autopilot can do."""
        return KINDS[self.kind].capabilities

    def check(self) -> Found:
        """Yield what is wrong with parameters; without an autopilot, they are those of the default one."""
        kind = KINDS[self.kind] if self.capabilities.flies else KINDS[DEFAULT]
        for name, value in self.params.items():
            try:
                if kind.capabilities.takes_px4_params:
                    check_known(name, value)
                else:
                    kind.call("check_parameter", self, name, value)
            except InputError as error:
                yield ("params", name), f"{KEY}: {error}"


def make_autopilot(own: AutopilotOptions, px4: object, home: tuple[float, float], mission: object) -> object | None:
    """Return the autopilot of a flight, or None if there is none, from the tables `[autopilot]` and `[px4]`."""
    kind = KINDS[own.kind]
    made: object = None if kind.module is None else kind.call("make", own, px4, home, mission)
    return made


def locate_code(own: AutopilotOptions, px4: object) -> object | None:
    """Return where the code of an autopilot is that is not this package's, without running any of it; else None."""
    kind = KINDS[own.kind]
    return kind.call("locate", px4) if kind.capabilities.takes_px4_params else None


def workers_allowed(data: Mapping[str, Any], workers: int) -> int:
    """Return how many of the workers of a campaign may fly its spec, tables as in a file, at the same time."""
    kind = KINDS[data.get("autopilot", {}).get("kind", DEFAULT)]
    most = kind.capabilities.max_at_once
    if most is None:
        return workers
    kind.call("check_workers", data.get("px4", {}), workers)
    return min(workers, most)
