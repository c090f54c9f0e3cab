"""Build a flight that is ready to run from a `Spec`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from px4lockstep.autopilots.area import Area, area_of
from px4lockstep.autopilots.base import NativeAutopilot, Session, check_tick, landing_of
from px4lockstep.autopilots.kinds import flown_params, make_autopilot, with_injectors
from px4lockstep.engine.builder import Builder
from px4lockstep.engine.pace import Pace
from px4lockstep.engine.protocols import PythonAutopilot, PythonEstimator, PythonScenario, PythonWind
from px4lockstep.engine.setpoint_stage import SetpointFunction
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.streams import Streams
from px4lockstep.environment.environment import Environment
from px4lockstep.environment.gravity import Gravity
from px4lockstep.environment.projection import MapProjection
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.log.geographic import with_home
from px4lockstep.log.log import Log
from px4lockstep.log.sink import LogSink
from px4lockstep.part import at, dotted
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.px4.uploaded import uploaded_fence, uploaded_rally
from px4lockstep.scenario.commands import CommandRow, SetFence, SetParam, SetRally
from px4lockstep.scenario.scenario import Scenario, time_key
from px4lockstep.spec.checks import us
from px4lockstep.spec.code import refuse_code
from px4lockstep.spec.flight_tables import Home
from px4lockstep.spec.mission_time import short_of_time
from px4lockstep.spec.own_parts import (
    OwnPart,
    changed_copy,
    check_found,
    created_parts,
    own_kinds,
    with_kinds,
    with_objects,
)
from px4lockstep.spec.report import Report
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.timing import Timing, build_timeline
from px4lockstep.spec.weight import weight_warnings
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.airframe import Airframe
from px4lockstep.vehicle.power import Power
from px4lockstep.vehicle.propulsion import Propulsion

if TYPE_CHECKING:
    from px4lockstep.autopilots.px4_library.injectors import Injector

AIRCRAFT = ("aircraft", "home", "plant", "environment", "airframe", "actuation", "power")
"""The tables that define an aircraft."""
AUTOPILOT = ("autopilot", "px4", "home")
"""The tables that define an autopilot."""
MAX_NAMED = 10
SAME_PLACE_M = 100.0
AREA_COMMANDS = (SetFence, SetRally, SetParam)
"""Commands that change the fence, the rally points or a parameter of theirs."""


@dataclass(frozen=True, repr=False)
class Flight:
    """A flight that is ready to run, with the parts it was built from."""

    spec: Spec
    simulation: Simulation
    mission: Mission | None
    aircraft: Aircraft
    scenario: Scenario
    early_warnings: tuple[str, ...] = ()
    """Warnings of the spec file, the autopilot and the integrator before the flight."""
    is_replay: bool = False
    pace: Pace | None = None
    """The pace at which it is flown; None for as fast as possible."""
    own_parts: Mapping[str, OwnPart] = field(default_factory=dict)
    """Your own parts, by stage: `autopilot`, `wind`, `estimator` or `scenario`."""

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Settings that are valid but probably not intended."""
        found = (*self.early_warnings, *_warnings(self.spec, self.mission, self.aircraft))
        if self.is_replay:
            return found
        return (*found, *short_of_time(self.spec), *weight_warnings(self.spec, self.aircraft))

    def __repr__(self) -> str:
        return f"<Flight {self.spec.aircraft.name}: {self.simulation!r}>"


