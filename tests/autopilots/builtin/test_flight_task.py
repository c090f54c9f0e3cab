"""The flight task: the part of a leg that is flown, the heading, and the descent speed."""

import math

import numpy as np
import pytest
from builtin_modules import builtin_record, estimates, part

from px4lockstep.autopilots.builtin.flight_task import (
    ASIDE,
    BEFORE_START,
    LAND,
    ON_LEG,
    PAST_TARGET,
    POSITION,
    TAKEOFF,
    activate_task,
    choose_heading,
    descend_blindly,
    fly_leg,
    landing_speed,
    limit_vertical,
    side_of_leg,
    take_leg,
)
from px4lockstep.jit import interpreted, view

HALF = math.sqrt(0.5)


class Task:
    """The Iris's flight task, active at a position, and the navigator's leg."""

    def __init__(self, pos_ned=(0.0, 0.0, -10.0), **params):
        self.record = part(builtin_record(**params), "flight_task")
        self.leg = np.zeros(1, self.record.dtype["leg"])
        self.leg["is_valid"], self.leg["has_start"], self.leg["radius_m"] = 1, 1, 2.0
        self.leg["kind"], self.leg["yaw"], self.leg["cruise_m_s"] = POSITION, math.nan, math.nan
        self.leg["start"], self.leg["target"] = (0.0, 0.0, -10.0), (100.0, 0.0, -10.0)
        self.call(activate_task, pos_ned)

    def call(self, kernel, pos_ned, *arguments, with_leg=False, **estimate):
        """Call a kernel with the task, the leg if it needs one, and an estimate at a position."""
        told = view(estimates(pos_ned=pos_ned, **estimate), writable=False)
        leg = [view(self.leg, writable=True)] if with_leg else []
        return interpreted(kernel)(view(self.record, writable=True), *leg, told, *arguments)

    def __getitem__(self, name):
        return self.record[name][0]


@pytest.mark.parametrize(
    ("place", "side", "start", "target", "then"),
    [
        ((50.0, 1.9), ON_LEG, (0.0, 0.0), (100.0, 0.0), (100.0, 80.0)),
        ((101.0, 0.0), PAST_TARGET, (101.0, 0.0), (100.0, 0.0), (100.0, 80.0)),
        ((-1.9, 0.0), ON_LEG, (0.0, 0.0), (100.0, 0.0), (100.0, 80.0)),
        ((-2.1, 0.0), BEFORE_START, (-2.1, 0.0), (0.0, 0.0), (100.0, 0.0)),
        ((50.0, -2.1), ASIDE, (50.0, -2.1), (50.0, 0.0), (100.0, 0.0)),
    ],
)
def test_the_flown_part_of_a_leg_depends_on_the_position(place, side, start, target, then):
    """Past the target straight back; before the start to it; to the side to the closest point; within 2 m, on it."""
    task = Task()
    task.leg["has_next"], task.leg["next"] = 1, (100.0, 80.0, -10.0)
    task.call(take_leg, (*place, -10.0), with_leg=True)
    assert task.call(side_of_leg, (*place, -10.0))[0] == side == task["side"]
    assert [tuple(task[name][:2]) for name in ("start", "target", "next")] == [start, target, then]


def test_a_leg_without_a_start_begins_at_the_vehicle():
    """Without a speed it uses MPC_XY_CRUISE; a higher one is limited to MPC_XY_VEL_MAX."""
    task = Task(MPC_XY_CRUISE=4.0, MPC_XY_VEL_MAX=9.0)
    task.leg["has_start"] = 0
    task.call(take_leg, (30.0, 40.0, -7.0), with_leg=True)
    assert task["leg"]["start"].tolist() == [30.0, 40.0, -7.0]
    assert task["smoothing"]["cruise_m_s"] == 4.0
    for asked, flown in ((6.0, 6.0), (20.0, 9.0), (0.0, 4.0)):
        task.leg["cruise_m_s"] = asked
        task.call(take_leg, (30.0, 40.0, -7.0), with_leg=True)
        assert task["smoothing"]["cruise_m_s"] == flown


@pytest.mark.parametrize(
    ("mode", "heading"),
    [(0, math.atan2(50.0, 100.0)), (1, math.atan2(50.0, 0.0)), (2, math.atan2(-50.0, 0.0)), (3, math.nan)],
)
def test_the_heading_depends_on_the_yaw_mode(mode, heading):
    """At (0, -50) with the target at (100, 0): to the target, to home, away from home, along the trajectory."""
    task = Task(MPC_YAW_MODE=mode)
    task["leg"]["yaw"] = math.nan
    task["target"][:] = (100.0, 0.0, -10.0)
    task.call(choose_heading, (0.0, -50.0, -10.0))
    assert task["yaw_sp"] == pytest.approx(heading, abs=1e-12, nan_ok=True)


