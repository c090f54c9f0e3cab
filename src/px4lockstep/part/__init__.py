"""Parts: one class for each physical part and each table of a spec file.

A `Part` is a strict, frozen pydantic model. It alone defines the keys of a part: their defaults, units, limits and
meaning, and the stage of the simulation that they belong to. If the part has a record in the compiled loop, its method
`write` fills that record. A part is validated once, when it is created from a file or in Python.

Types are strict: a string is not a number, true is not a number, 1 is accepted for 1.0, and 1.0 is not accepted for 1.
Unknown keys, nan and inf are errors unless a key allows them.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from px4lockstep.part.limits import BOUNDS, Limits, move_limits
from px4lockstep.reading import MAX_DEPTH
from px4lockstep.reprs import short
from px4lockstep.timebase import period_to_us, seconds_to_us

KEY = "{key}"
"""Placeholder for the dotted key in an error message, until the key is known."""

Key = tuple[str | int, ...]
"""Path of a key in the file: `("power", "batteries", 0, "soc0")`."""
Found = Iterator[tuple[Key, str]]
"""Findings of a check: each a key and a message."""
CHECK_LATER = "check later"
"""Validation context that leaves `Part.check` to the caller, who also checks the part against other parts."""

P = TypeVar("P", bound="Part")


class FrozenDict(dict[str, Any]):
    """Immutable table of free keys in a part."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a table of a part is immutable; create a new part")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


@dataclass_transform()
class _PartType(ModelMetaclass):
    """Metaclass for creating parts in Python: `Wind("ou")` is `Wind(wind="ou")`; lists and arrays become tuples.

    Invalid values raise `InputError`.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> type:
        """Create the class; limits of numeric keys apply after the validators of their types."""
        move_limits(namespace)
        return super().__new__(mcs, name, bases, namespace, **options)

    def __call__(cls, *first: Any, **values: Any) -> Any:
        if len(first) > 1:
            raise TypeError(f"{cls.__name__} accepts only its first key by position; pass the others by name")
        model: Any = cls
        if not first and not values and not any(field.is_required() for field in model.model_fields.values()):
            part = model.model_construct()._frozen()
            if not tuple(part.check()):
                return part  # without validation, for which the schema would have to be built
        values = dict(zip(model.model_fields, first, strict=False)) | values
        try:
            return super().__call__(**{name: freeze(value) for name, value in values.items()})
        except ValidationError as error:
            from px4lockstep.part.wording import input_error  # imports this module

            raise input_error(model, error) from None


class Part(BaseModel, metaclass=_PartType):
    """Part of a flight: a table of the spec file, or the equivalent object created in Python."""

    # Building is deferred because a flight validates a third of all parts.
    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)

    aliases: ClassVar[dict[str, str]] = {}
    """Alternative spellings of keys."""
    forms: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Alternative groups of keys for the same quantity; a group in a later file replaces another in an earlier one."""
    name_key: ClassVar[str | None] = None
    """The key that a plain string given instead of the table sets."""
    used_up: ClassVar[tuple[str, ...]] = ()
    """Keys that are consumed when the file is loaded."""
    stage: ClassVar[str | None] = None
    """The stage of the part's keys and nested tables, unless they define their own."""
    where: ClassVar[str] = ""
    """The dotted key of the table in a spec file, for errors in parts created in Python."""

    def __init_subclass__(cls, *, where: str | None = None, stage: str | None = None, **options: Any) -> None:
        """Take `where` and `stage` from the class statement: `class Wind(Part, where="environment", stage="wind")`."""
        super().__init_subclass__(**options)
        cls.where, cls.stage = where or cls.where, stage or cls.stage

    def __repr__(self) -> str:
        return short(super().__repr__())

    def check(self) -> Found:
        """Yield an error for each value that is valid alone but conflicts with another.

        Keys are relative to this table; `KEY` in a message stands for the dotted key. See `misfit`.
        """
        yield from ()

    def _frozen(self) -> Self:  # with immutable tables of free keys
        for name, value in vars(self).items():
            if type(value) is dict:
                vars(self)[name] = FrozenDict(value)
        return self

    @pydantic.model_validator(mode="after")
    def _checked(self, info: pydantic.ValidationInfo) -> Self:
        self._frozen()
        if info.context != CHECK_LATER and (found := tuple(self.check())):
            raise PydanticCustomError("misfits", "misfits", {"found": found})
        return self

    def only(self, part: type[P]) -> P:
        """Return the inherited part as a separate object."""
        return part.model_construct(**{name: getattr(self, name) for name in part.model_fields})


