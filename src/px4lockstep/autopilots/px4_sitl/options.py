"""Stock PX4 in a spec file: the table `[px4.sitl]`, and the autopilot created from it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from px4lockstep.autopilots.kinds import SITL_INSTANCES as INSTANCES
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_sitl.vehicle_params import is_held_back
from px4lockstep.errors import InputError
from px4lockstep.part import Part, Period, entry, path_entry
from px4lockstep.px4.missions import Mission
from px4lockstep.sensors.suite import SensorConfig
from px4lockstep.timebase import seconds_to_us
from px4lockstep.vehicle.aircraft import Aircraft

if TYPE_CHECKING:  # only flights with stock PX4 need its modules
    from px4lockstep.autopilots.px4_library.options import Px4Options
    from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl

IRIS = 10016
"""PX4's airframe `none_iris`: a quadrotor for an external simulator."""


class SitlOptions(Part):
    """Stock PX4 over MAVLink, `autopilot.kind = "px4-sitl"`."""

    stage: ClassVar[str | None] = "autopilot"
    where: ClassVar[str] = "px4.sitl"

    build_dir: str | None = path_entry(
        "PX4's build folder, or the source tree with a build in it; default: `PX4_SITL_DIR`.", code="px4-sitl"
    )
    instance: int | None = entry(
        None,
        "PX4's instance number, which selects its ports. If omitted: the first free one.",
        stage="files",
        ge=0,
        lt=INSTANCES,
    )
    wait_for_user: bool = entry(False, "Whether to wait for a PX4 that you start yourself, instead of starting one.")
    airframe: int = entry(IRIS, "PX4's airframe number, `SYS_AUTOSTART`.", ge=1)
    connect_timeout_s: float = entry(60.0, "Timeout for PX4 to connect, in wall-clock time.", "s", gt=0.0)
    answer_timeout_s: float = entry(2.0, "Timeout for PX4's answer to a step, in wall-clock time.", "s", gt=0.0)
    boot_s: Period = entry(6.0, "Minimum boot time before the flight, in simulated time.", "s")
    ground_truth: bool = entry(False, "Whether PX4 also gets the true state, for its log.")
    ulog: bool = entry(True, "Whether PX4 writes its own log to the run folder of `px4lockstep run`, as `px4.ulg`.")
    battery: bool = entry(True, "Whether PX4 gets the simulated batteries' state; if false, it simulates its own.")
    sensors: SensorConfig = entry(SensorConfig(), "Sensors; see docs/explanation/sensors.md.")

    @property
    def boot_us(self) -> int:
        """Minimum boot time."""
        return seconds_to_us(self.boot_s, "boot_s")


def check_workers(px4: Mapping[str, Any], workers: int) -> None:
    """Check that each worker of a campaign can run its own stock PX4; `px4` is the table in the spec file."""
    sitl = px4.get("sitl", {})
    if sitl.get("wait_for_user"):
        raise InputError("px4.sitl.wait_for_user = true is not supported in campaigns, which start PX4 for each run")
    if sitl.get("instance") is not None and workers > 1:
        raise InputError(
            f"px4.sitl.instance = {sitl['instance']} allows only one PX4, but there are {workers} workers; remove it, "
            "or use --workers 1"
        )


def locate(px4: "Px4Options") -> Path | None:
    """Return the build from which PX4 would be started; None if the user starts it."""
    from px4lockstep.autopilots.px4_sitl.process import find_build

    return None if px4.sitl.wait_for_user else find_build(px4.sitl.build_dir)


def uses_parameter(name: str) -> bool:
    """Return whether a parameter can have an effect: PX4 has all that are known here, and more."""
    return bool(name)


def flown_params(own: AutopilotOptions, px4: "Px4Options", aircraft: Aircraft) -> dict[str, float | int]:
    """Return the parameters that a flight sets, without those that belong to the simulation."""
    from px4lockstep.autopilots.px4_library.options import set_params

    of_file = {name: value for name, value in own.file_params.items() if not is_held_back(name)}
    return set_params(own, px4, aircraft, of_file)


def make(own: AutopilotOptions, px4: "Px4Options", home: tuple[float, float], mission: Mission | None) -> "Px4Sitl":
    """Return the autopilot for a flight."""
    from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl

    return Px4Sitl(
        mission,
        {**own.params, **px4.params_by_name},
        px4.sitl,
        derive_ca_params=px4.derive_ca_params,
        home_lat_deg=home[0],
        home_lon_deg=home[1],
        sensors=px4.sitl.sensors,
        file_params=own.file_params,
    )
