"""Strapdown navigation with an ideal IMU reproduces the trajectory."""

import numpy as np
import pytest
from sensor_suites import GRAVITY_M_S2, IDEAL, PERIOD_US, replace, suite_of

import flights
from px4lockstep.environment.wind import Wind
from px4lockstep.math.quaternion import angle_between, exponential, multiply, rotate

DT_S = PERIOD_US / 1e6


@pytest.fixture(scope="module")
def mission():
    """Return the states of the Iris's mission in wind, at every tick from 1 s before arming."""
    sim = flights.flight(wind=Wind("ou"), log_us=PERIOD_US).run()
    return sim.log_state


def navigate(suite, states, start):
    """Integrate the IMU samples from the first state on, by the textbook; return the final states."""
    rotors, wind = np.zeros(4), np.zeros(3)
    pos, vel, q_bn = start
    for k, x in enumerate(states):
        suite.step(x, rotors, wind, 0)
        if k == 0:
            continue
        turned = suite.out.gyro_rad_s * DT_S
        q_middle = multiply(q_bn, exponential(tuple(0.5 * turned)))
        old_vel = vel
        vel = vel + np.array(rotate(q_middle, tuple(suite.out.accel_m_s2))) * DT_S + [0.0, 0.0, GRAVITY_M_S2 * DT_S]
        pos = pos + 0.5 * (old_vel + vel) * DT_S
        q_bn = multiply(q_bn, exponential(tuple(turned)))
    return pos, vel, q_bn


@pytest.mark.parametrize("arm_body_m", [(0.0, 0.0, 0.0), (0.08, -0.03, 0.05)], ids=["centre", "off the centre"])
def test_integrating_the_imu_reproduces_the_truth(mission, arm_body_m):
    """60 s of a mission in wind. Required: 0.1 m and 0.01°. The error is 0.5 mm; ignoring the rotation, 67 mm."""
    states = mission[: round(60.0 / DT_S) + 1, :13]
    assert np.abs(np.diff(states[:, :3], axis=0)).sum() > 50.0  # it flies
    suite = suite_of(replace(IDEAL, imu=replace(IDEAL.imu, pos_body_m=arm_body_m)))

    def at_arm(x):
        q_bn, omega = tuple(x[6:10]), x[10:13]
        lever = np.array(rotate(q_bn, tuple(np.cross(omega, arm_body_m))))
        return x[:3] + np.array(rotate(q_bn, arm_body_m)), x[3:6] + lever, q_bn

    pos, vel, q_bn = navigate(suite, states, at_arm(states[0]))
    true_pos, true_vel, true_q = at_arm(states[-1])
    assert np.linalg.norm(pos - true_pos) < 0.005
    assert np.linalg.norm(vel - true_vel) < 1e-4
    assert np.degrees(angle_between(q_bn, true_q)) < 1e-9
