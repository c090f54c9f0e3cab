"""Follow mode of a served vehicle, as MAVSDK's follow_me uses it: FOLLOW_TARGET and FLW_TGT_* parameters."""

import math

import pytest
from served import CALM, Flown
from served_processes import run_flows, served_process

import px4lockstep
from px4lockstep.scenario.commands import DENIED, TEMPORARILY_REJECTED, Arm, FollowTarget, Hold, SetMode, SetParam

FOLLOW, HOLD = 19, 4
NAN = math.nan


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        flown.take_off(10.0)
        yield flown


def follow(flown, at, seconds, speed_m_s=(0.0, 0.0), period_s=0.5):
    """Send the positions of a target that moves from a place, north and east of home; return where it then is."""
    for _ in range(round(seconds / period_s)):
        place = flown.place(*at, 0.0)
        flown.vehicle.submit(FollowTarget(*place, (*speed_m_s, 0.0)))
        flown.fly(period_s)
        at = tuple(value + period_s * speed for value, speed in zip(at, speed_m_s, strict=True))
    return at


def yaw_of(status):
    w, _, _, z = status.q_bn
    return 2.0 * math.atan2(z, w)


def test_a_target_that_stands_is_kept_at_the_distance_and_in_view(flown):
    """FLW_TGT_DST and FLW_TGT_HT are 8 m; behind a target without a course is south of it."""
    flown.give_all(SetMode(FOLLOW))
    follow(flown, (20.0, 5.0), 25.0)
    status = flown.status
    assert status.nav_state == FOLLOW
    assert status.pos_ned[:2] == pytest.approx((12.0, 5.0), abs=0.7)
    assert -status.pos_ned[2] == pytest.approx(8.0, abs=0.5)
    assert abs(yaw_of(status)) < 0.1
    assert flown.run.outcome.word == "flown"


def test_a_target_that_moves_is_followed_from_behind(flown):
    """East at 3 m/s: the vehicle is west of it, faces it and has its speed; it stops when the target stops."""
    flown.give_all(SetMode(FOLLOW))
    at = follow(flown, (0.0, 10.0), 25.0, (0.0, 3.0))
    status = flown.status
    assert status.vel_ned[1] == pytest.approx(3.0, abs=0.5)
    assert math.dist(status.pos_ned[:2], at) == pytest.approx(8.0, abs=2.5)
    assert status.pos_ned[1] < at[1] - 4.0
    assert yaw_of(status) == pytest.approx(math.pi / 2.0, abs=0.2)
    follow(flown, at, 15.0)
    assert math.hypot(*flown.status.vel_ned) < 0.3
    assert math.dist(flown.status.pos_ned[:2], at) == pytest.approx(8.0, abs=1.0)


def test_parameters_change_distance_angle_and_height_in_flight(flown):
    """FLW_TGT_FA 90: right of the course; FLW_TGT_ALT_M 2: above the target, which is on a hill of 5 m."""
    flown.give_all(SetMode(FOLLOW))
    follow(flown, (0.0, 0.0), 10.0, (2.0, 0.0))
    flown.give_all(SetParam("FLW_TGT_DST", 15.0), SetParam("FLW_TGT_FA", 90.0), SetParam("FLW_TGT_ALT_M", 2))
    for i in range(60):
        lat_deg, lon_deg, alt_amsl_m = flown.place(20.0 + i, 0.0, 5.0)
        flown.vehicle.submit(FollowTarget(lat_deg, lon_deg, alt_amsl_m, (2.0, 0.0, 0.0)))
        flown.fly(0.5)
    status = flown.status
    assert status.pos_ned[1] == pytest.approx(15.0, abs=2.0)
    assert -status.pos_ned[2] == pytest.approx(13.0, abs=1.0)


def test_without_a_target_the_vehicle_stands_and_has_not_obeyed(flown):
    before_ned = flown.status.pos_ned
    flown.give_all(SetMode(FOLLOW))
    assert math.dist(flown.fly(8.0).pos_ned, before_ned) < 1.0
    outcome = flown.run.outcome
    assert outcome.word == "command not obeyed"
    assert "there was no target" in outcome.reason


def test_a_target_that_is_lost_stands_still(flown):
    """3 s after its last message."""
    flown.give_all(SetMode(FOLLOW))
    follow(flown, (0.0, 10.0), 15.0, (0.0, 3.0))
    flown.fly(20.0)
    assert math.hypot(*flown.status.vel_ned) < 0.3
    assert flown.give(FollowTarget(NAN, 8.0, 480.0)).code == DENIED
    assert flown.give(FollowTarget(95.0, 8.0, 480.0)).code == DENIED


def test_a_target_that_runs_away_is_no_success(flown):
    """The vehicle is not allowed to be so fast."""
    flown.give_all(SetParam("MPC_XY_VEL_MAX", 1.0), SetMode(FOLLOW))
    follow(flown, (0.0, 10.0), 20.0, (0.0, 4.0))
    assert flown.run.outcome.word == "out of time"


def test_follow_mode_cannot_be_armed_in(flown):
    with Flown(overrides=CALM) as other:
        other.give_all(SetMode(FOLLOW))
        assert other.give(Arm()).code == TEMPORARILY_REJECTED
    flown.give_all(SetMode(FOLLOW))
    follow(flown, (0.0, 10.0), 5.0)
    flown.give_all(Hold())
    assert flown.fly(3.0).nav_state == HOLD


def test_follow_flights_replay_to_the_same_digest(tmp_path):
    with Flown(record=tmp_path, plots=False, seed=4) as flown:
        flown.take_off(10.0)
        flown.give_all(SetMode(FOLLOW))
        follow(flown, (0.0, 10.0), 10.0, (1.0, 3.0), 0.2)
    [folder] = flown.vehicle.folders
    digest = px4lockstep.read_run(folder).summary["digest"]
    assert px4lockstep.replay(folder).digest == digest
    assert px4lockstep.simulate(folder / "spec.toml", commands=folder / "commands.jsonl").digest == digest
    [one] = px4lockstep.branch(folder, 18.0)
    assert one.run.digest == digest


def test_a_client_is_followed_over_mavlink(served, client):
    """As MAVSDK sends it: mode 4/8, FOLLOW_TARGET to everyone, without a target system."""
    assert client.command(400, 1.0) == 0
    assert client.command(22, *(NAN,) * 6, 498.0) == 0
    served.run(15.0)
    assert client.set_mode(4, 8) == 0
    for _ in range(40):
        client.send("follow_target", 0, 3, 473977420 + 1800, 85455940, 488.0, [0.0] * 3, *REST)
        served.run(0.5)
    client.expect("HEARTBEAT", type=2, custom_mode=4 << 16 | 8 << 24, base_mode=145)
    assert served.vehicle.status.pos_ned[:2] == pytest.approx((12.0, 0.0), abs=1.0)


@pytest.mark.slow
@pytest.mark.process
def test_an_application_with_mavsdk_is_followed(served_instance):
    """Its plugin follow_me, with a vehicle in a fresh process."""
    with served_process(served_instance, "--speed", "3") as served:
        run_flows(served, "follow")


REST = ([0.0] * 3, [1.0, 0.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3, 0)
"""Of FOLLOW_TARGET: acceleration, attitude, rates, covariances, state."""
