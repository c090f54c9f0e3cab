"""Short text for objects in a notebook or a debugger: no object of the public API fills the screen."""

from dataclasses import fields
from typing import Any

MAX_FIELD, MAX_OBJECT = 100, 600
"""Characters of a field, and of an object."""


def short(text: str, limit: int = MAX_OBJECT) -> str:
    """Return a text, cut in its middle if it is longer than a limit."""
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


class ShortRepr:
    """A dataclass, declared with `repr=False`, whose text has all fields, each of them cut."""

    def __repr__(self) -> str:
        own: Any = self
        parts = [f"{each.name}={short(repr(getattr(self, each.name)), MAX_FIELD)}" for each in fields(own) if each.repr]
        return short(f"{type(self).__name__}({', '.join(parts)})")
