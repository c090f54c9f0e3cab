"""Missions that end in different ways, on all three autopilots: the same verdict where the physics is the same.

The two kinds of real PX4 are their doubles. The library has no Commander, so no failsafe acts there.
"""

from dataclasses import dataclass, field

import pytest
from px4_double import build_double
from sitl_sensors import TRUTH

from px4lockstep.flights.run import fly
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

HOME, NORTH = "47.397742 8.545594", "47.397814 8.545594"  # 8 m
ENDS = {"land": f"2 0 3 21 0 0 0 0 {NORTH} 0 1", "return": "2 0 2 20 0 0 0 0 0 0 0 1", "neither": ""}
SETTINGS = {
    "environment.wind": "none",
    "estimator.kind": "none",
    "run.mode": "live",
    "timeline.dt_log_s": 0.02,
    "scenario.arm_time_s": 0.5,
    "scenario.mission_time_s": 1.0,
}
PARAMS = {"RTL_RETURN_ALT": 6.0, "RTL_DESCEND_ALT": 5.0, "RTL_LAND_DELAY": 0.0, "COM_DISARM_LAND": 1.0}
BUILTIN, LIBRARY, STOCK = "builtin", "px4", "px4-sitl"
FLOWN, LANDED, RETURNED, IN_THE_AIR = "flown", "landed", "returned", "in the air"


@dataclass(frozen=True)
class Variant:
    """A flight: how its mission ends, and for each autopilot outcome, ending and words of the reason.

    `hold_s` is the hold time at its waypoint; `settings` are those of one autopilot.
    """

    end: str
    end_s: float
    expected: dict
    events: tuple = ()
    params: dict = field(default_factory=dict)
    hold_s: float = 0.0
    settings: dict = field(default_factory=dict)


def on_all(outcome, ending, *words):
    return dict.fromkeys((BUILTIN, LIBRARY, STOCK), (outcome, ending, *words))


def event(at_s, action, **arguments):
    return {"at_s": at_s, "action": action, **arguments}


AGAIN = event(24.0, "arm"), event(25.0, "start_mission")
UNFINISHED = "mission not finished"
OUT_OF_TIME = "out of time"

VARIANTS = {
    "ends in LAND": Variant("land", 24.0, on_all(FLOWN, LANDED)),
    "ends in RTL": Variant("return", 30.0, on_all(FLOWN, RETURNED)),
    "ends in neither": Variant("neither", 16.0, on_all(FLOWN, IN_THE_AIR)),
    "is cut off": Variant("land", 9.0, on_all(OUT_OF_TIME, IN_THE_AIR, "the run ended at 9.00 s, at item")),
    "re-armed after landing": Variant(
        "land",
        32.0,
        # Stock PX4 is still in mission mode, and flies the mission again.
        on_all(FLOWN, LANDED) | {STOCK: (OUT_OF_TIME, IN_THE_AIR)},
        AGAIN[:1],
    ),
    "two missions": Variant("land", 54.0, on_all(FLOWN, LANDED), AGAIN),
    "two missions, the second cut off": Variant("land", 34.0, on_all(OUT_OF_TIME, IN_THE_AIR), AGAIN),
    "geofence": Variant(
        "land",
        14.0,
        {
            # The built-in autopilot does not check missions: it takes off and stops at the fence.
            BUILTIN: (UNFINISHED, IN_THE_AIR, "a failsafe (geofence) took over at"),
            LIBRARY: ("never took off", "on the ground", 'PX4 said: "Geofence violation for waypoint 2"'),
            STOCK: ("never took off", "on the ground", "Geofence violation for waypoint 2"),
        },
        params={"GF_MAX_HOR_DIST": 5.0, "GF_ACTION": 2},
    ),
    "low battery": Variant(
        "land",
        36.0,
        on_all(UNFINISHED, RETURNED, "a failsafe (battery) took over at", "with mode return")
        | {LIBRARY: (FLOWN, LANDED)},
        params={"COM_LOW_BAT_ACT": 3},
        hold_s=10.0,
        settings={
            kind: {"power.batteries[0].soc0": soc} for kind, soc in ((BUILTIN, 0.12), (LIBRARY, 0.14), (STOCK, 0.09))
        },
    ),
    "GPS loss": Variant(
        "neither",
        26.0,
        # Not with the library: real PX4 crashes without a position, because no failsafe changes the mode.
        dict.fromkeys(
            (BUILTIN, STOCK), (UNFINISHED, LANDED, "a failsafe (position lost) took over at", "with mode descend")
        ),
        (event(8.0, "estimate_dropout"),),
        hold_s=10.0,
        settings={STOCK: {"scenario.events": [event(8.0, "sensor_fault", sensor="gps")]}},
    ),
}
SLOW = (
    "re-armed after landing",
    "two missions",
    "two missions, the second cut off",
    "geofence",
    "low battery",
    "GPS loss",
)
"""Variants whose flights over sockets, which take several seconds each, are left to `make test-all`."""
TIERS = {BUILTIN: pytest.mark.fast, LIBRARY: pytest.mark.process, STOCK: pytest.mark.sitl}
FLIGHTS = [
    pytest.param(name, kind, marks=pytest.mark.slow if kind == STOCK and name in SLOW else tier)
    for name in VARIANTS
    for kind, tier in TIERS.items()
    if kind in VARIANTS[name].expected
]


@pytest.mark.parametrize(("name", "kind"), FLIGHTS)
def test_the_verdict_is_that_of_the_table(name, kind, tmp_path, request):
    """Outcome, ending and reason."""
    variant = VARIANTS[name]
    waypoint = f"1 0 3 16 {variant.hold_s} 1 0 0 {NORTH} 4 1"
    lines = [f"0 1 3 22 0 0 0 0 {HOME} 4 1", waypoint, ENDS[variant.end]]
    mission = tmp_path / "own.waypoints"
    mission.write_text("\n".join(["QGC WPL 110", *lines, ""]))
    own = {"autopilot.kind": kind, "autopilot.params": PARAMS | variant.params, "px4.mission_path": str(mission)}
    own |= {"timeline.t_end_s": variant.end_s, "scenario.events": list(variant.events)}
    if kind == LIBRARY:
        own["px4.libpath"] = str(build_double(tmp_path))
    elif kind == STOCK:
        own |= {
            "px4.sitl.build_dir": str(request.getfixturevalue("sitl_build")),
            "px4.sitl.sensors": TRUTH.model_dump(),
        }
    summary = fly(build(load_spec("iris", SETTINGS | own | variant.settings.get(kind, {})))).summary
    outcome, ending, *words = variant.expected[kind]
    assert (summary.outcome, summary.ending) == (outcome, ending), summary.reason
    for word in words:
        assert word in summary.reason
