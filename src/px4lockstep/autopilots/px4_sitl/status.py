"""PX4's status from its messages: mode, failsafe, progress of the mission, and status texts.

How PX4 v1.17.0 and its development version of August 2026 report:

* HEARTBEAT comes once per second. CURRENT_MODE follows each change, with the mode that was commanded next to the actual
  one: in flight they differ only in a failsafe. A failsafe without a change of mode shows as MAV_STATE_CRITICAL.
* MISSION_CURRENT comes once per second, and on change on one link only. Its `mission_state` is COMPLETE after any
  landing in land mode, too, and when an item RETURN_TO_LAUNCH begins. A mission that ends in DO_JUMP stays at the item
  before it. MISSION_ITEM_REACHED comes at once, but for a LAND item when the vehicle is above the landing place.
* STATUSTEXT comes in chunks of 50 bytes, often with a tab at the end.
"""

import re
import struct
from collections.abc import Sequence
from typing import Any

from px4lockstep.autopilots.base import MAX_TEXTS, UNKNOWN_MODE
from px4lockstep.autopilots.mavlink.modes import DESCEND, HOLD, MISSION, MODES, RETURN
from px4lockstep.px4.commands import Command
from px4lockstep.px4.mission_items import MissionItem

ARMED = 128
"""Armed bit of a heartbeat's `base_mode`."""
CRITICAL, EMERGENCY, TERMINATION = 5, 6, 8
"""MAV_STATE of a heartbeat: PX4 reports a failsafe as CRITICAL, and termination."""
MISSION_ACTIVE, MISSION_COMPLETE = 3, 5

GEOFENCE, BATTERY, MOTOR, POSITION, OTHER = 1, 2, 3, 4, 5
WORDS = (("battery", BATTERY), ("geofence", GEOFENCE), ("motor failure", MOTOR), ("position", POSITION))
"""Failsafes, numbered as in the log, by words of PX4's status texts; names of messages are other words."""

TEXT = struct.Struct("<B50sHB")
"""STATUSTEXT: severity, text, id, and number of the chunk."""
CURRENT_MODE = struct.Struct("<IIB")
WARNING = 4
"""MAV_SEVERITY_WARNING; lower numbers are more severe."""
LANDINGS = (Command.LAND, Command.RETURN_TO_LAUNCH)
PREFLIGHT = ("Preflight Fail", "Arming denied")
"""Beginnings of texts that do not matter any more once PX4 is armed; while it boots, some checks always fail."""
CAUSE_US = 5_000_000
"""Age of a status text that may explain a failsafe: PX4 holds for up to 5 s before it acts."""


def mode_of(custom_mode: int) -> int:
    """Return the number of a mode, given as in heartbeats; an unknown one has a number of its own."""
    main, sub = custom_mode >> 16 & 0xFF, custom_mode >> 24
    return MODES.get((main, sub), UNKNOWN_MODE | main << 8 | sub)


class Texts:
    """PX4's warnings and errors: chunks joined, each text once, the last ones."""

    def __init__(self) -> None:
        self._times_us: dict[str, int] = {}
        self._parts: list[bytes] = []
        self._head = (0, 0)  # severity and id of the text whose chunks arrive
        self._time_us = 0

    def receive(self, payload: bytes, time_us: int) -> None:
        """Add a STATUSTEXT."""
        severity, part, number, chunk = TEXT.unpack(payload.ljust(TEXT.size, b"\0")[: TEXT.size])
        if not (self._parts and (severity, number) == self._head and chunk == len(self._parts)):
            self._finish()
            self._head, self._time_us = (severity, number), time_us
        self._parts.append(part)
        if b"\0" in part:  # a full chunk may be followed by another
            self._finish()

    def since(self, time_us: int) -> tuple[str, ...]:
        """Return the last warnings and errors since a time, oldest first."""
        self._finish()
        return tuple(text for text, since_us in self._times_us.items() if since_us >= time_us)

    def forget(self, beginnings: tuple[str, ...]) -> None:
        """Remove texts that begin with one of these."""
        self._finish()
        self._times_us = {text: time for text, time in self._times_us.items() if not text.startswith(beginnings)}

    def _finish(self) -> None:
        text = " ".join(b"".join(self._parts).split(b"\0")[0].decode(errors="replace").split())
        if text and self._head[0] <= WARNING:
            self._times_us.pop(text, None)
            self._times_us[text] = self._time_us
            if len(self._times_us) > MAX_TEXTS:
                del self._times_us[next(iter(self._times_us))]
        self._parts = []


