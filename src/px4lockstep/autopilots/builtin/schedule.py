"""Scheduling of the autopilot's modules, by the same rule as in the real library.

A module is due if it has not run at a time above 0 yet, or if `now − last ≥ ⌊1e6/rate⌋`; then `last = now`. The phase
is not carried over: from t = 0 with 4 ms ticks, "100 Hz" runs at 0, 4, 16, 28 … ms and "20 Hz" at 0, 4, 56, 108 … ms.
"""

from collections.abc import Mapping

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record

MAX_RATE_HZ = 1_000_000
"""Corresponds to a period of one microsecond."""

RATES = {
    "navigator_rate_hz": "navigator",
    "mc_pos_control_rate_hz": "position control",
    "mc_att_control_rate_hz": "attitude control",
    "mc_rate_control_rate_hz": "rate control",
    "control_allocator_rate_hz": "allocation",
}
"""The module of each rate in `[px4.lockstep]`."""

MODULE = record([("period_us last_us", "i8")], state="last_us")


@kernel
def is_due(module, t_us):
    """Return whether a module is due now; if so, store the time."""
    if module.last_us > 0 and t_us - module.last_us < module.period_us:
        return False
    module.last_us = t_us
    return True


def period_us(rate_hz: int) -> int:
    """Return the period of a rate; a rate of 0 or less means every tick."""
    return 1_000_000 // rate_hz if rate_hz > 0 else 0


def effective_rates(rates_hz: Mapping[str, int], tick_us: int) -> dict[str, float]:
    """Return the effective rates of modules at a tick length [Hz], by name; the phase is not carried over."""
    return {name: 1e6 / (max(1, -(-period_us(hz) // tick_us)) * tick_us) for name, hz in rates_hz.items()}


def check_rates(rates_hz: Mapping[str, int], tick_us: int) -> None:
    """Reject a tick that is longer than the period of a module."""
    for name, hz in rates_hz.items():
        if 0 < period_us(hz) < tick_us:
            raise InputError(
                f"{name} = {hz}: a tick of {tick_us} us is longer than its period of {period_us(hz)} us; use a shorter "
                f"tick or a rate of at most {1_000_000 // tick_us}"
            )
