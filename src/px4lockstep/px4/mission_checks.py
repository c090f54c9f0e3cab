"""Check a mission as a whole: takeoff, jumps, and items that can't be reached."""

from collections.abc import Iterable
from dataclasses import replace

from px4lockstep.px4.commands import AT_ONCE, ENDS, Command
from px4lockstep.px4.mission_items import MissionItem, read_item, why_skipped
from px4lockstep.px4.mission_report import MissionReport
from px4lockstep.px4.plans import ItemRow

Place = tuple[str, MissionItem | None]
"""The location of an item in its file, for errors, and the item if it is valid."""
Target = tuple[int, str]
"""Of a row: the number of its item, or of the next one if it is skipped, and its place in the file."""


def checked_items(
    rows: Iterable[ItemRow | None], first: int, source: str, report: MissionReport
) -> tuple[MissionItem, ...]:
    """Return the items of rows, from the first one on, without those that can't be flown or reached."""
    places: list[Place] = []
    targets: list[Target] = []
    for index, row in enumerate(rows):
        targets.append((len(places), source if row is None else row.where.removeprefix(f"{source} ")))
        if index < first:
            continue
        reason = None if row is None else why_skipped(row.frame, row.code, row.params)
        if row is None:
            places.append((source, None))
        elif reason is not None:
            report.add_not_flown(row.where, reason)
        else:
            item = read_item(row.where, row.line, row.frame, row.code, row.params, report)
            places.append((row.where, None if item is None else replace(item, where=targets[-1][1])))
    if not places and not report.errors:
        for line in report.not_flown:
            report.errors.append(line)
        report.error(source, "the mission is empty; it needs at least one item that can be flown")
    _check_takeoff(places, report)
    places = [_with_target(place, targets, len(places), report) for place in places]
    items = tuple(item for _, item in places if item)
    if report.errors or len(items) < len(places):  # the order of the items is unknown
        return items
    return _reachable(places, items, report)


def _with_target(place: Place, targets: list[Target], count: int, report: MissionReport) -> Place:
    """Return a jump with the number of its target item instead of that of a row; other items as they are."""
    where, item = place
    if item is None or item.command is not Command.DO_JUMP:
        return place
    if item.jump_to >= len(targets):
        text = f"DO_JUMP leads to item {item.jump_to}, which does not exist"
        report.error(where, f"{text}; items are numbered 0 to {len(targets) - 1}")
        return where, None
    number, name = targets[item.jump_to]
    if number >= count:
        report.error(where, f"DO_JUMP leads to {name}, which is skipped, and no item follows; change its target")
        return where, None
    return where, replace(item, jump_to=number)


def _reachable(places: list[Place], items: tuple[MissionItem, ...], report: MissionReport) -> tuple[MissionItem, ...]:
    """Return the items that can be reached, and report the others and loops without a flown item."""
    for index, item in enumerate(items):
        if item.command is Command.DO_JUMP and item.jump_to == index:
            report.error(places[index][0], "DO_JUMP leads to itself; change its target")
    if report.errors:
        return items
    # PX4 gives up after ten commands in a row that take no time.
    for index in _idle_jumps(items):
        text = "DO_JUMP leads back to itself without any flown item"
        report.error(places[index][0], f"{text}; add a waypoint or a DELAY between them")
    reached = _reached(items)
    for index, (where, _) in enumerate(places):
        if index not in reached:
            report.add_not_flown(where, "this item is unreachable; remove it, or the item that ends the mission early")
    number_of = {index: number for number, index in enumerate(sorted(reached))}
    return tuple(
        replace(items[index], jump_to=number_of.get(items[index].jump_to, 0))
        if items[index].command is Command.DO_JUMP
        else items[index]
        for index in sorted(reached)
    )


def _check_takeoff(places: list[Place], report: MissionReport) -> None:
    """Check that a takeoff comes before all other positions, and only once; and that a gate comes after a position."""
    positions = [(where, item) for where, item in places if item and item.command.has_position]
    for where, item in places:
        if item and item.command is Command.CONDITION_GATE:
            text = "CONDITION_GATE comes before the first item with a position"
            report.error(where, f"{text}; the vehicle is still on the ground, so move it behind the takeoff")
        if item and item.command.has_position:
            break
    for where, item in positions[1:]:
        if item.command is Command.TAKEOFF:
            first_where, first = positions[0]
            text = f"TAKEOFF comes after {first.command.name} ({first_where})"
            report.error(where, f"{text}; it must be the first item with a position, and the only takeoff")


def _after(items: tuple[MissionItem, ...], index: int) -> list[int]:
    """Return the numbers of the items that may follow an item."""
    item = items[index]
    following = [] if item.command in ENDS else [index + 1]
    if item.command is Command.DO_JUMP and item.jump_repeats > 0:
        following.append(item.jump_to)
    return following


def _reached(items: tuple[MissionItem, ...]) -> set[int]:
    """Return the numbers of the reachable items."""
    reached: set[int] = set()
    ahead = [0]
    while ahead:
        index = ahead.pop()
        if index < len(items) and index not in reached:
            reached.add(index)
            ahead += _after(items, index)
    return reached


def _idle_jumps(items: tuple[MissionItem, ...]) -> list[int]:
    """Return the numbers of the jumps that lead back to themselves through commands that take no time.

    These are the jumps in a strongly connected component of two or more such commands (Kosaraju's algorithm).
    """
    at_once = [index for index, item in enumerate(items) if item.command in AT_ONCE]
    after: dict[int, list[int]] = {index: [] for index in at_once}
    before: dict[int, list[int]] = {index: [] for index in at_once}
    for index in at_once:
        after[index] = [other for other in _after(items, index) if other in after]
        for other in after[index]:
            before[other].append(index)
    seen: set[int] = set()
    order = [index for start in at_once for index in _finished(start, after, seen)]
    seen.clear()
    components = (_finished(start, before, seen) for start in reversed(order))
    idle = [index for component in components if len(component) > 1 for index in component]
    return sorted(index for index in idle if items[index].command is Command.DO_JUMP)


def _finished(start: int, edges: dict[int, list[int]], seen: set[int]) -> list[int]:
    """Return the unseen nodes reachable from a start node in depth-first postorder."""
    finished: list[int] = []
    path = [(start, iter(edges[start]))] if start not in seen else []
    seen.add(start)
    while path:
        other = next((other for other in path[-1][1] if other not in seen), None)
        if other is None:
            finished.append(path.pop()[0])
        else:
            seen.add(other)
            path.append((other, iter(edges[other])))
    return finished
