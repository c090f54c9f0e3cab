"""Set up the stages of a simulation: choose how each one runs, and check that it fits the timeline."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from px4lockstep.autopilots.area import Area, area_of
from px4lockstep.autopilots.base import NativeAutopilot, PythonSession, Session, landing_of
from px4lockstep.autopilots.native import write_addresses
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.engine import loop
from px4lockstep.engine.builder import Builder
from px4lockstep.engine.core import NATIVE, OFF, PYTHON, PYTHON_WITH_STATUS, REPLAY
from px4lockstep.engine.protocols import PythonStage, StageInputs, TelemetryHook
from px4lockstep.engine.scenario_stage import NotingChanges, SetParam, scenario_handler, set_scenario
from px4lockstep.engine.snapshot import check_object
from px4lockstep.engine.streams import Streams
from px4lockstep.engine.timeline import AUTOPILOT, AXIS_BITS, Periodic, Timeline
from px4lockstep.environment.gust import Gust, gust_edges_us, write_gusts
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator, check_rigid_body
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import plain, view
from px4lockstep.plant.models import PlantModel, write_plant
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.user_code import signature_of

Core = npt.NDArray[Any]
Handlers = dict[int, Callable[[], None]]
"""The functions that Python runs when the loop returns, by the number of the stage."""

AXES = {"wind": "wind", "estimator": "autopilot", "autopilot": "autopilot"}
"""The axis on which a source is due; the scenario is due at every boundary."""
WRITTEN_BY = {"scenario": "scenario", "wind": "wind", "estimator": "estimate", "autopilot": "command"}
"""The part of the bus that each source writes."""

COMMANDS = ("auto", "strict", "clamp")
"""What happens to commands out of range."""

STEP_PER_TIME_CONSTANT = 0.2
SMOOTH_STEP_PER_TIME_CONSTANT = 0.4
"""The same for RK4 that ends its steps at contact; over a time constant, its error is then 0.4⁴/120 or 2e-4."""


def plant_record(plant: Core, model: PlantModel) -> None:
    """Write a plant."""
    write_plant(model, plain(plant)[0])


def record_of(record: Core, part: Any, *of: Any) -> None:
    """Call a part to write its record."""
    part.write(plain(record)[0], *of)


def _write_seeded(core: Core, name: str, part: Any, seed: int, period_us: int, builder: Builder) -> None:
    """Write the record of a part with random numbers: flights that differ in the seed only share all but its keys."""
    builder.write(core, (name,), record_of, part, 0, period_us)
    part.write_keys(plain(core[name])[0], seed)


def set_sources(
    core: Core,
    timeline: Timeline,
    sources: dict[str, Any],
    inputs: StageInputs,
    plant: PlantModel | None,
    replay: Streams | None,
    seed: int,
    builder: Builder,
    set_param: SetParam,
) -> Handlers:
    """Set up and check scenario, wind, estimator and autopilot; return the handlers of those that run in Python."""
    handlers: Handlers = {}
    for name, source in sources.items():
        axis = AXES.get(name)
        if source is not None and axis is not None and getattr(timeline, axis) is None:
            raise InputError(f"the {name} would never run: the timeline has no {axis} axis")
        has_estimates = replay is not None and len(replay.estimates) > 0
        if replay is not None and name != "estimator" and not (name == "autopilot" and has_estimates and source):
            if source is not None:
                more = ", or record the estimate for it" if name == "autopilot" else ""
                raise InputError(f"{name} is given, but the replay provides it too; omit one of them{more}")
            mode = REPLAY
        elif has_estimates and name == "estimator" and source is None:
            mode = REPLAY
        elif source is None:
            mode = OFF
        elif isinstance(source, Wind) and name == "wind":
            if not isinstance(timeline.wind, Periodic):
                raise InputError("a Wind needs a periodic wind axis, because its steps must have equal length")
            _write_seeded(core, "wind", source, seed, timeline.wind.period_us, builder)
            mode = NATIVE
        elif isinstance(source, Scenario) and name == "scenario":
            set_scenario(source, core, timeline, sources, builder)
            handlers[int(loop.SCENARIO)] = scenario_handler(source, core, inputs, set_param)
            mode = NATIVE
        elif isinstance(source, Estimator) and name == "estimator" and timeline.autopilot is not None:
            check_rigid_body(core["plant"][0])
            _write_seeded(core, "estimator", source, seed, timeline.autopilot.period_us, builder)
            mode = NATIVE
        elif isinstance(source, NativeAutopilot | Session) and name == "autopilot":
            mode = NATIVE  # `open_autopilot` starts it after all checks
        else:
            check_stage(name, source)
            mode = PYTHON
            outputs = view(core["bus"][WRITTEN_BY[name]], writable=True)
            if hasattr(source, "attach") and name == "autopilot" and timeline.autopilot is not None:
                status = view(core["bus"]["autopilot"], writable=True)
                source.attach(status, plant, timeline.autopilot.period_us, seed)
                mode = PYTHON_WITH_STATUS
            handler = _handler(core, source, inputs, outputs)
            is_scenario = name == "scenario"
            handlers[loop.STAGE_NAMES.index(name)] = NotingChanges(handler, core) if is_scenario else handler
        core["modes"][name] = mode
    return handlers


def check_stage(name: str, item: Any) -> None:
    """Raise `InputError` if an object can't be a stage of the loop."""
    if not isinstance(item, PythonStage):
        raise InputError(
            f"{name} = {item!r:.80} has no method step(time_us, inputs, outputs); see docs/howto/own_controller.md"
        )
    check_step(name, item, ("time_us", "inputs", "outputs"))
    check_object(name, item)


