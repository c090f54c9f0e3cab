"""All that is wrong with a file, in one error: a line for each, with file, key, value and what is allowed."""

from collections.abc import Container
from dataclasses import dataclass, field

from pydantic import ValidationError

from px4lockstep.errors import ErrorLines, InputError
from px4lockstep.part import Key, Part, keys_of
from px4lockstep.part.wording import findings
from px4lockstep.spec.spec import Places, Spec

MAX_FOUND = 100
"""Errors after which no more are looked for."""
RELATED: dict[str, Container[str | int]] = {
    "": keys_of(Spec),
    "px4": ("px4", "home", "autopilot"),  # a mission that begins elsewhere
    "autopilot": ("autopilot", "airframe"),  # rotors that can't steer
}
"""The tables whose values may be to blame for an error of a table that shows only when a flight is built."""


@dataclass
class Report:
    """Collects what is wrong."""

    places: Places
    root: type[Part] = Spec
    """The table that is the file."""
    lines: ErrorLines = field(default_factory=ErrorLines)
    tables: list[str] = field(default_factory=list)
    """The top-level tables that something is wrong with."""
    findings: list[str] = field(default_factory=list)
    """What is wrong, without places."""
    first: Key = ()
    """The first key that something is wrong with."""

    def add(self, key: Key, text: str, tables: Container[str | int] = ()) -> None:
        """Add a problem of a key; the text names it. `tables` are those that it was found by."""
        self.tables += [str(part) for part in key[:1]]
        self.first = self.first or key
        self.findings.append(text)
        self.lines.append(f"{self.places.of(key, tables)}: {text}")

    def add_error(self, error: InputError) -> None:
        """Add an error that was raised, at its key."""
        table = str(error.key[0]) if error.key else ""
        self.add(error.key, str(error), RELATED.get(table, (table,)))

    @property
    def is_full(self) -> bool:
        """Whether more would not be shown, and need not be looked for."""
        return self.lines.total > MAX_FOUND

    def add_validation(self, prefix: Key, error: ValidationError) -> None:
        """Add all that pydantic found in a table."""
        for key, kind, text in findings(error, prefix, self.root):
            if self.is_full:
                return
            if kind == "missing":
                self.tables.append(str(key[0]))
                is_item = any(isinstance(part, int) for part in key)  # of an array, which one file has as a whole
                self.lines.append(f"{self.places.of(key) if is_item else self.places.main}: {text}")
            else:
                self.add(key, text)

    def raise_if_any(self) -> None:
        """Raise everything as one error, if there is anything."""
        if self.lines:
            raise self.error()

    def error(self) -> InputError:
        """Return everything as one error."""
        found = tuple(dict.fromkeys(self.findings))
        if self.lines.total == 1:
            return InputError(self.lines[0], key=self.first, findings=found)
        count = f"more than {MAX_FOUND}" if self.is_full else str(self.lines.total)
        shown = [*self.lines, "…"] if self.is_full else self.lines.shown()
        text = "\n".join([f"{self.places.main} has {count} errors:", *(f"  {line}" for line in shown)])
        return InputError(text, key=self.first, findings=found)