def build(
    spec: Spec,
    *,
    autopilot: PythonAutopilot | None = None,
    wind: PythonWind | Wind | None = None,
    estimator: PythonEstimator | Estimator | None = None,
    scenario: PythonScenario | Scenario | None = None,
    record: bool | None = None,
    replay: Streams | None = None,
    flies: bool = False,
    session: Session | None = None,
    builder: Builder | None = None,
    runs_code: bool = True,
    injectors: Sequence["Injector"] = (),
    sinks: Sequence[LogSink] = (),
    setpoints: SetpointFunction | None = None,
) -> Flight:
    """Build a flight.

    Args:
        spec: The spec, as returned by `load_spec`.
        autopilot: Your own autopilot, an object with a method `step`, instead of that of the spec.
        wind: Your own wind, or a `Wind`, instead of that of the spec. Gusts and wind of the scenario are added to it.
        estimator: Your own estimator, or an `Estimator`, instead of that of the spec.
        scenario: Your own scenario, or a `Scenario`, instead of that of the spec.
        record: Whether to record the streams for a replay. By default if `run.mode` is `record`.
        replay: Streams that replace scenario, wind, autopilot and, if it was recorded, the estimate.
        flies: Whether the autopilot flies a replay, with the recorded estimate.
        session: A running autopilot, for a branch of its flight. By default a new one is created.
        builder: Build cache for parts and records. By default everything is built.
        runs_code: Whether to start an autopilot that is external code. Without it, the flight can only be inspected.
        injectors: Python functions that publish uORB messages to real PX4 as a library.
        sinks: Log sinks, which get the rows of the log during the flight.
        setpoints: Function that gives the autopilot its setpoints, see `Simulation`. Tables are `scenario.setpoints`.

    Raises:
        InputError: If the spec can't be flown or names code that the user has not chosen. The message names the file
            and the key.
    """
    if replay is None and spec.run.mode == "replay":
        place = ", ".join(spec.places.sources(("run", "mode"), ("run",)))
        raise InputError(
            f"{place}: run.mode = 'replay' can't be flown; use px4lockstep.replay(spec.run.recording_in, spec=spec)"
        )
    is_flown = (replay is None or flies) and session is None
    given = {"autopilot": autopilot, "wind": wind, "estimator": estimator, "scenario": scenario}
    spec, own_parts = with_objects(spec, given)
    if is_flown and runs_code:
        refuse_code(spec)
    builder, report = builder or Builder(), Report(spec.places)
    aircraft, shipped = build_parts(spec, report, builder, is_flown=is_flown)
    if not runs_code:
        check_found(spec, report)
    if aircraft is None or report.lines:
        raise report.error()
    own_parts |= created_parts(spec, own_parts, is_flown=is_flown and runs_code)
    own = {stage: part.made for stage, part in own_parts.items()}
    rate_warnings: tuple[str, ...] = ()
    if not runs_code and spec.autopilot.capabilities.needs_child:  # would be loaded here; others wait for a step
        rate_warnings = check_tick(shipped, spec.timeline.tick_us, is_strict=False)
        shipped = None
    spec, mission_warnings = _without_mission(spec, own.get("autopilot"))
    requests, factor = spec.scenario, spec.run.realtime_factor
    if not spec.timeline.has_end:  # its clients may go on after a crash
        requests = requests.model_copy(update={"ends_at_crash": False})
    try:
        shipped = with_injectors(shipped, injectors)
        with at(()):
            axes = builder.made(Timing.axes, spec.timeline)
            timeline = builder.made(build_timeline, axes, requests, spec.environment.gusts)
            common: dict[str, Any] = {"integrator": spec.plant.integrator, "validate": spec.run.validate_}
            common |= {"builder": builder, "sinks": sinks, "commands": spec.run.commands}
            if replay is not None:
                timeline = timeline if timeline.is_end_known else timeline.until(int(replay.time_us[-1]))
                common |= {"autopilot": own.get("autopilot", shipped), "seed": spec.aircraft.seed}
                common |= {"given_commands": spec.commands}
                simulation = Simulation(aircraft, timeline, replay=replay.on(timeline), **common)
            else:
                has_its_own = spec.autopilot.capabilities.estimates_itself  # the log then shows the truth
                is_recorded = spec.run.mode == "record" if record is None else record
                plain = with_kinds(spec, dict.fromkeys(own_kinds(spec), "none"))
                simulation = Simulation(
                    aircraft,
                    timeline,
                    scenario=own.get("scenario", requests),
                    wind=own.get("wind", builder.derived(_wind, plain.environment)),
                    estimator=own.get("estimator", Estimator() if has_its_own else plain.estimator),
                    autopilot=session or own.get("autopilot", shipped),
                    gusts=spec.environment.gusts,
                    setpoints=setpoints,
                    record=is_recorded,
                    record_estimate=is_recorded and spec.run.record_estimate,
                    strict_rates=spec.px4.strict_lockstep_rates,
                    seed=spec.aircraft.seed,
                    given_commands=spec.commands,
                    **common,
                )
    except InputError as error:
        report.add_error(error)
        raise report.error() from error
    except MemoryError as error:
        name = spec.timeline.end_name
        text = (
            f"timeline.{name} = {getattr(spec.timeline, name)} needs more boundaries and log rows than fit into memory"
        )
        report.add(("timeline", name), f"{text}; end earlier or use longer periods", ("timeline",))
        raise report.error() from error
    simulation.autopilot.home = home = (spec.home.lat_deg, spec.home.lon_deg)
    simulation.autopilot.first_landing = landing_of(spec.mission, *home)
    if replay is not None or "autopilot" in own:  # a session of the package knows its mission
        simulation.autopilot.landing = simulation.autopilot.first_landing
        simulation.autopilot.area = _area(spec, aircraft, simulation.given_commands.of(AREA_COMMANDS))
    if "autopilot" in own:
        simulation.autopilot.identity = own_parts["autopilot"].hash
    _check_columns(spec, simulation)
    warnings = (*spec.warnings, *rate_warnings, *mission_warnings, *simulation.warnings)
    pace = None if factor is None else Pace(factor)
    return Flight(spec, simulation, spec.mission, aircraft, requests, warnings, replay is not None, pace, own_parts)


