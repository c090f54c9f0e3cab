"""A simulation: its records, buffers and user objects, and the calls of the loop."""

import sys
import threading
import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import NativeAutopilot, Session, capabilities_of, check_tick
from px4lockstep.engine import loop, protocols, stages, validator
from px4lockstep.engine.buffers import Buffers
from px4lockstep.engine.builder import Builder
from px4lockstep.engine.command_stage import CommandStage, OnResult
from px4lockstep.engine.compilation import compiled_loop
from px4lockstep.engine.core import NATIVE, SIM
from px4lockstep.engine.failure import failure_of
from px4lockstep.engine.log_layout import layout_of, widths_of
from px4lockstep.engine.run_memory import RunMemory
from px4lockstep.engine.sensor_stage import set_sensors
from px4lockstep.engine.setpoint_stage import SetpointFunction, set_setpoints, setpoint_caller
from px4lockstep.engine.sink_feed import SinkFeed
from px4lockstep.engine.statistics import Statistics, Stretch, statistics_of
from px4lockstep.engine.streams import CHANGE, Streams
from px4lockstep.engine.timeline import AUTOPILOT, LOG, Timeline
from px4lockstep.environment.gust import Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError, LockstepError, SimulationError, StateError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import plain, zeros
from px4lockstep.plant.models import PlantModel, checked_start, configuration_of
from px4lockstep.scenario.commands import CommandRow, FlightCommand
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.sensors.suite import SensorSuite
from px4lockstep.timebase import check_us
from px4lockstep.user_code import told, without_frames_of_package

BOUNDARIES_PER_CALL = 20_000
"""Tens of milliseconds of work, after which a keyboard interrupt is handled."""


