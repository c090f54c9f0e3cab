"""The recorded flights of real PX4, and the outputs of the built-in autopilot's modules for PX4's inputs."""

from pathlib import Path

import numpy as np
from fleet import iris

from px4lockstep.autopilots.builtin.allocation import allocate
from px4lockstep.autopilots.builtin.attitude_control import control_attitude
from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.builtin.commander import command
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.navigator import navigate
from px4lockstep.autopilots.builtin.position_control import filter_velocity
from px4lockstep.autopilots.builtin.rate_control import control_rates
from px4lockstep.autopilots.builtin.schedule import is_due
from px4lockstep.autopilots.builtin.stack import BUILTIN, elapsed_s, run_flight_task, run_position_control
from px4lockstep.autopilots.builtin.takeoff import FLIGHT
from px4lockstep.engine.bus import AUTOPILOT_OUT, BUS
from px4lockstep.jit import kernel, rows
from px4lockstep.plant.layout import COMMAND
from px4lockstep.scenario.scenario import Scenario

GOLDEN = Path(__file__).parents[1] / "against" / "golden"
MISSIONS = {"mission": GOLDEN / "simple.waypoints", "yaw": GOLDEN / "yaw.waypoints"}
CLOSED_LOOP = MISSIONS | {"return": MISSIONS["yaw"]}
"""The missions of all flights; for `return` there are no outputs of PX4's modules."""
MISSION_US = 2_000_000
"""When the mission was asked for."""


def scenario_of(name):
    """Return the requests of a flight."""
    scenario = Scenario().arm(at_s=1.0).start_mission(at_s=MISSION_US / 1e6)
    return scenario.at(24.0).return_home() if name == "return" else scenario


def load_flight(name):
    """Return a flight's columns by name."""
    columns = {}
    for kind in ("", "_answers") if name in MISSIONS else ("",):
        with np.load(GOLDEN / f"px4_iris_{name}{kind}.npz") as data:
            values = data["data"].astype(np.float64)
            columns |= {str(key): values[:, i] for i, key in enumerate(data["columns"])}
    return columns


def stacked(flight, *names):
    """Return columns side by side."""
    return np.stack([flight[name] for name in names], 1)


def bus_of(flight):
    """Return the flight as rows of the bus: estimate, requests and PX4's outputs."""
    bus = np.zeros(len(flight["time_us"]), BUS)
    bus["time_us"] = flight["time_us"]
    bus["scenario"]["arm"] = flight["armed"]
    bus["scenario"]["mission"] = flight["time_us"] >= MISSION_US
    bus["scenario"]["landed"] = flight["landed"]
    estimate = bus["estimate"]
    estimate["pos_ned"] = stacked(flight, "truth_pos_n", "truth_pos_e", "truth_pos_d")
    estimate["vel_ned"] = stacked(flight, "truth_vel_n", "truth_vel_e", "truth_vel_d")
    estimate["q_bn"] = stacked(flight, "truth_q_w", "truth_q_x", "truth_q_y", "truth_q_z")
    estimate["omega_body"] = stacked(flight, "truth_p", "truth_q", "truth_r")
    estimate["is_valid"] = 1.0
    out = bus["autopilot"]
    out["mission_item"] = flight["mission_seq"]
    out["pos_sp_ned"] = stacked(flight, "pos_sp_n", "pos_sp_e", "pos_sp_d")
    out["vel_sp_ned"] = stacked(flight, "vel_sp_n", "vel_sp_e", "vel_sp_d")
    out["acc_sp_ned"] = stacked(flight, "acc_sp_n", "acc_sp_e", "acc_sp_d")
    out["yaw_sp"] = flight["yaw_sp"]
    out["yawspeed_sp"] = flight["yawspeed_sp"]
    out["q_sp"] = stacked(flight, "att_sp_w", "att_sp_x", "att_sp_y", "att_sp_z")
    out["rate_sp_body"] = stacked(flight, "rate_sp_p", "rate_sp_q", "rate_sp_r")
    out["torque_sp_body"] = stacked(flight, "torque_x", "torque_y", "torque_z")
    out["thrust_sp_body"][:, 2] = flight["thrust_z"]
    bus["command"]["motors"][:, :4] = stacked(flight, "motor1", "motor2", "motor3", "motor4")
    return bus


