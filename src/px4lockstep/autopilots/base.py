"""Common interface of all autopilots, and the base class of compiled ones.

An autopilot runs in Python or compiled. A Python autopilot has a method `step` (see `engine.protocols`). A compiled one
is a `NativeAutopilot`: it keeps its state in a record of the simulation, where the kernel `native.step_native` finds
it, and `open` returns the `Session` that the simulation uses from then on.

Code outside this package never checks which autopilot flies; it checks the autopilot's `Capabilities`. The kinds that a
spec file can select declare them in `kinds`; a user's autopilot declares them in its attribute `capabilities`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy.typing as npt

from px4lockstep.autopilots.area import Area, Place
from px4lockstep.autopilots.messages import Grow, MessageLog
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.px4.commands import ENDS
from px4lockstep.px4.missions import Command, Mission
from px4lockstep.scenario.commands import UNSUPPORTED, CommandResult, FlightCommand

Record = npt.NDArray[Any]
"""An array with one record."""
WriteRecord = Callable[..., None]
"""Writes a record through the build cache: `write(writer, *values)` calls `writer(record, *values)` unless the cache
holds the record for the same values."""
Make = Callable[..., Any]
"""Creates an object through the build cache: `make(maker, *values)` is `maker(*values)`."""


@dataclass(frozen=True)
class Capabilities:
    """What an autopilot supports, and what it needs."""

    name: str = "the autopilot"  # in messages
    flies: bool = True  # False: no autopilot
    is_process: bool = False  # runs as a separate process, which must be waited for and writes files
    max_at_once: int | None = None  # limit of simultaneous flights on one machine
    needs_child: bool = False  # runs inside the flight's process, only once per process, and may crash it
    is_repeatable: bool = True  # repeated flights are bit-identical
    is_copyable: bool = True  # a snapshot or checkpoint holds its complete state
    is_reusable: bool = True  # the same object can fly a second flight
    estimates_itself: bool = False  # from sensors; ignores the simulation's estimator
    reads_sensors: bool = False
    takes_sensor_faults: bool = False
    commands_own_only: bool = False  # never commands a motor or servo that the aircraft does not have
    has_mission: bool = True  # can fly missions
    uses_rally: bool = True  # can return to rally points
    takes_setpoints: bool = False  # has a setpoint mode
    why_no_setpoints: str = ""  # why it has none, if there is a reason
    takes_commands: bool = False  # from ground stations: it can be served
    sets_params: bool = False  # its parameters can change in flight
    takes_px4_params: bool = False  # accepts `px4.params`, and any parameter that PX4 may have

    @property
    def speaker(self) -> str:
        """The name of the author of its texts."""
        return "PX4" if self.takes_px4_params else self.name

    @property
    def no_setpoints(self) -> str:
        """That it takes no setpoints, in words."""
        return f"{self.name} takes no setpoints{self.why_no_setpoints and f', because {self.why_no_setpoints}'}"

    @property
    def branches_by_fork(self) -> bool:
        """Whether a branch must fork the process because part of the state is outside the records."""
        return self.needs_child and not self.is_copyable


UNKNOWN_MODE = 1 << 16
"""Number of a mode without a name: this, plus 256 times PX4's main mode, plus its sub mode."""
MAX_TEXTS = 6
"""Maximum number of an autopilot's texts that are kept."""
MAX_TEXT = 120
"""Maximum length of a text; the rest is cut off."""

HOLD = 4
"""PX4's `nav_state` for Hold, in which a vehicle starts."""
TAKEOFF_PHASE, LANDING_PHASE = "takeoff", "landing"
PHASES = {12: LANDING_PHASE, 17: TAKEOFF_PHASE, 18: LANDING_PHASE}
"""Phase of a flight by PX4's `nav_state`: Descend, Takeoff, Land."""
UNKNOWN = Capabilities()
"""Capabilities of a user's autopilot that declares none."""
NOBODY = Capabilities("no autopilot", flies=False, has_mission=False)
INJECTED = " with injectors of "
"""Part of a session's identity if Python functions published messages to the autopilot."""


