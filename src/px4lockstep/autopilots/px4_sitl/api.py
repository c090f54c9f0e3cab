"""Client of PX4's MAVLink API: parameters, uploads of mission, fence and rally points, queued commands, PX4's status.

Times are simulated, because PX4's clock stands still between steps; but PX4's threads for MAVLink are not in lockstep,
so that silence counts only if it also lasts in wall-clock time: on a busy machine, 15 s of simulation pass within a
second. An order is complete when PX4 has accepted it,
in an answer addressed to this client, and its status confirms it: a ground station may send commands at the same time,
and PX4 may broadcast the answers. An order that is unanswered, temporarily rejected or unconfirmed is sent again until
it times out. A timeout is an error, or only a warning if PX4 had accepted the order, or if it has disarmed itself
meanwhile, because it then accepts modes that it can't fly.

The client sends heartbeats as a ground station, because PX4 sends status texts only to those.

Reference: https://mavlink.io/en/services/mission.html, https://mavlink.io/en/services/command.html, and for batteries
https://mavlink.io/en/messages/common.html#BATTERY_STATUS
"""

import math
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from px4lockstep.autopilots.mavlink.dialect import Dialect, crc_extras
from px4lockstep.autopilots.mavlink.links import AUTOPILOT_COMPONENT, ApiLink
from px4lockstep.autopilots.mavlink.stream import Frame
from px4lockstep.autopilots.px4_sitl.parameters import Parameters
from px4lockstep.autopilots.px4_sitl.status import Status, mode_of
from px4lockstep.autopilots.px4_sitl.uploads import rejection, uploads_of
from px4lockstep.errors import SimulationError, counted
from px4lockstep.px4.fence import Fence, RallyPoint
from px4lockstep.px4.mission_items import MissionItem

SYSTEM, COMPONENT = 245, 190
"""Not the usual IDs of a ground station, so that one can be connected at the same time."""
BATTERY_COMPONENT = 180

DECODED = (0, 40, 42, 46, 47, 51, 77, 4)
HEARTBEAT, MISSION_REQUEST, MISSION_CURRENT, MISSION_REACHED, MISSION_ACK, MISSION_REQUEST_INT = DECODED[:6]
COMMAND_ACK, PING = DECODED[6:]
PARAM_VALUE, STATUSTEXT, CURRENT_MODE = 22, 253, 436
"""Messages whose payload is read here."""
CURRENT_MODE_CRC = 193
"""CRC_EXTRA; pymavlink has the message in its dialect `development` only."""

ARM_DISARM, SET_MODE, SET_MESSAGE_INTERVAL = 400, 176, 511
FORCE = 21196.0
"""Forces disarming even in flight, as a scenario's request does."""
ACCEPTED, IN_PROGRESS = 0, 5
RESULTS = {
    0: "accepted, but its status doesn't confirm it: one of its failsafes or another ground station overrode it",
    1: "temporarily rejected",
    2: "denied",
    3: "unsupported",
    4: "failed",
    6: "cancelled",
}
GROUND_STATION, NO_AUTOPILOT, ACTIVE = 6, 8, 4
"""MAV_TYPE, MAV_AUTOPILOT and MAV_STATE of the client's heartbeat."""

AGAIN_US = 500_000
BEAT_US = 1_000_000
SHOWN_US = 2_500_000
"""Time for PX4's status to confirm an accepted order: a heartbeat comes every second, and the first may be outdated."""
PATIENCE_US = 15_000_000
"""Timeout of an order or upload. A healthy PX4 can be armed at the latest 3.7 s after its first sensor message."""
PATIENCE_S = 10.0
"""Wall-clock time that must have passed, too, before PX4 is said not to answer; MAVSDK waits for 3 s."""
RESTART_US = 6_000_000
"""Silence after which an upload starts again; PX4 gives up a transfer after 5 s."""
MAX_UPLOAD_ERRORS = 8
"""Times that an upload starts again after MAV_MISSION_ERROR, PX4's answer while it is busy with another transfer."""
MISSION_ERROR = 1
STREAMS = (STATUSTEXT, CURRENT_MODE)
STREAM_US = 1_000.0
"""Interval requested for these messages. On this link, of 4 kB/s, PX4 sends them at a twentieth of that rate, and
CURRENT_MODE only when the status changes."""
STREAM_REQUESTS = 2
"""Number of requests: the first may be lost."""

CELLS, FULL_MV, NO_CELL = 10, 65_534, 65_535
"""Cells in BATTERY_STATUS: their number, the largest voltage of one, and the value of an absent one."""
MAX_V = CELLS * FULL_MV / 1000.0
MAX_CA = 32_767
"""Largest current in BATTERY_STATUS [cA]."""
MAX_A = MAX_CA / 100.0


