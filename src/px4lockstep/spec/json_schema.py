"""JSON schema of spec files, for editors that check and complete TOML."""

from typing import Any

from px4lockstep.part import all_tables
from px4lockstep.spec.spec import Spec


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a spec file, with `extends` and alternative spellings of keys."""
    for _, model, _ in all_tables(Spec):
        model.model_rebuild()  # pydantic before 2.12 can't write defaults of a model that was not built
    schema = Spec.model_json_schema(by_alias=True, mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "px4lockstep spec file"
    schema["properties"]["extends"] = {
        "title": "Extends",
        "description": "Files (relative to this one) or built-in aircraft that this file extends, merged in order.",
        "type": "array",
        "items": {"type": "string"},
    }
    # A file that extends another may omit keys that the other one sets.
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
