"""A served vehicle: a flight with an open end that takes commands.

    vehicle = Vehicle("x500")
    vehicle.submit(Arm(), print)
    vehicle.submit(Takeoff())
    vehicle.run_until(10_000_000)
    vehicle.status.pos_ned

Its flight is recorded. A reset ends it and begins a new one, at the start position; time goes on. Parameters, mission,
fence and rally points stay: they are the first commands of the new flight.
"""

import time
from collections.abc import Callable, Container, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.folder import BOUNDARIES_HELD, COMMANDS, RunFolder, fresh_folder, write_spec
from px4lockstep.flights.run import Run, loaded
from px4lockstep.io import release_pages, temporary_folder
from px4lockstep.log.rows import hold_rows
from px4lockstep.scenario import commands
from px4lockstep.scenario.commands import UNSUPPORTED, CommandResult, CommandRow, FlightCommand
from px4lockstep.service.configuration import Configuration
from px4lockstep.service.status import ON_GROUND, GeoPoint, LandedWatch, StatusReader, VehicleStatus
from px4lockstep.service.texts import INFO, StatusText, text_of, texts_between
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.load import change_spec
from px4lockstep.spec.own_parts import changed_copy
from px4lockstep.spec.spec import Spec, with_commands

OnResult = Callable[[CommandResult], object]
"""Called with the result of a command when it takes effect."""
STREAMED = (commands.Setpoint, commands.Sticks, commands.Heartbeat, commands.FollowTarget)
"""Commands of which many follow one another, and about which there is nothing to tell."""
SPARSE = 10
MAX_TEXTS = 1_000
"""Messages that are kept for `texts`; older ones are dropped."""


DEFAULTS = {"px4.defaults": "sitl", "autopilot.hover_thrust_estimate": True}
"""Values of keys that a spec does not have: the vehicle is as stock PX4 in a simulation, which has the parameters of
its start scripts, and estimates its hover thrust."""


def keys_of(spec: Spec) -> frozenset[str]:
    """Return the keys of `DEFAULTS` that a spec has."""
    parts = {"px4": spec.px4, "autopilot": spec.autopilot}
    return frozenset(f"{name}.{key}" for name, part in parts.items() for key in part.model_fields_set) & DEFAULTS.keys()


def served_spec(spec: Spec, given: Container[str]) -> Spec:
    """Return a spec without a mission, requests and an end, which come from clients; `given` has the user's keys."""
    capabilities = spec.autopilot.capabilities
    if not capabilities.takes_commands:
        text = "it talks to its own clients" if capabilities.is_process else "it takes no commands"
        usable = ", ".join(repr(name) for name, kind in KINDS.items() if kind.capabilities.takes_commands)
        raise InputError(f"autopilot.kind = {spec.autopilot.kind!r} can't be served: {text}; use one of {usable}")
    updates: dict[str, dict[str, Any]] = {
        "scenario": {"arm_time_s": None, "mission_time_s": None, "ends_at_crash": False},
        "px4": {"mission_path": None},
        "autopilot": {},
    }
    for key, value in DEFAULTS.items():
        table, name = key.split(".")
        updates[table] |= {} if key in given else {name: value}
    return changed_copy(spec, {name: getattr(spec, name).model_copy(update=update) for name, update in updates.items()})


def with_sparse_log(spec: Spec) -> Spec:
    """Return a spec with fewer rows of the log, for a flight that is not kept, if its periods allow it."""
    with suppress(InputError):
        return change_spec(spec, {"timeline.dt_log_s": SPARSE * spec.timeline.dt_log_s})
    return spec


