"""The timeline merges integer axes exactly."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from px4lockstep.engine import timeline as tl
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.errors import InputError, TimeError


def times_of(timeline, axis):
    return timeline.time_us[(timeline.due & tl.AXIS_BITS[axis]) != 0].tolist()


def test_axes_keep_their_exact_multiples_over_100_000_boundaries():
    """Integer equality: no tick of autopilot or log is early, late or lost."""
    timeline = Timeline(200_000_000, autopilot=Periodic(10_000), log=Periodic(10_000), physics=Periodic(2_000))
    assert len(timeline) == 100_001
    assert np.diff(timeline.time_us).tolist() == [2_000] * 100_000
    assert times_of(timeline, "autopilot") == list(range(0, 200_000_001, 10_000))
    assert times_of(timeline, "log") == list(range(0, 200_000_001, 10_000))


axes = st.one_of(
    st.none(),
    st.builds(Periodic, st.integers(1, 500), st.integers(0, 700)),
    st.builds(Explicit, st.lists(st.integers(0, 1000), max_size=10).map(tuple)),
)


@settings(max_examples=200)
@given(wind=axes, log=axes, scenario=axes, period=st.integers(1, 300), end_us=st.integers(1, 1000))
def test_merged_axes_agree_with_python_sets(wind, log, scenario, period, end_us):
    """The result agrees with Python sets: strictly increasing, every tick with its bit, nothing else."""
    cut = [Explicit(tuple(t for t in a.times_us if t <= end_us)) if isinstance(a, Explicit) else a
           for a in (wind, log, scenario)]  # fmt: skip
    named = dict(zip(("wind", "log", "scenario"), cut, strict=True), autopilot=Periodic(period))
    timeline = Timeline(end_us, **named)
    expected = {0, end_us}
    for name, axis in named.items():
        if axis is None:
            ticks = set()
        elif isinstance(axis, Explicit):
            ticks = set(axis.times_us)
        else:
            ticks = set(range(axis.phase_us, end_us + 1, axis.period_us))
        expected |= ticks
        if name == "log":
            ticks |= {end_us}
        assert times_of(timeline, name) == sorted(ticks)
    assert timeline.time_us.tolist() == sorted(expected)


@settings(max_examples=200)
@given(
    wind=st.builds(Periodic, st.integers(1, 50), st.integers(0, 700)),
    log=axes,
    events=st.lists(st.integers(100, 1000), max_size=10),
)
def test_with_events_equals_a_timeline_built_with_events(wind, log, events):
    """Events may be on boundaries, between them, at both ends, or duplicated. The original timeline does not change."""
    log = Explicit(tuple(t for t in log.times_us if t >= 100)) if isinstance(log, Explicit) else log
    without = Timeline(1000, wind=wind, log=log, start_us=100)
    before = without.time_us.tolist(), without.due.tolist(), without.greatest_step_us
    put_in = without.with_events(tuple(events))
    made = Timeline(1000, wind=wind, log=log, scenario=Explicit(tuple(events)), start_us=100)
    assert put_in == made
    assert (put_in.time_us.tolist(), put_in.due.tolist()) == (made.time_us.tolist(), made.due.tolist())
    assert (put_in.time_us.dtype, put_in.due.dtype) == (made.time_us.dtype, made.due.dtype)
    assert put_in.greatest_step_us == made.greatest_step_us
    assert (without.time_us.tolist(), without.due.tolist(), without.greatest_step_us) == before


@settings(max_examples=100, deadline=None)
@given(
    wind=axes,
    log=st.builds(Periodic, st.integers(1, 500), st.integers(0, 700)),
    scenario=axes,
    cuts=st.lists(st.integers(50, 1000), max_size=5),
    boundaries=st.integers(5, 50),
)
def test_chunks_add_up_to_the_whole_timeline(wind, log, scenario, cuts, boundaries):
    """Chunks may be cut anywhere; a shorter timeline has the same boundaries up to its end."""
    named = {"wind": wind, "log": log, "scenario": scenario}
    named = {n: Explicit(tuple(t for t in a.times_us if t >= 50)) if isinstance(a, Explicit) else a
             for n, a in named.items()}  # fmt: skip
    timeline, whole = (Timeline(1000, start_us=50, **named) for _ in range(2))
    span_us = timeline.chunk_us(boundaries)
    for edges in ([50, *sorted(cuts), 1001], [*range(50, 1001, span_us), 1001]):
        pieces = [timeline.window(a, b) for a, b in itertools.pairwise(edges)]
        assert [times.tolist() for times, _ in pieces] == [
            whole.window(a, b)[0].tolist() for a, b in itertools.pairwise(edges)
        ]
        assert np.concatenate([times for times, _ in pieces]).tolist() == whole.time_us.tolist()
        assert np.concatenate([due for _, due in pieces]).tolist() == whole.due.tolist()
    assert timeline.greatest_step_us == np.diff(whole.time_us).max()
    for time_us in cuts:
        assert timeline.is_boundary(time_us) == (time_us in whole.time_us)
        if time_us > 50:
            shorter = timeline.until(time_us)
            k = len(shorter) - 1
            assert shorter.time_us.tolist() == [*(t for t in whole.time_us.tolist() if t < time_us), time_us]
            assert shorter.due[:k].tolist() == whole.due[:k].tolist()
            assert shorter.due[k] & tl.LOG


def test_the_end_is_a_boundary_and_the_log_samples_there():
    """An end that is not a tick of any axis is still reached exactly."""
    timeline = Timeline(12_345, autopilot=Periodic(4_000), log=Periodic(10_000))
    assert timeline.time_us[-1] == 12_345
    assert times_of(timeline, "log") == [0, 10_000, 12_345]
    assert times_of(timeline, "autopilot") == [0, 4_000, 8_000, 12_000]


def test_an_event_time_becomes_a_boundary():
    """An explicit time is exact to the microsecond."""
    timeline = Timeline(20_000_000, log=Periodic(10_000), scenario=Explicit.seconds([12.345678]))
    assert times_of(timeline, "scenario") == [12_345_678]


def test_a_start_and_a_phase_shift_the_ticks():
    """Ticks are counted from the start."""
    timeline = Timeline(1_000, log=Periodic(300, phase_us=50), start_us=100)
    assert timeline.time_us.tolist() == [100, 150, 450, 750, 1_000]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Timeline(0, log=Periodic(1)), TimeError, "end_us = 0 is not after"),
        (lambda: Timeline(5, log=Periodic(1), start_us=9), TimeError, "end_us = 5 is not after timeline.start_us = 9"),
        (lambda: Timeline(-5, log=Periodic(1)), TimeError, "end_us = -5 is out of range"),
        (lambda: Timeline(1.5, log=Periodic(1)), TimeError, "end_us = 1.5 is not an integer"),
        (lambda: Timeline(100), InputError, "no axis"),
        (lambda: Timeline(100, log=Periodic(0)), TimeError, "log.period_us = 0 is out of range"),
        (lambda: Timeline(100, wind=Periodic(10, phase_us=-1)), TimeError, "wind.phase_us = -1"),
        (lambda: Timeline(100, scenario=Explicit((50, 101))), TimeError, r"times_us\[1\] = 101 is outside the run"),
        (lambda: Timeline(100, autopilot=Explicit((5,))), InputError, "autopilot must be Periodic"),
        (lambda: Timeline(100, log=10), InputError, "log must be Periodic or Explicit, not int"),
        (
            lambda: Timeline(10**9, log=Periodic(1)),
            InputError,
            "up to 1,000,000,001 event boundaries, .* from timeline.log; the limit is 100,000,000",
        ),
        (
            lambda: Timeline(100_000, log=Periodic(10_000), physics=Periodic(3_000)),
            TimeError,
            "log.period_us = 10000 is neither a whole multiple nor a whole fraction of "
            "timeline.physics.period_us = 3000; use 9000 or 12000",
        ),
        (lambda: Timeline(100, log=Periodic(9)).with_events((50, 101)), TimeError, r"times_us\[1\] = 101 is outside"),
        (
            lambda: Timeline(100, scenario=Explicit((5,))).with_events((6,)),
            InputError,
            "already has a scenario axis; use a timeline without one",
        ),
        (lambda: Periodic.seconds(float("nan"), "dt_log_s"), TimeError, "dt_log_s = nan"),
        (lambda: Periodic.seconds(0.0001234567, "dt_log_s"), TimeError, "dt_log_s = 0.0001234567"),
        (lambda: Explicit.seconds([1.0, -1.0], "events_s"), TimeError, r"events_s\[1\] = -1.0 is negative"),
    ],
)
def test_bad_timelines_are_refused(make, error, message):
    """The message has the field, the value and the allowed values."""
    with pytest.raises(error, match=message):
        make()


def test_arrays_are_read_only():
    """A timeline cannot change during a simulation."""
    for timeline in (Timeline(100, log=Periodic(10)), Timeline(100, log=Periodic(10)).with_events((5,))):
        with pytest.raises(ValueError, match="read-only"):
            timeline.time_us[0] = 1
