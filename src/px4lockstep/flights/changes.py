"""The changes between two specs, key by key."""

from dataclasses import dataclass
from typing import Any

from px4lockstep.part import Key, dotted
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.stages import Stage, stage_at

ABSENT = "absent"
MISSION: Key = ("px4", "mission_path")


@dataclass(frozen=True)
class Change:
    """A changed key with both values, and the stage that it belongs to."""

    key: str
    before: Any
    after: Any
    stage: Stage

    def __str__(self) -> str:
        after = " is absent" if self.after is ABSENT else f" = {self.after!r}"
        return f"{self.key}{after}" + ("" if self.before is ABSENT else f", was {self.before!r}")

    def as_dict(self) -> dict[str, Any]:
        """Return the change for JSON; the value is null in a spec that lacks the key."""
        values = {"before": self.before, "after": self.after}
        return {"key": self.key} | {name: None if value is ABSENT else value for name, value in values.items()}


def changes_between(before: Spec, after: Spec) -> tuple[Change, ...]:
    """Return the changes, in the order of the file."""
    ours, theirs = (_flat(spec.model_dump(by_alias=True, exclude_none=True)) for spec in (before, after))
    keys = dict.fromkeys([*ours, *theirs])
    if before.mission and after.mission and before.mission.text == after.mission.text:
        keys.pop(MISSION, None)  # the same mission at another path is not a change
    values = ((key, ours.get(key, ABSENT), theirs.get(key, ABSENT)) for key in keys)
    changes = (Change(dotted(key), one, other, stage_at(key)) for key, one, other in values if one != other)
    return tuple(change for change in changes if change.stage.is_of_the_flight)


def _flat(value: Any, key: Key = ()) -> dict[Key, Any]:
    """Return the values of nested tables by their full keys; an empty array has no values."""
    if isinstance(value, dict):
        parts = [_flat(inner, (*key, name)) for name, inner in value.items()]
    elif isinstance(value, list | tuple) and all(isinstance(item, dict) for item in value):
        parts = [_flat(inner, (*key, i)) for i, inner in enumerate(value)]
    else:
        return {key: value}
    return {name: inner for part in parts for name, inner in part.items()}