class Vehicle:
    """A vehicle on the ground, disarmed and in Hold, ready for commands.

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec. Its mission is left out: clients upload
            missions.
        seed: Random seed.
        overrides: Values by dotted key that replace the spec's.
        record: Folder in which each flight gets a run folder. None keeps nothing: flights are not recorded, and their
            logs have a tenth of the rows.
        plots: Whether run folders have a figure.

    Raises:
        InputError: If the spec is invalid, or its autopilot can't be served.
    """

    def __init__(
        self,
        spec: str | Path | Spec,
        *,
        seed: int | None = None,
        overrides: Mapping[str, Any] | None = None,
        record: str | Path | None = None,
        plots: bool = True,
    ) -> None:
        changes = {**(overrides or {}), "timeline.t_end_s": "none"}
        flown = loaded(spec, changes, seed)
        source = spec if isinstance(spec, Spec) else flown  # a spec that was changed has all keys
        self.spec = served_spec(flown, {*keys_of(source), *changes})
        self._record = None if record is None else Path(record)
        if record is None:
            self.spec = with_sparse_log(self.spec)
        self._draws = plots
        self._start_s = time.perf_counter()
        self._offset_us = 0
        self._queue: list[tuple[FlightCommand, OnResult | None, float]] = []
        self._texts: list[StatusText] = []
        self.all_texts: list[StatusText] = []
        """The last messages, whether or not `texts` has returned them."""
        self.last_run: Run | None = None
        """The flight that ended last, at a reset or at `close`."""
        self.folders: list[Path] = []
        """The run folders of the flights that have ended."""
        self.configuration = Configuration()
        """What clients have changed."""
        self._is_closed = False
        self._held = ExitStack()  # the files of a flight that is not recorded
        self._begin()

    def _begin(self) -> None:
        """Build a flight, before its first tick."""
        self._flight: Flight = build(self.spec, record=self._record is not None)
        self._simulation = self._flight.simulation
        self._folder: RunFolder | None = None
        if self._record is not None:
            self._folder = RunFolder.create(self._new_folder(self._record), self._flight, holds_log=True)
        else:
            held = self._held.enter_context(temporary_folder())
            hold_rows(self._simulation, held / "log.rows")
            self._simulation.given_commands.hold(held / COMMANDS)
        home = self.spec.home
        self._reader = StatusReader(self._simulation, GeoPoint(home.lat_deg, home.lon_deg, home.alt_msl_m))
        self._reached, self._item = -1, 0
        self._n_rows = self._released = 0
        self._has_flown = False
        bus = self._simulation.records["bus"]
        pilot, scenario, batteries = bus["autopilot"], bus["scenario"], bus["battery"]["warning"]
        fields = [pilot[name] for name in ("armed", "nav_state", "failsafe", "mission_item", "mission_finished")]
        fields += self._simulation.autopilot.watched(self._simulation.records)
        fields += [scenario["crashed"], *(batteries[:, i] for i in range(batteries.shape[1]))]
        self._watched = [field.data for field in fields]  # reading a memoryview takes 50 ns
        for command in self.configuration.commands:
            self._simulation.submit(command)
        self.configuration = Configuration()  # that of the flight, from the commands that it accepts
        self._simulation.run(1)  # the first tick: until then there is no estimate
        self._note_rows()
        self._seen: tuple[int, ...] = ()
        self._landing = LandedWatch(self._simulation)
        self._landed_state = self._landing.update()
        self._status = self._told = self._read()
        self._is_read = True

    def _new_folder(self, root: Path) -> Path:
        return fresh_folder(self.spec.aircraft.name, root)

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def time_us(self) -> int:
        """Simulated time since the start of the service."""
        return self._offset_us + self._simulation.time_us

    @property
    def status(self) -> VehicleStatus:
        """The vehicle at this time."""
        if not self._is_read:
            self._status, self._is_read = self._read(), True
        return self._status

    @property
    def tick_us(self) -> int:
        """The period of the autopilot."""
        return self.spec.timeline.tick_us

    @property
    def parameters(self) -> Mapping[str, float | int]:
        """All parameters by name; an int32 is an int, a float a float."""
        return self._simulation.autopilot.parameters

    @property
    def rows(self) -> tuple[CommandRow, ...]:
        """The commands of this flight up to now."""
        return tuple(self._simulation.given_commands)

    def texts(self) -> list[StatusText]:
        """Return the messages since the last call."""
        found, self._texts = self._texts, []
        return found

    # -- flight ----------------------------------------------------------------------------------------------------

    def submit(self, command: FlightCommand, on_result: OnResult | None = None) -> None:
        """Queue a command, which takes effect at the next autopilot tick; then `on_result` is called."""
        self._queue.append((command, on_result, time.perf_counter() - self._start_s))

    def run_until(self, time_us: int) -> None:
        """Fly up to a time since the start of the service; queued commands take effect in order of arrival."""
        queue, self._queue = self._queue, []
        for command, on_result, arrival_s in queue:
            if isinstance(command, commands.Reset):
                result = self._reset()
                if on_result is not None:
                    on_result(result)
            else:
                self._simulation.submit(command, on_result, arrival_s)
        self._simulation.run(max(0, time_us - self._offset_us))
        if self._simulation.is_done:
            hours = self._simulation.time_us / 3.6e9
            raise SimulationError(
                f"the flight has lasted {hours:.0f} hours, which is the limit; serve the vehicle again"
            )
        self._follow()

    def _follow(self) -> None:
        """Note what has changed since the last call, and release the memory of rows that are in files."""
        simulation = self._simulation
        self._is_read = False
        rows = self._note_rows()
        self._landed_state = self._landing.update()
        seen = (self._landed_state, *(field[0] for field in self._watched))
        if seen != self._seen or not all(isinstance(row.command, STREAMED) for row in rows):
            self._seen = seen
            self._note_progress()
            before, now = self._told, self.status
            self._told = now
            self._has_flown = self._has_flown or (now.armed and now.landed_state != ON_GROUND)
            self._say(texts_between(before, now, rows, has_flown=self._has_flown))
            self._has_flown = self._has_flown and now.armed
        if simulation.boundary - self._released >= BOUNDARIES_HELD:
            self._released = simulation.boundary
            for array in simulation.buffers.values():
                release_pages(array)

    def _note_progress(self) -> None:
        """Note which item of the mission was completed last."""
        pilot, uploaded = self._simulation.bus.autopilot, self._simulation.autopilot.uploaded_item
        item = int(pilot.mission_item)
        if pilot.mission_finished and self.configuration.uploads.count:
            self._reached = uploaded(item)
        elif item > self._item:
            self._reached = uploaded(item - 1)
        self._item = item

    def _read(self) -> VehicleStatus:
        return self._reader.read(self.time_us, self._reached, self.configuration.uploads, self._landed_state)

    def _say(self, texts: list[StatusText]) -> None:
        self._texts = [*self._texts, *texts][-MAX_TEXTS:]
        self.all_texts = [*self.all_texts, *texts][-MAX_TEXTS:]

    def _note_rows(self) -> tuple[CommandRow, ...]:
        """Note the commands that were given since the last call, and return them."""
        rows = self._simulation.given_commands.since(self._n_rows)
        self._n_rows += len(rows)
        for row in rows:
            text = text_of(row)
            self._say([text] if text is not None else [])
            if row.result.is_accepted and self.configuration.note(row.command):
                self._reached, self._item = -1, 0
        return rows

    # -- end -------------------------------------------------------------------------------------------------------

    def _reset(self) -> CommandResult:
        """End this flight and begin a new one."""
        capabilities = self._simulation.autopilot.capabilities
        if capabilities.needs_child:
            return CommandResult(UNSUPPORTED, f"{capabilities.name} can't start again; serve it again instead")
        self._offset_us += self._end()
        self._note_rows()
        self._discard()
        self._begin()
        self._say([StatusText(INFO, "The vehicle was reset")])
        return CommandResult()

    def _end(self) -> int:
        """End the flight at the next tick, and write its run folder; return its length [us]."""
        simulation, error = self._simulation, None
        try:
            tick_us = self.tick_us
            simulation.run(simulation.time_us // tick_us * tick_us + tick_us + 1)  # give the queued commands
            simulation.request_end()
            simulation.run()
        except SimulationError as raised:  # its log up to then is intact
            error = raised
        simulation.close()
        spec = change_spec(self.spec, {"timeline.t_end_s": simulation.time_us / 1e6})
        flight = replace(self._flight, spec=with_commands(spec, simulation.given_commands))
        self.last_run = run = Run(flight, error)
        if self._folder is not None:
            self._folder.spec = run.spec
            write_spec(run.spec, self._folder.path)
            self._folder.keep(run)
            if self._draws:
                self._folder.draw(run)
            self._folder.close(run)
            self.folders.append(self._folder.path)
        return simulation.time_us

    def close(self) -> None:
        """End the flight, and write its run folder; further calls do nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._end()
            self._discard()

    def _discard(self) -> None:
        if self._record is None:
            self._simulation.given_commands.leave()
            self._held.close()

    def __enter__(self) -> "Vehicle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