class Simulation(RunMemory):
    """One run of a plant in the loop.

    Args:
        plant: The plant model; None runs the stages without a plant.
        timeline: The event boundaries.
        integrator: The integrator of the plant.
        scenario: A `Scenario`, an object with a method `step` (see `protocols`), or None for off.
        wind: A `Wind`, which runs compiled, an object with a method `step`, or None for off.
        estimator: An `Estimator`, which runs compiled, an object with a method `step`, or None for off.
        autopilot: A `NativeAutopilot`, which runs compiled, the `Session` of a running one, an object with a method
            `step`, or None for off.
        sensors: Sensors, which run compiled and write `bus.sensors`; None for off, unless the autopilot has its own.
        hooks: Telemetry hooks, called in this order.
        hook_axes: The axes on which the hooks run.
        sinks: Log sinks, instances of `LogSink`, which get the rows of the log while the simulation runs.
        setpoints: Function that gives the autopilot its setpoints: `function(time_us, inputs)`, called at each of its
            ticks, returns the keys of a setpoint by name, or None. Tables of setpoints are part of the scenario.
        gusts: Gusts in addition to the wind; their edges must be event boundaries.
        replay: Streams of an earlier run, which replace scenario, wind, autopilot and the estimate, if it was recorded.
            An estimator may be given in place of the recorded estimate, and an autopilot if the estimate was recorded.
        record: Whether to record the streams for a replay.
        record_estimate: Whether to record the estimate, too.
        commands: Motor and servo commands out of range: `strict` ends the run with an error, `clamp` limits and counts
            them; `auto` is strict in a recorded run.
        strict_rates: Whether a tick that is longer than the period of one of the autopilot's modules is an error;
            otherwise it is a warning.
        validate: `off`, `cheap` or `paranoid`: see `validator`.
        seed: Random seed of all native models.
        given_commands: Commands of an earlier flight, which take effect at their times: see `command_stage`. In a
            replay, they have taken effect.
        builder: Creates the parts and writes the records; by default everything is built from scratch.

    Raises:
        InputError: If any argument is invalid, before the first boundary.
    """

    def __init__(
        self,
        plant: PlantModel | None,
        timeline: Timeline,
        *,
        integrator: Integrator | None = None,
        scenario: protocols.PythonScenario | Scenario | None = None,
        wind: protocols.PythonWind | Wind | None = None,
        estimator: protocols.PythonEstimator | Estimator | None = None,
        autopilot: protocols.PythonAutopilot | NativeAutopilot | Session | None = None,
        sensors: SensorSuite | None = None,
        hooks: Sequence[protocols.TelemetryHook] = (),
        hook_axes: Sequence[str] = ("log",),
        sinks: Sequence[protocols.RowSink] = (),
        setpoints: SetpointFunction | None = None,
        gusts: Sequence[Gust] = (),
        replay: Streams | None = None,
        record: bool = False,
        record_estimate: bool = False,
        commands: str = "auto",
        strict_rates: bool = False,
        validate: str = "cheap",
        seed: int = 0,
        given_commands: Collection[CommandRow] = (),
        builder: Builder | None = None,
    ) -> None:
        if validate not in validator.LEVELS:
            raise InputError(f"validate = {validate!r} is unknown; allowed: {', '.join(validator.LEVELS)}")
        if commands not in stages.COMMANDS:
            raise InputError(f"commands = {commands!r} is unknown; allowed: {', '.join(stages.COMMANDS)}")
        if record_estimate and (not record or estimator is None):
            raise InputError("record_estimate needs a recorded run with an estimator")
        self.timeline = timeline
        self.integrator = integrator or Integrator()
        self._sources = {"scenario": scenario, "wind": wind, "estimator": estimator, "autopilot": autopilot}
        self._hooks = tuple(hooks)
        self._feed = SinkFeed(sinks) if sinks else None
        self._thread = threading.get_ident()
        self._failed: BaseException | None = None
        self._raised_in_plant: BaseException | None = None
        self._is_resumed = False
        self._python_calls = 0
        self._wall_s = 0.0
        self._slowest = Stretch()
        self.flown_us = 0
        """Simulated time run by this object: all of it, or the time since the resumed checkpoint."""

        self._core = zeros(SIM)
        self._position, self._crashed = self._core["cursor"]["k"].data, self._core["bus"]["scenario"]["crashed"].data
        sim = self._plain = plain(self._core)[0]
        builder = builder or Builder()
        sim["bus"]["estimate"]["q_bn"][0] = 1.0
        sim["bus"]["estimate"]["is_valid"] = 1.0  # until an estimator writes it
        if plant is not None:
            start = checked_start(plant)
            builder.write(self._core, ("plant",), stages.plant_record, configuration_of(plant))
            sim["state"]["x"][: len(start)] = start
            sim["modes"]["plant"] = NATIVE
            # If the autopilot is replayed and there is no estimator, nothing reads outputs between rows of the log.
            is_unwatched = replay is not None and estimator is None and autopilot is None
            sim["modes"]["outputs_axes"] = LOG if is_unwatched else LOG | AUTOPILOT
            for name in ("voltage_v", "current_a", "remaining"):
                sim["bus"]["battery"][name] = np.nan if is_unwatched else 0.0  # NaN: not measured
            sim["battery_sensors"]["gain"] = 1.0  # without sensors, batteries are reported without error
            if hasattr(plant, "write_sensors") and timeline.autopilot is not None:
                plant.write_sensors(sim["battery_sensors"], seed, timeline.autopilot.period_us)
        builder.write(self._core, ("solver",), stages.record_of, self.integrator)
        sim["validator"]["level"] = validator.LEVELS[validate]
        sim["validator"]["last_time_us"] = -1
        sim["validator"]["last_autopilot_us"] = -1
        sim["modes"]["is_recording"] = record
        sim["modes"]["records_estimate"] = record_estimate
        sim["modes"]["is_strict"] = commands == "strict" or (commands == "auto" and record)

        self._n_x = int(sim["plant"]["n_x"])
        plant_view = protocols.PlantView(sim["state"]["x"], sim["plant"])
        self._inputs = protocols.StageInputs(self._core, plant_view, timeline.end_us if timeline.has_end else None)
        self._handlers: stages.Handlers = stages.set_sources(
            self._core, timeline, self._sources, self._inputs, plant, replay, seed, builder, self._set_param
        )
        self._sensors = set_sensors(sensors, autopilot, self._core, plant, timeline, seed)
        if self._sensors is not None:
            self._inputs.sensors = self._sensors.out
        self._handlers |= stages.set_hooks(self._core, timeline, self._hooks, hook_axes, self._inputs)
        stages.set_gusts(self._core, timeline, gusts, replay)
        if given_commands and replay is None and not capabilities_of(autopilot).takes_commands:
            raise InputError(f"commands have no effect: {capabilities_of(autopilot).name} takes none")
        self._commands = CommandStage(self._core, given_commands, is_replayed=replay is not None)
        self._setpoint_function = setpoints
        self._setpoint_rows = set_setpoints(self._core, self._sources, setpoints, replay, builder)
        chosen = [name for name, is_on in (("estimates", record_estimate), ("setpoints", self._has_setpoints)) if is_on]
        has_sensors = self._sensors is not None
        commands_all = autopilot is not None and not capabilities_of(autopilot).commands_own_only
        faults_all = scenario is not None and not (isinstance(scenario, Scenario) and scenario.is_native)
        self.row_widths = widths_of(sim, commands_all=commands_all, faults_all=faults_all, replay=replay)
        """How many motors, batteries and so on a row of the log has."""
        self._row_layout = layout_of(self.row_widths)
        words = self._row_layout.words
        traits: dict[str, Any] = {"has_sensors": has_sensors, "chosen": chosen, "grow": builder.grow}
        self._buffers = Buffers(timeline, self._n_x, words, replay, record, **traits)
        self._logged = np.zeros(1, np.int64)
        self._hand_over()
        self._loop = compiled_loop()
        self._is_end_requested = False
        self._initial_state: npt.NDArray[np.float64] = sim["state"]["x"][: self._n_x].copy()
        self._keeps_checkpoints = record and not self._user_objects() and capabilities_of(autopilot).is_copyable
        self._n_checkpoints = 0
        tick_us = 0 if timeline.autopilot is None else timeline.autopilot.period_us
        rate_warnings = check_tick(autopilot, tick_us, is_strict=strict_rates)
        of_step = builder.made(stages.step_warnings, configuration_of(plant), timeline, self.integrator)
        self._step_warnings = (*of_step, *rate_warnings)
        self.autopilot: Session = stages.open_autopilot(autopilot, self._core, plant, timeline, builder)
        """The session of the autopilot."""
        self._autopilot_record = self._core[self.autopilot.record] if self.autopilot.record else self._core
        if builder.grow is not Builder.grow:
            self.autopilot.use_buffers(self._autopilot_record, builder.grow)
        on_tick = self.autopilot.on_tick
        if setpoints is not None:
            on_tick = setpoint_caller(setpoints, self._core, on_tick)
        if on_tick is not None:
            stages.call_on_tick(self._core, on_tick, self._handlers, self._inputs, self._due_axes)

    # -- running -------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        end = f"{self.timeline.end_us / 1e6:.6f} s" if self.timeline.is_end_known else "an open end"
        return f"<Simulation of {type(self.plant).__name__}: at {self.time_us / 1e6:.6f} s of {end}>"

    def run(self, until_us: int | None = None) -> "Simulation":
        """Run to the end, or up to the first boundary at or after `until_us`, before the stages of that boundary.

        Raises:
            SimulationError: If the run or a log sink fails; the log up to then is intact. Further calls raise it again.
        """
        until_us = None if until_us is None else check_us("until_us", until_us)
        if self._failed is not None:
            raise self._failed
        if not self.is_done:
            self._buffers.check_memory()
            self.autopilot.check_ready(self._autopilot_record)
            self._deliver()
        while not self.is_done and (until_us is None or self.time_us < until_us):
            if self._is_end_requested:
                self._end_at(self.boundary)
            k, buffers = self.boundary, self._buffers
            if k + 1 >= len(buffers) and not buffers.is_complete:
                self._extend()
            # The last generated boundary runs only if it is the end: otherwise its interval is not known yet.
            stop = min(len(buffers) if buffers.is_complete else len(buffers) - 1, k + BOUNDARIES_PER_CALL)
            if until_us is not None and until_us <= int(buffers.time_us[stop - 1]):
                stop = self._known_index(until_us)
            stop = min(stop, self._keep_checkpoint(), self._give_commands())
            self.autopilot.reserve(self._autopilot_record, stop - k)
            try:
                self._advance(stop)
            finally:
                self._deliver()
        return self

    def submit(self, command: FlightCommand, on_result: OnResult | None = None, arrival_s: float = 0.0) -> None:
        """Queue a command, which takes effect at the next autopilot tick.

        `on_result` is then called with its result; `arrival_s` is stored with the command.
        """
        self._commands.submit(command, on_result, arrival_s)

    def _give_commands(self) -> int:
        """Give the commands that are due at this boundary; return that of the next one, at most the number known."""
        stage, axis, time_us = self._commands, self.timeline.autopilot, self.time_us
        if axis is None or not (stage.is_waiting or stage.next_us is not None):
            return len(self._buffers)
        if self._due_axes() & AUTOPILOT:
            stage.give(self.autopilot, time_us)
        next_us = stage.next_us
        if stage.is_waiting:
            first_us = self.timeline.start_us + axis.phase_us
            next_us = first_us + -((first_us - time_us) // axis.period_us) * axis.period_us
        if next_us is None or next_us > int(self._buffers.time_us[-1]):
            return len(self._buffers)
        return self._known_index(next_us)

    def _deliver(self) -> None:
        """Pass new rows of the log to the sinks, and close them after the last; a sink that fails ends the run."""
        if self._feed is None:
            return
        try:
            self._feed.open(self)
            self._feed.write(self)
            if self.is_done or self._failed is not None:
                self._feed.close(self)
        except SimulationError as error:
            if self._failed is None:
                self._failed = error
                raise
            self._failed.add_note(str(error))

    def request_end(self) -> None:
        """End the run at the next boundary whose stages have not begun, instead of at the end of the timeline.

        That is a boundary of the timeline, and the log is due there, so the run is bit-identical to one whose timeline
        ends there. When a Python stage or hook calls this method, the run ends at the boundary after the current one.
        It may also be called between two calls of `run`, or from another thread; then it takes effect within
        milliseconds, at a boundary that cannot be predicted but is recorded. A run has at least two boundaries. After
        the end of the run, this method does nothing.
        """
        self._is_end_requested = True

    def _end_at(self, last: int) -> None:
        """Make a boundary the last one, but not the first boundary: a run has at least two."""
        self._is_end_requested = False
        last = max(last, 1)
        while last >= len(self._buffers) and not self._buffers.is_complete:
            self._extend()
        if last < len(self._buffers):
            self._buffers.end_at(last)
            self._hand_over()

    def set_state(self, x: npt.ArrayLike) -> None:
        """Set the state of the plant, from which the run continues at its next boundary.

        The state is used unchanged: only the next step normalizes a quaternion. An adaptive integrator keeps its
        current step size.

        Raises:
            InputError: If `x` is not one finite number per state.
            StateError: If the run is recorded: a replay would not set the state.
        """
        if self._core["modes"]["is_recording"][0]:
            raise StateError("cannot set the state of a recorded run: a replay would not repeat it")
        state = np.array(x, np.float64)
        if state.shape != (self._n_x,):
            raise InputError(f"the state has shape {state.shape}; the plant needs shape ({self._n_x},)")
        wrong = np.flatnonzero(~np.isfinite(state))
        if len(wrong):
            raise InputError(f"state {self.plant.names[wrong[0]]} = {state[wrong[0]]} must be a finite number")
        self._core["state"]["x"][0, : self._n_x] = state

    def _advance(self, k_stop: int) -> None:
        """Run the loop and the Python stages up to a boundary; an exception ends the run permanently."""
        if threading.get_ident() != self._thread:
            raise StateError("a simulation must run in the thread that created it; create one per thread or process")
        advance, handlers = self._loop, self._handlers
        start_s, start_us = time.perf_counter(), self.time_us
        ticks_before = int(self._core["cursor"]["autopilot_ticks"][0])
        hook_before = sys.unraisablehook
        sys.unraisablehook = self._note_unraisable
        stage = loop.DONE
        try:
            stage = advance(self._arrays, k_stop)
            while stage >= 0 or stage == loop.OVER:
                self._python_calls += stage >= 0
                if stage == loop.OVER:
                    self._end_at(self.boundary)
                    k_stop = min(k_stop, len(self._buffers))
                elif stage == loop.FULL:
                    self._buffers.reserve(CHANGE, 2 * len(self._buffers.arrays["scenarios"]), self._used())
                    self._hand_over()
                else:
                    handlers[stage]()
                if self._is_end_requested:
                    self._end_at(self.boundary + 1)
                    k_stop = min(k_stop, len(self._buffers))
                stage = advance(self._arrays, k_stop)
            if stage == loop.FAILED:
                raise self._failure()
        except BaseException as error:
            at = f"at t = {int(self._core['bus']['time_us'][0]) / 1e6:.6f} s"
            is_in_loop = stage < 0 or stage == loop.FULL
            if is_in_loop and self._is_resumed and isinstance(error, IndexError | ValueError | ArithmeticError):
                self._failed = SimulationError(f"the resumed state is not that of a valid flight: {error} {at}")
                raise self._failed from error
            if stage >= 0 and isinstance(error, LockstepError):
                error.add_note(f"raised by the {loop.STAGE_NAMES[stage]} {at}")
            elif stage >= 0 and isinstance(error, Exception):
                raised = told(without_frames_of_package(error))
                self._failed = SimulationError(
                    f"the {loop.STAGE_NAMES[stage]} failed {at}: {raised}. The log up to then is intact"
                )
                raise self._failed from error
            self._failed = error
            raise
        finally:
            sys.unraisablehook = hook_before
            wall_s = max(0.0, time.perf_counter() - start_s)  # a clock may run backwards
            self._wall_s += wall_s
            self.flown_us += self.time_us - start_us
            if wall_s > self._slowest.wall_s:
                ticks = int(self._core["cursor"]["autopilot_ticks"][0]) - ticks_before
                self._slowest = Stretch(wall_s, start_us, ticks)

    def _set_param(self, name: str, value: float | int) -> None:
        """Change a parameter of the autopilot."""
        self.autopilot.set_parameters({name: value})

    def _due_axes(self) -> int:
        """Return the axes that are due at the current boundary, as bits."""
        return int(self._buffers.due[self.boundary])

    def _note_unraisable(self, unraisable: Any) -> None:
        """Store an exception from a user's compiled function, which cannot raise; the loop stops at its next check."""
        if self._raised_in_plant is None:
            self._raised_in_plant = unraisable.exc_value
        noted = self._core["validator"][0]
        noted["code"] = validator.USER_FUNCTION_RAISED
        noted["time_us"] = self._core["bus"]["time_us"][0]

    def close(self) -> None:
        """Close the autopilot and the log sinks, and release their resources; the log stays available.

        Further calls do nothing.
        """
        if self._feed is not None:
            self._feed.close(self)
        has_ended = self.autopilot.close(self._autopilot_record)
        if has_ended and not self.is_done and self._failed is None:
            name = self.autopilot.capabilities.name
            self._failed = SimulationError(f"{name} was closed before the end of the run; the log is intact")

    def _failure(self) -> SimulationError:
        noted = self._core["validator"][0]
        if noted["code"] == validator.AUTOPILOT_FAILED:
            return SimulationError(self.autopilot.explain(self._autopilot_record, int(noted["time_us"])))
        error = failure_of(self._core[0], self.integrator.kind, self.autopilot)
        if self._raised_in_plant is not None:
            error.__cause__ = self._raised_in_plant
        return error

    # -- results ---------------------------------------------------------------------------------------------------

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the step size and from the autopilot."""
        return (*self._step_warnings, *self.autopilot.warnings)

    @property
    def statistics(self) -> Statistics:
        """Counters and wall time of the run up to now, without the time spent waiting for the user."""
        wall_s = max(0.0, self._wall_s - self.autopilot.waited_s)
        return statistics_of(self._core[0], self._python_calls, wall_s, self._slowest)
