"""Error messages for pydantic's findings: key, value, what is allowed, and the closest known name."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from px4lockstep.errors import ErrorLines, InputError, did_you_mean
from px4lockstep.part import KEY, Key, Part, all_tables, dotted, field_at, keys_of, model_at, show

MAX_KEY = 100
MUST_BE = {
    "float_type": "a number",
    "int_type": "a whole number, without a decimal point",
    "string_type": "a string, in quotes",
    "bool_type": "true or false",
    "tuple_type": "an array",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
    "string_too_short": "a non-empty string",
}
WORDS = (
    ("greater than or equal to", "at least"),
    ("greater than", "above"),
    ("less than or equal to", "at most"),
    ("less than", "below"),
)
COUNTS = {"too_short", "too_long"}


def findings(error: ValidationError, prefix: Key, root: type[Part]) -> Iterator[tuple[Key, str, str]]:
    """Yield pydantic's findings as key, kind of error and message."""
    all_found = error.errors(include_url=False)
    for found in all_found:
        place, kind = found["loc"], found["type"]
        key = (*prefix, *place)
        if kind in COUNTS and any(other["loc"][: len(place)] == place != other["loc"] for other in all_found):
            continue  # pydantic counts only the valid items
        if kind == "misfits":
            for own, text in found["ctx"]["found"]:
                yield (*key, *own), kind, text.replace(KEY, _name((*key, *own), root))
        else:
            yield key, kind, missing(key, root) if kind == "missing" else wording(key, dict(found), root)


def input_error(part: type[Part], error: ValidationError) -> InputError:
    """Return an `InputError` for a part created in Python, with the key of the first error."""
    start: Key = tuple(part.where.split(".")) if part.where else ()
    found = [(key, text) for key, _, text in findings(error, (), part)]
    lines = ErrorLines()
    for key, text in found:
        lines.append(f"{part.where}.{text}" if start and key else text)
    return InputError("\n".join(lines.shown()), key=(*start, *found[0][0]))


def _name(key: Key, root: type[Part]) -> str:
    """Return the dotted key, or the name of the part for the empty key."""
    return dotted(key) or root.where or root.__name__


def wording(key: Key, found: dict[str, Any], root: type[Part]) -> str:
    """Return the message for one of pydantic's findings."""
    kind, value, context = found["type"], found["input"], found.get("ctx", {})
    name = _name(key, root)
    if kind == "wrong":
        return str(context["text"]).replace(KEY, name)
    if kind == "extra_forbidden":
        return unknown(key, value, root)
    if kind in COUNTS:
        count = context["actual_length"]
        limit = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"{name} has {count} items; it must have {limit}"
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


def _range(key: Key, root: type[Part]) -> str:
    """Return the limits of a key in words."""
    field = field_at(key, root)
    words = []
    for limit in field.metadata if field is not None else ():
        for attribute, text in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
            if getattr(limit, attribute, None) is not None:
                words.append(f"{text} {getattr(limit, attribute)}")
    return " and ".join(words)


def missing(key: Key, root: type[Part]) -> str:
    """Return the message for a missing required key."""
    field = field_at(key, root)
    what = f": {field.description}" if field is not None and field.description else ""
    return f"{dotted(key)} is missing; it is required{what}"


def choices(value: Any, expected: str) -> str:
    """Return the allowed names, the closest first; `expected` is pydantic's list of them."""
    names = [word.strip() for word in expected.replace(" or ", ", ").split(",")]
    hint = did_you_mean(value, [name.strip("'") for name in names])
    return f"{hint}{'Allowed' if hint else 'allowed'}: {', '.join(names)}"


def unknown(key: Key, value: Any, root: type[Part]) -> str:
    """Return the message for an unknown key, with the allowed ones."""
    model, name = model_at(key[:-1], root), str(key[-1])
    shown = dotted(key)
    text = f"{shown if len(shown) <= MAX_KEY else shown[:MAX_KEY] + '…'} = {show(value)}: unknown key; "
    known = _known(model) if model is not None else []
    text += did_you_mean(name, known)
    if text.endswith("; "):
        places = sorted(table for table, other, _ in all_tables(root) if name in _known(other))
        if places:
            named = [f"in [{place}]" if place else "at the top level" for place in places[:3]]
            text += f"it belongs {' or '.join(named)}. "
    allowed = "allowed" if text.endswith("; ") else "Allowed"
    return f"{text}{allowed}: {', '.join(known)}"


def _known(model: type[Part]) -> list[str]:
    return [*keys_of(model), *model.used_up, *model.aliases]
