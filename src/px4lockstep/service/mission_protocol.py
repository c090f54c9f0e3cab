"""MAVLink's mission protocol: upload, download and deletion of the mission, the geofence and the rally points.

As with PX4, one transfer runs on a link at a time; who else begins one is told that it is busy. An upload requests item
by item, again after `AGAIN_S`, and is given up after `GIVE_UP_S` without one. Its end is acknowledged when the vehicle
has taken it. These times are wall-clock times, like those of clients.

Reference: https://mavlink.io/en/services/mission.html
"""

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from px4lockstep.px4.commands import ALIASES, Command
from px4lockstep.px4.fence import MAX_FENCE_POINTS, MAX_RALLY_POINTS
from px4lockstep.scenario.commands import (
    CommandResult,
    FlightCommand,
    Item,
    SetCurrentItem,
    SetFence,
    SetMission,
    SetRally,
)
from px4lockstep.service.configuration import FENCE, MISSION, RALLY
from px4lockstep.service.request import Request
from px4lockstep.service.vehicle import Vehicle

ITEM, REQUEST, SET_CURRENT, REQUEST_LIST, COUNT, CLEAR_ALL, ACK, REQUEST_INT, ITEM_INT = (
    39,
    40,
    41,
    43,
    44,
    45,
    47,
    51,
    73,
)
NUMBERS = (ITEM, REQUEST, SET_CURRENT, REQUEST_LIST, COUNT, CLEAR_ALL, ACK, REQUEST_INT, ITEM_INT)
ALL_KINDS = 255
"""MAV_MISSION_TYPE of all lists."""
KINDS = (MISSION, FENCE, RALLY)
OK, ERROR, BAD_FRAME, UNSUPPORTED, NO_SPACE, OUT_OF_ORDER = 0, 1, 2, 3, 4, 13
"""MAV_MISSION_RESULT."""
AGAIN_S, GIVE_UP_S = 0.25, 5.0
MOST = {MISSION: 1024, FENCE: MAX_FENCE_POINTS, RALLY: MAX_RALLY_POINTS}
"""Largest numbers of items."""
PLACE_FRAMES, NO_PLACE_FRAME = (0, 3, 5, 6), 2
ALLOWED = {
    MISSION: frozenset((*map(int, Command), *ALIASES)),
    FENCE: frozenset((5000, 5001, 5002, 5003, 5004)),
    RALLY: frozenset((5100,)),
}
"""Commands of items, by kind."""
INTEGER_FRAMES = {0: 5, 3: 6}
"""Frames with integer coordinates, in which PX4 stores items."""
DEGREES7 = 1e7
PACKED = struct.Struct("<7dHBB")


@dataclass
class IncomingItems:
    """Items that arrive."""

    request: Request
    kind: int
    count: int
    items: list[Item] = field(default_factory=list)
    asked_s: float = 0.0
    heard_s: float = 0.0


@dataclass
class OutgoingItems:
    """A client that reads items."""

    client: object
    kind: int
    heard_s: float
    sent: int = -1  # the last item


def opaque_id(items: Sequence[Item]) -> int:
    """Return an ID of a list of items: equal lists have equal IDs, and an empty one 0."""
    crc = 0
    for item in items:
        values = (*item.params, item.x, item.y, item.z)
        crc = zlib.crc32(PACKED.pack(*values, item.command, item.frame, item.autocontinue), crc)
    return crc


