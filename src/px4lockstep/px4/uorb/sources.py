"""Where the layout of a topic comes from, and whether it fits the loaded library.

In this order: the library's field string; the messages that ship with the package, chosen by hash; the user's folder of
`.msg` files, if its hash is the library's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb.definitions import Definition, pascal_case
from px4lockstep.px4.uorb.field_string import dtype_of_field_string
from px4lockstep.px4.uorb.layout import Layout, differences, layout_of
from px4lockstep.px4.uorb.msg_files import read_msg_folder
from px4lockstep.px4.uorb.shipped import shipped_layouts

if TYPE_CHECKING:
    from px4lockstep.px4.handle import Px4


@dataclass(frozen=True)
class TopicMetadata:
    """What the library says of a topic; `message_hash` is 0 and `fields` None if it does not say them."""

    topic: str
    size: int
    size_no_padding: int
    message_hash: int
    queue: int
    fields: str | None


class LayoutSources:
    """What ships with the package, and a folder of `.msg` files if there is one."""

    def __init__(self, msg_dir: str | PathLike[str] | None = None):
        self._folder = None if msg_dir is None else str(msg_dir)
        self._definitions: Mapping[str, Definition] = {} if msg_dir is None else read_msg_folder(msg_dir)
        self._messages = {topic: each for each in self._definitions.values() for topic in each.topics}

    def topics(self) -> list[str]:
        """Return the topics of the folder; of what ships, if there is no folder."""
        return sorted(self._messages or shipped_layouts())

    def layout(self, topic: str) -> Layout:
        """Return the layout of a topic without asking a library: from the folder, or from what ships."""
        if self._folder is not None and topic in self._messages:
            return self._from_folder(topic)
        if self._folder is None and topic in shipped_layouts():
            return shipped_layouts()[topic]
        where = "what ships with px4lockstep" if self._folder is None else self._folder
        raise LayoutError(f"there is no topic {topic!r} in {where}; px4lockstep uorb list has all")

    def fitting(self, metadata: TopicMetadata, asked: "Px4") -> Layout:
        """Return the layout with the hash and size that a library has for a topic, or say what the sources have."""
        if metadata.fields:
            dtype = dtype_of_field_string(metadata.topic, metadata.fields, lambda topic: asked.layout(topic).dtype)
            return self._named(metadata, dtype)
        if metadata.message_hash == 0:
            raise LayoutError(
                f"{metadata.topic}: the library tells neither the message's hash nor its fields, so that no layout can "
                "be checked; build it from a PX4 of 2023 or later"
            )
        layouts = shipped_layouts()
        own = [layouts[metadata.topic]] if metadata.topic in layouts else []
        found = next((each for each in (*own, *layouts.values()) if each.message_hash == metadata.message_hash), None)
        if found is None and metadata.topic in self._messages:
            found = self._from_folder(metadata.topic)
        if found is None or found.message_hash != metadata.message_hash:
            raise LayoutError(self._unknown(metadata))
        if found.size != metadata.size:
            raise LayoutError(
                f"{metadata.topic}: the library says {metadata.size} bytes, but its message hash "
                f"{metadata.message_hash:#010x} is that of a message with {found.size} bytes; build the library anew"
            )
        return replace(found, topic=metadata.topic)

    def _from_folder(self, topic: str) -> Layout:
        try:
            return layout_of(topic, self._messages[topic], self._definitions)
        except LayoutError as error:
            raise LayoutError(f"{self._folder}: {error}") from None

    def _named(self, metadata: TopicMetadata, dtype: np.dtype[Any]) -> Layout:
        """Return a layout that was made from a field string; if it is the one that ships, with what that has."""
        if dtype.itemsize != metadata.size:
            raise LayoutError(
                f"{metadata.topic}: the library says {metadata.size} bytes, but the fields that it tells take "
                f"{dtype.itemsize}; build it anew"
            )
        shipped = shipped_layouts().get(metadata.topic)
        if shipped is not None and (shipped.dtype, shipped.message_hash) == (dtype, metadata.message_hash):
            return shipped
        return Layout(metadata.topic, pascal_case(metadata.topic), dtype, metadata.size, metadata.message_hash)

    def _unknown(self, metadata: TopicMetadata) -> str:
        """Say that no layout fits, with what there is and how to get the right one."""
        topic = metadata.topic
        text = f"{topic}: the library's message has the hash {_brief(metadata)}, and no layout with that hash is known"
        shipped = shipped_layouts().get(topic)
        if shipped is not None:
            text += f"; what ships has {_brief(shipped)}"
        if self._folder is None:
            return f"{text}; set px4.msg_dir (--msg) to the folder msg of the PX4 that the library was built from"
        if topic not in self._messages:
            text += f"; {self._folder} has no such topic"
        else:
            ours = self._from_folder(topic)
            text += f"; {self._folder} has {_brief(ours)}"
            if shipped is not None and shipped.message_hash != ours.message_hash:
                differ = differences(shipped, ours, ("what ships", "the folder"))
                text += f", where {', '.join(differ) or 'the same fields are in another order'}"
        return f"{text}; the folder must be of the very commit that the library was built from"


def check_layouts(px4: "Px4", topics: Mapping[str, Iterable[str]]) -> dict[str, Layout]:
    """Check that messages are laid out as expected in the loaded library, before anything is written or read.

    Args:
        px4: The loaded library.
        topics: The fields that are used of each topic; one of a nested message as `current.lat`.

    Returns:
        The layouts by topic.

    Raises:
        LayoutError: One report of all topics that the library does not have, whose layout is not known, or that lack
            a field that is used, or have it with another type than the message that ships.
    """
    found: dict[str, Layout] = {}
    report: list[str] = []
    for topic, used in topics.items():
        try:
            found[topic] = px4.layout(topic)
        except LayoutError as error:
            report.append(str(error))
            continue
        wrong = _wrong_fields(found[topic], used)
        if wrong:
            shipped = shipped_layouts().get(topic)
            expected = "" if shipped is None else f", not {_brief(shipped)}"
            report.append(
                f"{topic}: the library's message (hash {_brief(px4.metadata(topic))}{expected}) differs in fields "
                f"that are used: {', '.join(wrong)}; use a PX4 that has them, or leave the topic out of [px4.uorb]"
            )
    if report:
        raise LayoutError("\n".join(report))
    return found


def _wrong_fields(layout: Layout, used: Iterable[str]) -> list[str]:
    """Say which of the fields that are used are not there, or of another type than in the message that ships."""
    there = layout.fields()
    shipped = shipped_layouts().get(layout.topic)
    expected = {} if shipped is None else shipped.fields()
    wrong = []
    for name in used:
        if name not in there:
            wrong.append(f"{name} is not there")
        elif name in expected and there[name][0] != expected[name][0]:
            wrong.append(f"{name} is {there[name][0]}, not {expected[name][0]}")
    return wrong


def _brief(known: Layout | TopicMetadata) -> str:
    return f"{known.message_hash:#010x} ({known.size} bytes)"
