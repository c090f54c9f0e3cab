"""The layout of aircraft files as a JSON schema, for editors that check and complete TOML by one."""

from typing import Any

from px4lockstep.part import all_tables
from px4lockstep.spec.spec import Spec


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of an aircraft file, with `extends` and other spellings of keys."""
    schema = Spec.model_json_schema(by_alias=True, mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "px4lockstep aircraft file"
    schema["properties"]["extends"] = {
        "title": "Extends",
        "description": "Files that this one changes, relative to it, or aircraft that ship; merged in order.",
        "type": "array",
        "items": {"type": "string"},
    }
    # A file that extends another may leave out what that one has.
    schema.pop("required", None)
    for _, model, is_array in all_tables(Spec):
        table = schema["$defs"].get(model.__name__)
        if table is None:
            continue
        if not is_array:
            table.pop("required", None)
        for alias, name in model.aliases.items():
            table["properties"][alias] = table["properties"][name]
    return schema
