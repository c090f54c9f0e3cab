"""The built-in autopilot against real PX4, module by module, on two recorded flights.

Each module gets the recorded estimate and the setpoint of the corresponding PX4 module, and its output must match
PX4's. PX4 computes in single precision: its rounding is about 1e-7 in thrust and 1e-6 rad/s in rates. Gains with an
error of 5 % show that the tolerances are tight.
"""

import functools

import numpy as np
import pytest
from px4_flights import MISSIONS, answers_to, bus_of, load_flight

FLIGHTS = tuple(MISSIONS)
RATE_TOLERANCE_RAD_S = 1e-5
TORQUE_TOLERANCE = 1e-6
MOTOR_TOLERANCE = 1e-6
THRUST_TOLERANCE = 1e-5
ATTITUDE_TOLERANCE_RAD = 2e-3
FRACTION = 0.98


@functools.cache
def flight(name):
    """Return the recorded bus of a flight and a mask of the rows in flight, from the first thrust to the landing."""
    recorded = bus_of(load_flight(name))
    has_setpoint = recorded["autopilot"]["q_sp"].any(axis=1)
    is_up = (recorded["scenario"]["landed"] == 0) | (recorded["time_us"] < 10_000_000)
    return recorded, (recorded["scenario"]["arm"] == 1) & has_setpoint & is_up


@functools.cache
def answers(name, **params):
    """Return the outputs of the built-in modules."""
    return answers_to(load_flight(name), MISSIONS[name], **params)


def worst(difference):
    """Return the largest difference of each row."""
    return np.abs(difference).reshape(len(difference), -1).max(axis=1)


def angle_between(a, b):
    """Return the angle between attitudes, accurate for small angles."""
    side = np.sign(np.sum(a * b, axis=1, keepdims=True))
    return 2.0 * np.arcsin(np.minimum(0.5 * np.linalg.norm(a - side * b, axis=1), 1.0)) * 2.0


def errors(name, **params):
    """Return the differences between the outputs of each module and PX4's, in flight."""
    recorded, in_flight = flight(name)
    own, motors = answers(name, **params)
    px4 = recorded["autopilot"]
    runs = in_flight & (np.arange(len(recorded)) % 3 == 1)  # ticks of position control, whose output is held in between
    return {
        "rate": worst(own["rate_sp_body"] - px4["rate_sp_body"])[in_flight],
        "torque": worst(own["torque_sp_body"] - px4["torque_sp_body"])[in_flight],
        "motors": worst(motors - recorded["command"]["motors"][:, :4])[in_flight],
        "thrust": np.abs(own["thrust_sp_body"] - px4["thrust_sp_body"])[runs, 2],
        "attitude": angle_between(own["q_sp"], px4["q_sp"])[runs],
    }


@pytest.mark.parametrize("name", FLIGHTS)
def test_rate_setpoints_match_px4_on_every_tick(name):
    """Attitude control."""
    assert errors(name)["rate"].max() < RATE_TOLERANCE_RAD_S


@pytest.mark.parametrize("name", FLIGHTS)
def test_torque_setpoints_match_px4_on_every_tick(name):
    """Rate control, with its integrators and the low-pass of the yaw torque."""
    assert errors(name)["torque"].max() < TORQUE_TOLERANCE


@pytest.mark.parametrize("name", FLIGHTS)
def test_motor_outputs_match_px4_on_every_tick(name):
    """Control allocation."""
    assert errors(name)["motors"].max() < MOTOR_TOLERANCE


@pytest.mark.parametrize("name", FLIGHTS)
def test_thrust_and_attitude_setpoints_match_px4(name):
    """Position control, including the take-off ramp: 98 % of the ticks are required, all of them agree."""
    found = errors(name)
    assert (found["thrust"] < THRUST_TOLERANCE).mean() >= FRACTION
    assert (found["attitude"] < ATTITUDE_TOLERANCE_RAD).mean() >= FRACTION
    assert found["thrust"].max() < THRUST_TOLERANCE
    assert found["attitude"].max() < ATTITUDE_TOLERANCE_RAD


