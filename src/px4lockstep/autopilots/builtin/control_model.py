"""The built-in autopilot's model of the aircraft: its geometry, but neither its mass nor its state of charge."""

from dataclasses import dataclass

from px4lockstep.autopilots.builtin.allocation import PITCH, ROLL, THRUST_Z, YAW, Matrix, effectiveness, rank
from px4lockstep.autopilots.builtin.parameters import GEOMETRY, Params
from px4lockstep.errors import InputError
from px4lockstep.px4.parameters import resolve
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.airframe import Rotor


@dataclass(frozen=True)
class ControlModel:
    """What the autopilot knows about the aircraft."""

    name: str
    rotors: tuple[Rotor, ...]
    channels: tuple[int, ...]  # motor channel of each rotor, numbered from 1
    km_m: tuple[float, ...]  # ratio of reaction torque to thrust, of each rotor
    thrust_shares: tuple[float, ...]  # thrust of each rotor, relative to the mean
    batteries: int
    full_battery_v: float  # of the first battery
    home_alt_msl_m: float
    params: Params  # PX4 parameters of the airframe

    @classmethod
    def of(cls, aircraft: object) -> "ControlModel":
        """Return the model of an aircraft."""
        if not isinstance(aircraft, Aircraft):
            raise InputError(f"the built-in autopilot needs an Aircraft, not {type(aircraft).__name__}")
        return cls(
            aircraft.name,
            aircraft.rotors,
            aircraft.motor_channels,
            tuple(unit.torque_per_thrust_m for unit in aircraft.propulsion_units),
            aircraft.thrust_shares,
            len(aircraft.batteries),
            aircraft.batteries[0].full_voltage_v,
            aircraft.home_alt_msl_m,
            aircraft.airframe.px4_params,
        )

    def effectiveness(self, given: Params, values: Params) -> Matrix:
        """Return the effectiveness matrix; CA_ROTORi_* parameters override the aircraft's geometry."""
        geometry: dict[str, float] = {}
        for i, rotor in enumerate(self.rotors):
            axis = [-value for value in rotor.axis_body]
            thrust = values[f"CA_ROTOR{i}_CT"] * self.thrust_shares[i]
            own = [*rotor.pos_body_m, *axis, rotor.direction * self.km_m[i], thrust]
            geometry |= {f"CA_ROTOR{i}_{name}": value for name, value in zip(GEOMETRY, own, strict=True)}
        missing = [name for name in given if name.startswith("CA_ROTOR") and name not in geometry]
        if missing:
            raise InputError(f"params {', '.join(missing)}: {self.name} has only rotors 0 to {len(self.rotors) - 1}")
        derived = resolve(geometry) | {name: values[name] for name in given}
        b = effectiveness([[derived[f"CA_ROTOR{i}_{name}"] for name in GEOMETRY] for i in range(len(self.rotors))])
        if rank([b[axis] for axis in (ROLL, PITCH, YAW, THRUST_Z)]) < 4:
            raise InputError(
                f"the built-in autopilot can't fly {self.name}: its rotors must produce thrust along the body z "
                "axis and torque about all three axes, independently of each other"
            )
        return b
