"""Commands from outside: given before the tick at which they take effect, and stored with its time.

The loop stays compiled between two commands: a run stops before the tick, the command changes the records, and the run
goes on. A command that arrives while the flight is flown takes effect at the next tick; those of an earlier flight, at
the ticks of their rows.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import Session
from px4lockstep.engine.given_commands import GivenCommands
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.plant.layout import HORIZONTAL_DROPOUT
from px4lockstep.scenario import commands
from px4lockstep.scenario.actions import EVENT, apply_action
from px4lockstep.scenario.commands import DENIED, UNSUPPORTED, CommandResult, CommandRow, FlightCommand
from px4lockstep.scenario.events import Event

OnResult = Callable[[CommandResult], object]
"""Called with the result of a command when it takes effect."""

MOTOR, BATTERY, GPS = 101, 100, 4
"""MAVLink's FAILURE_UNIT."""
OK, OFF, STUCK, WRONG = 0, 1, 2, 4
"""MAVLink's FAILURE_TYPE."""
LOST_THRUST = 0.5
"""Fraction of its thrust that a motor loses with the failure `WRONG`."""
FAILURES: dict[tuple[int, int], tuple[dict[str, Any], ...]] = {
    (MOTOR, OFF): ({"action": "disable_motor"},),
    (MOTOR, STUCK): ({"action": "stuck_motor"},),
    (MOTOR, WRONG): ({"action": "thrust_loss", "fraction": LOST_THRUST},),
    (MOTOR, OK): ({"action": "restore_motor"},),
    (BATTERY, OFF): ({"action": "disconnect_battery"},),
    (BATTERY, OK): ({"action": "reconnect_battery"},),
    (GPS, OFF): ({"action": "estimate_dropout"},),
    (GPS, STUCK): ({"action": "sensor_fault", "sensor": "estimate"},),
    (GPS, OK): ({"action": "clear_estimate_faults"}, {"action": "clear_sensor_fault", "sensor": "estimate"}),
}
"""The actions of a scenario for each failure of MAV_CMD_INJECT_FAILURE that is supported."""


class CommandStage:
    """The commands of a run: those still to be given, and those that were given.

    Args:
        core: The records of the simulation.
        rows: Commands of an earlier flight, in the order of their times.
        is_replayed: Whether the run is a replay, to which they are known but not given.
    """

    def __init__(self, core: npt.NDArray[Any], rows: Collection[CommandRow], *, is_replayed: bool = False) -> None:
        self._core = core
        self._outputs = core["bus"]["scenario"].view(np.uint8).data
        self._rows = () if is_replayed else tuple(rows)
        self._next = 0
        self._queue: deque[tuple[FlightCommand, float, OnResult | None]] = deque()
        self.given = GivenCommands(rows if is_replayed else ())
        """The commands that took effect or were refused."""

    def submit(self, command: FlightCommand, on_result: OnResult | None, arrival_s: float) -> None:
        """Queue a command for the next tick."""
        self._queue.append((command, arrival_s, on_result))

    @property
    def is_waiting(self) -> bool:
        """Whether a command waits for the next tick."""
        return bool(self._queue)

    @property
    def next_us(self) -> int | None:
        """The time of the next row; None if there is none."""
        return self._rows[self._next].time_us if self._next < len(self._rows) else None

    def give(self, session: Session, time_us: int) -> None:
        """Give the commands that are due at a tick, in their order."""
        next_us = self.next_us
        if next_us is not None and next_us < time_us:
            raise InputError(f"a command is due at {next_us} us, which is not a tick of the autopilot")
        while self.next_us == time_us:
            row = self._rows[self._next]
            self._next += 1
            self._give(row.command, session, time_us, row.arrival_s)
        while self._queue:
            command, arrival_s, on_result = self._queue.popleft()
            result = self._give(command, session, time_us, arrival_s)
            if on_result is not None:
                on_result(result)

    def _give(self, command: FlightCommand, session: Session, time_us: int, arrival_s: float) -> CommandResult:
        failsafe = session.failsafe_in_charge(self._core)
        result = self._apply(command, session, time_us)
        if failsafe:
            result = replace(result, failsafe=failsafe)
        self.given.extend([CommandRow(time_us, command, result, arrival_s)])
        return result

    def rewind(self, session: Session, time_us: int) -> None:
        """Continue from a checkpoint: the commands before that time were given, and have changed the configuration."""
        past = [row for row in self._rows or self.given if row.time_us < time_us]
        self._next = len(past) if self._rows else 0
        self.given.replace(past)
        session.restore_configuration([row.command for row in past if row.result.is_accepted])

    def _apply(self, command: FlightCommand, session: Session, time_us: int) -> CommandResult:
        before = self._outputs.tobytes()
        if isinstance(command, commands.InjectFailure):
            result = self._inject(command)
        elif isinstance(command, commands.SetWind):
            result = self._act({"action": "wind_step", "vel_ned": command.vel_ned})
        else:
            result = session.obey(command, time_us, self._core)
        if self._outputs.tobytes() != before:
            self._core["scenario"]["has_changed"] = 1  # a row of the scenario's stream; setpoints need none
        return result

    def _inject(self, command: commands.InjectFailure) -> CommandResult:
        actions = FAILURES.get((command.unit, command.failure))
        if actions is None:
            text = f"Failure injection is not supported: unit {command.unit}, type {command.failure}"
            return CommandResult(UNSUPPORTED, text)
        n_motors = int(self._core["plant"]["traits"]["n_motors"][0])
        motors: Sequence[int | None] = [None]
        if command.unit == MOTOR:
            if not 0 <= command.instance <= n_motors:
                return CommandResult(
                    DENIED, f"There is no motor {command.instance}; allowed: 1 to {n_motors}, or 0 for all"
                )
            motors = [command.instance] if command.instance else range(1, n_motors + 1)
        for motor in motors:
            own: dict[str, Any] = {} if motor is None else {"motor": motor}
            if motor is not None and command.failure == STUCK:
                own["duty"] = float(self._core["bus"]["outputs"]["rotor_duty"][0, motor - 1])
            for action in actions:
                result = self._act(action | own)
                if not result.is_accepted:
                    return result
        if (command.unit, command.failure) == (GPS, OFF):  # the height continues, as from a barometer
            self._core["bus"]["scenario"]["estimate_faults"]["dropout"] = HORIZONTAL_DROPOUT
        return CommandResult()

    def _act(self, arguments: dict[str, Any]) -> CommandResult:
        """Apply an action of a scenario."""
        try:
            event = Event(at_s=0.0, **arguments)
        except InputError as error:
            return CommandResult(DENIED, str(error))
        record = np.zeros(1, EVENT)
        event.write(record[0])
        core = view(self._core, writable=True)
        interpreted(apply_action)(
            view(record, writable=True), core.state, core.inputs, core.plant, core.scenario.setpoints, core.bus.scenario
        )
        return CommandResult()
