"""What exporters get of a spec: home, mission, batteries and the parameters that were flown."""

from px4lockstep.autopilots.px4_library.parameters import ca_parameters
from px4lockstep.log.export_source import About, HomePosition
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import known_parameters, resolve, stored
from px4lockstep.spec.build import build_aircraft
from px4lockstep.spec.spec import Spec


def about_of(spec: Spec, mission: Mission | None) -> About:
    """Return what exporters need of a spec."""
    parameters = flown_parameters(spec)
    known = known_parameters()
    return About(
        name=spec.aircraft.name,
        home=HomePosition(spec.home.lat_deg, spec.home.lon_deg, spec.home.alt_msl_m),
        mission=mission,
        batteries=spec.power.batteries,
        parameters=parameters,
        parameter_defaults={name: stored(known[name], known[name].default) for name in parameters if name in known},
        autopilot=spec.autopilot.kind,
        estimates_itself=spec.autopilot.capabilities.estimates_itself,
        autopilot_period_us=spec.timeline.us("dt_autopilot_s"),
        seed=spec.aircraft.seed,
        tables=spec.model_dump(),
    )


def flown_parameters(spec: Spec) -> dict[str, float | int]:
    """Return the parameters of a flight: of real PX4 those that the spec sets, otherwise all that there are."""
    capabilities, known = spec.autopilot.capabilities, known_parameters()
    if not capabilities.flies:
        return {}
    is_px4 = capabilities.takes_px4_params
    derived = ca_parameters(build_aircraft(spec)) if spec.px4.derive_ca_params or not is_px4 else {}
    users = spec.px4_params if is_px4 else {**spec.airframe.px4_params, **spec.autopilot.params}
    given = {**spec.px4.default_params, **derived, **users}
    values = resolve({name: value for name, value in given.items() if name in known})
    return {name: values.get(name, given[name]) for name in given} if is_px4 else values
