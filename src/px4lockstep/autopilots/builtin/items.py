"""Mission items of the navigator: their record, and what follows an item.

Commands without an effect on the flight (camera, gimbal, payload) are items too, so that items have the numbers that
PX4 gives them.
"""

import numpy as np

from px4lockstep.jit import kernel, record
from px4lockstep.px4.commands import Command
from px4lockstep.px4.mission_items import COUNT

MAX_ITEMS = 1024

WAYPOINT_ITEM = np.int64(Command.WAYPOINT)
LOITER_UNLIMITED_ITEM = np.int64(Command.LOITER_UNLIMITED)
LOITER_TIME_ITEM = np.int64(Command.LOITER_TIME)
RETURN_ITEM = np.int64(Command.RETURN_TO_LAUNCH)
LAND_ITEM = np.int64(Command.LAND)
TAKEOFF_ITEM = np.int64(Command.TAKEOFF)
DELAY_ITEM = np.int64(Command.DELAY)
JUMP_ITEM = np.int64(Command.DO_JUMP)
SPEED_ITEM = np.int64(Command.DO_CHANGE_SPEED)
TO_ALT_ITEM = np.int64(Command.LOITER_TO_ALT)
GATE_ITEM = np.int64(Command.CONDITION_GATE)

ITEM = record(
    [
        ("command", "i8"),  # MAV_CMD number
        ("pos_ned", "f8", 3),
        ("hold_s radius_m", "f8"),
        ("yaw", "f8"),  # NaN: none
        ("speed_m_s", "f8"),
        ("jump_to jump_repeats jumps_left", "i8"),
    ],
    state="jumps_left",
    limits={"jumps_left": int(COUNT)},
)


@kernel
def has_position(item):
    """Return whether an item has a position to fly to."""
    is_loiter = item.command <= LOITER_TIME_ITEM or item.command == TO_ALT_ITEM
    return is_loiter or item.command == LAND_ITEM or item.command == TAKEOFF_ITEM


@kernel
def takes_time(item):
    """Return whether an item is not complete at once."""
    is_wait = item.command == DELAY_ITEM or item.command == GATE_ITEM
    return is_wait or has_position(item) or item.command == RETURN_ITEM


@kernel
def next_place(nav, index):
    """Return the index of the next item with a position; -1 if the vehicle stops before it."""
    index += 1
    for _ in range(nav.count):
        if index >= nav.count:
            return -1
        item = nav.items[index]
        if has_position(item):
            return index
        if item.command == JUMP_ITEM:
            index = item.jump_to if item.jumps_left > 0 else index + 1
        elif item.command == DELAY_ITEM or item.command == RETURN_ITEM:
            return -1
        else:
            index += 1
    return -1


@kernel
def hold_of(item):
    """Return the hold time of an item [s]."""
    if item.command == WAYPOINT_ITEM or item.command == LOITER_TIME_ITEM or item.command == DELAY_ITEM:
        return item.hold_s
    return 0.0


@kernel
def look_ahead(nav, index):
    """Set the leg's next position, unless the vehicle has to stop at its target."""
    item = nav.items[index]
    if hold_of(item) > 0.0 or item.command == LOITER_UNLIMITED_ITEM or item.command == LAND_ITEM:
        return
    following = next_place(nav, index)
    if following >= 0:
        nav.leg.has_next = 1
        for i in range(3):
            nav.leg.next[i] = nav.items[following].pos_ned[i]
