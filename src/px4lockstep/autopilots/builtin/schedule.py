"""When a module of the autopilot runs: the rule of the real library.

A module is due if it never ran at a time above 0, or if `now − last ≥ ⌊1e6/rate⌋`; then `last = now`. No phase is kept:
from t = 0 at 4 ms ticks, "100 Hz" runs at 0, 4, 16, 28 … ms and "20 Hz" at 0, 4, 56, 108 … ms.
"""

from px4lockstep.jit import kernel, record

MAX_RATE_HZ = 1_000_000
"""A period of a microsecond."""

MODULE = record([("period_us last_us", "i8")], state="last_us")


@kernel
def is_due(module, t_us):
    """Return whether a module runs now, and if so note that it did."""
    if module.last_us > 0 and t_us - module.last_us < module.period_us:
        return False
    module.last_us = t_us
    return True


def period_us(rate_hz: int) -> int:
    """Return the period of a rate; 0 or less means at every tick."""
    return 1_000_000 // rate_hz if rate_hz > 0 else 0
