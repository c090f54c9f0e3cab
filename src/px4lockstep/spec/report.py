"""All that is wrong with a file, in one error: a line for each, with file, key, value and what is allowed."""

import difflib
from collections.abc import Container, Iterable
from typing import Any

from pydantic import ValidationError

from px4lockstep.errors import InputError
from px4lockstep.spec.spec import Key, Places, Spec, all_tables, dotted, keys_of, model_at
from px4lockstep.spec.table import KEY, Table, show

MAX_LINES = 100
MAX_KEY = 100

MUST_BE = {
    "float_type": "a number",
    "int_type": "a whole number, without a point",
    "string_type": "a string, in quotes",
    "bool_type": "true or false",
    "tuple_type": "an array",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
    "string_too_short": "a string that is not empty",
}
WORDS = (
    ("greater than or equal to", "at least"),
    ("greater than", "above"),
    ("less than or equal to", "at most"),
    ("less than", "below"),
)
COUNTS = {"too_short", "too_long"}


class Report:
    """Collects what is wrong.

    Args:
        places: Where values came from.
        root: The table that is the file.
    """

    def __init__(self, places: Places, root: type[Table] = Spec) -> None:
        self.places = places
        self.root = root
        self.lines: list[str] = []
        self.tables: list[str] = []
        """The top-level tables that something is wrong with."""

    def add(self, key: Key, text: str, tables: Container[str | int] = ()) -> None:
        """Add a problem of a key; the text names it. `tables` are those that it was found by."""
        self.tables += [str(part) for part in key[:1]]
        self.lines.append(f"{self.places.of(key, tables)}: {text}")

    @property
    def is_full(self) -> bool:
        """Whether more would not be shown, and need not be looked for."""
        return len(self.lines) > MAX_LINES

    def add_validation(self, prefix: Key, error: ValidationError) -> None:
        """Add all that pydantic found in a table."""
        all_found = error.errors(include_url=False)
        for found in all_found:
            if self.is_full:
                return
            key: Key = (*prefix, *found["loc"])
            place = found["loc"]
            if found["type"] in COUNTS and any(
                other["loc"][: len(place)] == place != other["loc"] for other in all_found
            ):
                continue  # pydantic counts the good ones only
            if found["type"] == "missing":
                self.tables.append(str(key[0]))
                is_item = any(isinstance(part, int) for part in key)  # of an array, which one file has as a whole
                self.lines.append(f"{self.places.of(key) if is_item else self.places.main}: {_missing(key, self.root)}")
            else:
                self.add(key, _text(key, dict(found), self.root))

    def raise_if_any(self) -> None:
        """Raise everything as one error.

        Raises:
            InputError: If there is anything.
        """
        lines = list(dict.fromkeys(self.lines))
        if len(lines) == 1:
            raise InputError(lines[0])
        if lines:
            is_all = len(lines) <= MAX_LINES
            count = f"{len(lines)} errors" if is_all else f"more than {MAX_LINES} errors"
            shown = [f"  {line}" for line in lines[:MAX_LINES]]
            raise InputError("\n".join([f"{self.places.main} has {count}:", *shown, *([] if is_all else ["  …"])]))


def _text(key: Key, found: dict[str, Any], root: type[Table]) -> str:
    """Write what pydantic found."""
    kind, value, context = found["type"], found["input"], found.get("ctx", {})
    name = dotted(key)
    if kind == "wrong":
        return str(context["text"]).replace(KEY, name)
    if kind == "extra_forbidden":
        return unknown(key, value, root)
    if kind in COUNTS:
        count = context["actual_length"]
        limit = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"{name} has {count}; there must be {limit}"
    if kind == "literal_error":
        wrong = "unknown" if isinstance(value, str) else "not allowed"
        return f"{name} = {show(value)} is {wrong}; {choices(value, str(context['expected']))}"
    range_, should = _range(key, root), found["msg"].removeprefix("Input should be ")
    for theirs, ours in WORDS:
        should = should.replace(theirs, ours)
    if kind.startswith(("greater_than", "less_than")):
        return f"{name} = {show(value)} is out of range; it must be {range_ or should}"
    if kind == "string_too_long":
        return f"{name} = {show(value)} is too long; it must have at most {context['max_length']} characters"
    must = MUST_BE.get(kind, should)
    if range_ and kind in ("float_type", "int_type", "finite_number"):
        must += f", {range_}"
    return f"{name} = {show(value)} is not allowed; it must be {must}"


def _range(key: Key, root: type[Table]) -> str:
    """Say between what limits a key must lie."""
    names = [part for part in key if isinstance(part, str)]
    model = model_at(tuple(names[:-1]), root) if names else None
    field = keys_of(model).get(names[-1]) if model is not None else None
    words = []
    for limit in field.metadata if field is not None else ():
        for attribute, text in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
            if hasattr(limit, attribute):
                words.append(f"{text} {getattr(limit, attribute)}")
    return " and ".join(words)


def _missing(key: Key, root: type[Table]) -> str:
    names = tuple(part for part in key if isinstance(part, str))
    model = model_at(names[:-1], root)
    field = keys_of(model).get(names[-1]) if model is not None else None
    what = f": {field.description}" if field is not None and field.description else ""
    return f"{dotted(key)} is missing; it must be given{what}"


def choices(value: Any, expected: str) -> str:
    """Say what is allowed, the closest first; `expected` is as pydantic writes it."""
    names = [word.strip() for word in expected.replace(" or ", ", ").split(",")]
    meant = difflib.get_close_matches(value, [name.strip("'") for name in names], 1) if isinstance(value, str) else []
    hint = f"did you mean {meant[0]!r}? " if meant else ""
    return f"{hint}allowed {'are' if len(names) > 1 else 'is'} {', '.join(names)}"


def unknown(key: Key, value: Any, root: type[Table] = Spec) -> str:
    """Say that a key is not known, and which are."""
    model, name = model_at(key[:-1], root), str(key[-1])
    shown = dotted(key)
    text = f"{shown if len(shown) <= MAX_KEY else shown[:MAX_KEY] + '…'} = {show(value)} is unknown; "
    known = _known(model) if model is not None else []
    meant = difflib.get_close_matches(name, known, 1) or difflib.get_close_matches(
        name.lower(), [item for item in known if item.lower() == name.lower()], 1, 0.0
    )
    if meant:
        text += f"did you mean {meant[0]!r}? "
    else:
        places = sorted(table for table, other, _ in all_tables(root) if name in _known(other))
        if places:
            text += f"it belongs {' or '.join(f'in [{place}]' if place else 'at the top' for place in places[:3])}. "
    allowed = "allowed" if text.endswith("; ") else "Allowed"
    return f"{text}{allowed} are {', '.join(known)}"


def _known(model: type[Table]) -> list[str]:
    more: Iterable[str] = Spec.not_in_spec if model is Spec else model.aliases
    return [*keys_of(model), *more]
