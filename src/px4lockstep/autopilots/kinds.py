"""The autopilots that a spec file can ask for, by `autopilot.kind`, with what each can do.

The modules of the autopilots are imported when one is made, not to look at its capabilities.
"""

from dataclasses import dataclass

from px4lockstep.autopilots.base import NOBODY, Capabilities


@dataclass(frozen=True)
class Kind:
    """An autopilot of a spec file.

    Args:
        capabilities: What it can do.
        doc: What it is, for the reference of spec files.
        module: The module that checks its keys and makes it; None if there is nothing to make.
    """

    capabilities: Capabilities
    doc: str
    module: str | None = None


KINDS = {
    "builtin": Kind(
        Capabilities("the built-in autopilot"),
        "the built-in autopilot",
        "px4lockstep.autopilots.builtin.options",
    ),
    "px4": Kind(
        Capabilities("real PX4", needs_child=True, is_copyable=False, takes_px4_params=True),
        "real PX4 by its library",
        "px4lockstep.autopilots.px4_library.options",
    ),
    "px4-sitl": Kind(
        Capabilities(
            "stock PX4",
            is_repeatable=False,
            is_copyable=False,
            is_reusable=False,
            estimates_itself=True,
            reads_sensors=True,
            takes_sensor_faults=True,
            takes_px4_params=True,
        ),
        "stock PX4 over MAVLink",
        "px4lockstep.autopilots.px4_sitl.options",
    ),
    "none": Kind(NOBODY, "no autopilot"),
}
"""All of them; the first is the default."""
