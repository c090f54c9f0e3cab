"""Client of PX4's MAVLink API: queued commands, the mission upload, and PX4's status.

All times are simulated, because PX4's clock stands still between steps. An order is complete when PX4 has accepted it,
in an answer addressed to this client, and a heartbeat confirms it: a ground station may send commands at the same time,
and PX4 may broadcast the answers. An order that is unanswered, temporarily rejected or unconfirmed is sent again until
it times out. A timeout is an error, or only a warning if PX4 had accepted the order.

Reference: https://mavlink.io/en/services/mission.html, https://mavlink.io/en/services/command.html, and for batteries
https://mavlink.io/en/messages/common.html#BATTERY_STATUS
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from px4lockstep.autopilots.px4_sitl.mavlink.dialect import Dialect, crc_extras
from px4lockstep.autopilots.px4_sitl.mavlink.links import AUTOPILOT_COMPONENT, ApiLink
from px4lockstep.errors import SimulationError
from px4lockstep.px4.mission_items import Command as ItemCommand
from px4lockstep.px4.mission_items import MissionItem

SYSTEM, COMPONENT = 245, 190
"""Not a ground station's IDs, so that one can be connected at the same time."""
BATTERY_COMPONENT = 180

RECEIVED = (0, 40, 42, 46, 47, 51, 77, 253, 4)
HEARTBEAT, MISSION_REQUEST, MISSION_CURRENT, MISSION_REACHED, MISSION_ACK, MISSION_REQUEST_INT = RECEIVED[:6]
COMMAND_ACK, STATUSTEXT, PING = RECEIVED[6:]

ARM_DISARM, SET_MODE = 400, 176
FORCE = 21196.0
"""Forces disarming even in flight, as a scenario's request does."""
ACCEPTED, IN_PROGRESS = 0, 5
RESULTS = {
    0: "accepted, but heartbeats don't confirm it: one of its failsafes or another ground station overrode it",
    1: "temporarily rejected",
    2: "denied",
    3: "unsupported",
    4: "failed",
    6: "cancelled",
}
MISSION_COMPLETE = 5
ARMED = 128
"""Armed bit of a heartbeat's `base_mode`."""
GLOBAL, RELATIVE, NO_POSITION = 5, 6, 2

AGAIN_US = 500_000
SHOWN_US = 2_500_000
"""Time for a heartbeat to confirm an accepted order: PX4 sends one per second, and the first may still be outdated."""
PATIENCE_US = 15_000_000
"""Timeout of an order or upload. A healthy PX4 can be armed at the latest 3.7 s after its first sensor message."""
MAX_TEXTS = 6

MODES = {(1, 0): 0, (2, 0): 1, (3, 0): 2, (5, 0): 10, (6, 0): 14, (7, 0): 15}
MODES |= {(4, 2): 17, (4, 3): 4, (4, 4): 3, (4, 5): 5, (4, 6): 18}
"""PX4's mode number (`nav_state`) by the main and sub mode of a heartbeat; main mode 4 is AUTO."""

CELLS, FULL_MV, NO_CELL = 10, 65_534, 65_535
"""Cells in BATTERY_STATUS: their number, the largest voltage of one, and the value of an absent one."""
MAX_V = CELLS * FULL_MV / 1000.0


@dataclass(frozen=True)
class Order:
    """A command, and its name in errors."""

    name: str
    command: int
    params: tuple[float, float, float]

    def is_shown(self, heartbeat: Any) -> bool:
        """Return whether a heartbeat confirms that PX4 has carried it out."""
        if self.command == ARM_DISARM:
            return bool(heartbeat.base_mode & ARMED) == (self.params[0] == 1.0)
        return mode_of(heartbeat) == self.params[1:]


def mode_of(heartbeat: Any) -> tuple[int, int]:
    """Return PX4's main and sub mode."""
    return heartbeat.custom_mode >> 16 & 0xFF, heartbeat.custom_mode >> 24


ARM = Order("arm", ARM_DISARM, (1.0, 0.0, 0.0))
DISARM = Order("disarm", ARM_DISARM, (0.0, FORCE, 0.0))
FLY_MISSION = Order("fly the mission", SET_MODE, (1.0, 4.0, 4.0))
RETURN = Order("return", SET_MODE, (1.0, 4.0, 5.0))
LAND = Order("land", SET_MODE, (1.0, 4.0, 6.0))


