"""Check the parameters of the built-in autopilot in a spec file, and create it."""

from px4lockstep.autopilots.builtin.autopilot import Builtin, Rates
from px4lockstep.autopilots.builtin.parameters import check_use, check_values
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.autopilot import RATES
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.part import at
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import resolve

SAME = {"motor_failure_detection", "hover_thrust_estimate", "land_detector", "angular_acceleration"}
"""Options that have the same name in a spec file."""


def check_parameter(own: AutopilotOptions, name: str, value: float | int) -> None:
    """Check one of `autopilot.params`."""
    values = resolve({name: value})
    check_use({name: value}, own.land_detector, own.hover_thrust_estimate)
    check_values(values)


def make(own: AutopilotOptions, px4: Px4Options, home: tuple[float, float], mission: Mission | None) -> Builtin:
    """Return the autopilot for a flight."""
    with at(("px4", "mission_path")):  # everything else has already been checked
        return Builtin(
            mission,
            own.params,
            default_params=px4.default_params,
            home_lat_deg=home[0],
            home_lon_deg=home[1],
            rates=Rates(*(max(0, getattr(px4.lockstep, name)) for name in RATES)),  # in the same order
            strict_rates=px4.strict_lockstep_rates,
            **own.model_dump(include=SAME),
        )
