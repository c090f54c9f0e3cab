"""Events of the command line: `--event "at_s=12, action=disable_motor, motor=2"`."""

import re
from collections.abc import Sequence
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.spec.overrides import parse_override

TOKEN = re.compile(r"""\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|.""", re.DOTALL)
"""A string, or any other character."""


def parse_event(text: str) -> dict[str, Any]:
    """Parse an event of the command line: the keys of a table `[[scenario.events]]`, separated by commas.

    Values are TOML; a word needs no quotes. Braces around the keys, as of an inline table, are accepted.
    """
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    try:
        pairs = [parse_override(part) for part in _parts(inner)]
        if len(dict(pairs)) < len(pairs):
            raise InputError("a key is given twice")
        return dict(pairs)
    except InputError as error:
        raise InputError(f"--event {text}: {error}. Write an event as at_s=40,action=return") from error


def _parts(text: str) -> list[str]:
    """Split a text at the commas that are not in an array, a table or a string."""
    parts, depth = [""], 0
    for token in TOKEN.findall(text):
        depth += (token in "[{") - (token in "]}")
        if token == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def parse_events(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Parse the events of a command line."""
    return [parse_event(text) for text in texts]
