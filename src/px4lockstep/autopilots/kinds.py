"""The autopilots that a spec file can select: the table `[autopilot]`, and the capabilities of each kind.

The module of a kind is imported when its keys are checked or the autopilot is created, but not to look up its
capabilities. It defines

* `make(own, px4, home, mission)`, which returns the autopilot for a flight,
* `check_parameter(own, name, value)`, which checks one of `autopilot.params`, unless the kind accepts all of PX4's,
* `uses_parameter(name)`, whether a PX4 parameter can have an effect,
* `flown_params(own, px4, aircraft)`, which returns the PX4 parameters of a flight,
* `locate(px4)`, which finds its code, if that is not part of this package,
* `check_workers(px4, workers)`, if the number of simultaneous flights is limited.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from px4lockstep.autopilots.base import NOBODY, Capabilities, capabilities_of
from px4lockstep.errors import InputError
from px4lockstep.part import KEY, Found, Number, Part, entry, path_entry
from px4lockstep.part.kinds import CODE, EXAMPLE, Options, PythonKind, folder_entry, kind_or_class, options_entry
from px4lockstep.part.limits import FLOAT32
from px4lockstep.px4.parameters import check_known
from px4lockstep.user_code import named

SITL_INSTANCES = 10
"""Maximum number of SITL instances: PX4's start script gives all further ones the same API port."""


@dataclass(frozen=True)
class Kind:
    """An autopilot that a spec file can select."""

    capabilities: Capabilities
    doc: str  # for the spec reference
    module: str | None = None  # checks its keys and creates it; None if there is nothing to create

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function of its module."""
        assert self.module is not None
        return getattr(import_module(self.module), function)(*arguments)


KINDS = {
    "builtin": Kind(
        Capabilities(
            "the built-in autopilot",
            commands_own_only=True,
            takes_setpoints=True,
            takes_commands=True,
            sets_params=True,
        ),
        "the built-in autopilot",
        "px4lockstep.autopilots.builtin.options",
    ),
    "px4": Kind(
        Capabilities(
            "real PX4",
            needs_child=True,
            is_copyable=False,
            commands_own_only=True,
            takes_commands=True,
            sets_params=True,
            takes_px4_params=True,
            uses_rally=False,
            why_no_setpoints="PX4's own modules publish its setpoint topics",
        ),
        "real PX4, linked as a library",
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
            takes_setpoints=True,
            takes_px4_params=True,
        ),
        "stock PX4 over MAVLink",
        "px4lockstep.autopilots.px4_sitl.options",
    ),
    "none": Kind(NOBODY, "no autopilot"),
}
"""All kinds; the first is the default."""
DEFAULT = next(iter(KINDS))


def kind_of(name: str) -> Kind:
    """Return the kind of autopilot with this name; a class of the user is one too, created by `spec.own_parts`."""
    own = named(name)
    if own is None:
        return KINDS[name]
    return Kind(Capabilities(f"the autopilot {own.name}", is_reusable=False, has_mission=False), "a class of yours")


class AutopilotOptions(Part):
    """The autopilot."""

    stage: ClassVar[str | None] = "autopilot"
    where: ClassVar[str] = "autopilot"
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("params_file",), ("file_params",))

    kind: Annotated[Literal[tuple(KINDS)] | PythonKind, kind_or_class(KINDS)] = entry(  # type: ignore[valid-type]
        DEFAULT,
        f"Which autopilot flies: {'; '.join(f'`{name}`, {kind.doc}' for name, kind in KINDS.items())}; `{EXAMPLE}`, a "
        "class of yours: see docs/howto/own_controller.md.",
        stage="autopilot_kind",
        extra=CODE,
    )
    params: dict[str, Number] = entry(
        {},
        "PX4 parameters, by name. They override `airframe.px4_params` and `file_params`; with real PX4, values in "
        "`px4.params` override these.",
        **FLOAT32,
    )
    params_file: str | None = path_entry(
        "Parameter file (`.params`) as QGroundControl saves it. Its values replace this key, as `file_params`; `none` "
        "removes the file of a spec that this one extends."
    )
    file_params: dict[str, Number] = entry(
        {},
        "PX4 parameters of a vehicle, by name: the contents of `params_file`. They override `airframe.px4_params`. "
        "Those that the autopilot can't take have no effect.",
        **FLOAT32,
    )
    motor_failure_detection: bool = entry(
        True, "Whether the built-in autopilot removes a motor that draws no current from the control allocation."
    )
    hover_thrust_estimate: bool = entry(
        False, "Whether the built-in autopilot estimates the hover thrust in flight (HTE_* parameters)."
    )
    land_detector: Literal["host", "estimate"] = entry(
        "host",
        "Land detector of the built-in autopilot: `host` uses the simulation's `landed` flag, as for PX4 in lockstep; "
        "`estimate` uses the state estimate (LNDMC_* parameters).",
    )
    angular_acceleration: bool = entry(
        True,
        "Whether rate control gets the derivative of the body rates. False reproduces the recorded flights of PX4.",
        stage="autopilot_start",
    )
    options: Options = options_entry("kind")
    python_dir: str | None = folder_entry("kind")

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the selected autopilot."""
        return kind_of(self.kind).capabilities

    def check(self) -> Found:
        """Yield errors in parameters; if the autopilot takes none, check them as for the default one."""
        for name, value in self.params.items():
            if (error := self.param_error(name, value)) is not None:
                yield ("params", name), f"{KEY}: {error}"
        for name, value in self.file_params.items():
            try:
                check_known(name, value)
            except InputError as error:
                yield ("file_params", name), f"{KEY}: {error}"

    def param_error(self, name: str, value: float | int) -> str | None:
        """Return what is wrong with a PX4 parameter for this autopilot, or None."""
        kind = kind_of(self.kind)
        kind = KINDS[DEFAULT] if kind.module is None else kind
        try:
            if kind.capabilities.takes_px4_params:
                check_known(name, value)
            else:
                kind.call("check_parameter", self, name, value)
        except InputError as error:
            return str(error)
        return None


