"""The shape of a vehicle: its rotors and feet, from a spec's geometry."""

import math
from dataclasses import dataclass

from px4lockstep.checks import Vector3
from px4lockstep.spec.spec import Spec
from px4lockstep.vehicle.airframe import DOWN, default_directions
from px4lockstep.vehicle.loading import minus

GRAVITY_M_S2 = 9.80665
"""Standard gravity, for the length of thrust arrows."""
USUAL_ARM_M, USUAL_RADIUS_M = 0.25, 0.13
"""Of a vehicle whose geometry is not known, such as that of an imported flight."""


@dataclass(frozen=True)
class RotorShape:
    """A rotor in body axes, from the centre of mass."""

    pos_body_m: Vector3
    axis_body: Vector3  # thrust acts along its negative
    radius_m: float
    direction: int  # sign of the reaction torque on the body, against which the rotor turns


@dataclass(frozen=True)
class VehicleShape:
    """Rotors and feet of a vehicle in body axes, from the centre of mass."""

    rotors: tuple[RotorShape, ...]
    feet_body_m: tuple[Vector3, ...] = ()
    hover_thrust_n: float | None = None
    """Thrust per rotor that carries the vehicle; None if its mass is not known."""

    @property
    def arm_m(self) -> float:
        """Distance of the outermost rotor, at least the radius of a rotor."""
        return max(max(math.dist(rotor.pos_body_m, (0.0, 0.0, 0.0)), rotor.radius_m) for rotor in self.rotors)

    @property
    def span_m(self) -> float:
        """Width over all rotors."""
        return 2.0 * (self.arm_m + max(rotor.radius_m for rotor in self.rotors))

    @property
    def foot_m(self) -> float:
        """How far the lowest foot is below the centre of mass."""
        return max((foot[2] for foot in self.feet_body_m), default=0.0)


def shape_of(spec: Spec) -> VehicleShape:
    """Return the shape of a spec's aircraft."""
    airframe, loading = spec.airframe, spec.airframe.loading
    count = len(airframe.rotor_pos_body_m)
    axes = airframe.rotor_axis_body_m or (DOWN,) * count
    directions = airframe.propulsion.rotor_dir or default_directions(count)
    units = airframe.propulsion.units(count)
    rotors = tuple(
        RotorShape(loading.placed(pos), axis, unit.rotor_radius_m, direction)
        for pos, axis, unit, direction in zip(airframe.rotor_pos_body_m, axes, units, directions, strict=True)
    )
    lowest_m = max(pos[2] for pos in airframe.rotor_pos_body_m)
    points = spec.plant.contact.points_body_m if spec.plant.contact.kind == "legs" else ()
    feet = tuple(minus(point, loading.centre_body_m) for point in points if point[2] > lowest_m)
    return VehicleShape(rotors, feet, GRAVITY_M_S2 * loading.mass_kg / count)


def usual_shape(count: int = 4) -> VehicleShape:
    """Return the shape of a vehicle whose geometry is not known: rotors on a circle, or PX4's quadrotor."""
    evenly = tuple(360.0 * (i + 0.5) / count for i in range(count))
    angles_deg = (45.0, 225.0, -45.0, 135.0) if count == 4 else evenly
    rotors = tuple(
        RotorShape(
            (USUAL_ARM_M * math.cos(math.radians(angle)), USUAL_ARM_M * math.sin(math.radians(angle)), -0.03),
            DOWN,
            min(USUAL_RADIUS_M, 0.9 * USUAL_ARM_M * math.sin(math.pi / max(count, 2))),
            direction,
        )
        for angle, direction in zip(angles_deg, default_directions(count), strict=True)
    )
    return VehicleShape(rotors)
