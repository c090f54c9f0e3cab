"""The topics exchanged with PX4: named presets, and topics listed in the spec file.

The library contains no commander, estimator or land detector; `state_injection` publishes what these would. An entry in
the spec file's `[px4.uorb]` selects its topic by message type, `VehicleStatus` or `VehicleStatusMsg`, as in files of
PX4Lockstep.jl, or by `topic`; its key is only a label.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from px4lockstep.errors import InputError, suggestion
from px4lockstep.px4.fields import INPUT_FIELDS, OUTPUT_FIELDS, battery_fields
from px4lockstep.px4.uorb.definitions import snake_case
from px4lockstep.px4.uorb.shipped import shipped_layouts


@dataclass(frozen=True)
class Published:
    """A topic that is published to PX4, and the fields that are written; all others are 0.

    A period of 0 means every autopilot tick, instance -1 the next free one, and a queue of 0 is not checked.
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
    """A topic that is read from PX4, the fields that the simulator uses, and whether every message is logged."""

    topic: str
    fields: tuple[str, ...]
    key: str = ""
    instance: int = 0
    is_logged: bool = False


@dataclass(frozen=True)
class Interface:
    """All topics exchanged with PX4."""

    name: str
    published: tuple[Published, ...]
    read: tuple[Read, ...]

    def fields_used(self) -> dict[str, tuple[str, ...]]:
        """Return the fields used of each topic, for `check_layouts`."""
        used: dict[str, tuple[str, ...]] = {}
        crossing: list[Published | Read] = [*self.published, *self.read]
        for each in crossing:
            before = used.get(each.topic, ())
            used[each.topic] = (*before, *(name for name in each.fields if name not in before))
        return used


PUBLISHED = (
    Published("battery_status", tuple(battery_fields())),
    *(Published(topic, tuple(fields)) for topic, fields in INPUT_FIELDS.items()),
)
"""All topics that the simulator can publish to PX4."""
READ = tuple(Read(topic, tuple(fields)) for topic, fields in OUTPUT_FIELDS.items())
"""All topics that the simulator uses."""
NOT_IN_LOG = ("position_setpoint_triplet", "vehicle_command")
"""Topics that the simulator uses, but whose values are not columns of the log."""

STATE_INJECTION = Interface("state_injection", PUBLISHED, READ)
"""Publish state, modes and batteries, and read motors and setpoints: what a flight needs."""
ACTUATORS_ONLY = Interface("actuators_only", (), READ[:2])
"""Publish nothing, to watch PX4 run; it can't fly."""
PRESETS = {each.name: each for each in (STATE_INJECTION, ACTUATORS_ONLY)}


def interface_of(pubs: Sequence[Any], subs: Sequence[Any], preset: str | None = None) -> Interface:
    """Return the interface for the entries of `[[px4.uorb.pubs]]` and `[[px4.uorb.subs]]`; raise all errors at once.

    A listed topic overrides the preset's. Without a preset, only the listed topics are exchanged, or those of
    `state_injection` if none are listed.
    """
    if not pubs and not subs:
        return PRESETS[preset or STATE_INJECTION.name]
    report: list[str] = []
    published, read = _published(pubs, report), _read(subs, report)
    if report:
        raise InputError("\n".join(report))
    if preset is None:
        return Interface("px4.uorb", tuple(published), tuple(read))
    base = PRESETS[preset]
    ours, theirs = {each.topic for each in published}, {each.topic for each in read}
    return Interface(
        f"{preset} and px4.uorb",
        (*(each for each in base.published if each.topic not in ours), *published),
        (*(each for each in base.read if each.topic not in theirs), *read),
    )


def _published(pubs: Sequence[Any], report: list[str]) -> list[Published]:
    """Return the topics that the spec file lists for publication, and report errors."""
    filled = {each.topic: each.fields for each in PUBLISHED}
    published: list[Published] = []
    for place, topic, pub in _with_topics("px4.uorb.pubs", pubs, report):
        if topic not in filled:
            report.append(f"{place}: the simulator can't publish {topic}; it can publish {', '.join(filled)}")
            continue
        same = [each.instance for each in published if each.topic == topic]
        if same and topic != "battery_status":
            report.append(f"{place}: {topic} is already published; PX4 reads only one instance of it")
        elif pub.instance in same:
            which = "any instance" if pub.instance < 0 else f"instance {pub.instance}"
            report.append(f"{place}: {which} of {topic} is already published; use another instance")
        queue = pub.queue_size or 0
        times = (pub.period_us, pub.phase_us)
        published.append(Published(topic, filled[topic], pub.key, pub.instance, pub.priority, queue, *times))
    return published


def _read(subs: Sequence[Any], report: list[str]) -> list[Read]:
    """Return the topics that the spec file lists for reading, and report errors.

    The library may have topics that are unknown here, so they are checked when it is loaded. Messages are logged unless
    the log has their values already.
    """
    used = {each.topic: each.fields for each in READ}
    read: list[Read] = []
    for place, topic, sub in _with_topics("px4.uorb.subs", subs, report, allows_unknown=True):
        is_logged = topic not in used or topic in NOT_IN_LOG if sub.log is None else sub.log
        if any((each.topic, each.instance) == (topic, sub.instance) for each in read):
            report.append(f"{place}: instance {sub.instance} of {topic} is already read; list it once")
        elif not is_logged and topic not in used:
            report.append(f"{place}: log = false, but the simulator itself does not use {topic}; remove the entry")
        read.append(Read(topic, used.get(topic, ()), sub.key, sub.instance, is_logged))
    return read


def _with_topics(
    table: str, entries: Sequence[Any], report: list[str], *, allows_unknown: bool = False
) -> Iterator[tuple[str, str, Any]]:
    """Yield location, topic and entry of each entry with a known message and a unique key; report the others.

    With `allows_unknown`, an entry may name its topic, and the default topic of an unknown message is its own name.
    """
    layouts = shipped_layouts()
    messages = {each.message: topic for topic, each in layouts.items()}
    places: dict[str, str] = {}
    for i, entry in enumerate(entries):
        place, message = f"{table}[{i}]", entry.type.removesuffix("Msg")
        named = getattr(entry, "topic", None)
        key, same = ("key", entry.key) if named is None else ("topic", named), layouts.get(named or entry.key)
        if entry.key in places:
            report.append(f"{place}: key = {entry.key!r} is already used by {places[entry.key]}; use a unique key")
        elif message not in messages and not allows_unknown:
            report.append(f"{place}: type = {entry.type!r} is not a known message{suggestion(message, messages)}")
        elif same is not None and same.message != message:
            report.append(f"{place}: {key[0]} = {key[1]!r} is a topic of {same.message}, but type = {entry.type!r}")
        else:
            yield place, named or messages.get(message) or snake_case(message), entry
        places.setdefault(entry.key, place)
