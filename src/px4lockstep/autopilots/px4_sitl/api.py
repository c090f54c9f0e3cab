"""PX4 over its API: commands one after the other, the mission, and its status.

All times are simulated: PX4's answers follow its clock, which stands still while nobody steps it. An order is carried
out when PX4 has accepted it, by an answer to us, and a heartbeat shows it: a ground station that commands at the same
time gets answers too, and PX4 may send them to all. What is not answered, refused for now or not shown is sent again
until its time is over; then it is an error, or a warning if PX4 had accepted it.

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
"""Of a program beside a ground station, so that both can be there."""
BATTERY_COMPONENT = 180

RECEIVED = (0, 40, 42, 46, 47, 51, 77, 253)
HEARTBEAT, MISSION_REQUEST, MISSION_CURRENT, MISSION_REACHED, MISSION_ACK, MISSION_REQUEST_INT = RECEIVED[:6]
COMMAND_ACK, STATUSTEXT = RECEIVED[6:]

ARM_DISARM, SET_MODE = 400, 176
FORCE = 21196.0
"""Disarms in flight too, as a scenario's order does."""
ACCEPTED, IN_PROGRESS = 0, 5
RESULTS = {
    0: "accepted, but its heartbeats don't show it: a failsafe of its own, or another ground station, is stronger",
    1: "temporarily rejected",
    2: "denied",
    3: "unsupported",
    4: "failed",
    6: "cancelled",
}
MISSION_COMPLETE = 5
ARMED = 128
"""The bit of a heartbeat's `base_mode` that says so."""
GLOBAL, RELATIVE, NO_POSITION = 5, 6, 2

AGAIN_US = 500_000
SHOWN_US = 2_500_000
"""For a heartbeat to show what PX4 has accepted: it sends one a second, and the first may be older than that."""
PATIENCE_US = 15_000_000
"""PX4 arms 3.7 s after its first sensors at the latest, if all is well."""
MAX_TEXTS = 6

MODES = {(1, 0): 0, (2, 0): 1, (3, 0): 2, (5, 0): 10, (6, 0): 14, (7, 0): 15}
MODES |= {(4, 2): 17, (4, 3): 4, (4, 4): 3, (4, 5): 5, (4, 6): 18}
"""PX4's number of a mode (`nav_state`), by main and sub mode of a heartbeat; main mode 4 is AUTO."""

CELLS, FULL_MV, NO_CELL = 10, 65_534, 65_535
"""Of BATTERY_STATUS: how many cells there are, what one can hold, and one that there is not."""
MAX_V = CELLS * FULL_MV / 1000.0


@dataclass(frozen=True)
class Order:
    """A command, and what it is called in an error."""

    name: str
    command: int
    params: tuple[float, float, float]

    def is_shown(self, heartbeat: Any) -> bool:
        """Return whether a heartbeat is that of a PX4 that has carried it out."""
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
    """What is asked of PX4, and its status."""

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
        """What was asked for and accepted, and not seen."""
        self.texts: deque[str] = deque(maxlen=MAX_TEXTS)
        """What PX4 said last."""
        self.mode: int | None = None
        """Its mode, `nav_state`, once it has sent it."""
        self.item = 0
        self.is_finished = False
        self.has_mission = not self._items
        """Whether it has the mission, if there is one."""

    # -- orders --------------------------------------------------------------------------------------------------

    def order(self, order: Order) -> None:
        """Ask for something, after all that was asked for before."""
        self._orders.append(order)

    @property
    def is_waiting(self) -> bool:
        """Whether an order is not carried out yet."""
        return bool(self._orders)

    def step(self, time_us: int) -> None:
        """Receive what PX4 sends, and send what is due."""
        for frame in self._link.receive():
            message = self._dialect.decode(frame.raw)
            if message is not None:
                self._system = frame.system
                self._receive(frame.message, message, time_us)
        if self._upload_since_us is not None and not self.has_mission:
            self._go_on_with_upload(time_us)
        elif self._orders:
            self._go_on_with_order(time_us)

    def upload(self, time_us: int) -> None:
        """Begin to upload the mission."""
        if self._upload_since_us is None:
            self._upload_since_us = time_us
            self._sent_us = None

    def send_battery(self, number: int, voltage_v: float, current_a: float, remaining: float) -> None:
        """Send PX4 the state of a battery, as one that is on the vehicle, if it is measured."""
        if not all(map(math.isfinite, (voltage_v, current_a, remaining))):
            return
        speaker = Dialect(self._system, BATTERY_COMPONENT)
        lipo, no_temperature = 1, 32_767
        current, percent = _whole(100.0 * current_a, -1, 32_767), _whole(100.0 * remaining, 0, 100)
        fields = (number, 0, lipo, no_temperature, cells_of(voltage_v), current, -1, -1, percent)
        self._link.send(speaker.encode("battery_status", *fields))

    # -- inside --------------------------------------------------------------------------------------------------

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
        """Go on to the next order."""
        self._orders.popleft()
        self._sent_us, self._tries, self._result, self._is_accepted = None, 0, "", False

    def _go_on_with_order(self, time_us: int) -> None:
        order = self._orders[0]
        if self._sent_us is None:
            self._since_us = time_us
        elif time_us - self._sent_us < (SHOWN_US if self._is_accepted else AGAIN_US):
            return
        if time_us - self._since_us > PATIENCE_US:
            said = self._refused(f"PX4 was asked to {order.name}")
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
            raise SimulationError(self._refused(f"PX4 was sent the mission, {len(self._items)} items,"))
        if self._sent_us is None or time_us - self._sent_us > 2 * AGAIN_US:  # PX4 itself asks again for an item
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
            self._result = f"refused as MAV_MISSION_RESULT {result}"
            raise SimulationError(self._refused("PX4 was sent the mission"))
        self.has_mission, self._sent_us = True, None

    def _refused(self, asked: str) -> str:
        answer = f"it answered: {self._result}" if self._result else "it did not answer"
        if not self._link.is_known:
            answer = "it has told nothing of itself over its API, UDP; does its start script start MAVLink?"
        said = f"; it said: {' | '.join(self.texts)}" if self.texts else ""
        return f"{asked} for {PATIENCE_US / 1e6:g} s of simulated time, and {answer}{said}"


def item_fields(item: MissionItem, number: int) -> tuple[Any, ...]:
    """Return the fields of MISSION_ITEM_INT from its number on."""
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
    """Return the bytes of the messages that are read of the API."""
    known = crc_extras()
    return {number: known[number] for number in RECEIVED}


def cells_of(voltage_v: float) -> list[int]:
    """Return the cells of a pack [mV] whose own are not measured: PX4 adds them up, and each holds 65.534 V at most."""
    full, rest = divmod(_whole(1000.0 * voltage_v, 0, CELLS * FULL_MV), FULL_MV)
    cells = [FULL_MV] * full + [rest] * (rest > 0 or full == 0)
    return cells + [NO_CELL] * (CELLS - len(cells))


def _whole(value: float, least: int, most: int) -> int:
    return min(max(round(value), least), most)
