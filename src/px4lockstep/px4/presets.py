"""What crosses the boundary to PX4: the topics that are published and read, as named presets or from the aircraft file.

The library has neither commander, estimator nor land detector: `state_injection` publishes what those would. An entry
of the file's `[px4.uorb]` names its topic by the type of the message, `VehicleStatus` or `VehicleStatusMsg`, as in
files of PX4Lockstep.jl; its key is only a name.
"""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from px4lockstep.errors import InputError
from px4lockstep.px4.uorb.shipped import shipped_layouts


@dataclass(frozen=True)
class Published:
    """A topic that is published to PX4, and which of its fields are written; all others are 0.

    A period of 0 is every tick of the autopilot. Instance -1 is the next that is free, a queue of 0 is not checked.
    """

    topic: str
    fields: tuple[str, ...]
    key: str = ""
    instance: int = -1
    priority: int = 0
    queue: int = 0
    period_us: int = 0
    phase_us: int = 0


@dataclass(frozen=True)
class Read:
    """A topic that is read from PX4, and which of its fields are used."""

    topic: str
    fields: tuple[str, ...]
    key: str = ""
    instance: int = 0


@dataclass(frozen=True)
class Interface:
    """All topics that cross the boundary."""

    name: str
    published: tuple[Published, ...]
    read: tuple[Read, ...]

    def fields_used(self) -> dict[str, tuple[str, ...]]:
        """Return the fields that are used of each topic, for `check_layouts`."""
        used: dict[str, tuple[str, ...]] = {}
        crossing: list[Published | Read] = [*self.published, *self.read]
        for each in crossing:
            before = used.get(each.topic, ())
            used[each.topic] = (*before, *(name for name in each.fields if name not in before))
        return used


PUBLISHED = (
    Published(
        "battery_status",
        (
            *("timestamp", "connected", "voltage_v", "current_a", "current_average_a", "discharged_mah", "remaining"),
            *("scale", "time_remaining_s", "temperature", "cell_count", "source", "id", "warning"),
        ),
    ),
    Published("vehicle_attitude", ("timestamp", "timestamp_sample", "q", "delta_q_reset", "quat_reset_counter")),
    Published(
        "vehicle_local_position",
        (
            *("timestamp", "timestamp_sample", "xy_valid", "z_valid", "v_xy_valid", "v_z_valid"),
            *("x", "y", "z", "vx", "vy", "vz", "z_deriv", "ax", "ay", "az"),
            *("heading", "unaided_heading", "heading_good_for_control"),
            *("xy_global", "z_global", "ref_timestamp", "ref_lat", "ref_lon", "ref_alt"),
            *("dist_bottom_valid", "dist_bottom", "eph", "epv", "evh", "evv", "dead_reckoning"),
            *("vxy_max", "vz_max", "hagl_min", "hagl_max_z", "hagl_max_xy"),
        ),
    ),
    Published(
        "vehicle_global_position",
        (
            *("timestamp", "timestamp_sample", "lat", "lon", "alt", "alt_ellipsoid", "lat_lon_valid", "alt_valid"),
            *("eph", "epv", "terrain_alt", "terrain_alt_valid", "dead_reckoning"),
        ),
    ),
    Published("vehicle_angular_velocity", ("timestamp", "timestamp_sample", "xyz", "xyz_derivative")),
    Published(
        "vehicle_land_detected",
        (
            *("timestamp", "freefall", "ground_contact", "maybe_landed", "landed", "in_ground_effect", "in_descend"),
            *("has_low_throttle", "vertical_movement", "horizontal_movement", "rotational_movement"),
            *("close_to_ground_or_skipped_check", "at_rest"),
        ),
    ),
    Published(
        "vehicle_status",
        (
            *("timestamp", "armed_time", "takeoff_time", "arming_state", "nav_state_timestamp"),
            *("nav_state_user_intention", "nav_state", "vehicle_type", "failsafe", "system_type", "system_id"),
            *("component_id", "pre_flight_checks_pass"),
        ),
    ),
    Published(
        "vehicle_control_mode",
        (
            *("timestamp", "flag_armed", "flag_multicopter_position_control_enabled", "flag_control_manual_enabled"),
            *("flag_control_auto_enabled", "flag_control_position_enabled", "flag_control_velocity_enabled"),
            *("flag_control_altitude_enabled", "flag_control_climb_rate_enabled", "flag_control_attitude_enabled"),
            *("flag_control_rates_enabled", "flag_control_allocation_enabled", "source_id"),
        ),
    ),
    Published("actuator_armed", ("timestamp", "armed", "prearmed", "ready_to_arm", "lockdown", "kill", "termination")),
    Published(
        "home_position",
        (
            *("timestamp", "lat", "lon", "alt", "x", "y", "z", "yaw", "valid_alt", "valid_hpos", "valid_lpos"),
            *("manual_home", "update_count"),
        ),
    ),
    Published("geofence_status", ("timestamp", "geofence_id", "status")),
)
"""All that the simulator can tell PX4."""

