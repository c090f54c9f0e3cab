"""A `Spec` as the text of a file: resolved, complete, with every default, and the same again when it is loaded."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from px4lockstep.spec.spec import Spec

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
WIDTH = 110


def to_toml(spec: Spec) -> str:
    """Return the file of a spec, with everything that was left out or inherited; paths are absolute."""
    data = spec.model_dump(by_alias=True, exclude_none=True)
    return "\n".join(_table(data, "")).strip() + "\n"


def _table(data: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the lines of a table: its values first, as they would belong to a table that has begun."""
    tables: list[tuple[str, Any]] = []
    values: list[tuple[str, Any]] = []
    for own, value in data.items():
        (tables if isinstance(value, dict) or _is_tables(value) else values).append((own, value))
    for own, value in values:
        yield f"{_key(own)} = {_value(value)}"
    for own, value in tables:
        inner = f"{name}.{_key(own)}" if name else _key(own)
        items = [value] if isinstance(value, dict) else value
        for item in items:
            yield ""
            yield f"[{inner}]" if isinstance(value, dict) else f"[[{inner}]]"
            yield from _table(item, inner)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, dict) for item in value)


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else ("inf" if value > 0.0 else "-inf")
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            items = [_value(item) for item in value]
            line = f"[{', '.join(items)}]"
            if len(line) <= WIDTH:
                return line
            return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    raise TypeError(f"{value!r} has no place in a TOML file")
