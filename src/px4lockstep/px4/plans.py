"""The items of QGroundControl plans: simple items, and those that make up complex items.

Surveys and corridor scans contain their items. Structure scans and landing patterns contain only their settings; the
items are those that QGroundControl sends to the vehicle for these settings.

Reference: https://docs.qgroundcontrol.com/master/en/qgc-dev-guide/file_formats/plan.html
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from px4lockstep.errors import InputError
from px4lockstep.px4.commands import Command
from px4lockstep.px4.complex_items import landing_items, structure_items
from px4lockstep.px4.mission_report import MissionReport
from px4lockstep.reading import json_number

TRANSECTS = "TransectStyleComplexItem"
SCANS = ("survey", "CorridorScan")
GENERATED = {"StructureScan": structure_items, "fwLandingPattern": landing_items, "vtolLandingPattern": landing_items}


MAX_ITEMS = 65_535
"""PX4 stores item numbers in 16 bits."""


class ItemRow(NamedTuple):
    """An item before its command is interpreted: its place in the file, and its numbers, NaN where absent."""

    where: str
    line: int
    frame: float
    code: float
    params: list[float]


def plan_rows(items: list[Any], source: str, report: MissionReport) -> Iterator[ItemRow | None]:
    """Yield the items of a plan in order, None for those with errors, and jump targets as indices into the result."""
    found: list[tuple[str, int, dict[str, Any], bool]] = []
    for line, each in enumerate(items):
        for where, item, is_nested in _flat(each, f"{source} item {line}", report):
            found.append((where, line, item, is_nested))
        if len(found) > MAX_ITEMS:
            raise InputError(f"{source} has more than {MAX_ITEMS:,} items, which is PX4's limit")
    index_of_id: dict[int, int] = {}
    # Simple items first: those in complex items may have the same numbers, which are not meant.
    for index, (where, _, item, is_nested) in sorted(enumerate(found), key=lambda each: each[1][3]):
        jump_id = item.get("doJumpId")
        if not isinstance(jump_id, int) or isinstance(jump_id, bool):
            continue  # an error only if a jump refers to it
        if jump_id in index_of_id and not is_nested:
            other = found[index_of_id[jump_id]][0].removeprefix(f"{source} ")
            report.error(where, f"doJumpId {jump_id} is already used by {other}; give each item a different one")
        index_of_id.setdefault(jump_id, index)
    for where, line, item, _ in found:
        yield _row(item, where, line, index_of_id, report)


def _flat(item: Any, where: str, report: MissionReport) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield the simple items of an item: place, item, and whether it is part of a complex one."""
    kind = item.get("type") if isinstance(item, dict) else item
    if not isinstance(item, dict) or kind not in ("SimpleItem", "ComplexItem"):
        report.error(where, f"type {kind!r:.80} must be SimpleItem or ComplexItem")
        return
    if kind == "SimpleItem":
        yield where, item, False
        return
    name = item.get("complexItemType")
    if name in SCANS:
        transects = item.get(TRANSECTS)
        parts = transects.get("Items") if isinstance(transects, dict) else None
        if not isinstance(parts, list) or not parts:
            report.error(where, f"{name} has no {TRANSECTS}.Items; save the plan with QGroundControl 4 or newer")
            return
    elif isinstance(name, str) and name in GENERATED:
        parts = GENERATED[name](item, f"{where} ({name})", report)
    else:
        report.add_not_flown(where, f"complex item {name!r:.80} is skipped; it is unknown")
        return
    for number, part in enumerate(parts):
        place = f"{where} ({name}), its item {number}"
        if isinstance(part, dict):
            yield place, part, True
        else:
            report.error(place, f"{part!r:.80} must be a SimpleItem")


def _row(
    item: dict[str, Any], where: str, line: int, index_of_id: dict[int, int], report: MissionReport
) -> ItemRow | None:
    params, coordinate = item.get("params"), item.get("coordinate")
    if isinstance(params, list) and isinstance(coordinate, list) and len(params) == 4:
        params = params + coordinate  # as in plans of QGroundControl 3
    if not isinstance(params, list) or len(params) != 7:
        report.error(where, f"params = {params!r:.80} must be a list of seven numbers or null")
        return None
    values = {"frame": item.get("frame"), "command": item.get("command")}
    values |= {f"params[{i}]": math.nan if value is None else value for i, value in enumerate(params)}
    numbers = [json_number(value) for value in values.values()]
    bad = [f"{name} = {value!r:.80}" for (name, value), n in zip(values.items(), numbers, strict=True) if n is None]
    if bad:
        report.error(where, f"{', '.join(bad)} must be a number")
        return None
    frame, code, *rest = (number for number in numbers if number is not None)
    if item.get("autoContinue") is not True:
        report_autocontinue(item.get("autoContinue"), where, report)
    if code == Command.DO_JUMP:
        if rest[0] not in index_of_id:
            report.error(
                where, f"jump target (params[0]) = {params[0]!r:.80} is not the doJumpId of any item; correct it"
            )
            return None
        rest[0] = float(index_of_id[int(rest[0])])
    return ItemRow(where, line, frame, code, rest)


def report_autocontinue(value: object, where: str, report: MissionReport) -> None:
    """Report an item at which the mission would stop."""
    report.error(where, f"autocontinue = {value!s:.80} must be 1 (true); there is no pilot to continue the mission")
