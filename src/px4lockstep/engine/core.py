"""The record of a running simulation, with its configuration and its state.

`Arrays` is the argument of the loop. All of its members are arrays: passing a record costs 20 µs, passing a length-1
array of records 0.05 µs.
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
from px4lockstep.scenario.setpoint_rows import SETPOINT_IN
from px4lockstep.scenario.stage import SCENARIO
from px4lockstep.vehicle.battery_sensor import BATTERY_SENSOR
from px4lockstep.vehicle.dispatch import PLANT

CURSOR = record(
    [
        ("k stage", "i8"),  # the boundary and the stage to continue at
        ("autopilot_ticks wind_ticks log_rows", "i8"),  # also the position in each stream
        ("scenario_rows", "i8"),  # position in the scenario's stream, which has a row for each change
    ],
    limits={"k autopilot_ticks wind_ticks log_rows scenario_rows": COUNT, "stage": 9},
)

# How a stage runs.
OFF, NATIVE = 0, 1  # native: compiled
REPLAY = 2  # from a recorded stream
PYTHON = 3  # the loop returns, the user's object runs, the loop resumes
PYTHON_WITH_STATUS = 4  # a Python autopilot that writes its status to the bus

MODES = record(
    [
        ("scenario wind", "i8"),
        ("outputs_axes", "i8"),  # bits of the axes on which outputs are due
        ("estimator telemetry autopilot plant", "i8"),
        ("telemetry_axes", "i8"),  # bits of the axes on which telemetry hooks are due
        ("is_recording", "i8"),
        ("records_estimate", "i8"),
        ("setpoints", "i8"),
        ("is_strict", "i8"),  # a command out of range is an error; otherwise it is clamped and counted
    ]
)

SIM = record(
    [
        ("state", STATE),  # an integration step uses the first three: their vectors are aligned to cache lines
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
        ("setpoint", SETPOINT_IN),  # the autopilot's input of the current tick
        *AUTOPILOT_RECORDS,
        ("plant", PLANT),
        ("solver", SOLVER),
        ("validator", VALIDATOR),
    ],
    state="state inputs cursor bus setpoint",
    transient="work px4",  # scratch memory; addresses (the state of real PX4 is in its library)
)

LOG_ROW = record([("time_us", "u8"), ("bus", LOGGED_BUS), ("inputs", INPUT)])
"""The fields of a row of the log, of which a run has as much as its aircraft needs: see `log_layout`.

The plant state of the row is in a separate array.
"""


class Arrays(NamedTuple):
    """The arrays that the loop works on."""

    core: Any  # 1 SIM
    words: Any  # int64: the memory of `core`
    spans: Any  # int64: the spans of `words` that make up a row of the log, see `log_layout`
    logged: Any  # 1 int64: the number of complete rows of the log
    sensors: Any  # 1 SENSORS
    setpoint_rows: Any  # SETPOINT_ROW: all setpoints of the scenario
    time_us: Any  # this and all following are streams: see `streams`
    due: Any
    log: Any
    log_state: Any
    log_sensors: Any
    commands: Any
    winds: Any
    estimates: Any
    setpoints: Any
    scenarios: Any
    scenario_at: Any
    fingerprints: Any