class Api:
    """The client: sends orders and the mission to PX4, and tracks its status."""

    def __init__(self, link: ApiLink, items: Sequence[MissionItem]) -> None:
        self._link = link
        self._items = tuple(items)
        self._dialect = Dialect(SYSTEM, COMPONENT)
        self._system = 1
        self._orders: deque[Order] = deque()
        self._since_us = 0
        self._sent_us: int | None = None
        self._tries = 0
        self._result = ""
        self._is_accepted = False
        self._upload_since_us: int | None = None
        self.warnings: list[str] = []
        """Orders that PX4 accepted but never confirmed."""
        self.texts: deque[str] = deque(maxlen=MAX_TEXTS)
        """Last status texts from PX4."""
        self.mode: int | None = None
        """PX4's mode, `nav_state`; None until the first heartbeat."""
        self.pongs = 0
        """Number of answers to `ping`."""
        self.item = 0
        self.is_finished = False
        self.has_mission = not self._items
        """Whether PX4 has the mission; also true if there is none."""

    # -- orders --------------------------------------------------------------------------------------------------

    def order(self, order: Order) -> None:
        """Queue an order."""
        self._orders.append(order)

    @property
    def is_waiting(self) -> bool:
        """Whether an order is still pending."""
        return bool(self._orders)

    def step(self, time_us: int) -> None:
        """Process messages from PX4, and send what is due."""
        for frame in self._link.receive():
            message = self._dialect.decode(frame.raw)
            if message is not None:
                self._system = frame.system
                self._receive(frame.message, message, time_us)
        if self._upload_since_us is not None and not self.has_mission:
            self._go_on_with_upload(time_us)
        elif self._orders:
            self._go_on_with_order(time_us)

    def ping(self) -> None:
        """Ask for an answer that PX4 sends at once, even while its clock stands still."""
        self._link.send(self._dialect.encode("ping", 0, self.pongs, 0, 0))

    def upload(self, time_us: int) -> None:
        """Start the mission upload."""
        if self._upload_since_us is None:
            self._upload_since_us = time_us
            self._sent_us = None

    def send_battery(self, number: int, voltage_v: float, current_a: float, remaining: float) -> None:
        """Send the state of a battery to PX4, as a component of the vehicle; skip it if it is not measured."""
        if not all(map(math.isfinite, (voltage_v, current_a, remaining))):
            return
        speaker = Dialect(self._system, BATTERY_COMPONENT)
        lipo, no_temperature = 1, 32_767
        current, percent = _whole(100.0 * current_a, -1, 32_767), _whole(100.0 * remaining, 0, 100)
        fields = (number, 0, lipo, no_temperature, cells_of(voltage_v), current, -1, -1, percent)
        self._link.send(speaker.encode("battery_status", *fields))

    # -- internals -----------------------------------------------------------------------------------------------

    def _receive(self, number: int, message: Any, time_us: int) -> None:
        if number == HEARTBEAT:
            self.mode = MODES.get(mode_of(message), self.mode)
            if self._is_accepted and self._orders[0].is_shown(message):
                if self._orders[0] is FLY_MISSION:
                    self.is_finished = False
                self._complete_order()
        elif number == STATUSTEXT:
            if message.text not in self.texts:
                self.texts.append(message.text)
        elif number == MISSION_CURRENT:
            if self._items:
                self.item = min(message.seq, len(self._items) - 1)
            self.is_finished = self.is_finished or message.mission_state == MISSION_COMPLETE
        elif number == MISSION_REACHED:
            self.is_finished = self.is_finished or (self.has_mission and message.seq == len(self._items) - 1)
        elif message.target_system not in (0, SYSTEM) or message.target_component not in (0, COMPONENT):
            return
        elif number == PING:
            self.pongs += message.target_system == SYSTEM
        elif number in (MISSION_REQUEST, MISSION_REQUEST_INT):
            self._send_item(message.seq, time_us)
        elif number == MISSION_ACK:
            self._end_upload(message.type)
        elif number == COMMAND_ACK and self._orders and message.command == self._orders[0].command:
            self._answered(message.result, time_us)

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
        if self._sent_us is None:
            self._since_us = time_us
        elif time_us - self._sent_us < (SHOWN_US if self._is_accepted else AGAIN_US):
            return
        if time_us - self._since_us > PATIENCE_US:
            said = self._refused(f"PX4 was commanded to {order.name}")
            if self._result != RESULTS[ACCEPTED]:
                raise SimulationError(said)
            self.warnings.append(said)
            self._complete_order()
            return
        fields = (self._system, AUTOPILOT_COMPONENT, order.command, min(self._tries, 255), *order.params)
        self._link.send(self._dialect.encode("command_long", *fields, 0.0, 0.0, 0.0, 0.0))
        self._sent_us, self._is_accepted = time_us, False
        self._tries += 1

    def _go_on_with_upload(self, time_us: int) -> None:
        assert self._upload_since_us is not None
        if time_us - self._upload_since_us > PATIENCE_US:
            raise SimulationError(self._refused(f"the mission, {len(self._items)} items, was sent to PX4"))
        if self._sent_us is None or time_us - self._sent_us > 2 * AGAIN_US:  # PX4 itself repeats item requests
            self._link.send(self._dialect.encode("mission_count", self._system, AUTOPILOT_COMPONENT, len(self._items)))
            self._sent_us = time_us

    def _send_item(self, number: int, time_us: int) -> None:
        if self._upload_since_us is None or self.has_mission or not 0 <= number < len(self._items):
            return
        fields = item_fields(self._items[number], number)
        self._link.send(self._dialect.encode("mission_item_int", self._system, AUTOPILOT_COMPONENT, *fields))
        self._sent_us = time_us

    def _end_upload(self, result: int) -> None:
        if self._upload_since_us is None or self.has_mission:
            return
        if result != ACCEPTED:
            raise SimulationError(f"PX4 rejected the mission with MAV_MISSION_RESULT {result}{self._said()}")
        self.has_mission, self._sent_us = True, None

    def _refused(self, asked: str) -> str:
        answer = f"it answered: {self._result}" if self._result else "it did not answer"
        if not self._link.is_known:
            answer = "it sent nothing over its UDP API; does its start script start MAVLink?"
        return f"{asked} for {PATIENCE_US / 1e6:g} s of simulated time, but {answer}{self._said()}"

    def _said(self) -> str:
        return f"; its status texts: {' | '.join(self.texts)}" if self.texts else ""


