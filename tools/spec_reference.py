"""Update the reference of spec files in docs/reference/spec.md: `.venv/bin/python tools/spec_reference.py`.

The reference is generated from the models.
"""

import math
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from px4lockstep.integrators.butcher import Coefficient
from px4lockstep.part import EachAxis, Matrix, Number, Part, Quaternion, all_tables, keys_of, show, table_of
from px4lockstep.part.kinds import EXAMPLE, PythonKind
from px4lockstep.part.limits import INT32, LARGEST, SMALLEST, Limits
from px4lockstep.spec.spec import Spec

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "spec.md"
BEGIN, END = "<!-- reference: begin -->\n", "<!-- reference: end -->\n"
PLAIN = {float: "number", int: "whole number", bool: "true or false", str: "string"}
NAMED = {
    Number: "number",
    Coefficient: "fractions or numbers",
    EachAxis: "number or 3 numbers",
    Matrix: "9 numbers, or 3 rows of 3",
    Quaternion: "4 numbers",
    PythonKind: f"`{EXAMPLE}`",
}
LIMITS = (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))


def reference() -> str:
    """Return the limits by unit, then a section for each table with a row for each key."""
    return _units() + "\n".join(_section(name, model, is_array) for name, model, is_array in all_tables(Spec))


def _units() -> str:
    lines = ["### Limits by unit", "", "| unit | maximum magnitude |", "|---|---|"]
    lines += [f"| {unit or 'none'} | {_number(largest)} |" for unit, largest in LARGEST.items()]
    return "\n".join([*lines, "", f"Quantities that must be positive are at least {SMALLEST:g}.", "", ""])


def _section(name: str, model: type[Part], is_array: bool) -> str:
    title = "Top level" if model is Spec else f"`[[{name}]]`" if is_array else f"`[{name}]`"
    lines = [f"### {title}", "", (model.__doc__ or "").strip(), ""]
    lines += ["| key | type | default | unit | |", "|---|---|---|---|---|"]
    if model is Spec:
        what = "Spec files or built-in aircraft that this file extends, merged in order."
        lines.append(f"| `extends` | array of strings | `[]` | | {what} |")
    for own, field in keys_of(model).items():
        extra = field.json_schema_extra
        unit = str(extra.get("unit", "")) if isinstance(extra, dict) else ""
        what = (field.description or "").removesuffix(f" [{unit}]")
        lines.append(f"| `{own}` | {_type(field)} | {_default(field)} | {unit} | {what} |")
    return "\n".join([*lines, ""])


def _type(field: FieldInfo) -> str:
    table, is_array = table_of(field)
    if table is not None:
        return "array of tables" if is_array else "name or table" if table.name_key else "table"
    words = _words(field.annotation)
    if (named := _named(field)) is not None:
        words = named
    given = {name: bound for mark in field.metadata if isinstance(mark, Limits) for name, bound, _ in mark.given}
    if given == INT32:
        return f"{words} of 32 bits"
    if given.keys() == {"ge", "le"} and given["ge"] == -given["le"]:
        return f"{words}, ± {_number(given['le'])}"
    return ", ".join([words, *(f"{sign} {_number(given[name])}" for name, sign in LIMITS if name in given)])


def _named(field: FieldInfo) -> str | None:
    """Return the words for a type that its annotation alone does not define, because it has a validator."""
    for kind, words in NAMED.items():
        base, *marks = get_args(kind)
        if field.annotation == base and any(mark in field.metadata for mark in marks):
            return words
    return None


def _words(annotation: Any) -> str:
    if annotation in PLAIN:
        return PLAIN[annotation]
    for kind, words in NAMED.items():
        if annotation == kind:
            return words
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return _words(parts[0])
    if kind is Literal:
        return ", ".join(f"`{part}`" if isinstance(part, str) else str(part) for part in parts)
    if kind in (Union, types.UnionType):
        return " or ".join(_words(part) for part in parts if part is not types.NoneType)
    if kind is tuple and parts[-1] is Ellipsis:
        inner = _words(parts[0])
        return f"array of {inner}" + ("" if inner[0] in "-`" or inner.endswith("numbers") else "s")
    if kind is tuple:
        return f"{len(parts)} numbers"
    return "table"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "**required**"
    if field.default is None or isinstance(field.default, Part):
        return ""
    if isinstance(field.default, tuple) and any(isinstance(item, Part) for item in field.default):
        return "one"
    if field.default == {}:
        return "`{}`"
    if isinstance(field.default, str):
        return f'`"{field.default}"`'
    return f"`{show(field.default)}`"


def _number(value: Any) -> str:
    if isinstance(value, int) and value > 2**31:
        return f"2^{round(math.log2(value))}"
    return f"{value:g}" if abs(value) < 1e4 or abs(value) > 1e12 else f"{value:,.0f}"


if __name__ == "__main__":
    head, rest = PAGE.read_text("utf-8").split(BEGIN)
    PAGE.write_text(head + BEGIN + "\n" + reference() + "\n" + END + rest.split(END)[1], "utf-8")