def given_keys(part: Part, form: Iterable[str]) -> list[str]:
    """Return the keys of a form that are given."""
    return [name for name in form if name in part.model_fields_set and getattr(part, name) is not None]


def fill(rec: Any, part: Any, **values: Any) -> None:
    """Write values into the fields of a record; the other fields get the part's value of the same name, if any.

    A tuple that is shorter than its field fills the beginning of the field.
    """
    own = {name: vars(part)[name] for name in rec.dtype.names if name in vars(part)}
    for name, value in (own | values).items():
        if isinstance(value, tuple) and value:
            rec[name][: len(value)] = value
        elif not isinstance(value, tuple | Part | None):
            rec[name] = value


def entry(default: Any = ..., doc: str = "", unit: str = "", *, stage: str | None = None, **options: Any) -> Any:
    """Return a key of a part with its default (`...` if the key is required) and, if not the part's, its stage.

    Limits (`gt`, `ge`, `lt`, `le`) apply to each number of the value and are completed by those of the unit; with
    `allows_nan`, they do not apply to nan, which the type must allow, too. `extra` is
    added to the JSON schema; other options are those of `pydantic.Field`.
    """
    description = f"{doc} [{unit}]" if unit else doc
    extra = ({"unit": unit} if unit else {}) | ({"stage": stage} if stage else {}) | options.pop("extra", {})
    bounds = {name: options.pop(name) for name in BOUNDS if name in options}
    limits = Limits.of(unit, bounds, options.pop("allows_nan", False))
    field: FieldInfo = Field(default, description=description, json_schema_extra=extra, **options)
    field.metadata.append(limits)  # for `_PartType`
    return field


def path_entry(doc: str, stage: str = "files", code: str | None = None) -> Any:
    """Return an optional key for a path; `code` is the autopilot kind that runs the named file, if any."""
    doc += " Names code to run: see docs/howto/untrusted_files.md." if code else ""
    return entry(None, doc, stage=stage, min_length=1, extra={"path": True} | ({"code": code} if code else {}))


def is_path(info: FieldInfo | None) -> bool:
    """Return whether a key holds a path."""
    extra = None if info is None else info.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("path"))


def misfit(key: str, value: Any, text: str) -> tuple[Key, str]:
    """Return a finding of `Part.check` for the value of a key."""
    return (key,), f"{KEY} = {show(value)} {text}"


def bad(key: Key, value: Any, text: str) -> tuple[Key, str]:
    """Return a finding for the value of a key whose full path is known."""
    return key, f"{dotted(key)} = {show(value)} {text}"


def name_or_table(value: Any) -> Any:
    """Convert a plain string to a table with this kind."""
    return {"kind": value} if isinstance(value, str) else value


def spelled(names: Iterable[str], others: Mapping[str, str] | None = None) -> BeforeValidator:
    """Return a validator that accepts names in any case, and other spellings of them; it returns the name."""
    known = {name.lower(): name for name in names} | dict(others or {})

    def canonical(value: Any) -> Any:
        return known.get(value.lower(), value) if isinstance(value, str) else value

    return BeforeValidator(canonical)


def wrong(text: str) -> PydanticCustomError:
    """Return an error whose message is complete except for the key."""
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


three_numbers = _array(3, "a vector", "three numbers")


def _rows(value: Any) -> Any:
    """Return nine numbers, or three rows of three, as three rows."""
    if isinstance(value, tuple) and len(value) == 9:
        return value[0:3], value[3:6], value[6:9]
    if isinstance(value, tuple) and len(value) == 3 and all(isinstance(r, tuple) and len(r) == 3 for r in value):
        return value
    raise wrong(f"{KEY} = {show(value)} is not a matrix; it must be three rows of three numbers, or nine numbers")


