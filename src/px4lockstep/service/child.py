"""The process behind `px4lockstep.serve`: serves a vehicle, and obeys the process that started it.

Requests and answers are lines of JSON on a socket whose number is the argument. The first line has the options, the
first answer says that the vehicle is ready. Each request has an `id`, which its answer repeats. The process ends when
the socket closes; then it writes the run folder, and its last line names it.
"""

import json
import math
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from px4lockstep.errors import LockstepError
from px4lockstep.flights.run import loaded
from px4lockstep.io import to_json
from px4lockstep.scenario.commands import CommandResult, SetParam, row_of_data
from px4lockstep.service.endpoint import Endpoint, ports_of
from px4lockstep.service.loop import ServiceLoop
from px4lockstep.service.speed import speed_overrides, timeouts_at
from px4lockstep.service.vehicle import Vehicle

FIRST_S = 60.0
PAUSE_S = 0.01
"""Wall-clock time between two looks at the requests while the vehicle is paused."""
SHOWN: tuple[str, ...] = (
    "time_us",
    "armed",
    "nav_state",
    "failsafe",
    "landed_state",
    "why_not_armable",
    "has_position",
    "is_crashed",
)
SHOWN += ("has_position", "is_crashed", "pos_ned", "vel_ned", "q_bn", "omega_body", "home_ned", "wind_ned", "motors")
"""What the answer to `status` has of the vehicle's status."""


class JsonLines:
    """Lines of JSON on a socket, read without blocking."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._text = b""
        self.is_closed = False
        """Whether no more lines come."""
        self.is_gone = False
        """Whether nobody takes what is written."""

    def write(self, data: dict[str, Any]) -> None:
        """Write a line, unless the other end has gone."""
        try:
            self._connection.sendall(to_json(data).encode() + b"\n")
        except OSError:
            self.is_closed = self.is_gone = True

    def shut(self) -> None:
        """Tell the other end that no more lines follow."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def read(self, wait_s: float = 0.0) -> list[dict[str, Any]]:
        """Return the lines that have arrived, waiting for the first."""
        if not select.select([self._connection], [], [], wait_s)[0]:
            return []
        try:
            received = self._connection.recv(1 << 20)
        except OSError:
            received = b""
        self.is_closed = self.is_closed or not received
        *lines, self._text = (self._text + received).split(b"\n")
        return [json.loads(line) for line in lines]


class Service:
    """A vehicle with its links, paced by the wall clock, which obeys requests."""

    def __init__(self, lines: JsonLines, options: dict[str, Any]) -> None:
        self._lines = lines
        self._is_paused = bool(options["paused"])
        self._until_us: int | None = None
        self._when_there: Callable[[], None] | None = None
        speed = math.inf if options["speed"] is None else float(options["speed"])
        spec = loaded(options["spec"], options["overrides"], options["seed"], trust=options["trust"])
        self._spec = spec
        self.vehicle = Vehicle(
            spec, overrides=speed_overrides(spec, speed), record=options["record"], plots=options["keeps"]
        )
        instance = int(options["instance"])
        self.endpoint = Endpoint(self.vehicle, instance, options["host"])
        self._loop = ServiceLoop([self.endpoint], speed)
        station, application = ports_of(instance)
        lines.write({"ready": True, "ports": {"ground_station": station.partner, "application": application.partner}})

    def run(self) -> None:
        """Serve until the socket closes."""
        try:
            while not self._lines.is_closed:
                if self._is_paused and self._until_us is None:
                    self._loop.serve(PAUSE_S)
                else:
                    self._fly()
                for request in self._lines.read():
                    self._take(request)
        finally:
            self.endpoint.close()
            self.vehicle.close()

    def _fly(self) -> None:
        self._loop.step(self._until_us)
        if self._until_us is not None and self.vehicle.time_us >= self._until_us:
            self._until_us = None
            if self._when_there is not None:
                self._when_there()

    def _take(self, request: dict[str, Any]) -> None:
        number, what = request["id"], request["do"]

        def answer(**data: Any) -> None:
            self._lines.write({"id": number, **data})

        def tell(result: CommandResult) -> None:
            answer(code=result.code, text=result.text)

        if what == "submit":
            try:
                command = row_of_data(request["row"], "the command").command
            except LockstepError as error:
                answer(error=str(error))
                return
            self.vehicle.submit(command, tell)
        elif what == "status":
            status = self.vehicle.status
            answer(status={name: getattr(status, name) for name in SHOWN} | {"mission": vars(status.mission)})
        elif what == "step":
            self._is_paused = True
            self._until_us = self.vehicle.time_us + int(request["us"])
            self._when_there = lambda: answer(time_us=self.vehicle.time_us)
        elif what == "pause":
            self._is_paused = bool(request["is_paused"])
            answer(time_us=self.vehicle.time_us)
        elif what == "speed":
            self._loop.speed = math.inf if request["speed"] is None else float(request["speed"])
            for name, value in timeouts_at(self._spec, self._loop.speed).items():
                self.vehicle.submit(SetParam(name, value))
            answer()
        elif what == "texts":
            answer(texts=[vars(text) for text in self.vehicle.all_texts])
        else:
            answer(error=f"{what} is unknown")


def main() -> None:
    """Serve a vehicle to the process at the other end of a socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the parent, which then closes the socket
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        lines = JsonLines(connection)
        first = lines.read(FIRST_S)
        if not first:
            return
        try:
            service = Service(lines, first[0])
        except (LockstepError, OSError) as error:
            lines.write({"error": str(error), "kind": type(error).__name__})
            return
        try:
            service.run()
        except LockstepError as error:
            lines.write({"error": str(error)})
        lines.write({"folders": [str(folder) for folder in service.vehicle.folders]})
        if lines.is_gone and not first[0]["keeps"]:  # nobody is left to read and remove them
            shutil.rmtree(first[0]["record"], ignore_errors=True)


if __name__ == "__main__":
    main()
