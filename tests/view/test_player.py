"""The clock of a replay."""

import pytest
from viewed import made_flight

from px4lockstep.view.player import SPEEDS, Player


@pytest.fixture
def player():
    """1 s of flight with a row every 10 ms, armed at 0.5 s."""
    return Player([made_flight()])


def test_time_passes_only_while_it_plays_and_ends_with_the_flight(player):
    """At twice the speed, 0.2 s are 0.4 s; the end pauses, and playing there starts again."""
    player.advance(5.0)
    assert player.time_us == 0
    player.toggle()
    player.speed = 2.0
    player.advance(0.2)
    assert (player.time_us, player.is_playing) == (400_000, True)
    player.advance(10.0)
    assert (player.time_us, player.is_playing) == (1_000_000, False)
    player.toggle()
    assert (player.time_us, player.is_playing) == (0, True)


def test_fractions_of_a_microsecond_are_not_lost(player):
    """A tenth of the speed at 3.3 us per frame: 1,000 frames are 330 us."""
    player.toggle()
    player.speed = 0.1
    for _ in range(1_000):
        player.advance(3.3e-6)
    assert player.time_us == pytest.approx(330, abs=1)


def test_steps_go_to_rows_and_microseconds(player):
    """From between two rows, a step goes to the nearest row in its direction."""
    player.seek(123_457)
    player.step_us(1)
    assert player.time_us == 123_458
    player.step_rows(1)
    assert player.time_us == 130_000
    player.step_rows(1)
    assert player.time_us == 140_000
    player.step_rows(-1)
    assert player.time_us == 130_000
    player.seek(123_457)
    player.step_rows(-1)
    assert player.time_us == 120_000
    player.seek(-1)
    player.step_rows(-1)
    assert player.time_us == 0
    player.seek(10**12)
    player.step_rows(1)
    assert player.time_us == 1_000_000


def test_jumps_go_to_events_of_all_flights(player):
    """The second flight arms at 0.3 s."""
    player = Player([made_flight(), made_flight(rows=61)])
    assert [event.time_us for event in player.events] == [300_000, 500_000]
    player.jump(1)
    player.jump(1)
    assert player.time_us == 500_000
    assert player.jump(1) is None
    assert player.time_us == 500_000
    player.jump(-1)
    assert player.time_us == 300_000
    assert player.jump(-1) is None


def test_speeds_have_ends(player):
    """Neither faster than the fastest nor slower than the slowest."""
    for _ in range(20):
        player.faster(1)
    assert player.speed == SPEEDS[-1]
    for _ in range(20):
        player.faster(-1)
    assert player.speed == SPEEDS[0]
