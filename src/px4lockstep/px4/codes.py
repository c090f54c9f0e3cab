"""Error codes of the library's functions: their meaning and remedy."""

from px4lockstep.errors import Px4Error
from px4lockstep.px4.abi import PREFIX

NO_FIELD_STRING = -3
"""Code of orb_topic_metadata: the topic has no field string, but its other metadata is valid."""
WRONG_TYPE = -3
UNKNOWN = -2

OURS = "this is a bug in px4lockstep; please report it with this message"
BAD_ARGUMENTS = ("an argument is invalid", OURS)
UNKNOWN_TOPIC = ("this PX4 has no such topic", "correct its name, or remove it from [px4.uorb]")
SIZE_DIFFERS = (
    "the message has the wrong size",
    "check the layouts with px4lockstep uorb verify; the library may have been replaced since it was loaded",
)

Meaning = tuple[str, str]
_PARAMETER: dict[int, Meaning] = {
    -1: BAD_ARGUMENTS,
    -2: ("this PX4 has no such parameter", "correct its name, or remove it from the spec"),
    -3: ("the parameter has a different type", OURS),
    -4: ("the call failed inside PX4", "check its output"),
}
_BY_ID: dict[int, Meaning] = {
    -1: BAD_ARGUMENTS,
    -2: ("there is no publisher or subscriber with that number", OURS),
    -3: ("it is closed", "create a new one"),
    -4: SIZE_DIFFERS,
}

CODES: dict[str, dict[int, Meaning]] = {
    "load_mission_qgc_wpl": {
        -1: BAD_ARGUMENTS,
        -2: ("the file can't be opened", "correct px4.mission_path"),
        -3: ("the file is empty", "write a mission in QGC WPL 110 format"),
        -4: ("it has no item that PX4 supports", "write a mission in QGC WPL 110 format"),
        -5: ("PX4's mission storage failed", "set px4.lockstep.dataman_use_ram to 1"),
        -6: ("PX4's mission storage failed", "set px4.lockstep.dataman_use_ram to 1, or shorten the mission"),
    },
    "step_uorb": {
        -1: ("a queued message has the wrong size", SIZE_DIFFERS[1]),
        -2: ("a topic could not be advertised", "publish fewer instances: a topic has at most 10, a battery 4"),
        -3: ("a message could not be published", "check PX4's output (px4.log in the run folder)"),
        -4: (
            "a publisher did not get the requested instance",
            "request 0, 1, 2 … in this order, or any (-1); PX4 has instance 0 of the topics that it publishes itself",
        ),
    },
    **{f"param_{action}_{kind}": _PARAMETER for action in ("set", "get") for kind in ("i32", "f32")},
    "param_notify": {-1: BAD_ARGUMENTS},
    "control_alloc_update_params": {
        -1: BAD_ARGUMENTS,
        -2: ("the control allocator is disabled", "set px4.lockstep.enable_control_allocator to 1"),
    },
    "orb_topic_metadata": {-1: BAD_ARGUMENTS, -2: UNKNOWN_TOPIC},
    "orb_create_publisher_ex": {
        -1: BAD_ARGUMENTS,
        -2: UNKNOWN_TOPIC,
        -5: ("priorities are not supported", "leave the priority at 0"),
        -6: ("the topic's queue has a different length", "remove queue_size to skip this check"),
    },
    **dict.fromkeys(("orb_queue_publish", "orb_publisher_instance", "orb_check", "orb_unsubscribe"), _BY_ID),
    "orb_create_subscriber": {
        -1: BAD_ARGUMENTS,
        -2: UNKNOWN_TOPIC,
        -3: ("PX4 could not subscribe", "use an instance from 0 to 9"),
    },
    "orb_copy": {**_BY_ID, -1: ("it has never been published", "call copy() only after updated() returns True")},
}


def refused(function: str, about: str, code: int) -> Px4Error:
    """Return the error for a negative code of a function, named without its prefix."""
    meaning, remedy = CODES[function].get(
        code, ("a code that interface version 3 does not define", "check that the library is a release build")
    )
    return Px4Error(f"{PREFIX}{function}({about}) returned {code}: {meaning}; {remedy}")