@kernel
def answer_tick(a, t_us, bus, recorded, answer, motors):
    """Run the modules that are due; after each, continue with PX4's recorded output."""
    estimate, out, px4 = bus.estimate, bus.autopilot, recorded.autopilot
    is_landed = bus.scenario.landed != 0
    a.land_detector.landed = bus.scenario.landed
    command(a.commander, t_us, bus, is_landed, a.takeoff.state >= FLIGHT, a.navigator)
    is_automatic = a.commander.is_armed != 0 and a.commander.mode != 0
    if is_due(a.navigator_module, t_us):
        navigate(a.navigator, t_us, a.commander.mode, a.commander.missions, estimate, is_landed)
    answer.mission_item = a.navigator.current
    if is_automatic:
        run_flight_task(a, t_us, estimate, False)
    task = a.flight_task.setpoint
    for i in range(3):
        answer.pos_sp_ned[i] = task.pos_ned[i]
        answer.vel_sp_ned[i] = task.vel_ned[i]
        answer.acc_sp_ned[i] = task.acc_ned[i]
        task.pos_ned[i] = px4.pos_sp_ned[i]
        task.vel_ned[i] = px4.vel_sp_ned[i]
        task.acc_ned[i] = px4.acc_sp_ned[i]
    answer.yaw_sp = task.yaw
    answer.yawspeed_sp = task.yawspeed
    task.yaw = px4.yaw_sp
    task.yawspeed = px4.yawspeed_sp

    dt_s = elapsed_s(a.position_module, t_us, 0.002, 0.04)
    if is_due(a.position_module, t_us):
        filter_velocity(a.position, estimate, dt_s)
        if is_automatic:
            run_position_control(a, t_us, dt_s, bus, False)
            a.attitude.yawspeed_sp = px4.yawspeed_sp
    for i in range(4):
        answer.q_sp[i] = out.q_sp[i]
        out.q_sp[i] = px4.q_sp[i]
    answer.thrust_sp_body[2] = -a.collective
    out.thrust_sp_body[2] = px4.thrust_sp_body[2]

    control_attitude(a.attitude, estimate, False, out)
    for i in range(3):
        answer.rate_sp_body[i] = out.rate_sp_body[i]
        out.rate_sp_body[i] = px4.rate_sp_body[i]
    control_rates(a.rate, estimate, a.period_s, is_landed, out)
    for i in range(3):
        answer.torque_sp_body[i] = out.torque_sp_body[i]
        out.torque_sp_body[i] = px4.torque_sp_body[i]
    allocate(a.allocation, t_us, a.rate, out)
    for i in range(a.allocation.n_rotors):
        motors.motors[i] = a.allocation.sp[i]


@kernel
def answer_flight(builtin, bus, recorded, answers, motors):
    """Run the modules for every tick of a flight."""
    a = builtin[0]
    held = bus[0]
    for k in range(len(recorded)):
        row = recorded[k]
        held.scenario = row.scenario
        held.estimate = row.estimate
        answer_tick(a, np.int64(row.time_us), held, row, answers[k], motors[k])


def answers_to(flight, mission, **params):
    """Return the built-in modules' outputs, tick by tick: setpoints and motors."""
    builtin = np.zeros(1, BUILTIN)
    Builtin(mission, params=params, angular_acceleration=False).write(builtin[0], ControlModel.of(iris()), 4_000)
    recorded = bus_of(flight)
    answers = np.zeros(len(recorded), AUTOPILOT_OUT)
    motors = np.zeros(len(recorded), COMMAND)
    answer_flight(rows(builtin), rows(np.zeros(1, BUS)), rows(recorded), rows(answers), rows(motors))
    return answers, motors["motors"][:, :4]
