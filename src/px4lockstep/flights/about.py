"""What exporters get of a spec: home, mission, batteries and the parameters that were flown."""

from px4lockstep.flights.parameters import parameters_of
from px4lockstep.log.export_source import About
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import known_parameters, stored
from px4lockstep.spec.spec import Spec


def about_of(spec: Spec, mission: Mission | None) -> About:
    """Return what exporters need of a spec."""
    known = known_parameters()
    flown = parameters_of(spec) if spec.autopilot.capabilities.flies else {}
    parameters = {name: stored(known[name], value) if name in known else value for name, value in flown.items()}
    return About(
        name=spec.aircraft.name,
        home=spec.home.position,
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