def test_the_leg_heading_has_priority_and_is_held_at_the_target():
    """Within the acceptance radius the vehicle holds its heading."""
    task = Task(MPC_YAW_MODE=0)
    task["leg"]["yaw"] = math.nan
    task["target"][:] = (100.0, 0.0, -10.0)
    task["smoothing"]["acceptance_xy_m"] = 2.0
    task.call(choose_heading, (99.0, 0.0, -10.0), q_bn=(HALF, 0.0, 0.0, HALF))
    assert task["yaw_sp"] == pytest.approx(math.pi / 2.0, abs=1e-12)
    task["leg"]["yaw"] = -1.0
    task.call(choose_heading, (0.0, 0.0, -10.0))
    assert task["yaw_sp"] == -1.0


@pytest.mark.parametrize(
    ("height_m", "speed_m_s"), [(20.0, 1.5), (10.0, 1.5), (7.5, 1.1), (5.0, 0.7), (1.0, 0.7), (-1.0, 0.7)]
)
def test_a_landing_slows_down_between_two_altitudes(height_m, speed_m_s):
    """From 1.5 m/s at 10 m to 0.7 m/s at 5 m, linearly."""
    task = Task(MPC_LAND_ALT1=10.0, MPC_LAND_ALT2=5.0, MPC_LAND_SPEED=0.7, MPC_Z_VEL_MAX_DN=1.5)
    assert interpreted(landing_speed)(view(task.record, writable=True), height_m) == pytest.approx(speed_m_s)


def test_vertical_limits_differ_for_climb_descent_and_takeoff():
    """Below MPC_LAND_ALT1 a takeoff has its own speed and ramp, and its trajectory stays at the vehicle."""
    task = Task(MPC_TKO_SPEED=1.2, MPC_TKO_RAMP_T=3.0, MPC_LAND_ALT1=10.0)
    axis = task["smoothing"]["axes"][2]
    for kind, wanted, height_m, speed, acc in (
        (POSITION, -1.0, 5.0, task["speed_up_m_s"], task["acc_up"]),
        (POSITION, 1.0, 5.0, task["speed_down_m_s"], task["acc_down"]),
        (TAKEOFF, -1.0, 10.0, task["speed_up_m_s"], task["acc_up"]),
        (TAKEOFF, -1.0, 9.9, 1.2, 0.4),
    ):
        task["leg"]["kind"], task["smoothing"]["wanted_vel"][2] = kind, wanted
        axis["pos"] = 0.0
        task.call(limit_vertical, (0.0, 0.0, -height_m), height_m)
        assert (axis["max_vel"], axis["max_acc"]) == pytest.approx((speed, acc))
        assert axis["pos"] == (-height_m if (kind, height_m) == (TAKEOFF, 9.9) else 0.0)


def test_ticks_move_towards_the_target_and_request_takeoff_if_it_is_above():
    """From rest, the first ticks of 4 ms command a small speed along the leg."""
    task = Task()
    for _ in range(5):
        task.call(fly_leg, (0.0, 0.0, -10.0), 0.004, False, with_leg=True)
    setpoint = task["setpoint"]
    assert 0.0 < setpoint["vel_ned"][0] < 0.01
    assert setpoint["vel_ned"][1:].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    assert task["wants_takeoff"] == 0
    climbing = Task(pos_ned=(0.0, 0.0, 0.0))
    climbing.leg["kind"], climbing.leg["target"] = TAKEOFF, (0.0, 0.0, -10.0)
    climbing.call(fly_leg, (0.0, 0.0, 0.0), 0.004, False, with_leg=True)
    assert climbing["wants_takeoff"] == 1


def test_a_landing_holds_its_initial_heading():
    """Even if the leg's heading changes later."""
    task = Task()
    task.leg["kind"], task.leg["yaw"] = LAND, 0.5
    task.call(fly_leg, (0.0, 0.0, -10.0), 0.004, False, with_leg=True)
    task.leg["yaw"] = 1.5
    task.call(fly_leg, (0.0, 0.0, -10.0), 0.004, False, with_leg=True)
    assert (task["land_yaw"], task["yaw_sp"]) == (0.5, 0.5)


def test_a_blind_descent_needs_no_position():
    """Level, slightly less thrust, the current heading; afterwards the task has to be activated again."""
    task = Task()
    task.call(descend_blindly, (math.nan, 0.0, 0.0), False, q_bn=(HALF, 0.0, 0.0, HALF))
    setpoint = task["setpoint"]
    assert setpoint["acc_ned"].tolist() == [0.0, 0.0, 0.3]
    assert np.isnan(setpoint["pos_ned"]).all()
    assert np.isnan(setpoint["vel_ned"]).all()
    assert setpoint["yaw"] == pytest.approx(math.pi / 2.0, abs=1e-12)
    assert (task["is_active"], task["wants_takeoff"]) == (0, 0)


def test_a_descent_with_a_known_height_has_the_landing_speed():
    """As after the loss of GPS: vertically a velocity instead of an acceleration."""
    task = Task()
    task.call(descend_blindly, (math.nan, 0.0, -20.0), True)
    setpoint = task["setpoint"]
    assert setpoint["acc_ned"][:2].tolist() == [0.0, 0.0]
    assert np.isnan(setpoint["acc_ned"][2])
    assert setpoint["vel_ned"][2] == task["land_speed_m_s"] > 0.0
