"""Warnings about weight and thrust: an aircraft that can't lift itself, and a mass that changes the motors."""

from px4lockstep.spec.spec import Spec
from px4lockstep.vehicle.aircraft import Aircraft

MASS = ("airframe", "mass_kg")
MULTIPLE = ("airframe", "propulsion", "thrust_calibration_mult")
LIGHTER = "reduce airframe.mass_kg or airframe.payload_kg, or give [airframe.propulsion] more thrust"
"""What to do about too little thrust."""


def weight_warnings(spec: Spec, aircraft: Aircraft) -> tuple[str, ...]:
    """Return warnings about weight and thrust of a spec."""
    return (*_cannot_lift(spec, aircraft), *mass_changes_motors(spec))


def _cannot_lift(spec: Spec, aircraft: Aircraft) -> tuple[str, ...]:
    ratio = aircraft.thrust_to_weight
    if not spec.autopilot.capabilities.flies or aircraft.gravity.at_home_m_s2 <= 0.0 or ratio >= 1.0:
        return ()
    mass = f"{aircraft.loading.mass_kg:g} kg"
    return (f"the aircraft can't lift its weight: full thrust at V_nom is {ratio:.2f} of it ({mass}); {LIGHTER}",)


def mass_changes_motors(spec: Spec, *, is_changed: bool = False) -> tuple[str, ...]:
    """Return a warning if the mass of a hover-calibrated aircraft comes from elsewhere than its rotors.

    With `is_changed`, it does in any case, as an input of a campaign.
    """
    propulsion, places = spec.airframe.propulsion, spec.places
    own = places.own(MASS)
    if not propulsion.is_calibrated or propulsion.calibration_mass_kg is not None:
        return ()
    if not is_changed and (own == places.own(("airframe", "rotor_pos_body_m")) or places.files.get(MULTIPLE) == own):
        return ()
    changes = f"airframe.mass_kg{'' if is_changed else f' = {spec.airframe.mass_kg:g}'} changes the motors, too"
    why = f"their thrust is calibrated to {propulsion.thrust_calibration_mult:g} times the weight"
    remedy = "to keep them, add airframe.payload_kg instead, or set airframe.propulsion.calibration_mass_kg"
    return (f"{changes}: {why}; {remedy}",)
