"""Missions: QGC WPL 110 and plans, with complex items, fences and rally points; loaded, and some flown."""

import functools
import json
from importlib import resources
from pathlib import Path

import numpy as np
from mission_files import as_plan, wpl

from fuzz.flights import fly_briefly
from fuzz.mutations import ODD_NUMBERS, TOKENS, copied, mutated_bytes, mutated_tree
from px4lockstep.autopilots.area import area_of, check_area
from px4lockstep.px4.missions import load_mission, parse_wpl
from px4lockstep.spec.load import load_spec

FLOWN = "flown"
HOME = (47.397742, 8.545594)
FENCE = {
    "circles": [{"circle": {"center": [*HOME], "radius": 500}, "inclusion": True, "version": 1}],
    "polygons": [{"inclusion": False, "polygon": [[47.4, 8.55], [47.401, 8.55], [47.4, 8.551]], "version": 1}],
    "breachReturn": [*HOME, 30],
    "version": 2,
}
RALLY = {"points": [[47.3979, 8.5457, 10], [47.3975, 8.5455, 0.5]], "version": 2}
PARTS = {"geoFence": FENCE, "rallyPoints": RALLY}
COMMANDS = ("16", "17", "19", "20", "21", "22", "31", "93", "177", "178", "195", "196", "197", "201", "206", "4501")
COMMANDS += ("18", "85", "0", "-1", "99999")
PLANS = Path(__file__).resolve().parents[2] / "flights" / "plans"
LANDING = {
    "type": "ComplexItem",
    "complexItemType": "fwLandingPattern",
    "altitudesAreRelative": True,
    "landCoordinate": [47.3978, 8.5456, 0],
    "landingApproachCoordinate": [47.3979, 8.5456, 10],
    "loiterClockwise": True,
    "loiterRadius": 5,
    "stopTakingPhotos": True,
    "useDoChangeSpeed": True,
    "finalApproachSpeed": 4,
    "useLoiterToAlt": True,
    "version": 2,
}


@functools.cache
def shipped():
    """Return the lines of a built-in mission."""
    file = resources.files("px4lockstep.spec") / "missions" / "simple.waypoints"
    return tuple(tuple(line.split()) for line in file.read_text("utf-8").splitlines()[1:])


@functools.cache
def plans():
    """Return plans: the mission, the same with a landing pattern, and those that the tests fly."""
    items = parse_wpl(wpl(*(" ".join(words) for words in shipped())), "simple").items
    simple = as_plan(*items, geoFence=FENCE, rallyPoints=RALLY)
    landing = copied(simple)
    landing["mission"]["items"][-1] = LANDING
    return simple, landing, *(json.loads(path.read_text("utf-8")) for path in sorted(PLANS.glob("*.plan")))


def mutated_lines(rng):
    """Return lines with numbers and commands changed, reordered, omitted or repeated."""
    lines = [list(words) for words in shipped()]
    for _ in range(rng.choice((1, 1, 2, 4))):
        line = rng.choice(lines)
        way = rng.random()
        if way < 0.4:
            line[rng.randrange(len(line))] = str(rng.choice(ODD_NUMBERS))
        elif way < 0.6:
            line[3] = rng.choice(COMMANDS)
        elif way < 0.75:
            lines.insert(rng.randrange(len(lines)), list(line))
        elif way < 0.85 and len(lines) > 1:
            lines.remove(line)
        elif way < 0.95:  # a jump somewhere
            target, repeats = str(rng.randrange(len(lines) + 2)), str(rng.choice((0, 1, 5, -1, 10**9)))
            line[2:11] = ["2", "177", target, repeats, "0", "0", "0", "0", "0"]
        else:
            line.append("7")
    if rng.random() < 0.8:  # otherwise most would be rejected for their numbers
        for number, line in enumerate(lines):
            line[:2] = [str(number), str(int(number == 0))]
    return "\n".join(["QGC WPL 110", *("\t".join(line) for line in lines), ""]).encode()


def write(folder, rng):
    """Write a mission."""
    if rng is None:
        name, data = "mission.waypoints", ("\n".join(["QGC WPL 110", *map("\t".join, shipped())]) + "\n").encode()
    elif rng.random() < 0.45:
        name, data = "mission.waypoints", mutated_lines(rng)
        if rng.random() < 0.2:
            data = mutated_bytes(data, rng)
    else:
        plan = rng.choice(plans())
        name, data = "mission.plan", json.dumps(plan).encode()
        if rng.random() < 0.75:
            part = rng.choice((*PARTS, None, None))
            tree = mutated_tree(plan, rng) if part is None else plan | {part: mutated_tree(PARTS[part], rng)}
            data = json.dumps(tree).encode()
        else:
            data = mutated_bytes(data, rng, tokens=(*TOKENS, b'{"type": "SimpleItem"},', b"[" * 3_000))
    (folder / name).write_bytes(data)
    if rng is None or rng.random() < 0.1:
        (folder / FLOWN).touch()


def use(folder):
    """Load it; fly it for three seconds if requested."""
    path = next(path for path in (folder / "mission.waypoints", folder / "mission.plan") if path.exists())
    mission = load_mission(path)
    mission.lost_by_library()
    area_of(mission, *HOME).margins_m(np.zeros((1, 3)))
    check_area(mission, *HOME)
    if (folder / FLOWN).exists():
        changes = {"px4.mission_path": str(path), "scenario.arm_time_s": 0.1, "scenario.mission_time_s": 0.2}
        fly_briefly(load_spec("iris", changes | {"plant.integrator": "RK4"}), 3.0)
