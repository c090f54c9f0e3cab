"""From a `Spec` to a flight that is ready to run."""

import re
from dataclasses import dataclass
from typing import Any

from px4lockstep.autopilot.builtin.builtin import Builtin, Rates
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.gust import Gust, gust_edges_us
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.px4.missions import Mission
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.build_aircraft import at, build_aircraft
from px4lockstep.spec.flight_checks import first_step, mission_of, us
from px4lockstep.spec.spec import Spec
from px4lockstep.vehicle.aircraft import Aircraft

TOLERANCES = ("pos", "vel", "omega", "act", "actdot", "rotor", "soc", "v1")


@dataclass(frozen=True)
class Flight:
    """A flight that is ready to run, and what it was built from."""

    spec: Spec
    simulation: Simulation
    mission: Mission | None
    aircraft: Aircraft
    scenario: Scenario
    warnings: tuple[str, ...] = ()
    """What is allowed, and perhaps not meant."""


def build(spec: Spec, *, record: bool | None = None) -> Flight:
    """Build a flight.

    Args:
        spec: What `load_spec` returned.
        record: Whether to keep the streams for a replay; left out, if `run.mode` is `record`.

    Raises:
        InputError: If it can't be flown; the message names file and key.
    """
    if spec.autopilot.kind == "px4":
        raise InputError(
            f"{spec.file_of(('autopilot', 'kind'))}: autopilot.kind = 'px4': real PX4 comes with a later version; "
            "use 'builtin'"
        )
    if spec.run.mode == "replay":
        raise InputError(
            f"{spec.file_of(('run', 'mode'))}: run.mode = 'replay': recordings come with a later version; use 'live'"
        )
    aircraft = build_aircraft(spec)
    mission = _mission(spec)
    scenario, added = _scenario(spec)
    gusts = tuple(Gust(us(gust.start_s), us(gust.end_s), gust.vel_ned) for gust in spec.environment.gusts)
    timeline = _timeline(spec, scenario, gusts)
    autopilot = _autopilot(spec, mission)
    integrator = _integrator(spec)
    with at(spec, ("environment",)):
        wind = _wind(spec)
    with at(spec, ("estimator",)):
        estimator = _estimator(spec)
    try:
        simulation = Simulation(
            aircraft,
            timeline,
            integrator=integrator,
            scenario=scenario,
            wind=wind,
            estimator=estimator,
            autopilot=autopilot,
            gusts=gusts,
            record=spec.run.mode == "record" if record is None else record,
            validate=spec.run.validate_,
            seed=spec.aircraft.seed,
        )
    except InputError as error:
        raise InputError(f"{spec.file_of(())}: {_renumbered(str(error), added)}") from error
    except ArithmeticError as error:
        raise InputError(
            f"{spec.file_of(())}: some numbers are so large or small that they can't be computed with ({error})"
        ) from error
    warnings = (*simulation.warnings, *_warnings(spec))
    return Flight(spec, simulation, mission, aircraft, scenario, warnings)


def _mission(spec: Spec) -> Mission | None:
    if spec.px4.mission_path is None:
        return None
    with at(spec, ("px4", "mission_path")):
        return mission_of(spec.px4.mission_path)


def _scenario(spec: Spec) -> tuple[Scenario, tuple[str, ...]]:
    """Return the scenario, and the keys of the events that come before those of `[[scenario.events]]`."""
    own, scenario = spec.scenario, Scenario()
    added: list[str] = []
    if own.arm_time_s is not None:
        scenario = scenario.arm(at_s=own.arm_time_s)
        added.append("scenario.arm_time_s")
    if own.mission_time_s is not None:
        scenario = scenario.start_mission(at_s=own.mission_time_s)
        added.append("scenario.mission_time_s")
    with at(spec, ("scenario", "events")):
        listed = Scenario.from_data([event.model_dump(exclude_none=True) for event in own.events])
        return Scenario((*scenario.events, *listed.events)), tuple(added)


def _renumbered(text: str, added: tuple[str, ...]) -> str:
    """Number events as the file does, which the ones that were added before them shift."""

    def name(found: re.Match[str]) -> str:
        number = int(found[1])
        return added[number] if number < len(added) else f"scenario.events[{number - len(added)}]"

    return re.sub(r"scenario\.events\[(\d+)\]", name, text)


