"""The X500 behaves as a pilot expects: hover, lean in the wind, ground, endurance, landings, accuracy.

Expected values are computed by hand from its data, never from the simulator.
"""

import math

import numpy as np
import pytest

import px4lockstep

HOVER = "QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 15 1\n1 0 3 17 0 0 0 0 47.397742 8.545594 15 1\n"
STILL = {"environment.wind": "none", "estimator.kind": "none"}
WEIGHT_N = 2.0644 * 9.80665
THRUST_N_S2 = 8.54858e-6
RADIUS_M, INFLOW = 0.171, 8.0
ROTOR_DRAG, AREA_M2 = 8.06428e-5, 0.02


def tilts_deg(log):
    """Return the angle of the body's z axis to the vertical in each row."""
    q = log["q_bn"]
    return np.degrees(np.arccos(np.clip(1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2), -1.0, 1.0)))


@pytest.fixture
def hover(tmp_path):
    """Return a function that hovers at 15 m with other values of the spec, and returns the run."""
    mission = tmp_path / "hover.waypoints"
    mission.write_text(HOVER, "utf-8")

    def fly(values, end_s=40.0):
        return px4lockstep.simulate(
            "x500", overrides={"px4.mission_path": str(mission), "timeline.t_end_s": end_s, **values}
        )

    return fly


def test_hover_speed_and_current_on_a_bus_of_14_8_volts(hover):
    """769 rad/s within 2 %, 17 to 21 A; the throttle is that of MPC_THR_HOVER within 0.02."""
    battery = {"id": "bat1", "model": "ideal", "ocv_soc": [1.0], "ocv_v": [14.8]}
    run = hover({**STILL, "power.batteries": [battery]})
    late = run.log["time_s"] > 30.0
    assert run.log["rotor_speed_rad_s"][late].mean() == pytest.approx(math.sqrt(WEIGHT_N / 4.0 / THRUST_N_S2), rel=0.02)
    assert 17.0 < run.log["bus_current_a"][late].mean() < 21.0
    throttle = px4lockstep.load_spec("x500").px4_params["MPC_THR_HOVER"]
    assert run.log["motors"][late][:, :4].mean() == pytest.approx(throttle, abs=0.02)


def lean_deg(wind_m_s):
    """Return the lean by hand: T sin θ = D_f + D_r cos θ, T cos θ + D_r sin θ = m g, D_r = 4 c ω u cos θ."""
    density = 1.1688 * 0.9986  # at home, and 15 m above it
    lean, speed = 0.1, 769.0
    for _ in range(200):
        across, along = wind_m_s * math.cos(lean), wind_m_s * math.sin(lean)
        rotor_n = 4.0 * ROTOR_DRAG * density / 1.1688 * speed * across
        fuselage_n = 0.5 * density * AREA_M2 * wind_m_s**2
        up_n, side_n = WEIGHT_N - rotor_n * math.sin(lean), fuselage_n + rotor_n * math.cos(lean)
        loss = 1.0 / (1.0 + INFLOW * (along / (speed * RADIUS_M)) ** 2)
        speed = math.sqrt(math.hypot(up_n, side_n) / 4.0 / (THRUST_N_S2 * density / 1.1688 * loss))
        lean = math.atan2(side_n, up_n)
    return math.degrees(lean)


@pytest.mark.parametrize("wind_m_s", [5.0, 10.0, 15.0])
def test_it_leans_into_a_steady_wind(hover, wind_m_s):
    """By the angle computed by hand from its drag within 1°, about 10° at 10 m/s, into the wind."""
    wind = {"environment.wind": "constant", "environment.wind_mean_ned": [wind_m_s, 0.0, 0.0]}
    run = hover({**STILL, **wind})
    late = run.log["time_s"] > 35.0
    assert run.log["vel_ned"][late] == pytest.approx(0.0, abs=0.05)
    assert tilts_deg(run.log)[late].mean() == pytest.approx(lean_deg(wind_m_s), abs=1.0)
    assert run.log["euler_bn"][late][:, 1].mean() > 0.0  # nose up: the wind comes from behind
    assert abs(lean_deg(10.0) - 10.0) < 1.0