READ = (
    Read("actuator_motors", ("timestamp", "control")),
    Read("actuator_servos", ("timestamp", "control")),
    Read("vehicle_torque_setpoint", ("xyz",)),
    Read("vehicle_thrust_setpoint", ("xyz",)),
    Read("vehicle_attitude_setpoint", ("q_d", "thrust_body", "yaw_sp_move_rate")),
    Read("vehicle_rates_setpoint", ("roll", "pitch", "yaw", "thrust_body")),
    Read("trajectory_setpoint", ("position", "velocity", "acceleration", "yaw", "yawspeed")),
    Read(
        "position_setpoint_triplet",
        ("current.valid", "current.type", "current.lat", "current.lon", "current.alt", "current.yaw"),
    ),
    Read("mission_result", ("seq_reached", "seq_current", "seq_total", "valid", "finished", "failure")),
)

STATE_INJECTION = Interface("state_injection", PUBLISHED, READ)
"""State, modes and battery go in, motors and setpoints come out: what a flight needs."""
ACTUATORS_ONLY = Interface("actuators_only", (), READ[:2])
"""Nothing goes in: to see PX4 run. It flies nothing."""
PRESETS = {each.name: each for each in (STATE_INJECTION, ACTUATORS_ONLY)}


class SubscriptionEntry(Protocol):
    """An entry of `[[px4.uorb.subs]]`."""

    @property
    def key(self) -> str:
        """Its name."""

    @property
    def type(self) -> str:
        """Its message."""

    @property
    def instance(self) -> int:
        """Its instance."""


class PublicationEntry(SubscriptionEntry, Protocol):
    """An entry of `[[px4.uorb.pubs]]`."""

    @property
    def priority(self) -> int:
        """Its priority."""

    @property
    def queue_size(self) -> int | None:
        """Its queue, if it is to be checked."""


Entry = TypeVar("Entry", bound=SubscriptionEntry)


def interface_of(pubs: Sequence[PublicationEntry], subs: Sequence[SubscriptionEntry]) -> Interface:
    """Return what the aircraft file's `[px4.uorb]` asks for; `state_injection` if it lists nothing.

    Raises:
        InputError: One report of all entries that name no message, that nothing in the simulator fills, or that come
            twice.
    """
    if not pubs and not subs:
        return STATE_INJECTION
    report: list[str] = []
    filled = {each.topic: each.fields for each in PUBLISHED}
    used = {each.topic: each.fields for each in READ}
    published: list[Published] = []
    read: list[Read] = []
    for place, pub in _unique("px4.uorb.pubs", pubs, report):
        topic = _topic(place, pub, report)
        if topic is not None and topic not in filled:
            report.append(f"{place}: nothing in the simulator fills {topic}; it can publish {', '.join(filled)}")
        elif topic is not None:
            if pub.instance >= 0 and any((topic, pub.instance) == (each.topic, each.instance) for each in published):
                report.append(f"{place}: instance {pub.instance} of {topic} is published already; give it another")
            queue = pub.queue_size or 0
            published.append(Published(topic, filled[topic], pub.key, pub.instance, pub.priority, queue))
    for place, sub in _unique("px4.uorb.subs", subs, report):
        topic = _topic(place, sub, report)
        if topic is not None:
            read.append(Read(topic, used.get(topic, ()), sub.key, sub.instance))
    if report:
        raise InputError("\n".join(report))
    return Interface("px4.uorb", tuple(published), tuple(read))


def _unique(table: str, entries: Sequence[Entry], report: list[str]) -> list[tuple[str, Entry]]:
    """Return entries with their places, without those that come a second time."""
    places: dict[str, str] = {}
    found = []
    for i, entry in enumerate(entries):
        place = f"{table}[{i}]"
        if entry.key in places:
            report.append(f"{place}: the key {entry.key!r} is that of {places[entry.key]}; give each its own")
        else:
            places[entry.key] = place
            found.append((place, entry))
    return found


def _topic(place: str, entry: SubscriptionEntry, report: list[str]) -> str | None:
    """Return the topic that an entry means, or report that it means none."""
    messages = {each.message: topic for topic, each in shipped_layouts().items()}
    message = entry.type.removesuffix("Msg")
    if message not in messages:
        nearest = difflib.get_close_matches(message, messages, n=1, cutoff=0.0)[0]
        report.append(f"{place}: type = {entry.type!r} is no message; the closest that is known is {nearest}")
        return None
    same = shipped_layouts().get(entry.key)
    if same is not None and same.message != message:
        report.append(f"{place}: key = {entry.key!r} is a topic of {same.message}, but type = {entry.type!r}")
        return None
    return messages[message]