def _timeline(spec: Spec, scenario: Scenario, gusts: tuple[Gust, ...]) -> Timeline:
    own, end_us = spec.timeline, us(spec.timeline.t_end_s)
    edges_us = [edge_us for edge_us in gust_edges_us(gusts) if edge_us <= end_us]
    times_us = tuple(sorted({*scenario.times_us(end_us), *edges_us}))
    with at(spec, ("timeline",)):
        return Timeline(
            end_us,
            autopilot=Periodic(us(own.dt_autopilot_s)),
            wind=Periodic(us(own.dt_wind_s)),
            log=Periodic(us(own.dt_log_s)),
            scenario=Explicit(times_us) if times_us else None,
            physics=Periodic(us(own.dt_phys_s)) if own.dt_phys_s is not None else None,
        )


def _wind(spec: Spec) -> Wind:
    own = spec.environment
    return Wind(
        own.wind,
        own.wind_mean_ned,
        own.wind_sigma_ned,
        own.wind_tau_s,
        own.dryden_wind_20ft_mps,
        own.dryden_height_m,
    )


def _estimator(spec: Spec) -> Estimator:
    own = spec.estimator
    if own.kind == "none":
        return Estimator()
    return Estimator(
        own.kind,
        pos_sigma_m=own.pos_sigma_m[0],  # the same on all axes, which loading checks
        vel_sigma_m_s=own.vel_sigma_mps[0],
        yaw_sigma_rad=own.yaw_sigma_rad,
        rate_sigma_rad_s=own.rate_sigma_rad_s[0],
        pos_bias_sigma_m=own.pos_bias_sigma_m[0],
        vel_bias_sigma_m_s=own.vel_bias_sigma_mps[0],
        yaw_bias_sigma_rad=own.yaw_bias_sigma_rad,
        rate_bias_sigma_rad_s=own.rate_bias_sigma_rad_s[0],
        bias_tau_s=own.bias_tau_s,
        delay_us=us(own.delay_s),
    )


def _autopilot(spec: Spec, mission: Mission | None) -> Builtin | None:
    if spec.autopilot.kind == "none":
        return None
    rates = spec.px4.lockstep
    with at(spec, ("autopilot", "params")):
        return Builtin(
            mission,
            spec.autopilot.params,
            home_lat_deg=spec.home.lat_deg,
            home_lon_deg=spec.home.lon_deg,
            rates=Rates(
                navigator_hz=max(0, rates.navigator_rate_hz),
                position_hz=max(0, rates.mc_pos_control_rate_hz),
                attitude_hz=max(0, rates.mc_att_control_rate_hz),
                rate_hz=max(0, rates.mc_rate_control_rate_hz),
                allocation_hz=max(0, rates.control_allocator_rate_hz),
            ),
            strict_rates=spec.px4.strict_lockstep_rates,
        )


def _integrator(spec: Spec) -> Integrator:
    own = spec.plant.integrator
    values: dict[str, Any] = own.model_dump()
    with at(spec, ("plant", "integrator")):
        return Integrator(
            own.kind,
            rtol={group: values[f"rtol_{group}"] for group in TOLERANCES},
            atol={group: values[f"atol_{group}"] for group in TOLERANCES} | {"att": own.atol_att_rad},
            plant_error_control=own.plant_error_control,
            h_min_s=own.h_min,
            h_max_s=own.h_max,
            h_init_s=own.h_init or first_step(own),
            max_substeps=own.max_substeps,
            safety=own.safety,
            min_factor=own.min_factor,
            max_factor=own.max_factor,
            quantize_us=own.quantize_us,
        )


def _warnings(spec: Spec) -> tuple[str, ...]:
    """Say what of the file has no effect."""
    found = []
    end_s = spec.timeline.t_end_s
    times = {"scenario.arm_time_s": spec.scenario.arm_time_s, "scenario.mission_time_s": spec.scenario.mission_time_s}
    times |= {f"scenario.events[{i}].at_s": event.at_s for i, event in enumerate(spec.scenario.events)}
    times |= {f"environment.gusts[{i}].start_s": gust.start_s for i, gust in enumerate(spec.environment.gusts)}
    for name, time_s in times.items():
        if time_s is not None and us(time_s) > us(end_s):
            found.append(f"{name} = {time_s} is after the end, timeline.t_end_s = {end_s}")
    if spec.px4.params:
        names = ", ".join(param.name for param in spec.px4.params)
        found.append(f"px4.params ({names}) are for real PX4; the built-in autopilot takes autopilot.params")
    if spec.run.mode == "record":
        found.append("run.mode = 'record': recordings on disk come with a later version; none is written")
    if spec.sensors:
        found.append(f"sensors ({', '.join(sensor.id for sensor in spec.sensors)}) are not modelled yet")
    return tuple(found)
