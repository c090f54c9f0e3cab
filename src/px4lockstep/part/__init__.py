"""Parts: one class for each physical part and each table of a spec file.

A `Part` is a strict, frozen pydantic model. It is the only place that knows a part's keys, their defaults, units and
limits, what they mean, and which stage of the simulation they belong to; where the part has a record in the compiled
loop, its method `write` fills it. A part is checked when it is made, from a file or in Python, and never again.

Types are strict: a string is not a number, true is not a number, 1 is accepted for 1.0 and 1.0 is not accepted for 1.
Unknown keys, nan and inf are errors, unless a key says otherwise.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform, get_args, get_origin

import numpy as np
import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError
from pydantic._internal._model_construction import ModelMetaclass  # the type of BaseModel; there is no public name
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from px4lockstep.errors import InputError, TimeError
from px4lockstep.part.limits import BOUNDS, Limits, has_numbers
from px4lockstep.reading import MAX_DEPTH
from px4lockstep.timebase import period_to_us, seconds_to_us

KEY = "{key}"
"""Placeholder for the dotted key in the text of an error, until the key is known."""

Key = tuple[str | int, ...]
"""A place in the file: `("power", "batteries", 0, "soc0")`."""
Found = Iterator[tuple[Key, str]]
"""What a check finds: keys, and what is wrong with each."""
CHECK_LATER = "check later"
"""Context of a validation that leaves `Part.check` to the caller, which then has a part to check against others."""

P = TypeVar("P", bound="Part")


class FrozenDict(dict[str, Any]):
    """A table of free keys in a part, which nobody can change."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a table of a part can't be changed; make another part")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


@dataclass_transform()
class _PartType(ModelMetaclass):
    """Makes parts in Python: `Wind("ou")` is `Wind(wind="ou")`, lists and arrays may stand for tuples.

    What is wrong is raised as `InputError`.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> type:
        """Make the class, with the limits of keys that have numbers after what their types check."""
        annotations = namespace.get("__annotations__", {})
        for key, annotation in annotations.items():
            field = namespace.get(key)
            if isinstance(field, FieldInfo) and field.metadata and isinstance(field.metadata[-1], Limits):
                limits = field.metadata.pop()
                annotations[key] = Annotated[annotation, limits] if has_numbers(annotation) else annotation
        return super().__new__(mcs, name, bases, namespace, **options)

    def __call__(cls, *first: Any, **values: Any) -> Any:
        if len(first) > 1:
            raise TypeError(f"{cls.__name__} takes its first key by position and the others by name")
        names = list(cls.model_fields)  # type: ignore[attr-defined]
        values = dict(zip(names, first, strict=False)) | values
        try:
            return super().__call__(**{name: freeze(value) for name, value in values.items()})
        except ValidationError as error:
            from px4lockstep.part.wording import input_error  # which looks at parts

            raise input_error(cls, error) from None  # type: ignore[arg-type]


class Part(BaseModel, metaclass=_PartType):
    """A part of a flight: a table of the spec file, and what Python code makes in its place."""

    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    aliases: ClassVar[dict[str, str]] = {}
    """Other spellings of keys."""
    forms: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Keys that say the same in different ways; what a later file gives replaces what an earlier one gave otherwise."""
    name_key: ClassVar[str | None] = None
    """The key that a plain string in place of the table stands for."""
    used_up: ClassVar[tuple[str, ...]] = ()
    """Keys of a file that are used up when it is loaded."""
    stage: ClassVar[str | None] = None
    """The stage of its keys, and of the tables in it, unless they have their own."""
    where: ClassVar[str] = ""
    """The dotted key of the table in a spec file, for errors of a part that is made in Python."""

    def __init_subclass__(cls, *, where: str | None = None, stage: str | None = None, **options: Any) -> None:
        """Take `where` and `stage` from the class statement: `class Wind(Part, where="environment", stage="wind")`."""
        super().__init_subclass__(**options)
        cls.where, cls.stage = where or cls.where, stage or cls.stage

    def check(self) -> Found:
        """Yield what is wrong with values that are valid alone and do not fit together.

        Keys are those of this table; `KEY` in a text stands for the dotted key. See `misfit`.
        """
        yield from ()

    @pydantic.model_validator(mode="after")
    def _checked(self, info: pydantic.ValidationInfo) -> Self:
        for name, value in vars(self).items():
            if type(value) is dict:
                vars(self)[name] = FrozenDict(value)
        if info.context != CHECK_LATER and (found := tuple(self.check())):
            raise PydanticCustomError("misfits", "misfits", {"found": found})
        return self

    def only(self, part: type[P]) -> P:
        """Return the part that this one contains by inheritance, as one of its own."""
        return part.model_construct(**{name: getattr(self, name) for name in part.model_fields})