@pytest.mark.parametrize("wind_m_s", [30.0, 35.0])
def test_a_storm_is_held_or_lost_as_the_tilt_limit_says(hover, wind_m_s):
    """PX4 tilts by at most 45°: in 30 m/s the lean by hand is below, in 35 m/s above, and it drifts downwind."""
    storm = {"at_s": 20.0, "action": "wind_step", "vel_ned": [wind_m_s, 0.0, 0.0]}
    log = hover({**STILL, "scenario.events": [storm]}, end_s=60.0).log
    is_held = lean_deg(wind_m_s) < 45.0
    assert is_held == (wind_m_s == 30.0)
    drift_m_s = log["vel_ned"][-1, 0]
    assert (abs(drift_m_s) < 0.1) if is_held else (drift_m_s > 1.0)
    assert -log["pos_ned"][-1, 2] == pytest.approx(15.0, abs=1.0)  # the motors hold the height in either case


@pytest.mark.parametrize(("action", "falls"), [(3, False), (0, True)])
def test_it_hovers_for_12_to_17_minutes(hover, action, falls):
    """Then it lands by its battery failsafe; without, the voltage collapses, the motors stop and it falls."""
    values = {"autopilot.params.COM_LOW_BAT_ACT": action, "timeline.dt_log_s": 0.1}
    log = hover({**STILL, **values}, end_s=1100.0).log
    down_s = log["time_s"][np.flatnonzero(log["pos_ned"][:, 2] < -0.5)[-1]]
    assert 12.0 * 60.0 < down_s < 17.0 * 60.0
    assert (log["crashed"] != 0).any() == falls
    if falls:
        assert log["battery_true_remaining"][-1, 0] < 0.005
        assert (log["rotor_duty"][-1, :4] == 0.0).all()


def test_before_takeoff_it_does_not_move():
    """In the default wind and with the noisy estimate, until thrust builds up: by less than 1 mm and 0.1°."""
    log = px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 6.0}).log
    waits = slice(0, int(np.argmax(log["rotor_thrust_n"].sum(axis=1) > 0.1 * WEIGHT_N)))
    assert log["time_s"][waits][-1] > 2.5
    assert np.abs(log["pos_ned"][waits] - log["pos_ned"][0]).max() < 1e-3
    assert tilts_deg(log)[waits].max() < 0.1
    assert np.degrees(np.abs(log["euler_bn"][waits][:, 2])).max() < 0.1


DECISION_M_S2 = 0.01
"""Less than the acceleration setpoint changes in one tick of position control, at a jerk of 4 m/s³."""


def flown_and_exact(seed):
    """Fly RK4 at 4 ms and RK45 at 1e-10, both with the autopilot; return the log, distances, and row of touchdown."""
    names = ("pos", "vel", "omega", "rotor", "soc", "v1")
    tight = {f"plant.integrator.{kind}tol_{name}": 1e-10 for kind in "ra" for name in names}
    tight |= {"plant.integrator.kind": "RK45", "plant.integrator.atol_att_rad": 1e-10}
    common = {"timeline.t_end_s": 73.0, "aircraft.seed": seed}
    log, exact = (px4lockstep.simulate("x500", overrides=common | values).log for values in ({}, tight))
    apart_m = np.linalg.norm(log["pos_ned"] - exact["pos_ned"], axis=1)
    decisions = np.abs(np.nan_to_num(log["acc_sp_ned"] - exact["acc_sp_ned"])).max(axis=1) > DECISION_M_S2
    touchdown = np.flatnonzero(log["pos_ned"][:, 2] < -0.25)[-1] - 5
    return apart_m, touchdown, int(np.argmax(decisions)) if decisions.any() else len(decisions)


def test_the_default_flight_is_accurate():
    """Below 1 mm in the air, below 5 mm after touchdown."""
    apart_m, touchdown, _ = flown_and_exact(1)
    assert 1e-9 < apart_m[:touchdown].max() < 1e-3
    assert apart_m.max() < 5e-3


@pytest.mark.parametrize("seed", [3, 6, 7])
def test_the_integration_is_accurate_until_a_decision_falls_into_another_tick(seed):
    """Below 0.1 mm. The trajectory generator may switch its jerk a tick earlier: up to 43 mm, for two seconds."""
    apart_m, touchdown, decision = flown_and_exact(seed)
    assert decision > 500
    assert apart_m[: min(decision, touchdown)].max() < 1e-4


def test_no_new_aircraft_warns():
    """Neither about its step nor about anything else."""
    for name in ("x500", "x500_hex", "x500_octa", "racer", "lifter"):
        assert px4lockstep.build(px4lockstep.load_spec(name)).warnings == ()
