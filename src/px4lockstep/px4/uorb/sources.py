"""Sources of a topic's layout, and the check that it matches the loaded library.

The sources are tried in this order: the library's field string; the package's built-in messages, selected by hash; the
user's folder of `.msg` files, if its hash matches the library's.
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
    """The library's metadata of a topic; `message_hash` is 0 and `fields` None if it does not provide them."""

    topic: str
    size: int
    size_no_padding: int
    message_hash: int
    queue: int
    fields: str | None


class LayoutSources:
    """The built-in messages, and optionally a folder of `.msg` files."""

    def __init__(self, msg_dir: str | PathLike[str] | None = None):
        self._folder = None if msg_dir is None else str(msg_dir)
        self._definitions: Mapping[str, Definition] = {} if msg_dir is None else read_msg_folder(msg_dir)
        self._messages = {topic: each for each in self._definitions.values() for topic in each.topics}

    def topics(self) -> list[str]:
        """Return the topics in the folder, or the built-in ones without a folder."""
        return sorted(self._messages or shipped_layouts())

    def layout(self, topic: str) -> Layout:
        """Return the layout of a topic without a library: from the folder, or the built-in one."""
        if self._folder is not None and topic in self._messages:
            return self._from_folder(topic)
        if self._folder is None and topic in shipped_layouts():
            return shipped_layouts()[topic]
        where = "the built-in messages" if self._folder is None else self._folder
        raise LayoutError(f"there is no topic {topic!r} in {where}; list all topics with px4lockstep uorb list")

    def fitting(self, metadata: TopicMetadata, asked: "Px4") -> Layout:
        """Return the layout that matches a library's hash and size of a topic; errors list what the sources have."""
        if metadata.fields:
            dtype = dtype_of_field_string(metadata.topic, metadata.fields, lambda topic: asked.layout(topic).dtype)
            return self._named(metadata, dtype)
        if metadata.message_hash == 0:
            raise LayoutError(
                f"{metadata.topic}: the library provides neither the message's hash nor its fields, so no layout can "
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
                f"{metadata.topic}: the library reports {metadata.size} bytes, but its message hash "
                f"{metadata.message_hash:#010x} is that of a message with {found.size} bytes; rebuild the library"
            )
        return replace(found, topic=metadata.topic)

    def _from_folder(self, topic: str) -> Layout:
        try:
            return layout_of(topic, self._messages[topic], self._definitions)
        except LayoutError as error:
            raise LayoutError(f"{self._folder}: {error}") from None

    def _named(self, metadata: TopicMetadata, dtype: np.dtype[Any]) -> Layout:
        """Return the layout for a dtype from a field string, or the built-in one if it is identical."""
        if dtype.itemsize != metadata.size:
            raise LayoutError(
                f"{metadata.topic}: the library reports {metadata.size} bytes, but its fields take "
                f"{dtype.itemsize}; rebuild the library"
            )
        shipped = shipped_layouts().get(metadata.topic)
        if shipped is not None and (shipped.dtype, shipped.message_hash) == (dtype, metadata.message_hash):
            return shipped
        return Layout(metadata.topic, pascal_case(metadata.topic), dtype, metadata.size, metadata.message_hash)

    def _unknown(self, metadata: TopicMetadata) -> str:
        """Return the error that no layout matches, with the available ones and a remedy."""
        topic = metadata.topic
        text = f"{topic}: the library's message has the hash {_brief(metadata)}, and no layout with that hash is known"
        shipped = shipped_layouts().get(topic)
        if shipped is not None:
            text += f"; the built-in message has {_brief(shipped)}"
        if self._folder is None:
            return f"{text}; set px4.msg_dir (--msg) to the folder msg of the PX4 that the library was built from"
        if topic not in self._messages:
            text += f"; {self._folder} has no such topic"
        else:
            ours = self._from_folder(topic)
            text += f"; {self._folder} has {_brief(ours)}"
            if shipped is not None and shipped.message_hash != ours.message_hash:
                differ = differences(shipped, ours, ("the built-in message", "the folder"))
                text += f", where {', '.join(differ) or 'the same fields are in a different order'}"
        return f"{text}; the folder must be from the commit that the library was built from"


def check_layouts(px4: "Px4", topics: Mapping[str, Iterable[str]]) -> dict[str, Layout]:
    """Check that the loaded library's messages have the expected layout, before anything is written or read.

    Args:
        px4: The loaded library.
        topics: The fields used of each topic; nested ones as `current.lat`.

    Returns:
        The layouts by topic.

    Raises:
        LayoutError: If the library lacks a topic, a layout is unknown, or a used field is missing or differs in type
            from the built-in message; one report lists all of them.
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
                f"{topic}: the library's message (hash {_brief(px4.metadata(topic))}{expected}) differs in used "
                f"fields: {', '.join(wrong)}; use a PX4 that has them, or remove the topic from [px4.uorb]"
            )
    if report:
        raise LayoutError("\n".join(report))
    return found


def _wrong_fields(layout: Layout, used: Iterable[str]) -> list[str]:
    """Return which used fields are missing, or differ in type from the built-in message."""
    there = layout.fields()
    shipped = shipped_layouts().get(layout.topic)
    expected = {} if shipped is None else shipped.fields()
    wrong = []
    for name in used:
        if name not in there:
            wrong.append(f"{name} is missing")
        elif name in expected and there[name][0] != expected[name][0]:
            wrong.append(f"{name} is {there[name][0]}, not {expected[name][0]}")
    return wrong


def _brief(known: Layout | TopicMetadata) -> str:
    return f"{known.message_hash:#010x} ({known.size} bytes)"