class Status:
    """PX4's status; `mode` is None until the first heartbeat."""

    def __init__(self, items: Sequence[MissionItem]) -> None:
        self._items = tuple(items)
        self._last = max((i for i, item in enumerate(items) if item.command is not Command.DO_JUMP), default=-1)
        self._state = 0
        self._reached = -1
        self._is_complete = False
        self._is_landed = True
        self._texts = Texts()
        self.mode: int | None = None
        self.failsafe = 0
        self.is_armed = False
        self.is_shown_armed = False
        """Arming state in the last heartbeat."""
        self.item = 0
        self.is_finished = False

    @property
    def texts(self) -> tuple[str, ...]:
        """PX4's last warnings and errors."""
        return self._texts.since(0)

    def begin_mission(self) -> None:
        """Reset the progress: the mission starts."""
        self.is_finished = self._is_complete = False
        self._reached = -1

    def set_vehicle(self, is_armed: bool, is_landed: bool) -> None:
        """Set what is known at each step: PX4's arming state, and whether the vehicle is on the ground."""
        has_landed = is_landed and not self._is_landed
        if is_armed and not self.is_armed:
            self._texts.forget(PREFLIGHT)
        self.is_armed, self._is_landed = is_armed, is_landed
        if has_landed and self._last >= 0 and self._items[self._last].command is Command.RETURN_TO_LAUNCH:
            # not when it disarms: PX4 then changes to hold, and its messages come in any order
            self._is_complete = self._is_complete and self.mode == RETURN
        self._update_finished()

    # -- messages ------------------------------------------------------------------------------------------------

    def heartbeat(self, message: Any, time_us: int) -> None:
        """Process a HEARTBEAT. The last failsafe stays visible after disarming."""
        self.is_shown_armed = bool(message.base_mode & ARMED)
        self.mode = mode_of(message.custom_mode)
        if message.system_status in (CRITICAL, EMERGENCY, TERMINATION):
            self._set_failsafe(time_us)
        elif self.is_shown_armed:
            self.failsafe = 0

    def current_mode(self, payload: bytes, time_us: int) -> None:
        """Process a CURRENT_MODE."""
        actual, commanded, _ = CURRENT_MODE.unpack(payload.ljust(CURRENT_MODE.size, b"\0")[: CURRENT_MODE.size])
        self.mode = mode_of(actual)
        if self.is_armed and actual != commanded:
            self._set_failsafe(time_us)

    def status_text(self, payload: bytes, time_us: int) -> None:
        """Process a STATUSTEXT."""
        self._texts.receive(payload, time_us)

    def mission_current(self, message: Any) -> None:
        """Process a MISSION_CURRENT. The mission is complete if its last item is done, and not just any landing."""
        if not self._items:
            return
        self.item = min(message.seq, len(self._items) - 1)
        if message.mission_state == MISSION_ACTIVE and self.is_armed and self.mode == MISSION and self.is_finished:
            self.begin_mission()  # armed again in mission mode, PX4 flies the mission again
        is_new = message.mission_state == MISSION_COMPLETE != self._state
        self._state = message.mission_state
        if is_new:
            ends_in_return = self._items[self._last].command is Command.RETURN_TO_LAUNCH
            modes = (MISSION, HOLD, RETURN) if ends_in_return else (MISSION, HOLD)
            self._is_complete = message.seq == self._last and self.mode in modes
        self._update_finished()

    def item_reached(self, message: Any) -> None:
        """Process a MISSION_ITEM_REACHED, which comes before the next MISSION_CURRENT."""
        number, following = message.seq, message.seq + 1
        is_new, self._reached = number != self._reached, number
        if not is_new or number != self.item or following >= len(self._items):
            return
        is_landing = self._items[number].command is Command.LAND
        if not is_landing and self._items[following].command is not Command.DO_JUMP:  # PX4 counts the jumps
            self.item = following

    # -- internals -----------------------------------------------------------------------------------------------

    def _update_finished(self) -> None:
        lands = self._last >= 0 and self._items[self._last].command in LANDINGS
        if self._is_complete and not (lands and (self.is_armed or not self._is_landed)):
            self.is_finished = True

    def _set_failsafe(self, time_us: int) -> None:
        if self.failsafe in (0, OTHER):
            said = " ".join(self._texts.since(time_us - CAUSE_US)).lower()
            named = next((number for word, number in WORDS if re.search(rf"\b{word}\b", said)), OTHER)
            self.failsafe = POSITION if self.mode == DESCEND else named
