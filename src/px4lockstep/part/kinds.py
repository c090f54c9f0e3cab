"""Keys that choose a model by name, or a class of the user by `python:MODULE:CLASS`, with its options."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.part import KEY, entry, path_entry, show, wrong
from px4lockstep.user_code import CLASS, OBJECT, PATTERN, named

PythonKind = Annotated[str, Field(pattern=PATTERN)]
"""A class of the user, or the name of an object that was passed in Python."""
EXAMPLE = f"{CLASS}:MODULE:CLASS"
NUMBERS_AND_TEXT = (str, int, float, bool)


def kind_or_class(names: Iterable[str], spellings: Mapping[str, str] | None = None) -> BeforeValidator:
    """Return a validator that accepts names in any case, other spellings of them, and classes of the user."""
    known = {name.lower(): name for name in names} | dict(spellings or {})
    allowed = [*dict.fromkeys(known.values()), EXAMPLE]

    def checked(value: Any) -> Any:
        found = known.get(value.lower()) if isinstance(value, str) else None
        if found is not None or named(value) is not None:
            return found or value
        if isinstance(value, str) and value.startswith((f"{CLASS}:", f"{OBJECT}:")):
            must = f"it must be {EXAMPLE}, such as {CLASS}:my_module:MyClass"
            raise wrong(f"{KEY} = {show(value)} names no class; {must}")
        is_wrong = "unknown" if isinstance(value, str) else "not allowed"
        hint = did_you_mean(value, known.values())
        listed = ", ".join(f"{name!r}" for name in allowed)
        raise wrong(f"{KEY} = {show(value)} is {is_wrong}; {hint}{'Allowed' if hint else 'allowed'}: {listed}")

    return BeforeValidator(checked)


def number_of(kind: str, numbers: Mapping[str, int], key: str) -> int:
    """Return the number of a model; a class of the user has none, because only `build` creates its object."""
    if kind not in numbers:
        raise InputError(f"{key} = {kind!r} is created by px4lockstep.build or simulate; here, pass the object itself")
    return numbers[kind]


def _options(value: Any) -> Any:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not str(name).isidentifier():
                raise wrong(f"{KEY} has the name {name!r}, which can't be an argument of a class")
            if not _is_data(item):
                must = "a string, a number, true, false, or an array or table of them"
                raise wrong(f"{KEY}: {name} = {show(item)} is not allowed; it must be {must}")
    return value


def _is_data(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_data(item) for name, item in value.items())
    if isinstance(value, tuple | list):
        return all(map(_is_data, value))
    return isinstance(value, NUMBERS_AND_TEXT) and value == value  # not nan


Options = Annotated[dict[str, Any] | None, BeforeValidator(_options)]
"""Arguments for the constructor of a class of the user."""


def options_entry(kind: str) -> Any:
    """Return a key for the options of a class of the user that the key `kind` names."""
    return entry(None, f"Arguments by name for the class, if `{kind}` is `{EXAMPLE}`.", stage="own_options")


def folder_entry(kind: str) -> Any:
    """Return a key for the folder of the user's module that the key `kind` names."""
    doc = f"Folder in which the module of `{kind}` is looked up before the Python path. Default: the folder of the file"
    return path_entry(f"{doc} that sets `{kind}`; for an override, the working directory.", code=CLASS)


CODE = {"code": CLASS}
"""Marks a key whose value may name a class of the user: `entry(..., extra=CODE)`."""
