"""Short flights of the built-in autopilot with failures, and runs that the validator stops."""

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
from mission_files import as_plan

import px4lockstep
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import SimulationError
from px4lockstep.plant.models import Oscillator
from px4lockstep.px4.missions import parse_wpl

MISSION = """QGC WPL 110
0	1	3	22	0	0	0	0	47.397742	8.545594	1.5	1
1	0	3	16	0	1	0	90	47.397772	8.545614	2.5	1
2	0	3	16	0	1	0	0	47.397742	8.545594	2	1
3	0	3	21	0	0	0	0	47.397742	8.545594	0	1
"""
WALL = [[47.397756, 8.54556], [47.397756, 8.54562], [47.397762, 8.54562], [47.397762, 8.54556]]
PLAN = as_plan(
    *parse_wpl(MISSION, "the mission").items,
    geoFence={
        "circles": [{"circle": {"center": [47.397742, 8.545594], "radius": 30}, "inclusion": True, "version": 1}],
        "polygons": [{"inclusion": False, "polygon": WALL, "version": 1}],
        "version": 2,
    },
    rallyPoints={"points": [[47.39784, 8.545594, 0.5], [47.397742, 8.545724, 0]], "version": 2},
)
"""The same mission with a wall on the way to the waypoint, and with rally points, of which one is farther away."""
QUICK = {
    "COM_SPOOLUP_TIME": 0.1,
    "COM_DISARM_LAND": 0.3,
    "MPC_TKO_RAMP_T": 0.3,
    "MPC_TKO_SPEED": 3.0,
    "MPC_LAND_SPEED": 1.5,
    "NAV_MC_ALT_RAD": 0.5,
}
COMMON = {
    "scenario.arm_time_s": 0.1,
    "scenario.mission_time_s": 0.2,
    "timeline.dt_phys_s": 0.004,
    "timeline.dt_wind_s": 0.02,
    "timeline.dt_log_s": 0.02,
    "plant.integrator": "Euler",
    "plant.contact": "flat_ground",
    "run.validate": "paranoid",
}
FLIGHTS = {
    "return": (
        "iris",
        9.0,
        QUICK | {"RTL_RETURN_ALT": 3.0, "RTL_DESCEND_ALT": 2.0, "RTL_LAND_DELAY": 0.2, "RTL_MIN_DIST": 0.5},
        {"scenario.events": [{"at_s": 3.5, "action": "return"}]},
    ),
    "mission": ("iris", 12.0, QUICK, {}),
    "fence": ("iris", 6.0, QUICK | {"GF_ACTION": 2, "GF_MAX_HOR_DIST": 1.0}, {}),
    "zones": ("iris", 8.0, QUICK | {"GF_ACTION": 3, "RTL_TYPE": 5, "RTL_RETURN_ALT": 2.0}, {}),
    "lost position": ("iris", 5.0, QUICK, {"scenario.events": [{"at_s": 2.5, "action": "estimate_dropout"}]}),
    "lost motor": ("hex", 3.0, QUICK, {"scenario.events": [{"at_s": 2.0, "action": "disable_motor", "motor": 2}]}),
    "own land detector": (
        "iris",
        8.0,
        QUICK | {"LNDMC_TRIG_TIME": 0.3},
        {"autopilot.land_detector": "estimate", "scenario.events": [{"at_s": 2.5, "action": "land"}]},
    ),
}
"""Aircraft, duration [s], parameters and further overrides by name."""


def fly(name):
    """Fly one of them; return the simulation."""
    aircraft, end_s, params, overrides = FLIGHTS[name]
    with tempfile.TemporaryDirectory() as folder:
        mission = Path(folder) / ("mission.plan" if name == "zones" else "mission.waypoints")
        mission.write_text(json.dumps(PLAN) if name == "zones" else MISSION, "utf-8")
        own = {"px4.mission_path": str(mission), "timeline.t_end_s": end_s, "autopilot.params": params}
        flight = px4lockstep.build(px4lockstep.load_spec(aircraft, COMMON | own | overrides))
    return flight.simulation.run()


class _Beyond:
    """An autopilot whose commands are out of range, until one is NaN."""

    def step(self, time_us, inputs, outputs):
        outputs.motors[:] = 1.5
        outputs.motors[1] = -0.5 if time_us < 80_000 else np.nan


class _Infinite:
    """A wind that becomes infinite after a while."""

    def step(self, time_us, inputs, outputs):
        outputs.vel_ned[0] = np.inf if time_us >= 50_000 else 1.0


def failing_runs():
    """Yield the message of each failure, and the number of commands clamped before it."""
    timeline = Timeline(200_000, autopilot=Periodic(10_000), wind=Periodic(10_000), log=Periodic(10_000))
    for options in ({"autopilot": _Beyond()}, {"wind": _Infinite()}, {"autopilot": _Beyond(), "record": True}):
        sim = Simulation(Oscillator(2.0, 1.0, 0.5, wind_gain=0.3), timeline, validate="paranoid", **options)
        try:
            sim.run()
        except SimulationError as error:
            yield str(error)
        yield str(sim.statistics.clamped_commands)


def digest_lines():
    """Fly all of them; yield both digests of each flight, and a hash of the failing runs' messages."""
    for name in FLIGHTS:
        sim = fly(name)
        yield f"{name} {sim.digest()} {sim.live_digest()}"
    yield hashlib.sha256("\n".join(failing_runs()).encode()).hexdigest()
