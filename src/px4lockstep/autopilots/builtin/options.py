"""Check the parameters of the built-in autopilot in a spec file, and create it."""

from px4lockstep.autopilots.builtin.autopilot import Builtin, Rates
from px4lockstep.autopilots.builtin.parameters import check_use, check_values, used_params
from px4lockstep.autopilots.builtin.schedule import RATES
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.part import at
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import resolve
from px4lockstep.vehicle.aircraft import Aircraft

SAME = {"motor_failure_detection", "hover_thrust_estimate", "land_detector", "angular_acceleration"}
"""Options that have the same name in a spec file."""


def check_parameter(own: AutopilotOptions, name: str, value: float | int) -> None:
    """Check one of `autopilot.params`."""
    values = resolve({name: value})
    check_use({name: value}, own.land_detector, own.hover_thrust_estimate)
    check_values(values)


def uses_parameter(name: str) -> bool:
    """Return whether a parameter can have an effect."""
    return bool(used_params({name: 0}, "estimate", True))


def flown_params(own: AutopilotOptions, px4: Px4Options, aircraft: Aircraft) -> dict[str, float | int]:
    """Return the parameters of a flight: all that it uses."""
    return make(own, px4, (HOME_LAT_DEG, HOME_LON_DEG), None).parameters(aircraft)


def make(own: AutopilotOptions, px4: Px4Options, home: tuple[float, float], mission: Mission | None) -> Builtin:
    """Return the autopilot for a flight."""
    with at(("px4", "mission_path")):  # everything else has already been checked
        return Builtin(
            mission,
            own.params,
            default_params=px4.default_params,
            file_params=own.file_params,
            home_lat_deg=home[0],
            home_lon_deg=home[1],
            rates=Rates(*(max(0, getattr(px4.lockstep, name)) for name in RATES)),  # in the same order
            strict_rates=px4.strict_lockstep_rates,
            **own.model_dump(include=SAME),
        )
