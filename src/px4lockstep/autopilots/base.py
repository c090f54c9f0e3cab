"""What the rest of the package may ask of any autopilot, and how the engine runs a compiled one.

An autopilot runs in Python or compiled. One in Python has a method `step` (see `engine.protocols`). A compiled one is a
`NativeAutopilot`: it keeps its state in a record of the simulation, where the kernel `native.step_native` finds it, and
`open` returns the `Session` that the simulation talks to from then on.

Nobody outside this package asks which autopilot flies: `Capabilities` say what it can do. Each kind of a spec file
declares them in `kinds`; an autopilot of a user has them as an attribute, `capabilities`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt

from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.px4.mission_items import ENDS
from px4lockstep.px4.missions import Command, Mission

Record = npt.NDArray[Any]
"""An array of one record."""
WriteRecord = Callable[..., None]
"""Writes a record through the build cache: `write(writer, *values)` calls `writer(record, *values)` unless the record
of the same values is known."""


@dataclass(frozen=True)
class Capabilities:
    """What an autopilot can do, and what it needs."""

    name: str = "the autopilot"  # what messages call it
    flies: bool = True  # there is an autopilot at all
    is_process: bool = False  # it is a process of its own, which is waited for and keeps files
    max_at_once: int | None = None  # how many may fly on one machine at the same time
    needs_child: bool = False  # it runs inside the process of a flight, once in its life, and may crash it
    is_repeatable: bool = True  # the same flight is bit-identical each time
    is_copyable: bool = True  # a snapshot or checkpoint holds all of its state
    is_reusable: bool = True  # it may fly a second flight
    estimates_itself: bool = False  # from sensors, and ignores the simulation's estimator
    reads_sensors: bool = False
    takes_sensor_faults: bool = False
    has_mission: bool = True  # it can fly one
    takes_px4_params: bool = False  # `px4.params`, and any parameter that PX4 may have

    @property
    def branches_by_fork(self) -> bool:
        """Whether its state is in this process and outside the records: a branch takes a copy of the process."""
        return self.needs_child and not self.is_copyable


UNKNOWN = Capabilities()
"""Of an autopilot of a user that declares none."""
NOBODY = Capabilities("no autopilot", flies=False, has_mission=False)


def capabilities_of(autopilot: object) -> Capabilities:
    """Return what an autopilot declares; None is no autopilot."""
    declared = NOBODY if autopilot is None else getattr(autopilot, "capabilities", UNKNOWN)
    assert isinstance(declared, Capabilities)
    return declared


def landing_place(mission: object, home_lat_deg: float, home_lon_deg: float) -> tuple[float, float] | None:
    """Return where a mission lands, north and east of home [m]; None if it ends in the air, or is none."""
    ends = [item for item in mission.items if item.command in ENDS] if isinstance(mission, Mission) else []
    if not ends or ends[-1].command is Command.LOITER_UNLIMITED:
        return None
    if ends[-1].command is Command.RETURN_TO_LAUNCH:
        return 0.0, 0.0
    return MapProjection(home_lat_deg, home_lon_deg).to_local(ends[-1].lat_deg, ends[-1].lon_deg)


class Session:
    """An autopilot while it flies: what a simulation asks of it from its start to its end.

    This one serves every autopilot whose state is complete in its record or in its attributes: nothing is open, so
    there is nothing to close, move or explain.
    """

    asks_user: bool = False
    """Whether it waits for something that the user is to start."""
    record: ClassVar[str | None] = None
    """The name of its record in the simulation, if it has one."""
    identity: str | None = None
    """Which version flies, if it is not this package's."""
    rates_hz: Mapping[str, float] | None = None
    """How often each of its modules really runs, if it says so."""
    why_no_mission: str = "there is no autopilot to fly the mission"
    """What to say of a flight in which it never reported a mission."""
    lands_at_ned: tuple[float, float] | None = None
    """Where its mission lands, north and east of the origin [m]; None if that is in the air, or not known."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of the flight so far."""
        return ()

    def work_in(self, folder: Path, on_wait: Callable[[str], None]) -> None:
        """Say, before the first tick, where it may make a folder, and what to tell repeatedly what it waits for."""

    def check_ready(self, record: Record) -> None:
        """Check that it can run with this record, and does not fly with another."""

    def check_copyable(self, what: str) -> None:
        """Check that a snapshot can hold its state, which is to be "copied" or "put back"."""

    def close(self, record: Record) -> bool:
        """End it, if it runs with this record; return whether it did."""
        return False

    def set_parameters(self, params: Mapping[str, float | int]) -> None:
        """Change parameters in flight."""
        if params:
            names = ", ".join(params)
            raise InputError(f"{names} can't change in flight: {self.capabilities.name} has them in its record")

    def explain(self, record: Record, time_us: int) -> str:
        """Say why a step failed, and what to do."""
        return f"at t = {time_us / 1e6:.6f} s {self.capabilities.name} failed"

    def explain_command(self, actuators: str) -> str:
        """Add to an error about a command of "motors" or "servos" where it came from."""
        return ""

    def resume(self, kept: Record, into: Record, home: Record) -> None:
        """Prepare its record to go on from a checkpoint of a simulation with a different configuration.

        `kept` is as the other simulation left it. `into` has this configuration and the state of the other, and is
        written; it will lie at `home` in memory.
        """


class PythonSession(Session):
    """An autopilot that runs in Python, with the methods and attributes that it has."""

    def __init__(self, autopilot: object) -> None:
        super().__init__(capabilities_of(autopilot))
        self._autopilot = autopilot
        self.asks_user = getattr(autopilot, "asks_user", False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Its warnings, if it has some."""
        return tuple(getattr(self._autopilot, "warnings", ()))

    def work_in(self, folder: Path, on_wait: Callable[[str], None]) -> None:
        """Pass it on, if it takes it."""
        if hasattr(self._autopilot, "work_in"):
            self._autopilot.work_in(folder, on_wait)

    def close(self, record: Record) -> bool:
        """Let it close what it has open; it says by itself if it is stepped after that."""
        if hasattr(self._autopilot, "close"):
            self._autopilot.close()
        return False


class NativeAutopilot(ABC):
    """An autopilot that runs compiled, in a record of its own; `native` has its kernel."""

    capabilities: ClassVar[Capabilities]
    record: ClassVar[str]
    """The name of its record in the simulation: see `native.RECORDS`."""

    @abstractmethod
    def open(self, record: Record, plant: object, period_us: int, write: WriteRecord) -> Session:
        """Write its record, zero so far and at its place in memory for good, and start what has to run."""