def check_step(name: str, item: Any, arguments: tuple[str, ...]) -> None:
    """Raise `InputError` if an object is a class, or its method `step` can't be called with these arguments."""
    if isinstance(item, type):
        raise InputError(f"{name} = {item.__name__} is a class; pass an object: {name}={item.__name__}()")
    signature = signature_of(item.step) if callable(item.step) else None
    called = f"step({', '.join(arguments)})"
    try:
        if not callable(item.step):
            raise TypeError("it is not a method")
        if signature is not None:
            signature.bind(*arguments)
    except TypeError as error:
        own = type(item).__name__
        raise InputError(
            f"{name}: the method step{signature or ''} of {own} can't be called as {called}: {error}; define it as "
            f"`def step(self, {', '.join(arguments)})`"
        ) from None


def open_autopilot(
    autopilot: object, core: Core, plant: PlantModel | None, timeline: Timeline, builder: Builder
) -> Session:
    """Start the autopilot if it is native, and return its session."""
    if isinstance(autopilot, Session):
        return autopilot
    session: Session
    if isinstance(autopilot, NativeAutopilot) and timeline.autopilot is not None:
        write = functools.partial(builder.write, core, (autopilot.record,))
        session = autopilot.open(core[autopilot.record], plant, timeline.autopilot.period_us, write, builder.made)
        write_addresses(core)
    else:
        session = PythonSession(autopilot)
    home = (getattr(autopilot, "home_lat_deg", HOME_LAT_DEG), getattr(autopilot, "home_lon_deg", HOME_LON_DEG))
    mission = getattr(autopilot, "mission", None)
    session.landing = builder.made(landing_of, mission, *home)
    params = tuple(session.area_params.items())  # the build cache compares a tuple faster
    session.area = builder.made(_area, mission, *home, params, session.capabilities.uses_rally)
    return session


def _area(
    mission: Any, lat_deg: float, lon_deg: float, params: tuple[tuple[str, float], ...], uses_rally: bool
) -> Area:
    return area_of(mission, lat_deg, lon_deg, dict(params), uses_rally)