def capabilities_of(autopilot: object) -> Capabilities:
    """Return the declared capabilities of an autopilot; None means no autopilot."""
    declared = NOBODY if autopilot is None else getattr(autopilot, "capabilities", UNKNOWN)
    assert isinstance(declared, Capabilities)
    return declared


def rates_of(autopilot: object) -> Mapping[str, float]:
    """Return the rates of an autopilot's modules [Hz], by name: of a user's autopilot, its `max_internal_rate_hz`."""
    if isinstance(autopilot, NativeAutopilot):
        return autopilot.module_rates_hz
    rate_hz = getattr(autopilot, "max_internal_rate_hz", None)
    if rate_hz is None:
        return {}
    if not isinstance(rate_hz, int | float) or isinstance(rate_hz, bool) or not 0.0 < rate_hz < math.inf:
        raise InputError(f"max_internal_rate_hz = {rate_hz!r} of {autopilot!r} must be a finite number above 0")
    return {"its fastest loop": rate_hz}


def check_tick(autopilot: object, tick_us: int, *, is_strict: bool) -> tuple[str, ...]:
    """Return a warning if a tick is longer than the periods of an autopilot's modules; raise it if strict."""
    rates_hz = {name: hz for name, hz in rates_of(autopilot).items() if hz > 0 and 1e6 / hz < tick_us}
    if not rates_hz:
        return ()
    modules = ", ".join(f"{name} ({hz:g} Hz)" for name, hz in rates_hz.items())
    text = (
        f"the autopilot's tick of {tick_us} us is longer than the period of {modules}; use a tick of at most "
        f"{1e6 // max(rates_hz.values()):.0f} us"
    )
    if is_strict:
        raise InputError(text, key=("timeline", "dt_autopilot_s"))
    return (text,)


@dataclass(frozen=True)
class Landing:
    """Where a mission lands, north and east of home [m], and whether it does so by returning."""

    place: tuple[float, float]
    is_return: bool = False


def landing_of(mission: object, home_lat_deg: float, home_lon_deg: float) -> Landing | None:
    """Return where a mission lands; None without a mission, or if it ends in the air."""
    ends = [item for item in mission.items if item.command in ENDS] if isinstance(mission, Mission) else []
    if not ends or ends[-1].command is Command.LOITER_UNLIMITED:
        return None
    if ends[-1].command is Command.RETURN_TO_LAUNCH:
        return Landing((0.0, 0.0), is_return=True)
    return Landing(MapProjection(home_lat_deg, home_lon_deg).to_local(ends[-1].lat_deg, ends[-1].lon_deg))


def last_texts(texts: Iterable[object]) -> tuple[str, ...]:
    """Return the last texts, oldest first, each on one line and once, at its last place."""
    lines = (" ".join(str(text).split()) for text in texts)
    newest_first = dict.fromkeys(line[:MAX_TEXT] for line in reversed(list(lines)) if line)
    return tuple(reversed(list(newest_first)[:MAX_TEXTS]))