def _without_mission(spec: Spec, autopilot: object) -> tuple[Spec, tuple[str, ...]]:
    """Return a spec without a mission if the autopilot of the user can't report one, and a warning."""
    is_asked = any(event.action == "start_mission" for event in spec.scenario.events)
    if autopilot is None or hasattr(autopilot, "attach") or is_asked or spec.px4.mission_path is None:
        return spec, ()
    why = f"{type(autopilot).__name__} has no method attach, so it can't report a mission"
    text = f"px4.mission_path = {spec.px4.mission_path!r} has no effect: {why}"
    scenario = spec.scenario.model_copy(update={"mission_time_s": None})
    px4 = spec.px4.model_copy(update={"mission_path": None})
    return changed_copy(spec, {"scenario": scenario, "px4": px4}), (text,)


def build_aircraft(spec: Spec, builder: Builder | None = None) -> Aircraft:
    """Return the aircraft of a spec; without an autopilot, motors that are too weak for their calibration saturate."""
    builder = builder or Builder()
    airframe = builder.shared(builder.derived(Airframe.without_start, spec.airframe))
    power = builder.shared(builder.derived(Power.without_start, spec.power))
    gravity = builder.derived(_gravity, *(getattr(spec.environment, name) for name in Gravity.model_fields))
    parts = (airframe, spec.actuation, power, spec.plant.contact, gravity)
    common = builder.made(Aircraft, *parts, spec.home.alt_msl_m, spec.aircraft.name)
    aircraft = common.started(spec.airframe, spec.power)
    return aircraft if _flies(spec) else aircraft.within_reach()


def _wind(environment: Environment) -> Wind:
    return environment.only(Wind)


def _gravity(*values: Any) -> Gravity:
    return Gravity.model_construct(**dict(zip(Gravity.model_fields, values, strict=True)))


def _flies(spec: Spec) -> bool:
    return not hasattr(spec, "autopilot") or spec.autopilot.capabilities.flies


def build_parts(spec: Spec, report: Report, builder: Builder, *, is_flown: bool = True) -> tuple[Aircraft | None, Any]:
    """Return aircraft and autopilot, each None if its tables are invalid; add errors to the report.

    Without `is_flown`, no autopilot is built.
    """
    aircraft, autopilot = None, None
    if all(hasattr(spec, name) for name in AIRCRAFT):
        try:
            aircraft = build_aircraft(spec, builder)
            with at(("airframe", "propulsion")):  # check that the motors reach the calibration thrust
                calibrated = (aircraft.propulsion, aircraft.calibration_thrust_n, len(aircraft.rotors))
                builder.made(Propulsion.thrust_constants, *calibrated)
        except InputError as error:
            report.add_error(error)
    if is_flown and all(hasattr(spec, name) for name in AUTOPILOT):
        try:
            with at(("px4", "mission_path")):
                tables = (spec.autopilot, spec.px4, (spec.home.lat_deg, spec.home.lon_deg), spec.mission)
            is_kept = spec.autopilot.capabilities.is_reusable
            autopilot = builder.made(make_autopilot, *tables) if is_kept else make_autopilot(*tables)
            if isinstance(autopilot, NativeAutopilot) and hasattr(spec, "airframe"):
                with at(("px4", "mission_path")):
                    builder.made(type(autopilot).check_airframe, autopilot, spec.airframe.px4_params)
        except InputError as error:
            report.add_error(error)
    return aircraft, autopilot


def _check_columns(spec: Spec, simulation: Simulation) -> None:
    """Raise before the flight if a requested log column does not exist in it."""
    if spec.run.log_columns == "all":
        return
    log, report = with_home(Log.of(simulation), spec.home.position), Report(spec.places)
    for i, name in enumerate(spec.run.log_columns):
        try:
            log.column(name)
        except InputError as error:
            report.add(("run", "log_columns", i), f"run.log_columns[{i}]: {error}", ("run",))
    report.raise_if_any()