def set_hooks(
    core: Core, timeline: Timeline, hooks: Sequence[TelemetryHook], axes: Sequence[str], inputs: StageInputs
) -> Handlers:
    """Set up the telemetry hooks; raise `InputError` if they are invalid or would never run."""
    unknown = [axis for axis in axes if axis not in AXIS_BITS]
    if unknown:
        raise InputError(f"hook_axes contains unknown axes {unknown}; allowed: {', '.join(AXIS_BITS)}")
    for i, hook in enumerate(hooks):
        if not isinstance(hook, TelemetryHook):
            raise InputError(f"hook {hook!r} has no method step(time_us, inputs)")
        check_step(f"hook {i}", hook, ("time_us", "inputs"))
        check_object(f"hook {i}", hook)
    if not hooks:
        return {}
    if not any(timeline.most_ticks(axis) for axis in axes):
        raise InputError(f"the hooks would never run: the timeline has none of the axes {list(axes)}")
    core["modes"]["telemetry"] = PYTHON
    for axis in axes:
        core["modes"]["telemetry_axes"] |= AXIS_BITS[axis]
    if core["modes"]["plant"][0] != OFF:
        core["modes"]["outputs_axes"] |= core["modes"]["telemetry_axes"]
    bus_time_us = core["bus"]["time_us"].data

    def call() -> None:
        for hook in hooks:
            hook.step(bus_time_us[0], inputs)

    return {int(loop.TELEMETRY): call}


def call_on_tick(
    core: Core,
    on_tick: Callable[[int, Any], None],
    handlers: Handlers,
    inputs: StageInputs,
    due_axes: Callable[[], int],
) -> None:
    """Call a function of the autopilot at each of its ticks, after the telemetry hooks."""
    modes, bus_time_us = core["modes"], core["bus"]["time_us"].data
    hooks, hook_axes = handlers.get(int(loop.TELEMETRY)), int(modes["telemetry_axes"][0])

    def call() -> None:
        due = due_axes()
        if hooks is not None and due & hook_axes:
            hooks()
        if due & AUTOPILOT:
            on_tick(bus_time_us[0], inputs)

    handlers[int(loop.TELEMETRY)] = call
    modes["telemetry"] = PYTHON
    modes["telemetry_axes"] |= AUTOPILOT


def set_gusts(core: Core, timeline: Timeline, gusts: Sequence[Gust], replay: Streams | None) -> None:
    """Set up the given gusts, whose edges must be event boundaries, or those of a replay."""
    if replay is not None:
        if gusts:
            raise InputError("gusts are given, but the replay provides them too; omit one of them")
        core["gusts"] = replay.gusts
        return
    if not gusts:
        return
    write_gusts(core["gusts"][0], list(gusts))
    for edge_us in gust_edges_us(list(gusts)):
        is_inside = timeline.start_us <= edge_us <= timeline.end_us
        if is_inside and not timeline.is_boundary(edge_us):
            raise InputError(
                f"a gust has an edge at {edge_us} us, which is not an event boundary; add it to the scenario axis"
            )


def _handler(core: Core, source: PythonStage, inputs: StageInputs, outputs: Any) -> Callable[[], None]:
    step = source.step
    bus_time_us = core["bus"]["time_us"].data

    def call() -> None:
        step(bus_time_us[0], inputs, outputs)

    return call


def step_warnings(plant: PlantModel | None, timeline: Timeline, integrator: Integrator) -> tuple[str, ...]:
    """Return a warning if a fixed step is long compared with the shortest time constant of the plant."""
    constants = getattr(plant, "time_constants_s", None)
    if integrator.chooses_steps or constants is None:
        return ()
    step_us = timeline.greatest_step_us
    name, shortest_s = min(constants().items(), key=lambda item: float(item[1]))
    ratio = SMOOTH_STEP_PER_TIME_CONSTANT if integrator.keeps_its_order else STEP_PER_TIME_CONSTANT
    allowed_us = ratio * shortest_s * 1e6
    if step_us <= allowed_us:
        return ()
    return (
        f"the step size of {step_us} us exceeds {ratio} times the shortest time constant, "
        f"{shortest_s * 1e6:.0f} us ({name}); use a physics period of {allowed_us:.0f} us or less, or an adaptive "
        "integrator",
    )
