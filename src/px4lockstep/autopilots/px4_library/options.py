"""Real PX4 in a spec file: the table `[px4]`, its checks, and the autopilot created from it.

The built-in autopilot also uses the mission and the rates in `[px4.lockstep]`. What only real PX4 needs is imported
where it is used.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from px4lockstep.autopilots.builtin.schedule import MAX_RATE_HZ, RATES
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.autopilots.vehicle_params import without_geometry
from px4lockstep.errors import InputError
from px4lockstep.part import KEY, Found, Number, Part, Period, Seconds, at, entry, misfit, path_entry, show
from px4lockstep.part.limits import FLOAT32, INT32
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import SITL_DEFAULTS, check_known, known_parameters
from px4lockstep.timebase import seconds_to_us
from px4lockstep.vehicle.aircraft import Aircraft

if TYPE_CHECKING:
    from px4lockstep.autopilots.px4_library.autopilot import Px4Library

NO_MISSION = "none"
"""Value of `mission_path` that removes the mission of an extended file."""


class Lockstep(Part):
    """Configuration of the library. The rates [Hz] also apply to the built-in autopilot; 0 means every tick."""

    stage: ClassVar[str | None] = "autopilot_start"

    dataman_use_ram: int = entry(1, "Whether dataman stores missions in RAM.", **INT32)
    enable_commander: int = entry(0, "Must be 0: the library has no commander.", **INT32)
    commander_rate_hz: int = entry(100, "Rate of the commander.", "Hz", **INT32)
    navigator_rate_hz: int = entry(20, "Rate of the navigator.", "Hz", **INT32)
    mc_pos_control_rate_hz: int = entry(100, "Rate of position control.", "Hz", **INT32)
    mc_att_control_rate_hz: int = entry(250, "Rate of attitude control.", "Hz", **INT32)
    mc_rate_control_rate_hz: int = entry(250, "Rate of rate control.", "Hz", **INT32)
    enable_control_allocator: int = entry(1, "Whether PX4's control allocator runs.", **INT32)
    control_allocator_rate_hz: int = entry(250, "Rate of the control allocator.", "Hz", **INT32)


class Px4Param(Part):
    """A parameter of real PX4."""

    name: str = entry(..., "Parameter name.", min_length=1, max_length=16)
    value: Number = entry(..., "Parameter value, an integer or a float as PX4 defines it.", **FLOAT32)


class Publication(Part):
    """A topic that is published to PX4. With several batteries, each is an instance of `battery_status`."""

    key: str = entry(..., "Topic name.", min_length=1)
    type: str = entry(..., "Message type.", min_length=1)
    instance: int = entry(-1, "Topic instance; -1 for any, or for all batteries that are not listed.", ge=-1)
    priority: int = entry(0, "Topic priority.")
    queue_size: int | None = entry(None, "Queue size; not checked if omitted.", ge=0)
    period_s: Period | None = entry(None, "Period, a whole number of ticks; every tick if omitted.", "s")
    phase_s: Seconds = entry(0.0, "Time of the first message, a whole number of ticks, less than a period.", "s")

    @property
    def period_us(self) -> int:
        """Period, or 0 for every tick."""
        return 0 if self.period_s is None else seconds_to_us(self.period_s, "period_s")

    @property
    def phase_us(self) -> int:
        """Time of the first message."""
        return seconds_to_us(self.phase_s, "phase_s")

    def check_ticks(self, tick_s: float, tick_us: int) -> Found:
        """Yield an error if the period or phase is not a whole number of ticks, or the phase not within the period."""
        from px4lockstep.autopilots.px4_library.injectors import nearest_us

        for name, time_us, least_us in (("period_s", self.period_us, tick_us), ("phase_s", self.phase_us, 0)):
            if time_us % tick_us:
                use = " or ".join(f"{near / 1e6:g}" for near in nearest_us(time_us, tick_us, least_us))
                text = f"is not a whole number of ticks of timeline.dt_autopilot_s = {tick_s}; use {use}"
                yield misfit(name, getattr(self, name), text)
            elif name == "phase_s" and time_us >= max(self.period_us, tick_us):
                text = f"must be less than the period, {max(self.period_us, tick_us) / 1e6:g}"
                yield misfit(name, self.phase_s, text)


class Subscription(Part):
    """A topic that is read from PX4, any that the library has. Its messages are logged in `uorb/` of the run folder."""

    key: str = entry(..., "Name of the entry.", min_length=1)
    type: str = entry(..., "Message type.", min_length=1)
    topic: str | None = entry(None, "Topic; the default topic of the message type if omitted.", min_length=1)
    instance: int = entry(0, "Topic instance.", ge=0)
    log: bool | None = entry(
        None,
        "Whether every message is logged; if omitted, unless the topic's values are columns of the log.",
    )


class Uorb(Part):
    """uORB topics exchanged with PX4."""

    stage: ClassVar[str | None] = "autopilot_start"

    preset: Literal["state_injection", "actuators_only"] | None = entry(
        None,
        "Set of topics exchanged besides those listed. If omitted: none, or `state_injection` if none are listed.",
    )
    pubs: tuple[Publication, ...] = entry((), "Topics published to PX4.")
    subs: tuple[Subscription, ...] = entry((), "Topics read from PX4.")


def _mission_path(value: Any) -> Any:
    return None if value == NO_MISSION else value


class Px4Options(Part):
    """Mission, and settings of real PX4."""

    stage: ClassVar[str | None] = "autopilot"
    where: ClassVar[str] = "px4"

    mission_path: Annotated[str | None, BeforeValidator(_mission_path)] = path_entry(
        "Mission file, QGC WPL 110 or `.plan`. A name without slash or suffix (`simple`, `long`) is built in; `none` "
        "removes the mission of a file that this one extends.",
        stage="mission",
    )
    mission_strict: bool = entry(
        False,
        "Whether mission items that can't be flown, and parameters of items without an effect, are errors; otherwise "
        "they are skipped with a warning.",
        stage="mission",
    )
    libpath: str | None = path_entry(
        "The library `libpx4_lockstep`, or a PX4 build folder; default: `PX4_LOCKSTEP_LIB`.", code="px4"
    )
    msg_dir: str | None = path_entry("Folder with PX4's message definitions.")
    edge_trigger: bool = entry(False, "Accepted for compatibility with PX4Lockstep.jl; has no effect.")
    derive_ca_params: bool = entry(
        True,
        "Whether the control allocation parameters are derived from the airframe's geometry.",
        stage="autopilot_start",
    )
    strict_lockstep_rates: bool = entry(
        False, "Whether a tick longer than a module's period is an error, not only a warning.", stage="autopilot_start"
    )
    defaults: Literal["compiled", "sitl"] = entry(
        "compiled",
        "Parameter defaults of the library and of the built-in autopilot: those compiled into PX4, or those of its "
        f"start scripts for SITL ({', '.join(f'`{name}` {value:g}' for name, value in SITL_DEFAULTS.items())}), which "
        "stock PX4 always has.",
        stage="autopilot_start",
    )
    lockstep: Lockstep = entry(Lockstep(), "Configuration of the library.")
    params: tuple[Px4Param, ...] = entry((), "Parameters of real PX4.")
    uorb: Uorb = entry(Uorb(), "uORB topics exchanged with PX4.")
    sitl: SitlOptions = entry(SitlOptions(), "Stock PX4 over MAVLink.")

    @property
    def default_params(self) -> Mapping[str, float | int]:
        """Default values that differ from those compiled into PX4, by name."""
        return SITL_DEFAULTS if self.defaults == "sitl" else {}

    @property
    def params_by_name(self) -> dict[str, float | int]:
        """Parameter values by name."""
        return {param.name: param.value for param in self.params}

    def check(self) -> Found:
        """Yield errors for parameters that are listed twice or out of range."""
        names = Counter(param.name for param in self.params)
        for i, param in enumerate(self.params):
            if names[param.name] > 1:
                yield ("params", i, "name"), f"{KEY} = {show(param.name)} is listed twice; list each parameter once"
                continue
            try:
                check_known(param.name, param.value)
            except InputError as error:
                yield ("params", i, "value"), f"{KEY}: {error}"

    def check_ticks(self, tick_s: float) -> Found:
        """Yield errors for rates and periods that do not fit the autopilot's tick, by keys of this table.

        A rate's period must be at least a microsecond and, with `strict_lockstep_rates`, at least a tick.
        """
        tick_us = seconds_to_us(tick_s, "tick_s")
        for name in RATES:
            rate_hz = getattr(self.lockstep, name)
            if rate_hz > MAX_RATE_HZ:
                text = f"is out of range; it must be at most {MAX_RATE_HZ}, or 0 for every tick"
            elif self.strict_lockstep_rates and rate_hz > 0 and 1_000_000 // rate_hz < tick_us:
                text = f"is too fast: the tick, timeline.dt_autopilot_s = {tick_s}, is longer than its period; "
                text += f"use at most {1_000_000 // tick_us}, or px4.strict_lockstep_rates = false"
            else:
                continue
            yield ("lockstep", name), f"{KEY} = {rate_hz} {text}"
        for i, pub in enumerate(self.uorb.pubs):
            for key, text in pub.check_ticks(tick_s, tick_us):
                yield ("uorb", "pubs", i, *key), text


def locate(px4: Px4Options) -> Path:
    """Return the library that would be loaded."""
    from px4lockstep.px4.binary import check_binary
    from px4lockstep.px4.finding import find_library

    path = find_library(px4.libpath)
    check_binary(path)
    return path


def uses_parameter(name: str) -> bool:
    """Return whether a parameter can have an effect: all do that belong to the library's modules."""
    return name in known_parameters()


