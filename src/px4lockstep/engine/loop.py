"""The loop: the only place that defines what happens at an event boundary, and in which order.

    1  scenario         every boundary
    2  wind             wind axis; a change of the scenario's wind takes effect immediately
    3  derived outputs  autopilot and log axes, with the previous command; battery sensors (autopilot axis).
                        In a replay without an estimator, log axis only, unless the plant itself reads its outputs
    4  sensors          autopilot axis, if the simulation has sensors
    5  estimator        autopilot axis; a replay takes the estimate from the recording, if it has one
    6  telemetry hooks  the axes they are registered for; they only read
    7  autopilot        autopilot axis; before it, its setpoint of this tick, if it flies setpoints
    8  discontinuities  autopilot axis: jumps of the plant
    9  recording, log   each stream on its axis, with the current state and time

Then the plant is integrated to the next boundary with its inputs held, unless the scenario reports a crash, which ends
the run. A recorded run stores a fingerprint of the new state. Live, recorded and replayed runs all use this loop; a
fixed step size is a physics axis in the timeline.

If a run that ends after the landing is over at a boundary, this becomes its last one, before its stages run.

A stage is native, replayed, off or a Python object. For a Python stage the loop stores its position and returns the
number of the stage; the engine calls the user's object and then `advance` again, which continues from there. A stage
therefore has two parts: the source, which a Python stage replaces, and the processing of its outputs, which also runs
on resuming. The condition of the second part is `stage <= STAGE + 1`, since the stored position is one further.
"""

import numpy as np

from px4lockstep.autopilots.native import step_native
from px4lockstep.engine.core import NATIVE, OFF, PYTHON, PYTHON_WITH_STATUS, REPLAY
from px4lockstep.engine.fingerprints import write_fingerprint
from px4lockstep.engine.timeline import AUTOPILOT as AUTOPILOT_DUE
from px4lockstep.engine.timeline import LOG as LOG_DUE
from px4lockstep.engine.timeline import WIND as WIND_DUE
from px4lockstep.engine.validator import (
    AUTOPILOT_FAILED,
    CHEAP,
    NO_INDEX,
    PARANOID,
    SOUND,
    check_autopilot_interval,
    check_boundary,
    check_faults,
    check_outputs,
    check_purity,
    check_state,
    check_time,
    keep_what_rhs_reads,
    report,
    sanitize_command,
)
from px4lockstep.environment.gust import add_gusts
from px4lockstep.environment.wind import step_wind
from px4lockstep.estimation.estimator import step_estimator
from px4lockstep.integrators.integrate import FIRST, integrate
from px4lockstep.integrators.step import take_slopes
from px4lockstep.jit import call_void, kernel
from px4lockstep.jit.memory import copy_words
from px4lockstep.scenario.landing import CRASH_LIES
from px4lockstep.scenario.setpoint_rows import give_setpoint
from px4lockstep.scenario.stage import NOBODY, NOT_ASKED, is_over, step_scenario
from px4lockstep.vehicle.battery_sensor import sense_battery
from px4lockstep.vehicle.dispatch import autopilot_tick, write_outputs

STAGE_NAMES: tuple[str, ...] = ("scenario", "wind", "outputs", "sensors", "estimator", "telemetry", "autopilot")
STAGE_NAMES += ("discontinuities", "log", "stream")
SCENARIO, WIND, OUTPUTS, SENSORS, ESTIMATOR, TELEMETRY, AUTOPILOT = map(np.int64, range(7))
FULL = np.int64(9)  # not a stage: Python must extend the buffers of the scenario's stream

DONE, FAILED, CRASHED = -1, -2, -3
OVER = -4  # the next boundary is to be the last one


@kernel
def leave(cursor, k, stage):
    """Store the position to continue at, and return the stage that Python must run."""
    cursor.k = k
    cursor.stage = stage + 1
    return stage


@kernel
def hold_faults(sim, t_us):
    """Hold the scenario's faults for the plant from this boundary on, and check them."""
    sim.scenario.has_changed = 0
    cut_off = sim.inputs.faults.motor_cut_off_mask  # the plant's own
    sim.inputs.faults = sim.bus.scenario.faults
    sim.inputs.faults.motor_cut_off_mask = cut_off
    return check_faults(sim.validator, t_us, sim.inputs.faults, sim.plant) if sim.validator.level >= CHEAP else SOUND


@kernel
def keep_scenario(sim, k, scenarios, scenario_at):
    """Record the scenario's outputs if they changed; return False if the buffer is full."""
    row = sim.cursor.scenario_rows
    if sim.scenario.has_changed == 0 and row > 0:
        return True
    if row == len(scenarios):
        return False
    scenarios[row] = sim.bus.scenario
    scenario_at[row] = k
    sim.cursor.scenario_rows = row + 1
    return True


