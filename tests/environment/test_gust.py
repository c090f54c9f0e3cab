"""Gusts: when they act, how they add up, and invalid input."""

import numpy as np
import pytest
from environment_bits import blow

from px4lockstep.environment.gust import GUSTS, Gust, gust_edges_us, write_gusts
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError

CALM = Wind("none")


def test_a_gust_acts_from_its_start_until_before_its_end():
    """Half-open, to the microsecond, with exactly its velocity."""
    north = blow(CALM, 8, period_us=1, gusts=[Gust(start_s=3e-06, end_s=6e-06, vel_ned=(2.0, 0.0, 0.0))])[:, 0]
    assert north.tolist() == [0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.0]


def test_gusts_leave_no_gap_and_overlapping_ones_add_up():
    """Exact sums of small integers."""
    gusts = [
        Gust(start_s=1e-06, end_s=3e-06, vel_ned=(1.0, 0.0, 0.0)),
        Gust(start_s=3e-06, end_s=5e-06, vel_ned=(2.0, 0.0, 0.0)),
        Gust(start_s=4e-06, end_s=6e-06, vel_ned=(8.0, 0.0, 0.0)),
    ]
    assert blow(CALM, 7, period_us=1, gusts=gusts)[:, 0].tolist() == [0.0, 1.0, 1.0, 2.0, 10.0, 8.0, 0.0]


def test_a_gust_acts_on_all_axes():
    """North, east and down are not mixed up."""
    assert blow(CALM, 1, gusts=[Gust(start_s=0.0, end_s=1e-06, vel_ned=(1.0, -2.0, 3.0))]).tolist() == [
        [1.0, -2.0, 3.0]
    ]


def test_eight_gusts_fit_and_nine_are_rejected():
    """All eight act; the message gives the number and the limit."""
    gusts = [Gust(start_s=k / 1e6, end_s=(k + 1) / 1e6, vel_ned=(k + 1.0, 0.0, 0.0)) for k in range(9)]
    assert blow(CALM, 9, period_us=1, gusts=gusts[:8])[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0]
    with pytest.raises(InputError, match="9 gusts are too many; at most 8 are allowed"):
        write_gusts(np.zeros(1, GUSTS)[0], gusts)


def test_writing_gusts_again_replaces_the_previous_ones():
    """Every byte: a record that held three gusts and now holds one equals a new one."""
    used, fresh = np.zeros(1, GUSTS), np.zeros(1, GUSTS)
    write_gusts(used[0], [Gust(start_s=k / 1e6, end_s=(k + 5) / 1e6, vel_ned=(1.0, 2.0, 3.0)) for k in range(3)])
    for gusts in (used, fresh):
        write_gusts(gusts[0], [Gust(start_s=7e-06, end_s=9e-06, vel_ned=(0.5, 0.0, 0.0))])
    assert used.tobytes() == fresh.tobytes()


def test_edges_are_sorted_without_duplicates():
    """Edges that gusts share are one boundary."""
    gusts = [
        Gust(start_s=3e-05, end_s=5e-05, vel_ned=(1.0, 0.0, 0.0)),
        Gust(start_s=1e-05, end_s=3e-05, vel_ned=(1.0, 0.0, 0.0)),
        Gust(start_s=1e-05, end_s=5e-05, vel_ned=(1.0, 0.0, 0.0)),
    ]
    assert gust_edges_us(gusts) == (10, 30, 50)
    assert gust_edges_us([]) == ()


@pytest.mark.parametrize(
    ("start_s", "end_s", "vel_ned", "message"),
    [
        (5, 5, (1, 0, 0), "end_s = 5.0 is not after start_s = 5.0; a gust lasts at least one microsecond"),
        (-1, 5, (1, 0, 0), "start_s = -1.0 is negative; times and periods are 0 or more"),
        (0, 5e-7, (1, 0, 0), "end_s = 5e-07 is not a whole number of microseconds; use 0.0 or 0.000001"),
        (
            0,
            5,
            (1, float("nan"), 0),
            "vel_ned[1] = nan is not allowed; it must be a finite number, at least -150.0 and at most 150.0",
        ),
        (0, 5, (1.0, 2.0), "vel_ned = [1.0, 2.0] is not a vector; it must be three numbers"),
    ],
)
def test_an_invalid_gust_is_rejected(start_s, end_s, vel_ned, message):
    """The message gives the field, the value and what is allowed."""
    with pytest.raises(InputError) as caught:
        Gust(start_s=start_s, end_s=end_s, vel_ned=vel_ned)
    assert str(caught.value) == f"environment.gusts.{message}"
