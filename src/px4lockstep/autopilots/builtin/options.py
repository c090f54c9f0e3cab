"""The built-in autopilot of a spec file: its parameters checked, and itself made."""

from px4lockstep.autopilots.builtin.autopilot import Builtin, Rates
from px4lockstep.autopilots.builtin.parameters import check_use, check_values
from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.errors import InputError
from px4lockstep.part import Found, at
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import resolve


def check_parameters(own: AutopilotOptions) -> Found:
    """Yield what is wrong with `autopilot.params`, one by one."""
    for name, value in own.params.items():
        try:
            values = resolve({name: value})
            check_use((name,), own.land_detector, own.hover_thrust_estimate)
            check_values(values)
        except InputError as error:
            yield ("params", name), str(error)


def make(own: AutopilotOptions, px4: Px4Options, home: tuple[float, float], mission: Mission | None) -> Builtin:
    """Return the autopilot of a flight.

    Raises:
        InputError: If the mission does not fit, with its key.
    """
    rates = px4.lockstep
    with at(("px4", "mission_path")):  # the rest is checked
        return Builtin(
            mission,
            own.params,
            home_lat_deg=home[0],
            home_lon_deg=home[1],
            rates=Rates(
                navigator_hz=max(0, rates.navigator_rate_hz),
                position_hz=max(0, rates.mc_pos_control_rate_hz),
                attitude_hz=max(0, rates.mc_att_control_rate_hz),
                rate_hz=max(0, rates.mc_rate_control_rate_hz),
                allocation_hz=max(0, rates.control_allocator_rate_hz),
            ),
            strict_rates=px4.strict_lockstep_rates,
            motor_failure_detection=own.motor_failure_detection,
            hover_thrust_estimate=own.hover_thrust_estimate,
            land_detector=own.land_detector,
            angular_acceleration=own.angular_acceleration,
        )
