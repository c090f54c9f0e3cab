"""The package's built-in message definitions: those of PX4 main of early 2026, as reported by the library."""

import functools
import json
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from px4lockstep.px4.uorb.definitions import Definition, Field
from px4lockstep.px4.uorb.layout import Layout, layout_of


@functools.cache
def shipped_definitions() -> Mapping[str, Definition]:
    """Return the built-in definitions by message."""
    text = resources.files("px4lockstep.px4").joinpath("uorb_topics.json").read_text("utf-8")
    known = {}
    for topic, entry in json.loads(text)["topics"].items():
        fields = tuple(map(Field.parse, entry["declared"]))
        known[entry["message"]] = Definition(entry["message"], fields, (topic,), entry["constants"])
    return MappingProxyType(known)


@functools.cache
def shipped_layouts() -> Mapping[str, Layout]:
    """Return the built-in layouts by topic."""
    known = shipped_definitions()
    return MappingProxyType({topic: layout_of(topic, each, known) for each in known.values() for topic in each.topics})
