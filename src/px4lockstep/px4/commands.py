"""Mission commands: those that are flown, those without an effect on the flight, and those that are skipped.

Reference: MAVLink's `MAV_CMD`, as PX4 reads it for a multicopter (`MavlinkMissionManager::parse_mavlink_mission_item`).
"""

from enum import IntEnum


class Command(IntEnum):
    """The supported commands, with MAVLink's numbers; the full names are `MAV_CMD_NAV_…` up to 93, then `MAV_CMD_…`."""

    WAYPOINT = 16
    LOITER_UNLIMITED = 17
    LOITER_TIME = 19
    RETURN_TO_LAUNCH = 20
    LAND = 21
    TAKEOFF = 22
    LOITER_TO_ALT = 31
    DELAY = 93
    DO_JUMP = 177
    DO_CHANGE_SPEED = 178
    DO_SET_ACTUATOR = 187
    DO_LAND_START = 189
    DO_SET_ROI_LOCATION = 195
    DO_SET_ROI_WPNEXT_OFFSET = 196
    DO_SET_ROI_NONE = 197
    DO_CONTROL_VIDEO = 200
    DO_SET_ROI = 201
    DO_DIGICAM_CONTROL = 203
    DO_MOUNT_CONFIGURE = 204
    DO_MOUNT_CONTROL = 205
    DO_SET_CAM_TRIGG_DIST = 206
    DO_GRIPPER = 211
    DO_SET_CAM_TRIGG_INTERVAL = 214
    OBLIQUE_SURVEY = 260
    SET_CAMERA_MODE = 530
    SET_CAMERA_FOCUS = 532
    SET_CAMERA_SOURCE = 534
    DO_GIMBAL_MANAGER_PITCHYAW = 1000
    DO_GIMBAL_MANAGER_CONFIGURE = 1001
    IMAGE_START_CAPTURE = 2000
    IMAGE_STOP_CAPTURE = 2001
    DO_TRIGGER_CONTROL = 2003
    VIDEO_START_CAPTURE = 2500
    VIDEO_STOP_CAPTURE = 2501
    CONDITION_GATE = 4501
    DO_WINCH = 42600

    @property
    def has_position(self) -> bool:
        """Whether it has a position to fly to."""
        return self in POSITIONS

    @property
    def has_place(self) -> bool:
        """Whether its x, y, z are a position: to fly to, to pass, or to look at."""
        return self in POSITIONS or self in PLACES

    @property
    def is_raw(self) -> bool:
        """Whether an item keeps its seven parameters as they are in the file."""
        return self in ROI or self in NO_EFFECT


POSITIONS = (
    *(Command.WAYPOINT, Command.LOITER_UNLIMITED, Command.LOITER_TIME),
    *(Command.LAND, Command.TAKEOFF, Command.LOITER_TO_ALT),
)
PLACES = (Command.CONDITION_GATE, Command.DO_SET_ROI_LOCATION, Command.DO_SET_ROI)
ENDS = (Command.LOITER_UNLIMITED, Command.RETURN_TO_LAUNCH, Command.LAND)
"""Commands that end a mission."""
ROI = (
    *(Command.DO_SET_ROI_LOCATION, Command.DO_SET_ROI_WPNEXT_OFFSET),
    *(Command.DO_SET_ROI_NONE, Command.DO_SET_ROI),
)
"""Commands that turn the vehicle to a region of interest, or end that."""
NO_EFFECT = {
    command: group
    for group, commands in {
        "camera": (
            *(Command.DO_CONTROL_VIDEO, Command.DO_DIGICAM_CONTROL, Command.DO_SET_CAM_TRIGG_DIST),
            *(Command.DO_SET_CAM_TRIGG_INTERVAL, Command.OBLIQUE_SURVEY, Command.SET_CAMERA_MODE),
            *(Command.SET_CAMERA_FOCUS, Command.SET_CAMERA_SOURCE, Command.IMAGE_START_CAPTURE),
            *(Command.IMAGE_STOP_CAPTURE, Command.DO_TRIGGER_CONTROL, Command.VIDEO_START_CAPTURE),
            Command.VIDEO_STOP_CAPTURE,
        ),
        "gimbal": (
            *(Command.DO_MOUNT_CONFIGURE, Command.DO_MOUNT_CONTROL, Command.DO_GIMBAL_MANAGER_PITCHYAW),
            Command.DO_GIMBAL_MANAGER_CONFIGURE,
        ),
        "payload": (Command.DO_SET_ACTUATOR, Command.DO_GRIPPER, Command.DO_WINCH),
        "landing marker": (Command.DO_LAND_START,),
    }.items()
    for command in commands
}
"""Commands that PX4 accepts, but that do not move a multicopter, and their group in reports."""
AT_ONCE = (Command.DO_JUMP, Command.DO_CHANGE_SPEED, *ROI, *NO_EFFECT)
"""Commands that take no time."""
ALIASES = {85: Command.LAND, 112: Command.DELAY}
"""VTOL_LAND and CONDITION_DELAY, which PX4 treats like these on a multicopter."""

NOT_IN_PX4 = "PX4 does not accept it in missions"
SKIPPED = {
    18: ("LOITER_TURNS", NOT_IN_PX4),
    82: ("SPLINE_WAYPOINT", NOT_IN_PX4),
    84: ("VTOL_TAKEOFF", "a multicopter does not change to forward flight"),
    114: ("CONDITION_DISTANCE", NOT_IN_PX4),
    115: ("CONDITION_YAW", NOT_IN_PX4),
    176: ("DO_SET_MODE", NOT_IN_PX4),
    179: ("DO_SET_HOME", "home is the start position"),
    181: ("DO_SET_RELAY", NOT_IN_PX4),
    183: ("DO_SET_SERVO", NOT_IN_PX4),
    207: ("DO_FENCE_ENABLE", NOT_IN_PX4),
    208: ("DO_PARACHUTE", NOT_IN_PX4),
    212: ("DO_AUTOTUNE_ENABLE", "parameters do not change in flight"),
    222: ("DO_GUIDED_LIMITS", NOT_IN_PX4),
    223: ("DO_ENGINE_CONTROL", NOT_IN_PX4),
    400: ("COMPONENT_ARM_DISARM", "the scenario arms and disarms"),
    531: ("SET_CAMERA_ZOOM", NOT_IN_PX4),
    3000: ("DO_VTOL_TRANSITION", "a multicopter does not change to forward flight"),
}
"""Commands that ground stations write and that can't be flown, and why; any other number is skipped too."""
