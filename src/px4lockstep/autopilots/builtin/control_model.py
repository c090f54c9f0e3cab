"""What the built-in autopilot knows of the aircraft that it flies: not its weight, nor how full its batteries are."""

from dataclasses import dataclass

from px4lockstep.errors import InputError
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.airframe import Rotor


@dataclass(frozen=True)
class KnownAircraft:
    """An aircraft as the autopilot knows it.

    Args:
        name: The aircraft's.
        rotors: Its rotors.
        channels: The motor command of each, from 1.
        km_m: The reaction torque of a rotor, per thrust.
        batteries: How many.
        full_battery_v: Voltage of the first, when it is full.
        home_alt_msl_m: Height of the origin above sea level.
    """

    name: str
    rotors: tuple[Rotor, ...]
    channels: tuple[int, ...]
    km_m: float
    batteries: int
    full_battery_v: float
    home_alt_msl_m: float

    @classmethod
    def of(cls, aircraft: object) -> "KnownAircraft":
        """Return what is to be known of an aircraft.

        Raises:
            InputError: If it is none.
        """
        if not isinstance(aircraft, Aircraft):
            raise InputError(f"the built-in autopilot needs an Aircraft, not {type(aircraft).__name__}")
        return cls(
            aircraft.name,
            aircraft.rotors,
            aircraft.motor_channels,
            aircraft.propulsion.km_m,
            len(aircraft.batteries),
            aircraft.batteries[0].ocv_v[-1],
            aircraft.home_alt_msl_m,
        )
