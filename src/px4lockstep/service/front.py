"""Serve a vehicle from Python, for tests of applications.

    with px4lockstep.serve("x500", speed=5.0) as vehicle:
        ...  # connect to vehicle.address with MAVSDK or pymavlink
        vehicle.set_wind((5.0, 0.0, 0.0))
    vehicle.outcome, vehicle.log["pos_ned"]

The vehicle runs in a process of its own, so that it flies on while the application waits for it.
"""

import math
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from px4lockstep.errors import InputError, SimulationError, StateError
from px4lockstep.flights.saved import SavedRun, read_run
from px4lockstep.io import temporary_folder
from px4lockstep.log.log import Log
from px4lockstep.processes import Interpreter
from px4lockstep.scenario.commands import (
    CommandResult,
    CommandRow,
    FlightCommand,
    InjectFailure,
    Reset,
    SetWind,
    row_of_data,
)
from px4lockstep.service.child import JsonLines
from px4lockstep.timebase import seconds_to_us

START_S = 600.0
"""Longest wait for the vehicle: the first start compiles the simulation."""
ANSWER_S = 60.0
END_S = 60.0
POLL_S = 0.05
UNITS = {"gps": 4, "battery": 100, "motor": 101}
FAILURES = {"ok": 0, "off": 1, "stuck": 2, "wrong": 4}
"""MAVLink's FAILURE_UNIT and FAILURE_TYPE, as far as they are supported."""


@dataclass(frozen=True)
class ServeOptions:
    """How a vehicle is served."""

    spec: str
    overrides: dict[str, Any]
    seed: int | None
    speed: float | None
    instance: int
    host: str
    record: str  # empty: a folder that is removed at the end
    trust: bool
    paused: bool
    keeps: bool  # whether the run folders stay


