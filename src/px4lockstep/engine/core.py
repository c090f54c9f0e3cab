"""The records of a running simulation: all of it in one, its configuration and its state.

`Arrays` is what the loop is called with. All of its members are arrays: to hand over a record costs 20 µs, an array of
one record 0.05 µs.
"""

from typing import Any, NamedTuple

from px4lockstep.autopilots.native import RECORDS as AUTOPILOT_RECORDS
from px4lockstep.engine.bus import BUS, LOGGED_BUS
from px4lockstep.engine.validator import VALIDATOR
from px4lockstep.environment.gust import GUSTS
from px4lockstep.environment.wind import WIND
from px4lockstep.estimation.estimator import ESTIMATOR
from px4lockstep.integrators.solver import SOLVER, WORK
from px4lockstep.jit import record
from px4lockstep.jit.records import COUNT
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import MAX_BATTERIES, STATE
from px4lockstep.scenario.stage import SCENARIO
from px4lockstep.vehicle.battery_sensor import BATTERY_SENSOR
from px4lockstep.vehicle.dispatch import PLANT

CURSOR = record(
    [
        ("k stage", "i8"),  # the boundary and the stage to go on at
        ("autopilot_ticks wind_ticks log_rows", "i8"),  # also the position in each stream
        ("scenario_rows", "i8"),  # of the scenario's stream, which has a row for each change
    ],
    limits={"k autopilot_ticks wind_ticks log_rows scenario_rows": COUNT, "stage": 9},
)

# How a stage runs.
OFF, NATIVE = 0, 1  # the latter compiled
REPLAY = 2  # from a recorded stream
PYTHON = 3  # the loop returns, the user's object runs, the loop resumes
PYTHON_WITH_STATUS = 4  # Python, of an autopilot that writes its status to the bus

MODES = record(
    [
        ("scenario wind", "i8"),
        ("outputs_axes", "i8"),  # bits of the axes that outputs are due on
        ("estimator telemetry autopilot plant", "i8"),
        ("telemetry_axes", "i8"),  # bits of the axes that telemetry hooks are due on
        ("is_recording", "i8"),
        ("is_strict", "i8"),  # a command out of range is an error, else it is clamped and counted
    ]
)

SIM = record(
    [
        ("state", STATE),  # the first three are what a step works on: their vectors lie on whole lines of the cache
        ("inputs", INPUT),
        ("work", WORK),
        ("cursor", CURSOR),
        ("modes", MODES),
        ("bus", BUS),
        ("scenario", SCENARIO),
        ("wind", WIND),
        ("gusts", GUSTS),
        ("battery_sensors", BATTERY_SENSOR, MAX_BATTERIES),
        ("estimator", ESTIMATOR),
        *AUTOPILOT_RECORDS,
        ("plant", PLANT),
        ("solver", SOLVER),
        ("validator", VALIDATOR),
    ],
    state="state inputs cursor bus",
    transient="work px4",  # scratch of a step; addresses, and what real PX4 knows of itself is in its library
)

LOG_ROW = record([("time_us", "u8"), ("bus", LOGGED_BUS), ("inputs", INPUT)])
"""One row of the log; the state of the same row is in an array of its own, which is as wide as the plant needs."""


class Arrays(NamedTuple):
    """What the loop works on."""

    core: Any  # 1 SIM
    logged: Any  # 1 int64: the rows of the log that are whole
    sensors: Any  # 1 SENSORS
    time_us: Any  # from here on the streams: see `streams`
    due: Any
    log: Any
    log_state: Any
    log_sensors: Any
    commands: Any
    winds: Any
    scenarios: Any
    scenario_at: Any
    fingerprints: Any
