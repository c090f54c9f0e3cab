"""The topics that the host publishes to PX4, with their fields."""

from px4lockstep.errors import InputError
from px4lockstep.px4.fields import INPUT_FIELDS, Fields, battery_fields
from px4lockstep.px4.presets import Published
from px4lockstep.vehicle.aircraft import Aircraft

CELL_V = 4.2


def topics_with_fields(published: tuple[Published, ...], aircraft: Aircraft) -> list[tuple[Published, Fields]]:
    """Return the published topics with their fields: first the batteries in order, one instance each."""
    count = len(aircraft.batteries)
    asked = [each for each in published if each.topic == "battery_status"]
    by_battery = {each.instance: each for each in asked if each.instance >= 0}
    rest = [i for i in range(count) if i not in by_battery]
    for each in asked:
        if each.instance >= count or (each.instance < 0 and not rest):
            there = "1 battery" if count == 1 else f"{count} batteries"
            raise InputError(
                f"px4.uorb.pubs: {each.key or each.topic} needs instance {each.instance} of battery_status, but the "
                f"aircraft has {there}, numbered from 0, and each is published only once"
            )
        if each.instance < 0:
            by_battery |= dict.fromkeys(rest, each)
    topics: list[tuple[Published, Fields]] = []
    for i in sorted(by_battery):
        battery = aircraft.batteries[i]
        cells = battery.cells or max(1, round(battery.full_voltage_v / CELL_V))
        topics.append((by_battery[i], battery_fields(i, 1000.0 * battery.capacity_ah, cells)))
    return topics + [(each, INPUT_FIELDS[each.topic]) for each in published if each.topic != "battery_status"]