class Session:
    """An autopilot in flight: the simulation's interface to it, from start to end.

    This base class suffices for every autopilot whose complete state is in its record or attributes, because there are
    no resources to close, move or diagnose.
    """

    asks_user: bool = False
    """Whether it waits for something that the user has to start."""
    record: ClassVar[str | None] = None
    """Name of its record in the simulation, if it has one."""
    identity: str | None = None
    """Version of the autopilot's code, if it is not part of this package."""
    rates_hz: Mapping[str, float] | None = None
    """Effective rate of each of its modules, if known."""
    why_no_mission: str = "there is no autopilot to fly the mission"
    """Explanation for a flight in which the autopilot never reported a mission."""
    landing: Landing | None = None
    """Where its mission lands; None if it ends in the air, or if unknown."""
    first_landing: Landing | None = None
    """Where the mission of the spec lands; another one may have been uploaded since."""
    home: tuple[float, float] | None = None
    """Latitude and longitude of home [deg], if known."""
    area: Area = Area()
    """Its fence, and the rally points of its mission that it can use."""
    area_params: Mapping[str, float | int] = MappingProxyType({})
    """PX4's parameters that `area_of` needs, if known."""
    on_tick: Callable[[int, Any], None] | None = None
    """Called with the time and the stage inputs at each tick before it runs, if it takes inputs from Python."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self.message_log = MessageLog()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the flight up to now."""
        return ()

    @property
    def note(self) -> str | None:
        """A note for the user about its start."""
        return None

    @property
    def texts(self) -> tuple[str, ...]:
        """The autopilot's own last warnings and errors, as `last_texts` returns them; also after `close`."""
        return ()

    @property
    def waited_s(self) -> float:
        """Wall-clock time for which it has waited for the user."""
        return 0.0

    @property
    def clock_us(self) -> int | None:
        """Time of its own clock at time 0 of the flight, if it has a clock."""
        return None

    def work_in(self, folder: Path, on_wait: Callable[[str], object]) -> None:
        """Set, before the first tick, the folder to work in and the function that reports what it is waiting for.

        In flight, the wait ends if that function returns True.
        """

    def check_ready(self, record: Record) -> None:
        """Check that it can run with this record, and is not flying with another one."""

    def reserve(self, record: Record, ticks: int) -> None:
        """Extend the buffers of its messages before a call of the loop with at most this number of ticks."""

    def use_buffers(self, record: Record, grow: Grow) -> None:
        """Move the buffers of its messages to memory that `grow` provides."""

    def check_copyable(self, what: str) -> None:
        """Check that its state can be "copied" to a snapshot, or "restored" from one."""

    def close(self, record: Record) -> bool:
        """Stop it if it runs with this record; return whether it did."""
        return False

    def set_parameters(self, params: Mapping[str, float | int], optional: Container[str] = ()) -> None:
        """Change parameters in flight; optional ones only if the autopilot has them."""
        if params:
            names = ", ".join(params)
            raise InputError(f"{names} can't change in flight: {self.capabilities.name} reads parameters at the start")

    def goal_of_return(self, record: Record) -> Place | None:
        """Return the goal that it chose when its last return began; None if the record does not hold it."""
        return None

    @property
    def has_set_parameters(self) -> bool:
        """Whether parameters in its record have changed in flight."""
        return False

    def restore_parameters(self, params: Mapping[str, float | int]) -> None:
        """Use its initial parameters with these changes, after a snapshot or checkpoint was restored."""

    def obey(self, command: FlightCommand, time_us: int, core: Record) -> CommandResult:
        """Apply a command before a tick; `core` holds all records of the simulation."""
        return CommandResult(UNSUPPORTED, f"{self.capabilities.name} takes no commands")

    def restore_configuration(self, commands: Sequence[FlightCommand]) -> None:
        """Use its initial configuration with the changes by these commands, after a checkpoint was restored."""

    @property
    def parameters(self) -> Mapping[str, float | int]:
        """The values of PX4's parameters, as far as they are known."""
        return {}

    def selected_mode(self, core: Record) -> int:
        """Return the mode as PX4's `nav_state`; while disarmed, the one that is selected."""
        status = core["bus"]["autopilot"]
        return int(status["nav_state"][0]) or HOLD

    def flight_phase(self, core: Record) -> str:
        """Return whether it takes off (`TAKEOFF_PHASE`) or descends to land (`LANDING_PHASE`); empty otherwise."""
        return PHASES.get(self.selected_mode(core), "")

    def why_not_armable(self, core: Record, time_us: int) -> str:
        """Return why the vehicle can't be armed; empty if it can."""
        return ""

    def failsafe_delay_s(self, core: Record, time_us: int) -> float:
        """Return for how long the vehicle will still hold before a failsafe returns or lands; 0 if none is due."""
        return 0.0

    def failsafe_in_charge(self, core: Record) -> int:
        """Return the number of the failsafe that has changed the mode and is not over; 0: none."""
        return 0

    def has_lost_station(self, core: Record) -> bool:
        """Return whether there was a ground station, and it is lost."""
        return False

    def watched(self, core: Record) -> list[Any]:
        """Return fields of its record whose changes a served vehicle looks for, besides those on the bus."""
        return []

    def home_ned(self, core: Record) -> tuple[float, float, float]:
        """Return where home is in the local frame."""
        return 0.0, 0.0, 0.0

    def orbit(self, core: Record) -> tuple[tuple[float, float, float], float] | None:
        """Return centre and radius of the circle that it flies, negative counterclockwise; None if it flies none."""
        return None

    def returns_as_item(self, core: Record) -> bool:
        """Return whether the vehicle returns because the last item of its mission says so."""
        return False

    def uploaded_item(self, item: int) -> int:
        """Return the number in the uploaded mission of an item, which may have more items than are flown."""
        return item

    def explain(self, record: Record, time_us: int) -> str:
        """Return why a step failed, and what to do."""
        return f"at t = {time_us / 1e6:.6f} s {self.capabilities.name} failed"

    def explain_command(self, actuators: str) -> str:
        """Return where a command to "motors" or "servos" came from, to be appended to an error about it."""
        return ""

    def resume(self, kept: Record, into: Record, home: Record) -> None:
        """Prepare its record to resume a checkpoint of a simulation with a different configuration.

        `kept` is the record that the other simulation left behind. `into` combines this configuration with the state of
        the other simulation, and is updated; it will be located at `home` in memory.
        """


