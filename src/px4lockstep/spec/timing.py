"""The table `[timeline]`: end time and periods of a run."""

import sys
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from px4lockstep.engine.timeline import MAX_BOUNDARIES, Periodic, Timeline, whole_multiples_us
from px4lockstep.environment.gust import Gust, gust_edges_us
from px4lockstep.errors import InputError, TimeError
from px4lockstep.part import KEY, Found, Part, Period, at, entry, misfit, show, wrong
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.timebase import MAX_US, period_to_us

NO_END = "none"
"""Value of `t_end_s` for a run that ends when it is interrupted."""
AUTO = "auto"
"""Value of `t_end_s` for a run that ends after the landing: see `scenario.landing`."""
MOST_EVENTS = 1_000
"""Boundaries that a run without an end reserves for the times of events and gusts."""


def _end(value: Any) -> Any:
    if value in (NO_END, AUTO):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be a number of seconds, {AUTO!r} or {NO_END!r}")
    try:
        period_to_us(value, KEY)
    except TimeError as error:
        raise wrong(str(error)) from None
    return value


End = Annotated[float | Literal["auto", "none"], BeforeValidator(_end)]
"""End time in whole microseconds, or a word for a rule by which the run ends."""


class Timing(Part):
    """End time and periods of a run."""

    where: ClassVar[str] = "timeline"
    stage: ClassVar[str | None] = "axes"

    t_end_s: End = entry(
        60.0,
        "End time of the run. `auto`: the run ends 3 s after the vehicle has landed and disarmed, or after 60 s on the "
        "ground if it does not disarm; not before the last timed event. `none`: the run ends when it is interrupted "
        "(Ctrl-C, SIGTERM), and not at a crash.",
        "s",
        stage="end",
    )
    t_max_s: Period = entry(3600.0, 'Latest end of a run with `t_end_s = "auto"`.', "s", stage="end")
    dt_autopilot_s: Period = entry(0.004, "Period of the estimator and the autopilot.", "s")
    dt_wind_s: Period = entry(0.001, "Period of the wind updates.", "s")
    dt_log_s: Period = entry(0.01, "Period of the log rows.", "s")
    dt_phys_s: Period | None = entry(
        None,
        "Maximum physics step. Other periods must be whole multiples or whole fractions of it. By default, only event "
        "boundaries limit it.",
        "s",
        stage="physics_axis",
    )

    def check(self) -> Found:
        """Check that the number of boundaries is within its limit and the periods fit the physics step."""
        names = ("dt_autopilot_s", "dt_wind_s", "dt_log_s")
        end_us, step_us = self.end_us, self.us("dt_phys_s") if self.dt_phys_s is not None else 0
        total = sum(end_us // period_us + 1 for period_us in self._periods_us)
        if total > MAX_BOUNDARIES:
            text = f"gives up to {total:,} boundaries; the limit is {MAX_BOUNDARIES:,}"
            name = self.end_name
            yield misfit(name, getattr(self, name), f"{text}: end earlier or use longer periods")
        for name in names if step_us else ():
            if fits := whole_multiples_us(self.us(name), step_us):
                nearest = " or ".join(f"{near_us / 1e6:g}" for near_us in fits)
                text = f"is neither a whole multiple nor a whole fraction of timeline.dt_phys_s = {self.dt_phys_s}"
                yield misfit(name, getattr(self, name), f"{text}; use {nearest}")

    def us(self, name: str) -> int:
        """Return one of the times in microseconds."""
        return period_to_us(getattr(self, name), f"timeline.{name}")

    @property
    def _periods_us(self) -> list[int]:
        names = ("dt_autopilot_s", "dt_wind_s", "dt_log_s", "dt_phys_s")
        return [self.us(name) for name in names if getattr(self, name) is not None]

    @property
    def _rule(self) -> str | None:
        """The word for the rule by which the run ends; None for a time."""
        return self.t_end_s if isinstance(self.t_end_s, str) else None

    @property
    def has_end(self) -> bool:
        """Whether the run has an end; otherwise it ends on request."""
        return self._rule != NO_END

    @property
    def ends_after_landing(self) -> bool:
        """Whether the run ends after the landing, and `end_us` is only its latest end."""
        return self._rule == AUTO

    @property
    def end_us(self) -> int:
        """The latest end of the run; without one, the time at which the number of boundaries reaches its limit."""
        if self.has_end:
            return self.us(self.end_name)
        per_us = sum((Fraction(1, period_us) for period_us in self._periods_us), Fraction())
        return min(MAX_US, int((MAX_BOUNDARIES - MOST_EVENTS) / per_us))

    @property
    def end_name(self) -> str:
        """The name of the key that sets the latest end of the run."""
        return "t_max_s" if self.ends_after_landing else "t_end_s"

    def check_has_end(self, where: str, remedy: str) -> None:
        """Raise if the run has no end, where it would never end by itself."""
        if not self.has_end:
            raise InputError(f"timeline.t_end_s = {NO_END!r} is not supported {where}, which would never end; {remedy}")

    @property
    def tick_us(self) -> int:
        """The period of the autopilot."""
        return self.us("dt_autopilot_s")

    def axes(self) -> Timeline:
        """Return the timeline without the boundaries of events and gusts."""
        return Timeline(
            self.end_us,
            autopilot=Periodic(self.tick_us),
            wind=Periodic(self.us("dt_wind_s")),
            log=Periodic(self.us("dt_log_s")),
            physics=Periodic(self.us("dt_phys_s")) if self.dt_phys_s is not None else None,
            has_end=self.has_end,
            ends_after_landing=self.ends_after_landing,
        )


def build_timeline(axes: Timeline, scenario: Scenario, gusts: tuple[Gust, ...]) -> Timeline:
    """Return the timeline with additional boundaries at the times of events and gusts."""
    end_us = axes.end_us
    edges_us = [edge_us for edge_us in gust_edges_us(gusts) if edge_us <= end_us]
    times_us = tuple(sorted({*scenario.times_us(end_us), *edges_us}))
    with at(("timeline",)):
        return axes.with_events(times_us) if times_us else axes
