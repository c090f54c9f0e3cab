"""The table of real PX4, `[px4]`: its mission, its library and what crosses the boundary."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from px4lockstep.autopilots.px4_sitl.options import IRIS, MAX_INSTANCES
from px4lockstep.part import Number, Part, Period, Seconds, entry
from px4lockstep.sensors.suite import SensorConfig
from px4lockstep.timebase import seconds_to_us

Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class Lockstep(Part):
    """The configuration of the library. The rates [Hz] are also those of the built-in autopilot; 0 is every tick."""

    stage: ClassVar[str | None] = "autopilot_start"

    dataman_use_ram: Int32 = entry(1, "Whether missions are kept in memory.")
    enable_commander: Int32 = entry(0, "Must be 0: the library has no commander.")
    commander_rate_hz: Int32 = entry(100, "Rate of the commander.", "Hz")
    navigator_rate_hz: Int32 = entry(20, "Rate of the navigator.", "Hz")
    mc_pos_control_rate_hz: Int32 = entry(100, "Rate of position control.", "Hz")
    mc_att_control_rate_hz: Int32 = entry(250, "Rate of attitude control.", "Hz")
    mc_rate_control_rate_hz: Int32 = entry(250, "Rate of rate control.", "Hz")
    enable_control_allocator: Int32 = entry(1, "Whether PX4 allocates the motors.")
    control_allocator_rate_hz: Int32 = entry(250, "Rate of the allocation.", "Hz")


class Px4Param(Part):
    """A parameter of real PX4."""

    name: str = entry(..., "Its name.", min_length=1, max_length=16)
    value: Number = entry(..., "Its value, whole or not as PX4 has it.")


class Publication(Part):
    """A topic that is published to PX4; of several batteries, each is an instance."""

    key: str = entry(..., "Its name.", min_length=1)
    type: str = entry(..., "Its message type.", min_length=1)
    instance: int = entry(-1, "Its instance; -1 for any, or for all batteries that are not listed.", ge=-1)
    priority: int = entry(0, "Its priority.")
    queue_size: int | None = entry(None, "Its queue; left out, not checked.", ge=0)
    period_s: Period | None = entry(None, "How often, in whole ticks; left out, every tick.", "s")
    phase_s: Seconds = entry(0.0, "When first, in whole ticks, before a period is over.", "s")

    @property
    def period_us(self) -> int:
        """The period, or 0 for every tick."""
        return 0 if self.period_s is None else seconds_to_us(self.period_s, "period_s")

    @property
    def phase_us(self) -> int:
        """The phase."""
        return seconds_to_us(self.phase_s, "phase_s")


class Subscription(Part):
    """A topic that is read from PX4."""

    key: str = entry(..., "Its name.", min_length=1)
    type: str = entry(..., "Its message type.", min_length=1)
    instance: int = entry(0, "Its instance.", ge=0)


class Uorb(Part):
    """What crosses the boundary to PX4."""

    stage: ClassVar[str | None] = "autopilot_start"

    preset: Literal["state_injection", "actuators_only"] | None = entry(
        None,
        "What crosses besides the topics listed here; left out, nothing else, or `state_injection` if none are listed.",
    )
    pubs: tuple[Publication, ...] = entry((), "Published to PX4.")
    subs: tuple[Subscription, ...] = entry((), "Read from PX4.")


class Sitl(Part):
    """Stock PX4 over MAVLink, `autopilot.kind = "px4-sitl"`."""

    build_dir: str | None = entry(
        None,
        "The folder of its build, or of its sources with one in it; also from `PX4_SITL_DIR`.",
        stage="files",
        min_length=1,
        extra={"path": True},
    )
    instance: int | None = entry(
        None, "Its number, of ports and locks. Left out: the first that is free.", stage="files", ge=0, lt=MAX_INSTANCES
    )
    wait_for_user: bool = entry(False, "Whether to wait for a PX4 that you start, instead of starting one.")
    airframe: int = entry(IRIS, "PX4's number of the airframe, `SYS_AUTOSTART`.", ge=1)
    connect_timeout_s: float = entry(60.0, "How long PX4 may take to connect, of wall time.", "s", gt=0.0)
    answer_timeout_s: float = entry(2.0, "How long it may take to answer a step, of wall time.", "s", gt=0.0)
    boot_s: Period = entry(6.0, "How long it boots before the flight begins, at least; of simulated time.", "s")
    ground_truth: bool = entry(False, "Whether it is told the true state too, for its log.")
    battery: bool = entry(True, "Whether it is told of the batteries, or simulates one of its own.")
    sensors: SensorConfig = entry(SensorConfig(), "Sensors; see docs/sensors.md.")


class Px4Table(Part):
    """Mission, and what real PX4 needs."""

    mission_path: str | None = entry(
        None,
        "The mission, QGC WPL 110 or `.plan`; a name without slash or suffix (`simple`, `long`) is one that ships.",
        stage="mission",
        min_length=1,
        extra={"path": True},
    )
    libpath: str | None = entry(
        None,
        "The library `libpx4_lockstep`; also from `PX4_LOCKSTEP_LIB`.",
        stage="files",
        min_length=1,
        extra={"path": True},
    )
    msg_dir: str | None = entry(None, "PX4's message definitions.", stage="files", min_length=1, extra={"path": True})
    edge_trigger: bool = entry(False, "Of files of PX4Lockstep.jl; requests act when they come, whatever it says.")
    derive_ca_params: bool = entry(
        True, "Whether the allocation's parameters come from the airframe.", stage="autopilot_start"
    )
    strict_lockstep_rates: bool = entry(
        False, "Whether a tick longer than a module's period is an error.", stage="autopilot_start"
    )
    lockstep: Lockstep = entry(Lockstep(), "Configuration of the library.")
    params: tuple[Px4Param, ...] = entry((), "Parameters of real PX4.")
    uorb: Uorb = entry(Uorb(), "What crosses the boundary.")
    sitl: Sitl = entry(Sitl(), "Stock PX4 over MAVLink.")
