"""`px4lockstep uorb`: list, show and verify the layouts of uORB messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.errors import LayoutError
from px4lockstep.px4 import Layout, Library, Px4, check_layouts, shipped_layouts
from px4lockstep.px4.console import STANDARD_ERROR, console_into
from px4lockstep.px4.presets import STATE_INJECTION
from px4lockstep.px4.uorb import LayoutSources, TopicMetadata

FITS, DIFFERS = 0, 1


def list_topics(as_json: bool, lib: Path | None = None, msg: Path | None = None) -> int:
    """Print the topics with size and hash; return the exit code."""
    sources = LayoutSources(msg)
    found: list[Layout | TopicMetadata] = []
    if lib is None:
        found += [sources.layout(topic) for topic in sources.topics()]
    else:
        with _running(lib, msg) as (_, px4):
            for topic in sources.topics():
                try:
                    found.append(px4.metadata(topic))
                except LayoutError:  # this PX4 lacks the topic
                    continue
    if as_json:
        print_json([_as_dict(each) for each in found])
        return FITS
    table = Table("topic", "bytes", "hash")
    for each in found:
        table.add_row(each.topic, str(each.size), _hash(each))
    Console(soft_wrap=True).print(table)
    return FITS


def show_topic(topic: str, as_json: bool, lib: Path | None = None, msg: Path | None = None) -> int:
    """Print the fields of a topic's message in memory order, and its constants."""
    if lib is None:
        layout = LayoutSources(msg).layout(topic)
    else:
        with _running(lib, msg) as (_, px4):
            layout = px4.layout(topic)
    fields = [{"name": name, "type": kind, "offset": offset} for name, (kind, offset) in layout.fields().items()]
    if as_json:
        described = {"message": layout.message, "fields": fields, "constants": dict(layout.constants)}
        print_json(_as_dict(layout) | described)
        return FITS
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(f"{topic}: {layout.message}, {layout.size} bytes, {_hash(layout)}")
    table = Table("field", "type", "offset")
    for field in fields:
        table.add_row(*map(str, field.values()))
    console.print(table)
    for name, value in layout.constants.items():
        console.print(f"{name} = {value}")
    return FITS


def verify_topics(as_json: bool, lib: Path | None = None, msg: Path | None = None) -> int:
    """Check the built-in message layouts against a library; return 1 if one that flights use does not match."""
    used = STATE_INJECTION.fields_used()
    checked = [*used, *(topic for topic in shipped_layouts() if topic not in used)]
    problems: dict[str, str] = {}
    with _running(lib, msg) as (library, px4):
        for topic in checked:
            try:
                check_layouts(px4, {topic: used.get(topic, ())})
            except LayoutError as error:
                problems[topic] = str(error)
    fits = not any(topic in used for topic in problems)
    if as_json:
        rows = [
            {"topic": topic, "used": topic in used, "fits": topic not in problems, "problem": problems.get(topic)}
            for topic in checked
        ]
        print_json({"library": str(library.path), "fits": fits, "topics": rows})
    else:
        for topic, problem in problems.items():
            write_out(f"{'' if topic in used else 'not used: '}{problem}\n")
        outcome = "this library can be flown" if fits else "this library can't be flown"
        write_out(f"{len(checked) - len(problems)} of {len(checked)} topics match {library.path}; {outcome}\n")
    return FITS if fits else DIFFERS


@contextmanager
def _running(lib: Path | None, msg: Path | None) -> Iterator[tuple[Library, Px4]]:
    """Start PX4 with its console on standard error."""
    library = Library.load(lib)
    with console_into(STANDARD_ERROR), library.create(msg_dir=msg) as px4:
        yield library, px4


def _as_dict(known: Layout | TopicMetadata) -> dict[str, Any]:
    return {"topic": known.topic, "size": known.size, "message_hash": _hash(known)}


def _hash(known: Layout | TopicMetadata) -> str:
    return f"{known.message_hash:#010x}"