def fill(rec: Any, part: Any, **values: Any) -> None:
    """Write values into the fields of a record; those not given have a part's value of the same name, if there is one.

    A tuple that is shorter than its field, which holds the longest allowed, fills the beginning of it.
    """
    own = {name: vars(part)[name] for name in rec.dtype.names if name in vars(part)}
    for name, value in (own | values).items():
        if isinstance(value, tuple) and value:
            rec[name][: len(value)] = value
        elif not isinstance(value, tuple | Part | None):
            rec[name] = value


def entry(default: Any = ..., doc: str = "", unit: str = "", *, stage: str | None = None, **options: Any) -> Any:
    """Return a key of a part, with its default (`...` if it must be given), and its stage if that is not the part's.

    Limits (`gt`, `ge`, `lt`, `le`) are of each number in it, and completed by those of the unit; other options are as
    `pydantic.Field` takes them; `extra` is for the JSON schema.
    """
    description = f"{doc} [{unit}]" if unit else doc
    extra = ({"unit": unit} if unit else {}) | ({"stage": stage} if stage else {}) | options.pop("extra", {})
    limits = Limits.of(unit, {name: options.pop(name) for name in BOUNDS if name in options})
    field: FieldInfo = Field(default, description=description, json_schema_extra=extra, **options)
    field.metadata.append(limits)  # for `_PartType`
    return field


def path_entry(doc: str, stage: str = "files", code: str | None = None) -> Any:
    """Return a key that has a path, or none; `code` is the kind of autopilot that runs what it names, if one does."""
    doc += " It names code: see docs/howto/untrusted_files.md." if code else ""
    return entry(None, doc, stage=stage, min_length=1, extra={"path": True} | ({"code": code} if code else {}))


def is_path(info: FieldInfo | None) -> bool:
    """Whether a key holds a path."""
    extra = None if info is None else info.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("path"))


def misfit(key: str, value: Any, text: str) -> tuple[Key, str]:
    """Return a finding of `Part.check` about the value of a key."""
    return (key,), f"{KEY} = {show(value)} {text}"


def bad(key: Key, value: Any, text: str) -> tuple[Key, str]:
    """Return a finding about the value of a key whose place in the file is known."""
    return key, f"{dotted(key)} = {show(value)} {text}"


def name_or_table(value: Any) -> Any:
    """Take a plain string as the table's kind."""
    return {"kind": value} if isinstance(value, str) else value


def wrong(text: str) -> PydanticCustomError:
    """Return an error whose text is complete but for the key."""
    return PydanticCustomError("wrong", "{text}", {"text": text})


def _whole_us(to_us: Callable[[float, str], int]) -> Callable[[float], float]:
    def checked(value: float) -> float:
        try:
            to_us(value, KEY)
        except TimeError as error:
            raise wrong(str(error)) from None
        return value

    return checked


def _array(count: int, what: str, must: str) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if not isinstance(value, tuple) or len(value) != count:
            raise wrong(f"{KEY} = {show(value)} is not {what}; it must be {must}")
        return value

    return checked


_three = _array(3, "a vector", "three numbers")


def _rows(value: Any) -> Any:
    """Return nine numbers, or three rows of three, as three rows."""
    if isinstance(value, tuple) and len(value) == 9:
        return value[0:3], value[3:6], value[6:9]
    if isinstance(value, tuple) and len(value) == 3 and all(isinstance(r, tuple) and len(r) == 3 for r in value):
        return value
    raise wrong(f"{KEY} = {show(value)} is not a matrix; it must be three rows of three numbers, or nine numbers")


