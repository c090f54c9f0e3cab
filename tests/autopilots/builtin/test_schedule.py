"""Scheduling of modules by the real library's rule, which does not carry over the phase."""

import numpy as np
import pytest
from builtin_modules import PERIOD_US, run_schedule
from fleet import iris

from px4lockstep.autopilots.builtin.autopilot import Builtin, Rates
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.schedule import MODULE, period_us
from px4lockstep.autopilots.builtin.stack import BUILTIN
from px4lockstep.errors import InputError
from px4lockstep.jit import rows


def due_us(rate_hz, tick_us=PERIOD_US, count=250):
    """Return the times at which a module runs."""
    module = np.zeros(1, MODULE)
    module["period_us"] = period_us(rate_hz)
    due = np.zeros(count, np.int64)
    run_schedule(rows(module), np.int64(tick_us), rows(due))
    return (np.flatnonzero(due) * tick_us).tolist()


def test_100_hz_at_ticks_of_4_ms_runs_every_12_ms():
    """At 0 and at the next tick, because a run at 0 does not count; then after at least 10 ms, which is 12 ms."""
    assert due_us(100)[:6] == [0, 4_000, 16_000, 28_000, 40_000, 52_000]


def test_20_hz_at_ticks_of_4_ms_runs_every_52_ms():
    """The excess of 2 ms over 50 ms is never made up."""
    assert due_us(20)[:5] == [0, 4_000, 56_000, 108_000, 160_000]


@pytest.mark.parametrize("rate_hz", [0, 250, 1_000])
def test_a_rate_of_zero_or_at_least_that_of_the_tick_runs_at_every_tick(rate_hz):
    """Also a rate faster than the tick."""
    assert due_us(rate_hz) == list(range(0, 250 * PERIOD_US, PERIOD_US))


@pytest.mark.parametrize("tick_us", [1_000, 4_000, 5_000, 7_000])
@pytest.mark.parametrize("rate_hz", [20, 50, 100, 250, 0])
def test_effective_rates_match_the_schedule(rate_hz, tick_us):
    """From the second run on, which is at the first tick, runs are evenly spaced: 1e6 over their distance."""
    rates = Builtin(rates=Rates(position_hz=rate_hz)).effective_rates(tick_us)
    spacing = np.diff(due_us(rate_hz, tick_us)[1:])
    assert (spacing == spacing[0]).all()
    assert rates["position"] == pytest.approx(1e6 / spacing[0], rel=1e-15)


def test_effective_rates_of_the_defaults():
    """At 4 ms, the rates in the module's docstring, in Hz."""
    assert Builtin().effective_rates(PERIOD_US) == pytest.approx(
        {"navigator": 1e6 / 52_000, "position": 1e6 / 12_000, "attitude": 250.0, "rate": 250.0, "allocation": 250.0}
    )


def test_strict_rates_reject_too_long_a_tick():
    """The error has the rate, both periods and a remedy; a tick of 4 ms is allowed, and a rate of 0 always."""
    record = np.zeros(1, BUILTIN)[0]
    with pytest.raises(InputError, match=r"rates\.attitude_hz = 250: a tick of 5000 us .* 4000 us; .* at most 200"):
        Builtin(strict_rates=True).write(record, ControlModel.of(iris()), 5_000)
    Builtin(strict_rates=True).write(record, ControlModel.of(iris()), PERIOD_US)
    Builtin(strict_rates=True, rates=Rates(20, 100, 0, 0, 0)).write(record, ControlModel.of(iris()), 5_000)
    Builtin().write(record, ControlModel.of(iris()), 5_000)