def make_autopilot(own: AutopilotOptions, px4: object, home: tuple[float, float], mission: object) -> object | None:
    """Return the autopilot for a flight from the tables `[autopilot]` and `[px4]`.

    It is None with `kind = "none"`, and for a class of the user.
    """
    kind = kind_of(own.kind)
    made: object = None if kind.module is None else kind.call("make", own, px4, home, mission)
    return made


def users_of(name: str) -> list[str]:
    """Return the kinds of autopilot on which a PX4 parameter can have an effect."""
    return [kind for kind, own in KINDS.items() if own.module is not None and own.call("uses_parameter", name)]


def flown_params(own: AutopilotOptions, px4: object, aircraft: object) -> dict[str, float | int]:
    """Return the PX4 parameters of a flight of an aircraft, by name, without those that have no effect.

    They are complete for the built-in autopilot. Real PX4 has defaults of its own for all others.
    """
    kind = kind_of(own.kind)
    if kind.module is None:
        raise InputError(f"autopilot.kind = {own.kind!r} has no parameters of PX4; choose another autopilot")
    found: dict[str, float | int] = kind.call("flown_params", own, px4, aircraft)
    return found


def with_injectors(autopilot: Any, injectors: Sequence[object]) -> Any:
    """Return an autopilot that also gets the messages of injectors; refuse one that has no uORB topics."""
    if not injectors:
        return autopilot
    if not hasattr(autopilot, "injectors"):
        name = capabilities_of(autopilot).name
        raise InputError(f"injectors publish uORB messages to PX4's library, not to {name}; set autopilot.kind = 'px4'")
    return replace(autopilot, injectors=tuple(injectors))


def locate_code(own: AutopilotOptions, px4: object) -> object | None:
    """Return the path of an autopilot's code without running it; None if the code is part of this package."""
    kind = kind_of(own.kind)
    return kind.call("locate", px4) if kind.capabilities.takes_px4_params else None


def workers_allowed(data: Mapping[str, Any], workers: int) -> int:
    """Return how many of a campaign's workers may fly its spec simultaneously; `data` holds the spec's tables."""
    kind = kind_of(data.get("autopilot", {}).get("kind", DEFAULT))
    most = kind.capabilities.max_at_once
    if most is None:
        return workers
    kind.call("check_workers", data.get("px4", {}), workers)
    return min(workers, most)