@dataclass(frozen=True)
class Order:
    """A command, and its name in errors."""

    name: str
    command: int
    params: tuple[float, float, float]

    def is_shown(self, status: Status) -> bool:
        """Return whether PX4's status confirms that it has carried it out."""
        if self.command == ARM_DISARM:
            return status.is_armed == (self.params[0] == 1.0)
        return status.mode == mode_of(int(self.params[1]) << 16 | int(self.params[2]) << 24)


ARM = Order("arm", ARM_DISARM, (1.0, 0.0, 0.0))
DISARM = Order("disarm", ARM_DISARM, (0.0, FORCE, 0.0))
FLY_MISSION = Order("fly the mission", SET_MODE, (1.0, 4.0, 4.0))
RETURN = Order("return", SET_MODE, (1.0, 4.0, 5.0))
LAND = Order("land", SET_MODE, (1.0, 4.0, 6.0))
OFFBOARD = Order("fly setpoints in offboard mode", SET_MODE, (1.0, 6.0, 0.0))


class Api:
    """The client: sends parameters, the mission and orders to PX4, and tracks its status."""

    def __init__(
        self,
        link: ApiLink,
        items: Sequence[MissionItem],
        parameters: Parameters | None = None,
        fence: Fence | None = None,
        rally_points: Sequence[RallyPoint] = (),
    ) -> None:
        self._link = link
        self._uploads = deque(uploads_of(items, fence or Fence(), rally_points))
        self._parameters = parameters or Parameters({}, ())
        self._dialect = Dialect(SYSTEM, COMPONENT)
        self._system = 1
        self._orders: deque[Order] = deque()
        self._since_us = 0
        self._since_s = self._begun_s = self._upload_since_s = time.monotonic()
        self._sent_us: int | None = None
        self._tries = 0
        self._result = ""
        self._is_accepted = False
        self._was_armed = False
        self._begun_us: int | None = None
        self._upload_since_us: int | None = None
        self._item_sent: int | None = None
        self._item_us = self._upload_errors = 0
        self._beat_us = self._beats = 0
        self.status = Status(items)
        self.warnings: list[str] = []
        """Orders that PX4 did not carry out."""
        self.pongs = 0
        """Number of answers to `ping`."""

    @property
    def is_ready(self) -> bool:
        """Whether PX4 has the parameters, the mission, the fence and the rally points."""
        return self._parameters.is_done and not self._uploads

    # -- orders --------------------------------------------------------------------------------------------------

    def order(self, order: Order) -> None:
        """Queue an order."""
        self._orders.append(order)

    @property
    def is_waiting(self) -> bool:
        """Whether an order is still pending."""
        return bool(self._orders)

    def step(self, time_us: int, is_armed: bool | None = None, is_landed: bool = True) -> None:
        """Process messages from PX4, and send what is due.

        `is_armed` is PX4's arming state in its last answer to a step, by default that in its last heartbeat.
        """
        if self._begun_us is None:
            self._begun_us, self._begun_s = time_us, time.monotonic()
        if is_armed is not None:  # older than the messages: a mode that PX4 changes by disarming comes after it
            self.status.set_vehicle(is_armed, is_landed)
        self.receive(time_us)
        if is_armed is None:
            self.status.set_vehicle(self.status.is_shown_armed, is_landed)
        self._beat(time_us)
        if not self._parameters.is_done:
            self._go_on_with_parameters(time_us)
        elif self._upload_since_us is not None and self._uploads:
            self._go_on_with_upload(time_us)
        elif self._orders:
            self._go_on_with_order(time_us)

    def receive(self, time_us: int) -> None:
        """Process messages from PX4."""
        for frame in self._link.receive():
            self._system = frame.system
            self._receive(frame, time_us)

    def ping(self) -> None:
        """Ask for an answer that PX4 sends at once, even while its clock stands still."""
        self._link.send(self._dialect.encode("ping", 0, self.pongs, 0, 0))

    def skip_parameters(self, names: Iterable[str]) -> None:
        """Skip parameters that PX4 is known to lack."""
        self._parameters.skip(names)

    @property
    def missing_parameters(self) -> frozenset[str]:
        """Parameters that PX4 was found to lack."""
        return self._parameters.missing

    def upload(self, time_us: int) -> None:
        """Start the uploads, which wait for the parameters: PX4 checks the mission against them."""
        if self._upload_since_us is None and self._parameters.is_done:
            self._begin_upload(time_us)

    def send_battery(self, number: int, voltage_v: float, current_a: float, remaining: float) -> None:
        """Send the state of a battery to PX4, as a component of the vehicle; skip it if it is not measured."""
        if not all(map(math.isfinite, (voltage_v, current_a, remaining))):
            return
        speaker = Dialect(self._system, BATTERY_COMPONENT)
        lipo, no_temperature = 1, 32_767
        current, percent = _whole(100.0 * current_a, -1, MAX_CA), _whole(100.0 * remaining, 0, 100)
        fields = (number, 0, lipo, no_temperature, cells_of(voltage_v), current, -1, -1, percent)
        self._link.send(speaker.encode("battery_status", *fields))

    def send_setpoint(self, name: str, time_ms: int, *fields: Any) -> None:
        """Send a setpoint: the name of its message, PX4's time, and the fields after the target."""
        self._link.send(self._dialect.encode(name, time_ms, *self._target, *fields))

    # -- internals -----------------------------------------------------------------------------------------------

    @property
    def _target(self) -> tuple[int, int]:
        return self._system, AUTOPILOT_COMPONENT

    def _receive(self, frame: Frame, time_us: int) -> None:
        number, status = frame.message, self.status
        if number == PARAM_VALUE:
            change = self._parameters.receive(frame.payload, self._dialect, self._target)
            if change is not None:
                self._link.send(change)
        elif number == STATUSTEXT:
            status.status_text(frame.payload, time_us)
        elif number == CURRENT_MODE:
            status.current_mode(frame.payload, time_us)
        elif (message := self._dialect.decode(frame.raw)) is not None:
            self._take(number, message, time_us)

    def _take(self, number: int, message: Any, time_us: int) -> None:
        if number == HEARTBEAT:
            self.status.heartbeat(message, time_us)
        elif number == MISSION_CURRENT:
            self.status.mission_current(message)
        elif number == MISSION_REACHED:
            self.status.item_reached(message)
        elif message.target_system not in (0, SYSTEM) or message.target_component not in (0, COMPONENT):
            return
        elif number == PING:
            self.pongs += message.target_system == SYSTEM
        elif number in (MISSION_REQUEST, MISSION_REQUEST_INT):
            self._send_item(message.mission_type, message.seq, time_us)
        elif number == MISSION_ACK:
            self._end_upload(message.mission_type, message.type, time_us)
        elif number == COMMAND_ACK and self._orders and message.command == self._orders[0].command:
            self._answered(message.result, time_us)

    def _beat(self, time_us: int) -> None:
        """Send a heartbeat once per second, and with the first ones request the rates of streams."""
        if not self._link.is_known or time_us < self._beat_us:
            return
        self._beat_us = time_us + BEAT_US
        self._beats += 1
        self._link.send(self._dialect.encode("heartbeat", GROUND_STATION, NO_AUTOPILOT, 0, 0, ACTIVE))
        if self._beats <= STREAM_REQUESTS:
            for number in STREAMS:
                self._command(SET_MESSAGE_INTERVAL, 0, float(number), STREAM_US, 0.0)

    def _answered(self, result: int, time_us: int) -> None:
        if self._sent_us is None or self._is_accepted or result == IN_PROGRESS:
            return
        self._sent_us = time_us
        self._is_accepted = result == ACCEPTED
        self._result = RESULTS.get(result, f"result {result}")

    def _complete_order(self) -> None:
        """Remove the current order from the queue."""
        self._orders.popleft()
        self._sent_us, self._tries, self._result, self._is_accepted = None, 0, "", False

    def _go_on_with_order(self, time_us: int) -> None:
        order = self._orders[0]
        if self._is_accepted and order.is_shown(self.status) and not self._has_given_up(order):
            if order is FLY_MISSION:
                self.status.begin_mission()
            self._complete_order()
            if not self._orders:
                return
            order = self._orders[0]
        if self._sent_us is None:
            self._since_us, self._was_armed = time_us, self.status.is_armed
            self._since_s = time.monotonic()
        elif self._has_given_up(order):
            asked = self._refused(f"PX4 was commanded to {order.name}", time_us - self._since_us)
            self.warnings.append(f"{asked}. It has disarmed itself")
            self._complete_order()
            return
        elif time_us - self._sent_us < (SHOWN_US if self._is_accepted else AGAIN_US):
            return
        if time_us - self._since_us > PATIENCE_US and (self._result or _has_passed(self._since_s)):
            said = self._refused(f"PX4 was commanded to {order.name}", PATIENCE_US)
            if self._result != RESULTS[ACCEPTED]:
                raise SimulationError(said)
            self.warnings.append(said)
            self._complete_order()
            return
        self._command(order.command, min(self._tries, 255), *order.params)
        self._sent_us, self._is_accepted = time_us, False
        self._tries += 1

    def _has_given_up(self, order: Order) -> bool:
        """Return whether PX4 has disarmed itself before it carried out a change of mode."""
        return order.command == SET_MODE and self._was_armed and not self.status.is_armed

    def _command(self, command: int, confirmation: int, *params: float) -> None:
        fields = (*self._target, command, confirmation, *params)
        self._link.send(self._dialect.encode("command_long", *fields, 0.0, 0.0, 0.0, 0.0))

    def _go_on_with_parameters(self, time_us: int) -> None:
        assert self._begun_us is not None
        if time_us - self._begun_us > PATIENCE_US and _has_passed(self._begun_s):
            raise SimulationError(self._refused("PX4 was asked for its parameters", PATIENCE_US))
        if self._link.is_known:
            for request in self._parameters.requests(self._dialect, self._target, time_us):
                self._link.send(request)

    def _begin_upload(self, time_us: int) -> None:
        """Begin with the next list of items."""
        self._upload_since_us, self._upload_since_s = time_us, time.monotonic()
        self._sent_us, self._item_sent, self._upload_errors = None, None, 0

    def _go_on_with_upload(self, time_us: int) -> None:
        """Send what PX4 may not have received: the number of items, or the last item that it requested.

        PX4 requests an item again by itself, and repeats its acknowledgement if the last item comes again.
        """
        assert self._upload_since_us is not None
        upload = self._uploads[0]
        if time_us - self._upload_since_us > PATIENCE_US and _has_passed(self._upload_since_s):
            asked = f"{upload.name}, {counted(len(upload.items), 'item')}, was sent to PX4"
            where = "" if self._item_sent is None else f"; the last item that it requested was {self._item_sent}"
            raise SimulationError(f"{self._refused(asked, time_us - self._upload_since_us)}{where}")
        if self._sent_us is not None and time_us - self._sent_us <= 2 * AGAIN_US:
            return
        if self._item_sent is not None and time_us - self._item_us > RESTART_US:
            self._item_sent = None
        if self._item_sent is None:
            self._link.send(self._dialect.encode("mission_count", *self._target, len(upload.items), upload.kind))
        else:
            self._send_fields(self._item_sent)
        self._sent_us = time_us

    def _is_uploading(self, kind: int) -> bool:
        """Return whether the current upload is of a kind."""
        return self._upload_since_us is not None and bool(self._uploads) and self._uploads[0].kind == kind

    def _send_item(self, kind: int, number: int, time_us: int) -> None:
        if not self._is_uploading(kind) or not 0 <= number < len(self._uploads[0].items):
            return
        self._send_fields(number)
        self._sent_us = self._item_us = time_us
        self._item_sent = number

    def _send_fields(self, number: int) -> None:
        upload = self._uploads[0]
        fields = upload.items[number]
        self._link.send(self._dialect.encode("mission_item_int", *self._target, *fields, upload.kind))

    def _end_upload(self, kind: int, result: int, time_us: int) -> None:
        if not self._is_uploading(kind):
            return
        if result == MISSION_ERROR and self._upload_errors < MAX_UPLOAD_ERRORS:
            self._upload_errors += 1
            self._sent_us, self._item_sent = time_us, None
            return
        upload = self._uploads.popleft()
        if result != ACCEPTED:
            raise SimulationError(f"{rejection(upload, result, self._item_sent)}{self._said()}")
        self._begin_upload(time_us)

    def _refused(self, asked: str, waited_us: int) -> str:
        answer = f"it answered: {self._result}" if self._result else "it did not answer"
        if not self._link.is_known:
            answer = "it sent nothing over its UDP API; does its start script start MAVLink?"
        return f"{asked} for {waited_us / 1e6:.3g} s of simulated time, but {answer}{self._said()}"

    def _said(self) -> str:
        quoted = ", ".join(f'"{text}"' for text in self.status.texts)
        return f"; it said: {quoted}" if quoted else ""


def crc_extra_received() -> dict[int, int]:
    """Return the CRC_EXTRA bytes of the API messages that are read."""
    known = crc_extras()
    return {number: known[number] for number in (*DECODED, PARAM_VALUE, STATUSTEXT)} | {CURRENT_MODE: CURRENT_MODE_CRC}


def cells_of(voltage_v: float) -> list[int]:
    """Return cell voltages [mV] that add up to a pack's voltage, as PX4 sums them; a cell holds at most 65.534 V."""
    full, rest = divmod(_whole(1000.0 * voltage_v, 0, CELLS * FULL_MV), FULL_MV)
    cells = [FULL_MV] * full + [rest] * (rest > 0 or full == 0)
    return cells + [NO_CELL] * (CELLS - len(cells))


def _has_passed(since_s: float) -> bool:
    """Return whether the wall-clock time for an answer has passed."""
    return time.monotonic() - since_s > PATIENCE_S


def _whole(value: float, least: int, most: int) -> int:
    return min(max(round(value), least), most)
