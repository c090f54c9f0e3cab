"""The table `[timeline]`: end time and periods of a run."""

from typing import ClassVar

from px4lockstep.engine.timeline import MAX_BOUNDARIES, Periodic, Timeline
from px4lockstep.environment.gust import Gust, gust_edges_us
from px4lockstep.part import Found, Part, Period, at, entry, misfit
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.timebase import period_to_us


class Timing(Part):
    """End time and periods of a run."""

    where: ClassVar[str] = "timeline"
    stage: ClassVar[str | None] = "axes"

    t_end_s: Period = entry(60.0, "End time of the run.", "s", stage="end")
    dt_autopilot_s: Period = entry(0.004, "Period of the estimator and the autopilot.", "s")
    dt_wind_s: Period = entry(0.001, "Period of the wind updates.", "s")
    dt_log_s: Period = entry(0.01, "Period of the log rows.", "s")
    dt_phys_s: Period | None = entry(
        None,
        "Maximum physics step. Other periods must be whole multiples. By default, only event boundaries limit it.",
        "s",
        stage="physics_axis",
    )

    def check(self) -> Found:
        """Check that the number of boundaries is within its limit and the periods are multiples of the physics step."""
        names = ("dt_autopilot_s", "dt_wind_s", "dt_log_s")
        end_us, step_us = self.us("t_end_s"), self.us("dt_phys_s") if self.dt_phys_s is not None else 0
        total = sum(end_us // self.us(name) + 1 for name in names) + (end_us // step_us + 1 if step_us else 0)
        if total > MAX_BOUNDARIES:
            text = f"gives up to {total:,} boundaries; the limit is {MAX_BOUNDARIES:,}"
            yield misfit("t_end_s", self.t_end_s, f"{text}: end earlier or use longer periods")
        for name in names if step_us else ():
            below_us = self.us(name) // step_us * step_us
            if below_us != self.us(name):
                nearest = " or ".join(f"{near_us / 1e6:g}" for near_us in (below_us, below_us + step_us) if near_us)
                text = f"is not a whole multiple of timeline.dt_phys_s = {self.dt_phys_s}; use {nearest}"
                yield misfit(name, getattr(self, name), text)

    def us(self, name: str) -> int:
        """Return one of the times in microseconds."""
        return period_to_us(getattr(self, name), f"timeline.{name}")

    @property
    def tick_us(self) -> int:
        """The period of the autopilot."""
        return self.us("dt_autopilot_s")

    def axes(self) -> Timeline:
        """Return the timeline without the boundaries of events and gusts."""
        return Timeline(
            self.us("t_end_s"),
            autopilot=Periodic(self.tick_us),
            wind=Periodic(self.us("dt_wind_s")),
            log=Periodic(self.us("dt_log_s")),
            physics=Periodic(self.us("dt_phys_s")) if self.dt_phys_s is not None else None,
        )


def build_timeline(axes: Timeline, scenario: Scenario, gusts: tuple[Gust, ...]) -> Timeline:
    """Return the timeline with additional boundaries at the times of events and gusts."""
    end_us = axes.end_us
    edges_us = [edge_us for edge_us in gust_edges_us(gusts) if edge_us <= end_us]
    times_us = tuple(sorted({*scenario.times_us(end_us), *edges_us}))
    with at(("timeline",)):
        return axes.with_events(times_us) if times_us else axes