def _spread(value: Any) -> Any:
    """Return a number as one for each axis."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    if not 0.0 <= value <= sys.float_info.max:
        raise wrong(f"{KEY} = {show(value)} is out of range; it must be a finite number of 0 or more, or three")
    return value, value, value


def _number(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:  # neither nan nor an integer beyond any float
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be a finite number")
    return value


Number = Annotated[int | float, BeforeValidator(_number)]
"""A number that stays whole if it is."""
NotNegative = Annotated[float, Field(ge=0.0)]
Seconds = Annotated[float, AfterValidator(_whole_us(seconds_to_us))]
"""A time: 0 or more, in whole microseconds."""
Period = Annotated[float, AfterValidator(_whole_us(period_to_us))]
"""A time of at least a microsecond."""
Vector = Annotated[tuple[float, float, float], BeforeValidator(_three)]
NotNegativeVector = Annotated[tuple[NotNegative, NotNegative, NotNegative], BeforeValidator(_three)]
EachAxis = Annotated[
    tuple[NotNegative, NotNegative, NotNegative],
    BeforeValidator(lambda value: _three(_spread(value)), json_schema_input_type=float | tuple[float, float, float]),
]
"""One number for each axis, or one for all three."""
Quaternion = Annotated[
    tuple[float, float, float, float], BeforeValidator(_array(4, "a quaternion", "four numbers (w, x, y, z)"))
]
Matrix = Annotated[
    tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]], BeforeValidator(_rows)
]


def freeze(value: Any, depth: int = 0) -> Any:
    """Return a value with tuples for lists, plain strings for paths, and Python's numbers for NumPy's.

    One that is nested more deeply than anything sensible is a `RecursionError`.
    """
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: freeze(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(freeze(item, depth + 1) for item in value)
    return str(value) if isinstance(value, Path) else value


@contextmanager
def at(key: Key) -> Iterator[None]:
    """Let an error of what is made here have a key, and name it; numbers that overflow are one."""
    name, whose = (f"{dotted(key)}: ", "its") if key else ("", "some")
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except InputError as error:
        if error.key:
            raise
        text = str(error) if str(error).startswith(dotted(key)) else f"{name}{error}"
        raise InputError(text, key=key) from error
    except ArithmeticError as error:
        raise InputError(
            f"{name}{whose} numbers are so large or small that computing with them fails ({error}); use plausible ones",
            key=key,
        ) from error


def show(value: Any, limit: int = 80) -> str:
    """Return a value as a TOML file would have it, cut if it is long."""
    text = _text(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value)
        case dict():
            return "{ " + ", ".join(f"{name} = {_text(item)}" for name, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_text(item) for item in value) + "]"
        case BaseModel():
            return _text(value.model_dump(exclude_none=True))
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return "a number with too many digits"


# -- looking at parts -----------------------------------------------------------------------------------------------


def dotted(key: Key) -> str:
    """Write a key as the file's reader would: `power.batteries[0].soc0`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


@functools.cache
def keys_of(model: type[Part]) -> dict[str, FieldInfo]:
    """Return the keys of a table as the file has them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def table_of(annotation: Any, is_array: bool = False) -> tuple[type[Part] | None, bool]:
    """Return the table that a key holds, given by its field or annotation, and whether it is an array of them."""
    if isinstance(annotation, FieldInfo):
        annotation = annotation.annotation
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return annotation, is_array
    for part in get_args(annotation):
        found = table_of(part, is_array or get_origin(annotation) is tuple)
        if found[0] is not None:
            return found
    return None, False


@functools.lru_cache(maxsize=4_096)
def model_at(key: Key, root: type[Part]) -> type[Part] | None:
    """Return the table at a place in the file, if there is one; `root` is the file."""
    model: type[Part] | None = root
    for part in key:
        if isinstance(part, int):
            continue
        field = keys_of(model).get(part) if model is not None else None
        model = table_of(field)[0] if field is not None else None
    return model


def field_at(key: Key, root: type[Part]) -> FieldInfo | None:
    """Return the key at a place in the file, or the array that an item at it is in; None if it is unknown."""
    names = tuple(part for part in key if isinstance(part, str))
    model = model_at(names[:-1], root) if names else None
    return keys_of(model).get(names[-1]) if model is not None else None


def stage_of(key: Key, root: type[Part]) -> str | None:
    """Return the stage that a key belongs to: its own, else that of the innermost table that has one."""
    model: type[Part] | None = root
    stage = root.stage
    for part in key:
        if isinstance(part, int) or model is None:
            continue
        field = keys_of(model).get(part)
        if field is None:
            return stage
        # The table may inherit the key: its class then has the stage.
        owner: Any = next((own for own in model.__mro__ if part in inspect.get_annotations(own)), model)
        stage = owner.stage or stage
        model = table_of(field)[0]
        own = field.json_schema_extra.get("stage") if isinstance(field.json_schema_extra, dict) else None
        stage = str(own) if own else (model.stage if model is not None and model.stage else stage)
    return stage


def all_tables(root: type[Part], name: str = "", is_array: bool = False) -> Iterator[tuple[str, type[Part], bool]]:
    """Yield every table with its dotted name and whether it is in an array, in the order of the file."""
    yield name, root, is_array
    for own, field in keys_of(root).items():
        table, in_array = table_of(field)
        if table is not None:
            yield from all_tables(table, f"{name}.{own}" if name else own, in_array)


@functools.cache
def _tables_in(model: type[Part]) -> tuple[str, ...]:
    """Return the keys of a table that hold tables."""
    return tuple(name for name, field in keys_of(model).items() if table_of(field)[0] is not None)


def checks_of(value: Any, key: Key) -> Found:
    """Yield what `Part.check` of a part and of all parts in it finds; `key` is the part's."""
    if isinstance(value, Part):
        for name in _tables_in(type(value)):
            yield from checks_of(getattr(value, name), (*key, name))
        for own, text in value.check():
            yield (*key, *own), text.replace(KEY, dotted((*key, *own)))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from checks_of(item, (*key, i))