@kernel
def hold_wind(bus, inputs, gusts, t_us):
    """Hold the wind for the plant; changes of the scenario's wind and edges of gusts take effect immediately."""
    for i in range(3):
        inputs.wind_ned[i] = bus.wind.vel_ned[i] + bus.scenario.wind_ned[i]
    if gusts.count > 0:
        add_gusts(gusts, t_us, inputs.wind_ned)


@kernel
def sense_batteries(sim):
    """Sample the plant's outputs with the battery sensors."""
    for j in range(sim.plant.traits.n_batteries):
        sense_battery(sim.battery_sensors[j], sim.bus.outputs.battery[j], sim.bus.battery[j])


@kernel
def take_setpoint(sim, t_us, setpoint_rows, setpoints):
    """Provide the autopilot's setpoint of this tick, and record it; a Python function has written its own."""
    tick = sim.cursor.autopilot_ticks
    if sim.modes.setpoints == REPLAY:
        sim.setpoint = setpoints[tick]
        return
    if sim.modes.setpoints == NATIVE:
        give_setpoint(sim.scenario.setpoints, setpoint_rows, t_us, sim.setpoint)
    if sim.modes.is_recording != 0:
        setpoints[tick] = sim.setpoint


@kernel
def log_row(sim, words, spans, log, log_state, logged, sensors, log_sensors):
    """Write the next row of the log; it is counted once complete, so a killed process leaves only whole rows."""
    index = sim.cursor.log_rows
    j = 0
    for span in range(len(spans)):
        first, count = spans[span, 0], spans[span, 1]
        copy_words(log, index, j, words, first, count)
        j += count
    for i in range(sim.plant.n_x):
        log_state[index, i] = sim.state.x[i]
    if sensors.address != 0:
        log_sensors[index] = sensors.out
    sim.cursor.log_rows = index + 1
    logged[0] = index + 1