def flown_params(own: AutopilotOptions, px4: Px4Options, aircraft: Aircraft) -> dict[str, float | int]:
    """Return the parameters that a flight sets."""
    return {**px4.default_params, **set_params(own, px4, aircraft, own.file_params)}


def set_params(
    own: AutopilotOptions, px4: Px4Options, aircraft: Aircraft, of_file: Mapping[str, float | int]
) -> dict[str, float | int]:
    """Return the parameters that real PX4 gets, with those of a file that it can take."""
    from px4lockstep.autopilots.px4_library.parameters import ca_parameters

    derived = ca_parameters(aircraft) if px4.derive_ca_params else {}
    taken = without_geometry(of_file) if px4.derive_ca_params else of_file
    own_values = {**own.params, **px4.params_by_name}
    return {**derived, **aircraft.airframe.px4_params, **taken, **own_values}


def make(own: AutopilotOptions, px4: Px4Options, home: tuple[float, float], mission: Mission | None) -> "Px4Library":
    """Return the autopilot for a flight."""
    from px4lockstep.autopilots.px4_library.autopilot import Px4Library
    from px4lockstep.px4 import Config
    from px4lockstep.px4.presets import interface_of

    with at(("px4", "uorb")):
        interface = interface_of(px4.uorb.pubs, px4.uorb.subs, px4.uorb.preset)
    with at(("px4", "mission_path")):
        return Px4Library(
            mission,
            {**own.params, **px4.params_by_name},
            library=px4.libpath,
            config=Config(**px4.lockstep.model_dump()),
            home_lat_deg=home[0],
            home_lon_deg=home[1],
            interface=interface,
            derive_ca_params=px4.derive_ca_params,
            strict_rates=px4.strict_lockstep_rates,
            angular_acceleration=own.angular_acceleration,
            msg_dir=px4.msg_dir,
            default_params=px4.default_params,
            file_params=own.file_params,
        )