@pytest.mark.parametrize(
    ("parameter", "default", "what", "tolerance"),
    [
        ("MC_ROLL_P", 4.0, "rate", RATE_TOLERANCE_RAD_S),
        ("MC_YAW_P", 2.8, "rate", RATE_TOLERANCE_RAD_S),
        ("MC_YAW_WEIGHT", 0.4, "rate", RATE_TOLERANCE_RAD_S),
        ("MC_PITCHRATE_P", 0.15, "torque", TORQUE_TOLERANCE),
        ("MC_ROLLRATE_I", 0.2, "torque", TORQUE_TOLERANCE),
        ("MC_YAWRATE_P", 0.2, "torque", TORQUE_TOLERANCE),
        ("MC_YAW_TQ_CUTOFF", 2.0, "torque", TORQUE_TOLERANCE),
        ("CA_ROTOR1_KM", 0.05, "motors", MOTOR_TOLERANCE),
        ("CA_ROTOR0_PY", 0.245, "motors", MOTOR_TOLERANCE),
    ],
)
def test_a_gain_error_of_5_percent_is_detected(parameter, default, what, tolerance):
    """The tolerances are tight enough to detect a wrong gain."""
    assert errors("yaw", **{parameter: 1.05 * default})[what].max() > 10.0 * tolerance


@pytest.mark.parametrize(
    ("parameter", "default"),
    [("MPC_Z_P", 1.0), ("MPC_Z_VEL_P_ACC", 4.0), ("MPC_Z_VEL_I_ACC", 2.0), ("MPC_THR_HOVER", 0.5)],
)
def test_a_vertical_gain_error_of_5_percent_is_detected(parameter, default):
    """The thrust agrees with PX4's on fewer than 98 % of the ticks."""
    assert (errors("yaw", **{parameter: 1.05 * default})["thrust"] < THRUST_TOLERANCE).mean() < FRACTION


@pytest.mark.parametrize(
    ("parameter", "default"),
    [("MPC_XY_P", 0.95), ("MPC_XY_VEL_P_ACC", 1.8), ("MPC_XY_VEL_I_ACC", 0.4), ("MPC_VELD_LP", 5.0)],
)
def test_a_horizontal_gain_error_of_5_percent_is_detected(parameter, default):
    """Thrust, which grows with the tilt, and attitude agree on fewer than 98 % of the ticks."""
    found = errors("yaw", **{parameter: 1.05 * default})
    is_px4s = (found["thrust"] < THRUST_TOLERANCE) & (found["attitude"] < ATTITUDE_TOLERANCE_RAD)
    assert is_px4s.mean() < FRACTION


@pytest.mark.parametrize("name", FLIGHTS)
def test_waypoints_change_at_the_same_ticks_as_in_px4(name):
    """With the recorded positions, the navigator has the same mission item at every tick."""
    recorded, in_flight = flight(name)
    own, _ = answers(name)
    assert np.array_equal(own["mission_item"][in_flight], recorded["autopilot"]["mission_item"][in_flight])


@pytest.mark.parametrize(
    ("name", "position_m", "velocity_m_s", "yaw_rad"), [("mission", 0.02, 0.02, 1e-5), ("yaw", 0.04, 0.07, 0.004)]
)
def test_trajectories_match_px4(name, position_m, velocity_m_s, yaw_rad):
    """Flight task and smoothing run on their own over the whole flight.

    The remaining difference in `yaw` is due to the position relative to a leg, which PX4 computes in three dimensions;
    in `mission` it is a phase of the trajectory that ends a tick apart.
    """
    recorded, in_flight = flight(name)
    own, _ = answers(name)
    px4 = recorded["autopilot"]
    begun = in_flight & (recorded["time_us"] > 2_200_000)
    assert worst(own["pos_sp_ned"] - px4["pos_sp_ned"])[begun].max() < position_m
    assert worst(own["vel_sp_ned"] - px4["vel_sp_ned"])[begun].max() < velocity_m_s
    difference = own["yaw_sp"] - px4["yaw_sp"]
    assert worst(np.arctan2(np.sin(difference), np.cos(difference)))[begun].max() < yaw_rad
