"""Layouts of the topics in a ULog file: those of `shipped`, more messages, and topics that share a message.

The additional messages are those of PX4 main of August 2026. The library does not exchange them, so they are not among
the built-in layouts that are checked against it.
"""

import functools
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from px4lockstep.px4.uorb.definitions import Definition, Field, pascal_case
from px4lockstep.px4.uorb.layout import Layout, layout_of
from px4lockstep.px4.uorb.shipped import shipped_layouts

ADDED = {
    "actuator_outputs": ("uint64 timestamp", "uint32 noutputs", "float32[16] output"),
    "estimator_status": (
        *("uint64 timestamp", "uint64 timestamp_sample", "float32[3] output_tracking_error"),
        *("uint16 gps_check_fail_flags", "uint64 control_mode_flags", "uint32 filter_fault_flags"),
        *(f"float32 pos_{direction}_accuracy" for direction in ("horiz", "vert")),
        *(f"float32 {what}_test_ratio" for what in ("hdg", "vel", "pos", "hgt", "tas", "hagl", "beta")),
        "uint16 solution_status_flags",
        *(f"uint8 reset_count_{what}" for what in ("vel_ne", "vel_d", "pos_ne", "pod_d", "quat")),
        "float32 time_slip",
        *(f"bool pre_flt_fail_innov_{what}" for what in ("heading", "height", "pos_horiz", "vel_horiz", "vel_vert")),
        "bool pre_flt_fail_mag_field_disturbed",
        *(f"uint32 {sensor}_device_id" for sensor in ("accel", "gyro", "baro", "mag")),
        *("uint8 health_flags", "uint8 timeout_flags"),
        *("float32 mag_inclination_deg", "float32 mag_inclination_ref_deg"),
        *("float32 mag_strength_gs", "float32 mag_strength_ref_gs"),
    ),
}
"""Declared fields by topic."""
SHARED = {
    "vehicle_gps_position": "sensor_gps",
    **{
        f"{topic}_groundtruth": topic
        for topic in (
            "vehicle_attitude",
            "vehicle_angular_velocity",
            "vehicle_local_position",
            "vehicle_global_position",
        )
    },
}
"""Topics with the message of another topic."""


@functools.cache
def logged_layouts() -> Mapping[str, Layout]:
    """Return the layouts by topic."""
    found = dict(shipped_layouts())
    for topic, declared in ADDED.items():
        definition = Definition(pascal_case(topic), tuple(map(Field.parse, declared)), (topic,))
        found[topic] = layout_of(topic, definition, {})
    found |= {topic: replace(found[other], topic=topic) for topic, other in SHARED.items()}
    return MappingProxyType(found)