@kernel
def advance(arrays, k_stop):
    """Run boundaries until `k_stop`; return `DONE`, `CRASHED`, `FAILED`, `OVER`, or the stage that Python must run."""
    sim = arrays.core[0]
    # Unpacked once: each access to an array in the tuple updates its reference count.
    time_us, due_at = arrays.time_us, arrays.due
    words, spans = arrays.words, arrays.spans
    log, log_state, logged = arrays.log, arrays.log_state, arrays.logged
    commands, winds, scenarios, scenario_at = arrays.commands, arrays.winds, arrays.scenarios, arrays.scenario_at
    fingerprints, estimates = arrays.fingerprints, arrays.estimates
    setpoint_rows, setpoints = arrays.setpoint_rows, arrays.setpoints
    sensors, log_sensors = arrays.sensors[0], arrays.log_sensors
    cursor, modes, bus, inputs = sim.cursor, sim.modes, sim.bus, sim.inputs
    scenario, validator = sim.scenario, sim.validator
    k, stage = cursor.k, cursor.stage

    while k < k_stop:
        t_us = np.int64(time_us[k])
        t_s = float(t_us) / 1e6
        due = np.int64(due_at[k])
        if stage == 0 and k + 1 < len(time_us) and is_over(scenario, t_us):
            return OVER

        if stage <= SCENARIO:
            if scenario.answer == NOT_ASKED:  # otherwise within the stage: Python ran one of its events
                bus.time_us = time_us[k]
                if validator.level >= CHEAP and check_time(validator, t_us) != SOUND:
                    return FAILED
            if modes.scenario == NATIVE:
                is_tick = due & AUTOPILOT_DUE
                ticks = cursor.autopilot_ticks
                if step_scenario(scenario, t_us, ticks, is_tick, sim.state, inputs, sim.plant, bus) != NOBODY:
                    leave(cursor, k, SCENARIO)
                    cursor.stage = SCENARIO  # return here for the events after this one
                    return SCENARIO
            elif modes.scenario == REPLAY:
                if scenario_at[cursor.scenario_rows] == k:
                    bus.scenario = scenarios[cursor.scenario_rows]
                    cursor.scenario_rows += 1
                    scenario.has_changed = 1
            elif modes.scenario == PYTHON:
                return leave(cursor, k, SCENARIO)
        is_kept = stage > SCENARIO + 1 or modes.is_recording == 0 or modes.scenario == REPLAY
        if not is_kept and not keep_scenario(sim, k, scenarios, scenario_at):
            leave(cursor, k, SCENARIO)
            return FULL

        if stage <= WIND and due & WIND_DUE:
            if modes.wind == NATIVE:
                step_wind(sim.wind, bus.wind)
            elif modes.wind == REPLAY:
                bus.wind = winds[cursor.wind_ticks]
            elif modes.wind == PYTHON:
                return leave(cursor, k, WIND)
        if stage <= WIND + 1:
            if due & WIND_DUE:
                if modes.is_recording != 0:
                    winds[cursor.wind_ticks] = bus.wind
                cursor.wind_ticks += 1
            if scenario.has_changed != 0 and hold_faults(sim, t_us) != SOUND:
                return FAILED
            hold_wind(bus, inputs, sim.gusts, t_us)

        if stage <= OUTPUTS and due & (modes.outputs_axes | sim.plant.traits.reads_outputs * AUTOPILOT_DUE):
            write_outputs(t_s, sim.state, inputs, sim.plant, sim.work.trial, bus.outputs)
            if validator.level >= CHEAP and check_outputs(validator, t_us, bus.outputs, sim.plant) != SOUND:
                return FAILED
            if due & modes.outputs_axes & AUTOPILOT_DUE:
                sense_batteries(sim)

        if stage <= SENSORS and due & AUTOPILOT_DUE and sensors.address != 0:
            call_void(sensors.address, sim.state, inputs, sensors)

        if stage <= ESTIMATOR and due & AUTOPILOT_DUE:
            if modes.estimator == NATIVE:
                step_estimator(sim.estimator, sim.state, bus.scenario, bus.estimate)
            elif modes.estimator == REPLAY:
                bus.estimate = estimates[cursor.autopilot_ticks]
            elif modes.estimator == PYTHON:
                return leave(cursor, k, ESTIMATOR)
        if stage <= ESTIMATOR + 1 and due & AUTOPILOT_DUE and modes.records_estimate != 0:
            estimates[cursor.autopilot_ticks] = bus.estimate

        if stage <= TELEMETRY and due & modes.telemetry_axes and modes.telemetry == PYTHON:
            return leave(cursor, k, TELEMETRY)

        if stage <= AUTOPILOT and due & AUTOPILOT_DUE:
            if validator.level >= CHEAP and check_autopilot_interval(validator, t_us) != SOUND:
                return FAILED
            if modes.setpoints != OFF:
                take_setpoint(sim, t_us, setpoint_rows, setpoints)
            if modes.autopilot == NATIVE:
                if not step_native(sim, t_us, bus):
                    report(validator, AUTOPILOT_FAILED, t_us, NO_INDEX, 0.0)
                    return FAILED
            elif modes.autopilot == REPLAY:
                bus.command = commands[cursor.autopilot_ticks]
            elif modes.autopilot == PYTHON or modes.autopilot == PYTHON_WITH_STATUS:
                return leave(cursor, k, AUTOPILOT)
        if stage <= AUTOPILOT + 1 and due & AUTOPILOT_DUE:
            # A recorded command was sanitized when it was recorded.
            if modes.autopilot != REPLAY and sanitize_command(validator, t_us, bus.command, modes.is_strict) != SOUND:
                return FAILED
            inputs.command = bus.command
            if modes.is_recording != 0:
                commands[cursor.autopilot_ticks] = bus.command
            cursor.autopilot_ticks += 1

        if due & AUTOPILOT_DUE and modes.plant != OFF:
            may_have_moved = autopilot_tick(t_us, sim.state, inputs, sim.plant, bus.outputs)
            is_checked = may_have_moved and validator.level >= CHEAP
            if is_checked and check_state(validator, t_us, sim.state, sim.plant) != SOUND:
                return FAILED

        if due & LOG_DUE:
            log_row(sim, words, spans, log, log_state, logged, sensors, log_sensors)

        if validator.level >= PARANOID:
            if check_boundary(validator, t_us, bus, inputs) != SOUND:
                return FAILED
            if modes.plant != OFF:
                keep_what_rhs_reads(sim)
                for _ in range(2):
                    sim.work.k[1] = sim.work.k[0]
                    take_slopes(t_s, 0.0, sim.state, inputs, sim.plant, sim.solver.tableau, sim.work, FIRST, FIRST + 1)
                if check_purity(validator, t_us, sim) != SOUND:
                    return FAILED

        stage = 0
        k += 1
        cursor.k = k
        cursor.stage = stage
        if bus.scenario.crashed != 0 and bus.scenario.crashed != CRASH_LIES:
            if not due & LOG_DUE:  # the last row of the log is the crash
                log_row(sim, words, spans, log, log_state, logged, sensors, log_sensors)
            return CRASHED
        if modes.plant != OFF and k < len(time_us):
            t_next_us = np.int64(time_us[k])
            code = integrate(t_us, t_next_us, sim.state, inputs, sim.plant, sim.solver, sim.work)
            if code != SOUND:
                report(validator, code, t_us, NO_INDEX, sim.solver.last_error)
                return FAILED
            if validator.level >= CHEAP and check_state(validator, t_next_us, sim.state, sim.plant) != SOUND:
                return FAILED
            if modes.is_recording != 0:
                write_fingerprint(sim.state, sim.plant, fingerprints, k)
        if validator.code != SOUND:  # set by Python: a user's function raised an exception
            return FAILED
    return DONE
