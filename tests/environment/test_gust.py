"""Gusts: when they act, how they add up, and what is refused."""

import numpy as np
import pytest
from environment_bits import blow

from px4lockstep.environment.gust import GUSTS, Gust, gust_edges_us, write_gusts
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError

CALM = Wind("none")


def test_a_gust_acts_from_its_start_until_before_its_end():
    """Half-open, to the microsecond, exactly its velocity."""
    north = blow(CALM, 8, period_us=1, gusts=[Gust(3, 6, (2.0, 0.0, 0.0))])[:, 0]
    assert north.tolist() == [0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.0]


def test_gusts_that_touch_leave_no_gap_and_those_that_overlap_add_up():
    """Exact sums of small whole numbers."""
    gusts = [Gust(1, 3, (1.0, 0.0, 0.0)), Gust(3, 5, (2.0, 0.0, 0.0)), Gust(4, 6, (8.0, 0.0, 0.0))]
    assert blow(CALM, 7, period_us=1, gusts=gusts)[:, 0].tolist() == [0.0, 1.0, 1.0, 2.0, 10.0, 8.0, 0.0]


def test_a_gust_acts_on_all_axes():
    """North, east and down are not mixed up."""
    assert blow(CALM, 1, gusts=[Gust(0, 1, (1.0, -2.0, 3.0))]).tolist() == [[1.0, -2.0, 3.0]]


def test_eight_gusts_fit_and_nine_are_refused():
    """All eight act; the message says how many there are and how many are allowed."""
    gusts = [Gust(k, k + 1, (k + 1.0, 0.0, 0.0)) for k in range(9)]
    assert blow(CALM, 9, period_us=1, gusts=gusts[:8])[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0]
    with pytest.raises(InputError, match="9 gusts are too many; at most 8 are allowed"):
        write_gusts(np.zeros(1, GUSTS)[0], gusts)


def test_gusts_that_are_written_again_replace_those_before():
    """Every byte: a record that held three gusts and now holds one equals a fresh one."""
    used, fresh = np.zeros(1, GUSTS), np.zeros(1, GUSTS)
    write_gusts(used[0], [Gust(k, k + 5, (1.0, 2.0, 3.0)) for k in range(3)])
    for gusts in (used, fresh):
        write_gusts(gusts[0], [Gust(7, 9, (0.5, 0.0, 0.0))])
    assert used.tobytes() == fresh.tobytes()


def test_edges_are_in_order_and_each_once():
    """Those that gusts share are one boundary."""
    gusts = [Gust(30, 50, (1.0, 0.0, 0.0)), Gust(10, 30, (1.0, 0.0, 0.0)), Gust(10, 50, (1.0, 0.0, 0.0))]
    assert gust_edges_us(gusts) == (10, 30, 50)
    assert gust_edges_us([]) == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            (5, 5, (1.0, 0.0, 0.0)),
            "gust.end_us = 5 is not after gust.start_us = 5; a gust must last 1 microsecond or more",
        ),
        (
            (-1, 5, (1.0, 0.0, 0.0)),
            "gust.start_us = -1 is out of range; allowed are 0 to 9007199254740992 microseconds",
        ),
        ((0.5, 5, (1.0, 0.0, 0.0)), "gust.start_us = 0.5 is not an integer number of microseconds"),
        (
            (0, 1 << 60, (1.0, 0.0, 0.0)),
            "gust.end_us = 1152921504606846976 is out of range; allowed are 0 to 9007199254740992 microseconds",
        ),
        (
            (0, 5, (1.0, float("nan"), 0.0)),
            "gust.vel_ned[1] = nan is out of range; it must be one of three finite numbers",
        ),
        ((0, 5, (1.0, 2.0)), "gust.vel_ned = (1.0, 2.0) is not a vector; it must be three finite numbers"),
    ],
)
def test_a_wrong_gust_is_refused(given, message):
    """The message names field, value and what is allowed."""
    with pytest.raises(InputError) as caught:
        Gust(*given)
    assert str(caught.value) == message
