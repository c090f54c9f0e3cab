"""Set PX4's parameters before the first step: defaults, control allocation, a vehicle's file, the user's."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from px4lockstep.autopilots.fence import LIMITS
from px4lockstep.autopilots.vehicle_params import without_geometry
from px4lockstep.errors import InputError
from px4lockstep.px4.parameters import resolve
from px4lockstep.vehicle.aircraft import Aircraft

if TYPE_CHECKING:
    from px4lockstep.px4 import Px4

Params = Mapping[str, float | int]

DEFAULT_CT = 6.5
"""PX4's default of CA_ROTORi_CT, which it keeps for equal rotors."""


def ca_parameters(aircraft: Aircraft) -> dict[str, float | int]:
    """Return PX4's control allocation parameters for an aircraft's rotors."""
    found: dict[str, float | int] = {"CA_AIRFRAME": 0, "CA_ROTOR_COUNT": len(aircraft.rotors)}
    for i, (rotor, unit, share) in enumerate(
        zip(aircraft.rotors, aircraft.propulsion_units, aircraft.thrust_shares, strict=True)
    ):
        moment = rotor.direction * unit.torque_per_thrust_m
        thrust_axis = [0.0 - value for value in rotor.axis_body]
        names = ("PX", "PY", "PZ", "KM", "AX", "AY", "AZ")
        values = (*rotor.pos_body_m, moment, *thrust_axis)
        found |= {f"CA_ROTOR{i}_{name}": float(value) for name, value in zip(names, values, strict=True)}
        if share != 1.0:
            found[f"CA_ROTOR{i}_CT"] = DEFAULT_CT * share
    return found


def set_parameters(
    px4: "Px4", aircraft: Aircraft, defaults: Params, of_file: Params, users: Params, *, derive_geometry: bool
) -> list[str]:
    """Set parameters: defaults, geometry, those of the airframe, of a vehicle's file and of the user, in this order.

    Those of airframe and user must exist, and so must the geometry of the rotors, except the axes, which a PX4 build
    without tilted rotors lacks. Return the names of the file that have no effect: PX4 lacks them, or they describe the
    rotors, which are those of the aircraft.
    """
    airframe, derived = aircraft.airframe.px4_params, ca_parameters(aircraft) if derive_geometry else {}
    taken = without_geometry(of_file) if derive_geometry else of_file
    optional = (*defaults, *taken, *(name for name in derived if name[-2:] in ("AX", "AY", "AZ")))
    missing = {name for name in optional if name not in airframe and name not in users and not has(px4, name)}
    for name, value in {**defaults, **derived, **airframe, **taken, **users}.items():
        if name not in missing:
            px4.param_set(name, value)
    notify(px4)
    return [name for name in of_file if name in missing or name not in taken]


def has(px4: "Px4", name: str) -> bool:
    """Return whether PX4 has a parameter."""
    try:
        px4.param_kind(name)
    except InputError:
        return False
    return True


def notify(px4: "Px4") -> None:
    """Make PX4's modules reload their parameters."""
    px4.param_notify()
    if px4.config.enable_control_allocator:
        px4.control_alloc_update_params()


def check_rotors(px4: "Px4") -> None:
    """Check that PX4's control allocation has rotors."""
    if px4.config.enable_control_allocator and px4.param_get("CA_ROTOR_COUNT") <= 0:
        raise InputError(
            "CA_ROTOR_COUNT is 0, PX4's default, so its control allocation has no motors; set px4.derive_ca_params = "
            "true, or CA_ROTOR_COUNT and the other CA_ROTOR parameters in px4.params"
        )


def fence_limits(*params: Params) -> Params:
    """Return the values of the fence's parameters, of which later ones override earlier ones."""
    return resolve({name: given[name] for given in params for name in LIMITS if name in given})