class PythonSession(Session):
    """An autopilot that runs in Python; methods and attributes that it lacks get defaults."""

    def __init__(self, autopilot: object) -> None:
        super().__init__(capabilities_of(autopilot))
        self._autopilot = autopilot
        self.asks_user = getattr(autopilot, "asks_user", False)
        self.area_params = getattr(autopilot, "area_params", {})

    @property
    def warnings(self) -> tuple[str, ...]:
        """Its warnings, if it has any."""
        return tuple(getattr(self._autopilot, "warnings", ()))

    @property
    def note(self) -> str | None:
        """Its note, if it has one."""
        return getattr(self._autopilot, "note", None)

    @property
    def texts(self) -> tuple[str, ...]:
        """Its texts, if it has any."""
        return last_texts(getattr(self._autopilot, "texts", ()))

    @property
    def waited_s(self) -> float:
        """Its time spent waiting for the user, if it waits."""
        return float(getattr(self._autopilot, "waited_s", 0.0))

    @property
    def clock_us(self) -> int | None:
        """Its time at time 0 of the flight, if it has a clock."""
        return getattr(self._autopilot, "clock_us", None)

    def work_in(self, folder: Path, on_wait: Callable[[str], object]) -> None:
        """Call its `work_in`, if it has one."""
        if hasattr(self._autopilot, "work_in"):
            self._autopilot.work_in(folder, on_wait)

    def close(self, record: Record) -> bool:
        """Call its `close`, if it has one; the autopilot itself must reject later steps."""
        if hasattr(self._autopilot, "close"):
            self._autopilot.close()
        return False


class NativeAutopilot(ABC):
    """A compiled autopilot with its own record; its kernel is in `native`."""

    capabilities: ClassVar[Capabilities]
    record: ClassVar[str]
    """Name of its record in the simulation: see `native.RECORDS`."""

    @property
    def module_rates_hz(self) -> Mapping[str, float]:
        """Rates of its modules by name, if known; 0 for one that runs at every tick."""
        return {}

    def check_airframe(self, params: Mapping[str, float | int]) -> None:  # noqa: B027 (most have nothing to check)
        """Check that it can fly with the PX4 parameters of an airframe; `open` checks the rest."""

    @abstractmethod
    def open(self, record: Record, plant: object, period_us: int, write: WriteRecord, make: Make) -> Session:
        """Initialize its record, which is zeroed and already at its final address, and start what has to run.

        `write` and `make` are those of the flight's builder.
        """
