"""Report of all errors in a file: one line each, with file, key, value and what is allowed."""

from collections.abc import Container
from dataclasses import dataclass, field

from pydantic import ValidationError

from px4lockstep.errors import ErrorLines, InputError
from px4lockstep.part import Key, Part, keys_of
from px4lockstep.part.wording import findings
from px4lockstep.spec.spec import Places, Spec

MAX_FOUND = 100
"""Number of errors after which the search stops."""
RELATED: dict[str, Container[str | int]] = {
    "": keys_of(Spec),
    "px4": ("px4", "home", "autopilot"),  # a mission that starts far from home
    "autopilot": ("autopilot", "airframe"),  # rotors that can't control all axes
}
"""Tables that may have caused an error that appears only when a flight is built, by the table of the error."""


@dataclass
class Report:
    """Collects errors."""

    places: Places
    root: type[Part] = Spec
    """The model of the whole file."""
    lines: ErrorLines = field(default_factory=ErrorLines)
    tables: list[str] = field(default_factory=list)
    """The top-level tables with errors."""
    findings: list[str] = field(default_factory=list)
    """The messages without locations."""
    first: Key = ()
    """The key of the first error."""

    def add(self, key: Key, text: str, tables: Container[str | int] = ()) -> None:
        """Add an error of a key, which the text names. `tables` are those that were checked against each other."""
        self.tables += [str(part) for part in key[:1]]
        self.first = self.first or key
        self.findings.append(text)
        own, *others = self.places.sources(key, tables)
        self.lines.append(f"{text} (values from {', '.join([own, *others])})" if others else f"{own}: {text}")

    def add_error(self, error: InputError) -> None:
        """Add a raised error, with its key."""
        table = str(error.key[0]) if error.key else ""
        self.add(error.key, str(error), RELATED.get(table, (table,)))

    @property
    def is_full(self) -> bool:
        """Whether further errors would not be shown."""
        return self.lines.total > MAX_FOUND

    def add_validation(self, prefix: Key, error: ValidationError) -> None:
        """Add all errors that pydantic found in a table."""
        for key, kind, text in findings(error, prefix, self.root):
            if self.is_full:
                return
            if kind == "missing":
                self.tables.append(str(key[0]))
                is_item = any(isinstance(part, int) for part in key)  # arrays are not merged: one file has all items
                self.lines.append(f"{self.places.own(key) if is_item else self.places.main}: {text}")
            else:
                self.add(key, text)

    def raise_if_any(self) -> None:
        """Raise all errors as one, if there are any."""
        if self.lines:
            raise self.error()

    def error(self) -> InputError:
        """Return all errors as one."""
        found = tuple(dict.fromkeys(self.findings))
        if self.lines.total == 1:
            return InputError(self.lines[0], key=self.first, findings=found)
        count = f"more than {MAX_FOUND}" if self.is_full else str(self.lines.total)
        shown = [*self.lines, "…"] if self.is_full else self.lines.shown()
        text = "\n".join([f"{self.places.main} has {count} errors:", *(f"  {line}" for line in shown)])
        return InputError(text, key=self.first, findings=found)
