"""What crosses the boundary to PX4: the topics that are published and read, as named presets or from the aircraft file.

The library has neither commander, estimator nor land detector: `state_injection` publishes what those would. An entry
of the file's `[px4.uorb]` names its topic by the type of the message, `VehicleStatus` or `VehicleStatusMsg`, as in
files of PX4Lockstep.jl; its key is only a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from px4lockstep.errors import InputError, suggestion
from px4lockstep.px4.fields import INPUT_FIELDS, OUTPUT_FIELDS, battery_fields
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
    Published("battery_status", tuple(battery_fields())),
    *(Published(topic, tuple(fields)) for topic, fields in INPUT_FIELDS.items()),
)
"""All that the simulator can publish to PX4."""
READ = tuple(Read(topic, tuple(fields)) for topic, fields in OUTPUT_FIELDS.items())
"""All that it has a use for."""

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

    @property
    def period_us(self) -> int:
        """How often it is published; 0 is every tick."""

    @property
    def phase_us(self) -> int:
        """When it is published first."""


Entry = TypeVar("Entry", bound=SubscriptionEntry)


def interface_of(
    pubs: Sequence[PublicationEntry], subs: Sequence[SubscriptionEntry], preset: str | None = None
) -> Interface:
    """Return what the aircraft file's `[px4.uorb]` asks for.

    Args:
        pubs: What it lists to be published.
        subs: What it lists to be read.
        preset: A preset, in which each topic that is listed takes the place of the preset's. Left out, what is listed
            is all there is, or `state_injection` if nothing is.

    Raises:
        InputError: One report of all entries that name no message, that nothing in the simulator fills, or that come
            twice.
    """
    if not pubs and not subs:
        return PRESETS[preset or STATE_INJECTION.name]
    report: list[str] = []
    published = _published(pubs, report)
    used = {each.topic: each.fields for each in READ}
    read: list[Read] = []
    for place, sub in _unique("px4.uorb.subs", subs, report):
        topic = _topic(place, sub, report)
        if topic is not None:
            read.append(Read(topic, used.get(topic, ()), sub.key, sub.instance))
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


def _published(pubs: Sequence[PublicationEntry], report: list[str]) -> list[Published]:
    """Return what the file lists to be published, and report what is wrong with it."""
    filled = {each.topic: each.fields for each in PUBLISHED}
    published: list[Published] = []
    for place, pub in _unique("px4.uorb.pubs", pubs, report):
        topic = _topic(place, pub, report)
        if topic is None:
            continue
        if topic not in filled:
            report.append(f"{place}: nothing in the simulator fills {topic}; it can publish {', '.join(filled)}")
            continue
        same = [each.instance for each in published if each.topic == topic]
        if same and topic != "battery_status":
            report.append(f"{place}: {topic} is published already; PX4 reads one instance of it")
        elif pub.instance in same:
            which = "any instance" if pub.instance < 0 else f"instance {pub.instance}"
            report.append(f"{place}: {which} of {topic} is published already; give it another")
        queue = pub.queue_size or 0
        times = (pub.period_us, pub.phase_us)
        published.append(Published(topic, filled[topic], pub.key, pub.instance, pub.priority, queue, *times))
    return published


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
        report.append(f"{place}: type = {entry.type!r} is no message{suggestion(message, messages)}")
        return None
    same = shipped_layouts().get(entry.key)
    if same is not None and same.message != message:
        report.append(f"{place}: key = {entry.key!r} is a topic of {same.message}, but type = {entry.type!r}")
        return None
    return messages[message]
