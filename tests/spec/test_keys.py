"""Keys of version 0.1 keep their type and default: a file that was valid and plausible stays valid and unchanged.

Only physical limits may be added: version 0.1 accepted wind of 1.7e308 m/s.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from px4lockstep.spec.json_schema import json_schema

KEYS_0_1: dict[str, Any] = json.loads((Path(__file__).parent / "keys_0_1.json").read_text("utf-8"))
WORDS = ("title", "description", "unit", "stage", "path", "code")
"""Entries of the schema that say nothing about which values are valid."""


def keys_of_schema() -> dict[str, Any]:
    """Return the JSON schema of each dotted key, without descriptions and with referenced tables resolved."""
    schema = json_schema()
    found: dict[str, Any] = {}

    def add(name: str, own: dict[str, Any]) -> None:
        found[name] = _plain(own)
        for table in _tables(own, schema["$defs"]):
            for key, inner in table["properties"].items():
                add(f"{name}.{key}", inner)

    for name, own in schema["properties"].items():
        add(name, own)
    return found


def _tables(own: Any, definitions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tables that a key may hold."""
    if isinstance(own, list):
        return [table for item in own for table in _tables(item, definitions)]
    if not isinstance(own, dict):
        return []
    if "$ref" in own:
        return [definitions[own["$ref"].rpartition("/")[2]]]
    return [table for name, item in own.items() if name != "default" for table in _tables(item, definitions)]


def _plain(own: Any) -> Any:
    """Return a schema entry without descriptions; tables, which have their own keys, are reduced to their type."""
    if isinstance(own, list):
        return [_plain(item) for item in own]
    if not isinstance(own, dict):
        return own
    plain = {name: _plain(item) for name, item in own.items() if name not in WORDS}
    if plain.pop("$ref", None) is not None:
        plain["type"] = "object"
    default = own.get("default")
    if isinstance(default, dict) and default:
        del plain["default"]  # the keys of a table have their own defaults
    elif isinstance(default, list) and any(isinstance(item, dict) for item in default):
        plain["default"] = len(default)
    return plain


KEYS = keys_of_schema()


@pytest.mark.parametrize("name", KEYS_0_1)
def test_a_key_of_version_0_1_still_means_the_same(name: str) -> None:
    """A key keeps its type and default; choices, keys of a table and remote limits may be added."""
    assert name in KEYS, f"{name} has vanished"
    now, then = copy.deepcopy(KEYS[name]), copy.deepcopy(KEYS_0_1[name])
    now = without_classes(now)
    now = now if "anyOf" in then else without_words(now)
    assert choices(then) <= choices(now)
    if then.get("type") == "object":  # a table with free keys may list them now
        for own in (now, then):
            own.pop("additionalProperties", None)
            own.pop("default", None)
    for ours, theirs in zip(numbers(now), numbers(then), strict=True):
        low, high, old_low, old_high = *bounds(ours), *bounds(theirs)
        assert low == old_low or (low > old_low and (low <= -100.0 or low <= 1e-9 or name.endswith("gravity_r0_m")))
        assert high == old_high or (100.0 <= high < old_high)
    assert now == then


def without_classes(own: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key that chooses a model or names a class, without the classes."""
    models = [kind for kind in own.get("anyOf", ()) if not str(kind.get("pattern", "")).startswith("^(?:python|")]
    if len(models) != 1:
        return own
    return {**models[0], **{name: value for name, value in own.items() if name not in ("anyOf", "code")}}


def without_words(own: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key that takes one type or some words, without these words."""
    types = [kind for kind in own.get("anyOf", ()) if not kind.keys() & {"const", "enum"}]
    if len(types) != 1:
        return own
    return {**types[0], **{name: value for name, value in own.items() if name != "anyOf"}}


LIMITS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def numbers(own: Any) -> list[dict[str, Any]]:
    """Return the schemas of all numbers of a key."""
    if isinstance(own, list):
        return [found for item in own for found in numbers(item)]
    if not isinstance(own, dict):
        return []
    is_number = own.get("type") in ("number", "integer")
    return [*([own] if is_number else []), *(found for item in own.values() for found in numbers(item))]


def bounds(own: dict[str, Any]) -> tuple[float, float]:
    """Remove and return the limits of a number from its schema."""
    low, above, high, below = (own.pop(word, None) for word in LIMITS)
    lows, highs = ([end for end in ends if end is not None] for ends in ((low, above), (high, below)))
    return max(lows, default=-float("inf")), min(highs, default=float("inf"))


def choices(own: dict[str, Any]) -> set[Any]:
    """Remove and return the allowed values of a key from its schema, if it has any."""
    return {*own.pop("enum", ()), own.pop("const", None)} - {None}


def test_the_list_is_complete() -> None:
    """The list has all keys of a file of version 0.1, so that the test can fail."""
    assert len(KEYS_0_1) == 261
    assert KEYS_0_1["plant.integrator.h_max"] == {"type": "number", "default": 0.1, "exclusiveMinimum": 0.0}