class ServedVehicle:
    """A vehicle that is served while its `with` block runs; afterwards it has the log and the verdict of its flight."""

    def __init__(self, options: ServeOptions) -> None:
        self._options = options
        self._is_paused = options.paused
        self._lines: JsonLines | None = None
        self._process: Interpreter | None = None
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._folders: list[str] | None = None
        self._error = ""
        self._ports: dict[str, int] = {}
        self._stack = ExitStack()
        self._run: SavedRun | None = None

    # -- start and end ---------------------------------------------------------------------------------------------

    def __enter__(self) -> "ServedVehicle":
        """Start the vehicle, and wait until clients can connect."""
        if self._process is not None:
            raise StateError("a vehicle can be served only once; call serve again")
        with ExitStack() as stack:
            if not self._options.keeps:
                self._options = replace(self._options, record=str(stack.enter_context(temporary_folder())))
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            with theirs:
                arguments, number = [str(theirs.fileno())], theirs.fileno()
                self._process = Interpreter.start("px4lockstep.service.child", arguments, pass_fds=(number,))
            stack.callback(self._process.end, END_S, END_S)
            self._lines = JsonLines(ours)
            self._lines.write(vars(self._options))
            first = self._next(START_S)
            if "error" in first:
                kind = InputError if first["kind"] != "SimulationError" else SimulationError
                raise kind(first["error"])
            self._ports = first["ports"]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, raised: object, *_: object) -> None:
        """End the flight, wait for its files, and read its results.

        Raises:
            SimulationError: If the flight had an error, or its process ended before it; unless the block raised one.
        """
        assert self._lines is not None
        assert self._process is not None
        try:
            self._lines.shut()
            while self._folders is None and not self._lines.is_closed:  # the process ends, or its end closes the socket
                self._receive(POLL_S)
            if self._folders:
                self._run = read_run(self._folders[-1])
                if not self._options.keeps:  # they are read on first use
                    _ = self._run.log, self._run.summary, self._run.recording
            elif self._folders is None:
                self._process.wait(END_S)
                self._error = self._end_of_process()
        finally:
            self._stack.close()
            self._lines = None
        if self._error and raised is None:
            raise SimulationError(self._error)

    # -- network ---------------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """The address for MAVSDK: `udpin://0.0.0.0:14540`."""
        return f"udpin://0.0.0.0:{self._ports['application']}"

    @property
    def port(self) -> int:
        """The UDP port on which applications listen, 14540 for the first vehicle."""
        return self._ports["application"]

    @property
    def ground_station_port(self) -> int:
        """The UDP port on which ground stations listen."""
        return self._ports["ground_station"]

    # -- requests --------------------------------------------------------------------------------------------------

    def _next(self, wait_s: float) -> dict[str, Any]:
        """Return the next line that is no answer."""
        end_s = time.perf_counter() + wait_s
        while True:
            found = self._receive(POLL_S)
            if found is not None:
                return found
            self._check_alive(end_s, "to start")

    def _receive(self, wait_s: float) -> dict[str, Any] | None:
        assert self._lines is not None
        found = None
        for line in self._lines.read(wait_s):
            if "id" in line:
                self._answers[line["id"]] = line
            elif "folders" in line:
                self._folders = line["folders"]
            elif "error" in line and self._ports:
                self._error = line["error"]
            else:
                found = line
        return found

    def _check_alive(self, end_s: float, what: str) -> None:
        assert self._process is not None
        assert self._lines is not None
        if self._lines.is_closed or self._process.process.poll() is not None:
            raise SimulationError(self._end_of_process())
        if time.perf_counter() > end_s:
            raise SimulationError(f"the served vehicle took too long {what}")

    def _end_of_process(self) -> str:
        """Return what to tell about a vehicle that has ended by itself."""
        assert self._process is not None
        code = self._process.process.poll()
        said = self._error or self._process.said() or f"exit code {code}"
        where = f"; what was logged is in {self._options.record}" if self._options.keeps else ""
        return f"the served vehicle has ended: {said}{where}"

    def _ask(self, do: str, wait_s: float = ANSWER_S, **values: Any) -> dict[str, Any]:
        """Send a request, and return its answer."""
        if self._lines is None:
            raise StateError("the vehicle is not served; use it inside its `with` block")
        self._number += 1
        self._lines.write({"id": self._number, "do": do, **values})
        end_s = time.perf_counter() + wait_s
        while self._number not in self._answers:
            self._receive(POLL_S)
            if self._number not in self._answers:
                self._check_alive(end_s, "to answer")
        answer = self._answers.pop(self._number)
        if "error" in answer:
            raise InputError(answer["error"])
        return answer

    @property
    def status(self) -> Any:
        """The vehicle at this time: `armed`, `nav_state`, `pos_ned` and so on, as attributes."""
        found = self._ask("status")["status"]
        mission = SimpleNamespace(**found.pop("mission"))
        lists = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
        return SimpleNamespace(**lists, mission=mission)

    @property
    def time_s(self) -> float:
        """Simulated time since the start of the service."""
        return float(self.status.time_us) / 1e6

    @property
    def texts(self) -> list[str]:
        """All messages of the vehicle up to now."""
        return [text["text"] for text in self._ask("texts")["texts"]]

    def wait_until_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until the vehicle can be armed.

        Raises:
            SimulationError: If it can't within this wall-clock time.
        """
        end_s = time.perf_counter() + timeout_s
        while (why := self.status.why_not_armable) or not self.status.has_position:
            if time.perf_counter() > end_s:
                raise SimulationError(f"the vehicle is not ready after {timeout_s:g} s: {why}")
            self._receive(POLL_S)

    # -- commands --------------------------------------------------------------------------------------------------

    def submit(self, command: FlightCommand | str, **values: Any) -> CommandResult:
        """Give a command, which takes effect at the next autopilot tick, and return its result.

        Args:
            command: The name of a command, as in `commands.jsonl`: `submit("Takeoff", alt_amsl_m=500.0)`.
            **values: Its values; those that are left out have their defaults.

        Returns:
            The result: `is_accepted`, `code` (MAVLink's MAV_RESULT) and `text`, PX4's reason for a refusal.

        Raises:
            InputError: If there is no such command, or a value is wrong.
            StateError: If the vehicle is paused: then no tick follows.
        """
        if self._is_paused:
            raise StateError("the vehicle is paused, so that commands can't take effect; call resume first")
        if isinstance(command, str):
            row = row_of_data({"time_us": 0, "command": command, "values": values}, "submit")
        else:
            row = CommandRow(0, command)
        answer = self._ask("submit", row=row.data)
        return CommandResult(answer["code"], answer["text"])

    def inject(self, unit: str, failure: str, instance: int = 0) -> None:
        """Inject a failure.

        Args:
            unit: `motor`, `battery` or `gps`.
            failure: `off`, `stuck` (motor, gps), `wrong` (a motor loses half of its thrust), or `ok` to end it.
            instance: The motor, counted from 1; 0 means all.

        Raises:
            InputError: If the failure is unknown, or not supported.
        """
        for name, known in ((unit, UNITS), (failure, FAILURES)):
            if name not in known:
                raise InputError(f"failure {name!r} is unknown; allowed: {', '.join(known)}")
        self._give(InjectFailure(UNITS[unit], FAILURES[failure], instance))

    def set_wind(self, vel_ned: Sequence[float]) -> None:
        """Set a wind [m/s] that is added to the wind model's; the velocity of the air over ground.

        Raises:
            InputError: If it is not three numbers in range.
        """
        values = tuple(float(value) for value in vel_ned)
        if len(values) != 3:
            raise InputError(f"vel_ned = {vel_ned!r:.60} must be three numbers")
        self._give(SetWind((values[0], values[1], values[2])))

    def reset(self) -> None:
        """End the flight and begin a new one, from the start; clients stay connected."""
        self._give(Reset())

    def _give(self, command: FlightCommand) -> None:
        result = self.submit(command)
        if not result.is_accepted:
            raise InputError(result.text)

    # -- time ------------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop time; clients stay connected."""
        self._is_paused = True
        self._ask("pause", is_paused=True)

    def resume(self) -> None:
        """Let time go on."""
        self._is_paused = False
        self._ask("pause", is_paused=False)

    def step(self, seconds: float) -> float:
        """Fly this simulated time as fast as possible, then pause; return the time since the start of the service."""
        time_us = seconds_to_us(seconds, "seconds")
        self._is_paused = True
        return float(self._ask("step", max(ANSWER_S, seconds), us=time_us)["time_us"]) / 1e6

    def set_speed(self, speed: float) -> None:
        """Set simulated time per wall-clock time, and the timeouts for it; `math.inf`: see `serve`."""
        self._ask("speed", speed=_checked_speed(speed))

    # -- results ---------------------------------------------------------------------------------------------------

    @property
    def run(self) -> SavedRun:
        """The last flight, after the `with` block."""
        if self._run is None:
            raise StateError("the flight has no results yet; leave the `with` block first")
        return self._run

    @property
    def log(self) -> Log:
        """The log of the last flight."""
        return self.run.log

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of the last flight, as in `summary.json`."""
        return self.run.summary

    @property
    def outcome(self) -> str:
        """The verdict on the last flight, such as `flown` or `crashed`."""
        return str(self.summary["outcome"])

    @property
    def folders(self) -> list[Path]:
        """The run folders of all flights, if they are kept."""
        return [Path(folder) for folder in self._folders or ()] if self._options.keeps else []


def _checked_speed(speed: float) -> float | None:
    if not speed > 0.0:
        raise InputError(f"speed = {speed} must be above 0; math.inf for as fast as possible")
    return None if math.isinf(speed) else float(speed)


def serve(
    spec: str | Path,
    /,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    speed: float = 1.0,
    instance: int = 0,
    record: str | Path | None = None,
    host: str = "127.0.0.1",
    paused: bool = False,
    trust: bool = False,
) -> ServedVehicle:
    """Serve a vehicle over MAVLink while a `with` block runs.

        with px4lockstep.serve("x500", speed=5.0) as vehicle:
            ...  # connect to vehicle.address
        vehicle.outcome, vehicle.log["pos_ned"]

    Args:
        spec: Built-in aircraft (`x500`), or path of a spec file.
        overrides: Values by dotted key that replace the file's.
        seed: Random seed, short for the override of `aircraft.seed`.
        speed: Simulated time per wall-clock time. `math.inf` is as fast as possible while a client is connected, and
            real time otherwise; `step` is always as fast as possible.
        instance: Number of the vehicle, from 0. It is added to PX4's UDP ports; the system ID is one more.
        record: Folder in which each flight gets a run folder. By default, nothing is kept on disk.
        host: Address of the network interface; by default, only this machine can connect.
        paused: Whether time stands still until `step` or `resume`.
        trust: Whether to run code that the file names, wherever the file is.

    Returns:
        The vehicle, for a `with` statement, which raises `InputError` if the spec is invalid or a port is taken.

    Raises:
        InputError: If the speed is not above 0.
    """
    changes, folder, keeps = dict(overrides or {}), str(record or ""), record is not None
    pace = _checked_speed(speed)
    return ServedVehicle(
        ServeOptions(os.fspath(spec), changes, seed, pace, instance, host, folder, trust, paused, keeps)
    )
