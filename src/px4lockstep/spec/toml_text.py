"""Write a `Spec` as the text of a file: resolved, with every default. Loading the text gives an equal spec.

`tomli_w` writes keys and values. The layout is our own: `tomli_w` puts each number of a vector on a separate line, and
short tables of an array inline, so that no further table could be added to the file.
"""

import functools
from collections.abc import Iterator
from typing import Any

import tomli_w

from px4lockstep.part import Key, Part, dotted, field_at, table_of
from px4lockstep.spec.spec import Spec

WIDTH = 110


def to_toml(spec: Spec) -> str:
    """Return the text of a spec file with all defaults and inherited values; paths are absolute.

    An empty array of tables is written as a comment, so that `[[scenario.events]]` can be added to the file.
    """
    values = {name: _plain(getattr(spec, name)) for name in Spec.model_fields}
    data = {name: value for name, value in values.items() if value is not None}
    return "\n".join(_table(data, ())).strip() + "\n"


def _plain(value: Any) -> Any:
    """Return a table as a dictionary. One for the whole spec would need a schema that nothing else needs."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.model_dump(by_alias=True, exclude_none=True) if isinstance(value, Part) else value


def _table(data: dict[str, Any], key: Key) -> Iterator[str]:
    """Yield the lines of a table: its values first, because after a nested table they would belong to that one."""
    tables = {}
    for own, value in data.items():
        field = field_at((*key, own), Spec)
        if isinstance(value, dict) or (field is not None and table_of(field)[1]):
            tables[own] = value
    for own, value in data.items():
        if own not in tables:
            yield f"{_key(own)} = {value_text(value)}"
    for own, value in tables.items():
        inner: Key = (*key, _key(own))
        if not isinstance(value, dict) and not value:
            yield from ("", f"# [[{dotted(inner)}]]: none")
        for item in [value] if isinstance(value, dict) else value:
            yield ""
            yield f"[{dotted(inner)}]" if isinstance(value, dict) else f"[[{dotted(inner)}]]"
            yield from _table(item, inner)


@functools.cache
def _key(name: str) -> str:
    return tomli_w.dumps({name: 0}).removesuffix(" = 0\n")


def value_text(value: Any) -> str:
    """Return a value as it is written in a TOML file."""
    if not isinstance(value, list | tuple):
        return tomli_w.dumps({"x": value}).removeprefix("x = ").removesuffix("\n")
    items = [value_text(item) for item in value]
    line = f"[{', '.join(items)}]"
    return line if len(line) <= WIDTH else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