class MissionProtocol:
    """Takes items from clients, and gives them back."""

    def __init__(self, vehicle: Vehicle, say: Callable[[str], None]) -> None:
        self._vehicle = vehicle
        self._say = say
        self._upload: IncomingItems | None = None
        self._download: OutgoingItems | None = None
        self.is_current_due = False
        """Whether MISSION_CURRENT has to be sent at once, in answer to a change of the current item."""

    def step(self, now_s: float) -> None:
        """Request an item again, and give up transfers that have stopped."""
        upload, download = self._upload, self._download
        if upload is not None and now_s - upload.heard_s > GIVE_UP_S:
            self._say("Mission sync timeout")
            self._upload = None
        elif upload is not None and len(upload.items) < upload.count and now_s - upload.asked_s > AGAIN_S:
            self._ask(upload, now_s)
        if download is not None and now_s - download.heard_s > GIVE_UP_S:
            self._download = None

    def take(self, request: Request) -> None:
        """Process a message of the protocol."""
        if not request.is_addressed():
            return
        number, message = request.number, request.message
        kind = getattr(message, "mission_type", MISSION)
        if number == SET_CURRENT:
            self._vehicle.submit(SetCurrentItem(message.seq), self._show_current)
        elif number == CLEAR_ALL:
            self._clear(request, kind)
        elif kind not in KINDS:
            self._acknowledge(request, kind, NO_SPACE)
        elif number == ACK:
            if self._download is not None and self._download.client == request.client:
                self._download = None
            elif self._is_from_uploader(request):  # the client has cancelled
                self._upload = None
        elif self._is_busy(request):
            if number in (COUNT, REQUEST_LIST):
                self._say("WPM: IGN: Busy")
                self._acknowledge(request, kind, ERROR)
        elif number == COUNT:
            self._begin(request, kind)
        elif number in (ITEM, ITEM_INT):
            self._take_item(request, kind)
        elif number == REQUEST_LIST:
            self._download = OutgoingItems(request.client, kind, request.now_s)
            items = self._vehicle.configuration.items(kind)
            ids = {"mission_type": kind, "opaque_id": opaque_id(items)}
            request.answer("MISSION_COUNT", **request.sender, count=len(items), **ids)
        else:
            self._send_item(request, kind)

    # -- upload ------------------------------------------------------------------------------------------------------

    def _is_from_uploader(self, request: Request) -> bool:
        return self._upload is not None and self._upload.request.client == request.client

    def _is_busy(self, request: Request) -> bool:
        """Return whether a transfer of another client runs."""
        is_uploading = self._upload is not None and not self._is_from_uploader(request)
        return is_uploading or (self._download is not None and self._download.client != request.client)

    def _begin(self, request: Request, kind: int) -> None:
        count = request.message.count
        self._download = None
        if count > MOST[kind]:
            self._upload = None
            self._acknowledge(request, kind, NO_SPACE)
            return
        self._upload = IncomingItems(request, kind, count, heard_s=request.now_s)
        if count:
            self._ask(self._upload, request.now_s)
        else:
            self._finish(self._upload)

    def _ask(self, upload: IncomingItems, now_s: float) -> None:
        upload.asked_s = now_s
        request = upload.request
        request.answer("MISSION_REQUEST_INT", **request.sender, seq=len(upload.items), mission_type=upload.kind)

    def _take_item(self, request: Request, kind: int) -> None:
        upload, message = self._upload, request.message
        if upload is None or upload.kind != kind:
            self._acknowledge(request, kind, ERROR)
            return
        if len(upload.items) == upload.count:  # repeated, while the vehicle takes them
            return
        if message.seq != len(upload.items):  # `step` requests the expected one again
            return
        result = _check(message, kind)
        if result != OK:
            self._say("IGN MISSION_ITEM: Invalid item")
            self._upload = None
            self._acknowledge(request, kind, result)
            return
        upload.heard_s = request.now_s
        upload.items.append(_item_of(request))
        if len(upload.items) < upload.count:
            self._ask(upload, request.now_s)
        else:
            self._finish(upload)

    def _finish(self, upload: IncomingItems) -> None:
        items = tuple(upload.items)

        def on_result(result: CommandResult) -> None:
            if self._upload is upload:
                self._upload = None
            if result.is_accepted:
                self._acknowledge(upload.request, upload.kind, OK, opaque_id(items))
            else:
                self._acknowledge(upload.request, upload.kind, ERROR)

        self._vehicle.submit(_command(upload.kind, items), on_result)

    def _clear(self, request: Request, kind: int) -> None:
        kinds = KINDS if kind == ALL_KINDS else (kind,) if kind in KINDS else ()
        if not kinds:  # as measured: PX4 accepts to delete what it does not know
            self._acknowledge(request, kind, OK)
        results: list[CommandResult] = []

        def on_result(result: CommandResult) -> None:
            results.append(result)
            if len(results) == len(kinds):
                is_done = all(each.is_accepted for each in results)
                self._acknowledge(request, kind, OK if is_done else ERROR)

        self._upload = self._download = None
        for each in kinds:
            self._vehicle.submit(_command(each, ()), on_result)

    # -- download ----------------------------------------------------------------------------------------------------

    def _send_item(self, request: Request, kind: int) -> None:
        items, number = self._vehicle.configuration.items(kind), request.message.seq
        download = self._download
        if download is None or number >= len(items) or number not in (download.sent, download.sent + 1):
            self._say("WPM: REJ. CMD: Req. WP was unexpected")
            self._acknowledge(request, kind, ERROR)
            return
        download.heard_s, download.sent = request.now_s, number
        item = items[number]
        fields = {f"param{i}": value for i, value in enumerate(item.params, 1)}
        fields |= {"seq": number, "command": item.command, "frame": item.frame, "autocontinue": item.autocontinue}
        is_current = kind == MISSION and number == self._vehicle.status.mission.current
        fields |= {"current": int(is_current), "mission_type": kind, "z": item.z}
        if request.number == REQUEST:
            request.answer("MISSION_ITEM", **request.sender, **fields, x=item.x, y=item.y)
            return
        scale = DEGREES7 if item.frame in PLACE_FRAMES else 1.0
        request.answer("MISSION_ITEM_INT", **request.sender, **fields, x=round(scale * item.x), y=round(scale * item.y))

    # -- answers -----------------------------------------------------------------------------------------------------

    def _show_current(self, result: CommandResult) -> None:
        self.is_current_due = self.is_current_due or result.is_accepted

    @staticmethod
    def _acknowledge(request: Request, kind: int, result: int, identity: int = 0) -> None:
        request.answer("MISSION_ACK", **request.sender, type=result, mission_type=kind, opaque_id=identity)


def _check(message: Any, kind: int) -> int:
    """Return the result for an item: PX4 refuses unknown commands, and frames above terrain or in local axes."""
    frame, command = message.frame, message.command
    if command not in ALLOWED[kind]:
        return UNSUPPORTED
    return OK if frame in (*PLACE_FRAMES, NO_PLACE_FRAME) else BAD_FRAME


def _item_of(request: Request) -> Item:
    message = request.message
    params = (message.param1, message.param2, message.param3, message.param4)
    x, y = float(message.x), float(message.y)
    if request.number == ITEM_INT and message.frame in PLACE_FRAMES:
        x, y = x / DEGREES7, y / DEGREES7
    z = message.z if math.isfinite(message.z) else math.nan
    frame = INTEGER_FRAMES.get(message.frame, message.frame)
    return Item(frame, message.command, params, x, y, z, message.autocontinue)


def _command(kind: int, items: tuple[Item, ...]) -> FlightCommand:
    made = {MISSION: SetMission, FENCE: SetFence, RALLY: SetRally}[kind]
    return made(items, opaque_id(items))