def item_fields(item: MissionItem, number: int) -> tuple[Any, ...]:
    """Return the fields of MISSION_ITEM_INT, starting with `seq`."""
    first, second, third = item.hold_s, item.acceptance_radius_m, 0.0
    if item.command is ItemCommand.DO_JUMP:
        first, second = float(item.jump_to), float(item.jump_repeats)
    elif item.command is ItemCommand.DO_CHANGE_SPEED:
        first, second, third = 1.0, -1.0 if math.isnan(item.speed_m_s) else item.speed_m_s, -1.0
    if item.command.has_position:
        frame = RELATIVE if item.is_relative_alt else GLOBAL
        place = (round(1e7 * item.lat_deg), round(1e7 * item.lon_deg), item.alt_m)
    else:
        frame, place = NO_POSITION, (0, 0, 0.0)
    yaw_deg = item.yaw_deg if item.command.has_position else 0.0
    return (number, frame, int(item.command), int(number == 0), 1, first, second, third, yaw_deg, *place)


def crc_extra_received() -> dict[int, int]:
    """Return the CRC_EXTRA bytes of the API messages that are read."""
    known = crc_extras()
    return {number: known[number] for number in RECEIVED}


def cells_of(voltage_v: float) -> list[int]:
    """Return cell voltages [mV] that add up to a pack's voltage, as PX4 sums them; a cell holds at most 65.534 V."""
    full, rest = divmod(_whole(1000.0 * voltage_v, 0, CELLS * FULL_MV), FULL_MV)
    cells = [FULL_MV] * full + [rest] * (rest > 0 or full == 0)
    return cells + [NO_CELL] * (CELLS - len(cells))


def _whole(value: float, least: int, most: int) -> int:
    return min(max(round(value), least), most)
