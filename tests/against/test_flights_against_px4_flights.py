"""Whole flights of the built-in autopilot against recorded flights of real PX4, with the same aircraft and missions."""

import functools

import numpy as np
import pytest
from px4_flights import CLOSED_LOOP, MISSIONS, load_flight, scenario_of, stacked

from flights import autopilot_of, changes, flight

FLIGHTS = tuple(CLOSED_LOOP)


@functools.cache
def both(name):
    """Return PX4's flight and ours, row by row, up to the end of the shorter one."""
    px4 = load_flight(name)
    end_s = int(px4["time_us"][-1]) / 1e6
    sim = flight(
        CLOSED_LOOP[name],
        scenario=scenario_of(name),
        end_s=end_s,
        log_us=4_000,
        angular_acceleration=False,
        params={"COM_DISARM_LAND": 0.1},  # the host of the recordings disarmed within 20 ms
    ).run()
    return px4, sim


def distance(px4, sim):
    """Return the distance between the flights at the same time [m]."""
    there = stacked(px4, "truth_pos_n", "truth_pos_e", "truth_pos_d")[: len(sim.log)]
    return np.linalg.norm(sim.log_state[:, :3] - there, axis=1)


@pytest.mark.parametrize("name", FLIGHTS)
def test_all_items_change_within_half_a_second(name):
    """The requirement is 0.5 s; in fact they change within one tick of the navigator."""
    px4, sim = both(name)
    ours = changes(autopilot_of(sim)["mission_item"], sim.log["time_us"])
    theirs = changes(px4["mission_seq"], px4["time_us"])
    assert [item for _, item in ours] == [item for _, item in theirs]
    apart = [abs(a - b) for (a, _), (b, _) in zip(ours, theirs, strict=True)]
    assert max(apart) < 0.5
    assert max(apart) < 0.053  # a tick of the navigator
    assert autopilot_of(sim)["mission_finished"][-1] == (name in MISSIONS)


@pytest.mark.parametrize("name", FLIGHTS)
def test_the_maximum_altitude_is_within_a_decimetre(name):
    """This compares the highest points of the flights."""
    px4, sim = both(name)
    assert -sim.log_state[:, 2].min() == pytest.approx(-px4["truth_pos_d"].min(), abs=0.1)


@pytest.mark.parametrize("name", FLIGHTS)
def test_the_paths_are_within_half_a_metre(name):
    """Positions are compared at the same time, which is stricter than comparing paths."""
    assert distance(*both(name)).max() < 0.5


def test_the_return_is_within_30_centimetres():
    """Over the whole flight: mission, climb, flight home, descent over home, landing."""
    assert distance(*both("return")).max() < 0.3


def test_the_events_of_the_return_are_within_0_3_s():
    """Waypoints, modes, landing and disarming, in the same order; the host's pause of the mission at 2 s is omitted."""
    px4, sim = both("return")
    for column, own in (
        ("mission_seq", autopilot_of(sim)["mission_item"]),
        ("nav_state", autopilot_of(sim)["nav_state"]),
        ("landed", sim.log["bus"]["scenario"]["landed"]),
        ("armed", autopilot_of(sim)["armed"]),
    ):
        theirs = [change for change in changes(px4[column], px4["time_us"]) if not 2.0 < change[0] < 2.1]
        ours = changes(own, sim.log["time_us"])
        assert [value for _, value in ours] == [value for _, value in theirs]
        assert [time_s for time_s, _ in ours] == pytest.approx([time_s for time_s, _ in theirs], abs=0.3)


@pytest.mark.parametrize("name", FLIGHTS)
def test_the_headings_are_within_five_degrees(name):
    """Headings are compared at the same time, throughout the flight."""
    px4, sim = both(name)

    def heading(q):
        w, x, y, z = q.T
        return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    theirs = heading(stacked(px4, "truth_q_w", "truth_q_x", "truth_q_y", "truth_q_z")[: len(sim.log)])
    apart = heading(sim.log_state[:, 6:10]) - theirs
    assert np.degrees(np.abs(np.arctan2(np.sin(apart), np.cos(apart)))).max() < 5.0
