"""Drivers for the built-in autopilot's modules, one kernel each, and their records.

An array with one record applies to every row: with one controller and many estimates, a driver runs through time; with
equal numbers of both, through independent cases.
"""

import numpy as np
from fleet import iris

from px4lockstep.autopilots.builtin.allocation import allocate
from px4lockstep.autopilots.builtin.attitude_control import control_attitude
from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.hover_thrust import estimate_hover_thrust
from px4lockstep.autopilots.builtin.motor_failure import watch_motors
from px4lockstep.autopilots.builtin.position_control import control_position
from px4lockstep.autopilots.builtin.rate_control import control_rates
from px4lockstep.autopilots.builtin.schedule import is_due
from px4lockstep.autopilots.builtin.stack import BUILTIN, run_flight_task
from px4lockstep.autopilots.builtin.velocity_smoothing import advance_axis, plan, smooth_heading, stretch_plan
from px4lockstep.engine.bus import AUTOPILOT_OUT, ESTIMATE
from px4lockstep.jit import kernel
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.airframe import Airframe

PERIOD_US = 4_000


def builtin_record(aircraft=None, mission=None, *, period_us=PERIOD_US, **params):
    """Return the autopilot's record for an aircraft, by default the Iris, in an array of one."""
    array = np.zeros(1, BUILTIN)
    estimates_hover = any(name.startswith("HTE_") for name in params)
    autopilot = Builtin(mission, params=params, hover_thrust_estimate=estimates_hover)
    autopilot.write(array[0], ControlModel.of(aircraft or iris()), period_us)
    return array


def part(array, name):
    """Return a copy of one module's record, in an array of one."""
    return array[name].copy()


def tilted_hex(tilt_rad=0.3):
    """Return a hexarotor whose rotors lean alternately to either side of their arms: it can push in any direction."""
    places, axes = [], []
    for i in range(6):
        angle = i * np.pi / 3.0
        lean = tilt_rad if i % 2 == 0 else -tilt_rad
        axes.append((-np.sin(lean) * np.sin(angle), np.sin(lean) * np.cos(angle), np.cos(lean)))
        places.append((0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.0))
    airframe = Airframe(
        mass_kg=2.0, inertia_diag_kgm2=(0.05, 0.05, 0.1), rotor_pos_body_m=places, rotor_axis_body_m=axes
    )
    return Aircraft(airframe, name="hex")


def estimates(count=1, **fields):
    """Return estimates, level and valid except for the given fields."""
    array = np.zeros(count, ESTIMATE)
    array["q_bn"][:, 0] = 1.0
    array["is_valid"] = 1.0
    for name, value in fields.items():
        array[name] = value
    return array


def outs(count=1, **fields):
    """Return autopilot outputs, zero except for the given fields."""
    array = np.zeros(count, AUTOPILOT_OUT)
    for name, value in fields.items():
        array[name] = value
    return array


@kernel
def run_allocation(allocations, rates, commands, given):
    """Allocate each command and store the allocation; 10 ms apart, so that each updates the saturation."""
    for k in range(len(commands)):
        allocation = allocations[min(k, len(allocations) - 1)]
        allocate(allocation, np.int64(10_000 * (k + 1)), rates[k], commands[k])
        given[k] = allocation


@kernel
def run_rates(controls, rows_of_estimate, dt_s, is_landed, commands, log):
    """Control the rates at each row, and store the controller."""
    for k in range(len(commands)):
        control = controls[min(k, len(controls) - 1)]
        control_rates(control, rows_of_estimate[min(k, len(rows_of_estimate) - 1)], dt_s, is_landed, commands[k])
        log[k] = control


@kernel
def run_attitude(controls, rows_of_estimate, is_spinning, commands):
    """Control the attitude of each row."""
    for k in range(len(commands)):
        control_attitude(controls[min(k, len(controls) - 1)], rows_of_estimate[k], is_spinning, commands[k])


@kernel
def run_position(controls, rows_of_estimate, dt_s, log):
    """Control the position at each row, and store the controller."""
    for k in range(len(log)):
        control = controls[min(k, len(controls) - 1)]
        control_position(control, rows_of_estimate[min(k, len(rows_of_estimate) - 1)], dt_s)
        log[k] = control


@kernel
def run_axis(axes, vel_sp, total_s, dt_s, log):
    """Plan once towards a velocity, in a given time if that is longer, then sample; return the plan's duration."""
    axis = axes[0]
    if plan(axis, vel_sp) < total_s:
        stretch_plan(axis, total_s)
    for k in range(len(log)):
        log[k] = axis
        advance_axis(axis, dt_s)
    return axis.t1 + axis.t2 + axis.t3


@kernel
def run_heading(axes, yaw_sp, dt_s, log):
    """Smooth the heading at each row, and store it."""
    for k in range(len(log)):
        smooth_heading(axes[0], yaw_sp, dt_s)
        log[k] = axes[0]


@kernel
def run_task(autopilots, rows_of_estimate, log):
    """Fly the navigator's leg with a vehicle that follows immediately."""
    a, estimate = autopilots[0], rows_of_estimate[0]
    for k in range(len(log)):
        run_flight_task(a, 0, estimate, False)
        sp = a.flight_task.setpoint
        log[k] = sp
        for i in range(3):
            estimate.pos_ned[i] = sp.pos_ned[i]
            estimate.vel_ned[i] = sp.vel_ned[i]


@kernel
def run_schedule(modules, tick_us, due):
    """Check at each tick, from 0, whether a module is due."""
    for k in range(len(due)):
        due[k] = int(is_due(modules[0], np.int64(k * tick_us)))


@kernel
def run_hover(filters, acc_down, thrust_up, dt_s, log):
    """Estimate the hover thrust at each row, and store the filter."""
    for k in range(len(log)):
        estimate_hover_thrust(filters[0], acc_down[k], thrust_up[k], dt_s)
        log[k] = filters[0]


@kernel
def run_failures(failures, allocations, outputs, tick_us, found):
    """Watch the motors at each tick, with the commands and currents of its row."""
    for k in range(len(found)):
        allocation = allocations[min(k, len(allocations) - 1)]
        row = outputs[min(k, len(outputs) - 1)]
        found[k] = int(watch_motors(failures[0], np.int64((k + 1) * tick_us), allocation, row))