def _spread(value: Any) -> Any:
    """Return a single number as one number for each axis."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    if not 0.0 <= value <= sys.float_info.max:
        raise wrong(f"{KEY} = {show(value)} is out of range; it must be one finite number of at least 0, or three")
    return value, value, value


def _number(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:  # excludes nan and integers beyond the largest float
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be a finite number")
    return value


Number = Annotated[int | float, BeforeValidator(_number)]
"""A number; integers stay integers."""
NotNegative = Annotated[float, Field(ge=0.0)]
Seconds = Annotated[float, AfterValidator(_whole_us(seconds_to_us))]
"""Time of 0 or more, in whole microseconds."""
Period = Annotated[float, AfterValidator(_whole_us(period_to_us))]
"""Time of at least one microsecond, in whole microseconds."""
Vector = Annotated[tuple[float, float, float], BeforeValidator(three_numbers)]
NotNegativeVector = Annotated[tuple[NotNegative, NotNegative, NotNegative], BeforeValidator(three_numbers)]
EachAxis = Annotated[
    tuple[NotNegative, NotNegative, NotNegative],
    BeforeValidator(
        lambda value: three_numbers(_spread(value)), json_schema_input_type=float | tuple[float, float, float]
    ),
]
"""One number per axis, or one for all three axes."""
Quaternion = Annotated[
    tuple[float, float, float, float], BeforeValidator(_array(4, "a quaternion", "four numbers (w, x, y, z)"))
]
Matrix = Annotated[
    tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]], BeforeValidator(_rows)
]


def freeze(value: Any, depth: int = 0) -> Any:
    """Convert lists to tuples, paths to strings and NumPy numbers to Python numbers.

    Raise `RecursionError` for values nested more than 32 levels deep.
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
    """Add a key to input errors raised in this context, and turn arithmetic errors into input errors."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except InputError as error:
        if error.key:
            raise
        name = dotted(key)
        text = str(error) if str(error).startswith(name) else f"{name}: {error}"
        raise InputError(text, key=key) from error
    except ArithmeticError as error:
        name, whose = (f"{dotted(key)}: ", "its") if key else ("", "some")
        raise InputError(
            f"{name}{whose} values are too large or too small to compute with ({error}); use plausible values",
            key=key,
        ) from error


def show(value: Any, limit: int = 80) -> str:
    """Return a value in TOML notation, truncated if it is long."""
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
    except ValueError:  # an integer with thousands of digits
        return "a number with too many digits"


# -- inspecting parts -----------------------------------------------------------------------------------------------


def dotted(key: Key) -> str:
    """Return the dotted form of a key: `power.batteries[0].soc0`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


@functools.cache
def keys_of(model: type[Part]) -> dict[str, FieldInfo]:
    """Return the fields of a table by their names in the file."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def table_of(annotation: Any, is_array: bool = False) -> tuple[type[Part] | None, bool]:
    """Return the table model of a field or annotation, and whether it is an array of tables."""
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
    """Return the table model at a key path, or None; `root` is the model of the file."""
    model: type[Part] | None = root
    for part in key:
        if isinstance(part, int):
            continue
        field = keys_of(model).get(part) if model is not None else None
        model = table_of(field)[0] if field is not None else None
    return model


def field_at(key: Key, root: type[Part]) -> FieldInfo | None:
    """Return the field at a key path, or that of the array for one of its items; None if it is unknown."""
    names = tuple(part for part in key if isinstance(part, str))
    model = model_at(names[:-1], root) if names else None
    return keys_of(model).get(names[-1]) if model is not None else None


@functools.lru_cache(maxsize=4_096)
def stage_of(key: Key, root: type[Part]) -> str | None:
    """Return the stage of a key: its own, otherwise that of the innermost table that has one."""
    model: type[Part] | None = root
    stage = root.stage
    for part in key:
        if isinstance(part, int) or model is None:
            continue
        field = keys_of(model).get(part)
        if field is None:
            return stage
        stage = _definer_of(part, model).stage or stage
        model = table_of(field)[0]
        own = field.json_schema_extra.get("stage") if isinstance(field.json_schema_extra, dict) else None
        stage = str(own) if own else (model.stage if model is not None and model.stage else stage)
    return stage


@functools.cache
def _definer_of(key: str, model: type[Part]) -> type[Part]:
    """Return the class that defines a key of a table, which may have inherited it."""
    return next((own for own in model.__mro__ if key in inspect.get_annotations(own)), model)


def all_tables(root: type[Part], name: str = "", is_array: bool = False) -> Iterator[tuple[str, type[Part], bool]]:
    """Yield each table with its dotted name and whether it is in an array, in file order."""
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
    """Yield the findings of `Part.check` for a part and all nested parts; `key` is the key of the part."""
    if isinstance(value, Part):
        for name in _tables_in(type(value)):
            yield from checks_of(getattr(value, name), (*key, name))
        for own, text in value.check():
            yield (*key, *own), text.replace(KEY, dotted((*key, *own)))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from checks_of(item, (*key, i))
