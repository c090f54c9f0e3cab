"""A served vehicle: a flight with an open end that takes commands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from px4lockstep.serve.commands import Command, Result
from px4lockstep.spec.spec import Spec

OnResult = Callable[[Result], object]
"""Called with the result of a command when it takes effect."""


@dataclass(frozen=True)
class Place:
    """A place on the earth."""

    lat_deg: float
    lon_deg: float
    alt_amsl_m: float


@dataclass(frozen=True)
class Battery:
    """A battery as measured."""

    voltage_v: float
    current_a: float
    remaining: float  # 0 to 1
    warning: int  # PX4's level: 0 none, 1 low, 2 critical, 3 emergency


@dataclass(frozen=True)
class Text:
    """A message for the ground station; `severity` is MAVLink's MAV_SEVERITY."""

    severity: int
    text: str


@dataclass(frozen=True)
class MissionStatus:
    """Progress of the mission."""

    count: int  # 0: none
    current: int
    reached: int  # the last item that was reached; -1: none
    state: int  # MAVLink's MISSION_STATE: 1 none, 2 not started, 3 active, 4 paused, 5 complete
    mission_id: int
    fence_id: int
    rally_id: int


@dataclass(frozen=True)
class Status:
    """The vehicle at one time, with what telemetry needs; vectors are tuples in NED or body axes."""

    time_us: int  # since the start of the service; a reset does not set it back
    armed: bool
    nav_state: int  # PX4's; while disarmed, the mode that is selected
    failsafe: bool
    landed_state: int  # MAVLink's MAV_LANDED_STATE: 1 on ground, 2 in air, 3 taking off, 4 landing
    is_armable: bool
    has_position: bool
    is_crashed: bool
    pos_ned: tuple[float, float, float]  # estimate
    vel_ned: tuple[float, float, float]
    q_bn: tuple[float, float, float, float]
    omega_body: tuple[float, float, float]
    acc_body: tuple[float, float, float]  # specific force, as an accelerometer measures it
    position: Place  # estimate
    home: Place
    home_ned: tuple[float, float, float]
    batteries: tuple[Battery, ...]
    motors: tuple[float, ...]  # duties, 0 to 1
    rotor_rad_s: tuple[float, ...]
    pos_sp_ned: tuple[float, float, float]  # NaN: none
    vel_sp_ned: tuple[float, float, float]
    acc_sp_ned: tuple[float, float, float]
    yaw_sp_rad: float
    yawspeed_sp_rad_s: float
    q_sp: tuple[float, float, float, float]
    rate_sp_body: tuple[float, float, float]
    thrust_sp: float
    mission: MissionStatus
    pressure_pa: float
    temperature_c: float


class Vehicle:
    """A vehicle on the ground, disarmed and in Hold, ready for commands.

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec.
        seed: Random seed.
        overrides: Values by dotted key that replace the spec's.
        record: Folder for the run folders of its flights; None writes nothing.
    """

    def __init__(
        self,
        spec: str | Path | Spec,
        *,
        seed: int | None = None,
        overrides: Mapping[str, Any] | None = None,
        record: str | Path | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def time_us(self) -> int:
        """Simulated time since the start of the service."""
        raise NotImplementedError

    @property
    def status(self) -> Status:
        """The vehicle at this time."""
        raise NotImplementedError

    @property
    def parameters(self) -> Mapping[str, float | int]:
        """All parameters by name; an int32 is an int, a float a float."""
        raise NotImplementedError

    def texts(self) -> list[Text]:
        """Return the messages since the last call."""
        raise NotImplementedError

    def submit(self, command: Command, on_result: OnResult | None = None, *, arrival_s: float | None = None) -> None:
        """Queue a command, which takes effect at the next autopilot tick."""
        raise NotImplementedError

    def run_until(self, time_us: int) -> None:
        """Fly up to a time since the start of the service; queued commands take effect in order of arrival."""
        raise NotImplementedError

    def close(self) -> None:
        """End the flight, and write its run folder."""
        raise NotImplementedError
