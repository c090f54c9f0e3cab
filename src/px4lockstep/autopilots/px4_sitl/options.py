"""Stock PX4 in a spec file: the table `[px4.sitl]`, and the autopilot made of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from px4lockstep.autopilots.kinds import SITL_INSTANCES as INSTANCES
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.errors import InputError
from px4lockstep.part import Part, Period, entry, path_entry
from px4lockstep.px4.missions import Mission
from px4lockstep.sensors.suite import SensorConfig
from px4lockstep.timebase import seconds_to_us

if TYPE_CHECKING:  # only a flight of stock PX4 needs its modules
    from px4lockstep.autopilots.px4_library.options import Px4Options
    from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl

IRIS = 10016
"""PX4's airframe of a quadrotor without a simulator of its own, `none_iris`."""


class SitlOptions(Part):
    """Stock PX4 over MAVLink, `autopilot.kind = "px4-sitl"`."""

    stage: ClassVar[str | None] = "autopilot"
    where: ClassVar[str] = "px4.sitl"

    build_dir: str | None = path_entry(
        "The folder of its build, or of its sources with one in it; also from `PX4_SITL_DIR`.", code="px4-sitl"
    )
    instance: int | None = entry(
        None, "Its number, of ports and locks. Left out: the first that is free.", stage="files", ge=0, lt=INSTANCES
    )
    wait_for_user: bool = entry(False, "Whether to wait for a PX4 that you start, instead of starting one.")
    airframe: int = entry(IRIS, "PX4's number of the airframe, `SYS_AUTOSTART`.", ge=1)
    connect_timeout_s: float = entry(60.0, "How long PX4 may take to connect, of wall time.", "s", gt=0.0)
    answer_timeout_s: float = entry(2.0, "How long it may take to answer a step, of wall time.", "s", gt=0.0)
    boot_s: Period = entry(6.0, "How long it boots before the flight begins, at least; of simulated time.", "s")
    ground_truth: bool = entry(False, "Whether it is told the true state too, for its log.")
    battery: bool = entry(True, "Whether it is told of the batteries, or simulates one of its own.")
    sensors: SensorConfig = entry(SensorConfig(), "Sensors; see docs/explanation/sensors.md.")

    @property
    def boot_us(self) -> int:
        """How long it boots."""
        return seconds_to_us(self.boot_s, "boot_s")


def check_workers(px4: Mapping[str, Any], workers: int) -> None:
    """Check that each worker of a campaign can have a stock PX4 of its own; `px4` is the table as a file has it."""
    sitl = px4.get("sitl", {})
    if sitl.get("wait_for_user"):
        raise InputError("px4.sitl.wait_for_user = true: nobody starts a PX4 for each run of a campaign; leave it out")
    if sitl.get("instance") is not None and workers > 1:
        raise InputError(
            f"px4.sitl.instance = {sitl['instance']} is for one PX4, and there are {workers} workers; leave it out, or "
            "use --workers 1"
        )


def locate(px4: "Px4Options") -> Path | None:
    """Return the build whose program would be started; None if the user starts it."""
    from px4lockstep.autopilots.px4_sitl.process import find_build

    return None if px4.sitl.wait_for_user else find_build(px4.sitl.build_dir)


def make(own: AutopilotOptions, px4: "Px4Options", home: tuple[float, float], mission: Mission | None) -> "Px4Sitl":
    """Return the autopilot of a flight."""
    from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl

    return Px4Sitl(
        mission,
        {**own.params, **px4.params_by_name},
        px4.sitl,
        derive_ca_params=px4.derive_ca_params,
        home_lat_deg=home[0],
        home_lon_deg=home[1],
        sensors=px4.sitl.sensors,
    )