def _warnings(spec: Spec, mission: Mission | None, aircraft: Aircraft) -> tuple[str, ...]:
    """Return warnings about settings that have no effect or look like a mistake."""
    found = [f"px4.mission_path: {text}" for text in mission.warnings] if mission is not None else []
    if mission is not None and mission.planned_home is not None and not _is_near(spec.home, mission.planned_home):
        found.append(
            f"px4.mission_path: the plan's home {mission.planned_home[:2]} is more than {SAME_PLACE_M:g} m from [home] "
            f"{(spec.home.lat_deg, spec.home.lon_deg)}; [home] is used"
        )
    end_name, end_us = spec.timeline.end_name, spec.timeline.end_us
    times = {dotted(time_key(key)): event.at_s for key, event in spec.scenario.keyed_events}
    times |= {f"environment.gusts[{i}].start_s": gust.start_s for i, gust in enumerate(spec.environment.gusts)}
    tick_s = spec.timeline.dt_autopilot_s
    after = f"is after the end, timeline.{end_name} = {getattr(spec.timeline, end_name)}"
    for i, event in enumerate(spec.scenario.events):
        time_us = (event.at_step or 0) * us(tick_s)
        if time_us > end_us:
            found.append(f"scenario.events[{i}].at_step = {event.at_step}, at {time_us / 1e6} s, {after}")
    for name, time_s in times.items():
        if time_s is not None and us(time_s) > end_us:
            found.append(f"{name} = {time_s} {after}")
    autopilot = spec.autopilot.capabilities
    if spec.px4.params and autopilot.flies and not autopilot.takes_px4_params:
        names = _listed(param.name for param in spec.px4.params)
        found.append(f"px4.params ({names}) are for real PX4; {autopilot.name} uses autopilot.params")
    unknown = [name for name in spec.airframe.px4_params if name not in known_parameters()]
    if unknown and autopilot.flies and not autopilot.takes_px4_params:
        found.append(
            f"airframe.px4_params ({_listed(unknown)}): {autopilot.name} ignores these names, which it does not know; "
            "only real PX4 checks their spelling"
        )
    for table in ("params", "file_params"):
        given = getattr(spec.autopilot, table)
        if given and not autopilot.flies:
            found.append(f"autopilot.{table} ({_listed(given)}) have no effect: autopilot.kind = 'none'")
    integrator = spec.plant.integrator
    if integrator.tableau is not None and integrator.kind != "tableau":
        found.append(f"plant.integrator.tableau has no effect: plant.integrator.kind = {integrator.kind!r}")
    if spec.run.mode == "live" and spec.run.recording_out:
        found.append(f"run.recording_out = {spec.run.recording_out!r} has no effect: run.mode = 'live' records nothing")
    for key, text in spec.places.elsewhere.items():
        name = dotted(key)
        found.append(
            f"{name} = {text!r} was set in a file, so it is written to the run folder; "
            f"use --set {name}=PATH to write elsewhere"
        )
    mult, wanted = aircraft.propulsion.thrust_calibration_mult, spec.airframe.propulsion.thrust_calibration_mult
    if mult != wanted:
        thrust_n, wanted_n = mult * aircraft.calibration_thrust_n, wanted * aircraft.calibration_thrust_n
        found.append(
            f"airframe.propulsion can't reach a thrust of {wanted_n:.3f} N per rotor; without an autopilot, its thrust "
            f"is calibrated to {thrust_n:.3f} N instead"
        )
    if spec.sensors:
        names = _listed(f"{sensor.kind} {sensor.id!r}" for sensor in spec.sensors)
        found.append(f"[[sensors]] ({names}) has no effect; the sensors of stock PX4 are in [px4.sitl.sensors]")
    return tuple(found)


def _area(spec: Spec, aircraft: Aircraft, commands: Sequence[CommandRow]) -> Area:
    """Return the area of a flight whose autopilot does not run, at its end."""
    capabilities, home = spec.autopilot.capabilities, spec.home
    has_params = capabilities.flies and "autopilot" not in own_kinds(spec)
    params = dict(flown_params(spec.autopilot, spec.px4, aircraft)) if has_params else {}
    mission = spec.mission or Mission((), "no mission")
    for command in (row.command for row in commands if row.result.is_accepted):
        if isinstance(command, SetFence):
            mission = replace(mission, fence=uploaded_fence(command.items))
        elif isinstance(command, SetRally):
            mission = replace(mission, rally_points=uploaded_rally(command.items))
        elif isinstance(command, SetParam):
            params[command.param] = command.value
    return area_of(mission, home.lat_deg, home.lon_deg, params, uses_rally=capabilities.uses_rally)


def _is_near(home: Home, planned: tuple[float, float, float]) -> bool:
    """Return whether the planned home of a mission is close to this home."""
    try:
        north_m, east_m = MapProjection(home.lat_deg, home.lon_deg).to_local(planned[0], planned[1])
    except InputError:  # outside the range of the projection
        return False
    return math.hypot(north_m, east_m) <= SAME_PLACE_M


def _listed(names: Iterable[str]) -> str:
    """Return names separated by commas, truncated if there are many."""
    shown = list(islice(names, MAX_NAMED + 1))
    return ", ".join(shown[:MAX_NAMED]) + (", …" if len(shown) > MAX_NAMED else "")
