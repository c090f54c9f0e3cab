"""Step response of a control loop.

    found = step("x500", loop="roll_rate", size=30.0)
    found.overshoot_percent, found.rise_s, found.settling_s

The response is the true one, relative to its mean in the half second before the step. With the step size A and times
from the step, interpolated linearly between ticks:

    delay       until the response first reaches 50 % of A
    rise        from 10 % to 90 % of A, both reached for the first time
    overshoot   largest response beyond A, in percent of A
    settling    until the response stays within the band around A, by default 5 % of A
    error       A minus the mean response in the last tenth of the time that is watched

These are the usual definitions (e.g. K. Ogata, Modern Control Engineering, 5th ed., 2010, section 5-3).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.experiments.excitation import Excitation
from px4lockstep.experiments.loops import ATTITUDE, Loop, loop_of
from px4lockstep.flights.run import Run, fly, loaded
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.scenario.setpoints import LARGEST
from px4lockstep.spec.build import build
from px4lockstep.spec.spec import Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

BAND_PERCENT = 5.0
BEFORE_S = 0.5
LAST = 0.1
"""Fraction of the time at its end whose mean is the steady state."""


@dataclass(frozen=True, repr=False)
class StepResponse(ShownInNotebook):
    """The step response of a loop. Times that are never reached are NaN."""

    loop: Loop
    size: float
    band_percent: float
    time_s: Array = field(compare=False)  # from the step; negative before it
    response: Array = field(compare=False)  # relative to the value before the step, in the loop's unit
    run: Run = field(compare=False)

    def __repr__(self) -> str:
        return (
            f"<StepResponse {self.run.spec.aircraft.name} {self.loop.name}, {self.size:g} {self.loop.unit}: rise "
            f"{self.rise_s:.3f} s, overshoot {self.overshoot_percent:.1f} %, settling {self.settling_s:.2f} s>"
        )

    @property
    def first_row(self) -> int:
        """The row of `time_s` and `response` at the step."""
        return int(np.searchsorted(self.time_s, 0.0))

    @property
    def _relative(self) -> tuple[Array, Array]:
        """Times from the step, and the response as a fraction of the step."""
        return self.time_s[self.first_row :], self.response[self.first_row :] / self.size

    def _reached_s(self, level: float) -> float:
        time_s, y = self._relative
        above = np.flatnonzero(y >= level)
        if not len(above):
            return float("nan")
        i = int(above[0])
        return float(time_s[0] if i == 0 else np.interp(level, y[i - 1 : i + 1], time_s[i - 1 : i + 1]))

    @property
    def delay_s(self) -> float:
        """Time until half of the step is reached."""
        return self._reached_s(0.5)

    @property
    def rise_s(self) -> float:
        """Time from 10 % to 90 % of the step."""
        return self._reached_s(0.9) - self._reached_s(0.1)

    @property
    def overshoot_percent(self) -> float:
        """Overshoot beyond the step, in percent of it."""
        return 100.0 * max(float(self._relative[1].max()) - 1.0, 0.0)

    @property
    def settling_s(self) -> float:
        """Time until the response stays within the band around the step."""
        time_s, y = self._relative
        error = np.abs(y - 1.0) - self.band_percent / 100.0
        outside = np.flatnonzero(error > 0.0)
        if not len(outside):
            return float(time_s[0])
        i = int(outside[-1])
        return float("nan") if i + 1 == len(y) else float(np.interp(0.0, -error[i : i + 2], time_s[i : i + 2]))

    @property
    def error(self) -> float:
        """Steady-state error, in the loop's unit."""
        time_s, y = self._relative
        last = int(np.searchsorted(time_s, (1.0 - LAST) * time_s[-1]))
        return self.size * (1.0 - float(y[last:].mean()))

    @property
    def numbers(self) -> dict[str, float]:
        """The measured numbers, by name; `error` is in the loop's unit."""
        names = ("delay_s", "rise_s", "overshoot_percent", "settling_s", "error")
        return {name: getattr(self, name) for name in names}

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; a time that is not reached is None."""
        numbers = {name: None if np.isnan(value) else value for name, value in self.numbers.items()}
        about = {"aircraft": self.run.spec.aircraft.name, "loop": self.loop.name, "size": self.size}
        about |= {"unit": self.loop.unit, "band_percent": self.band_percent, "watched_s": float(self.time_s[-1])}
        return {**about, **numbers, "digest": self.run.digest}

    @property
    def table(self) -> HtmlTable:
        """The numbers as text."""
        rows = (
            ("delay, to 50 %", shown(self.delay_s, 3, "s")),
            ("rise, 10 to 90 %", shown(self.rise_s, 3, "s")),
            ("overshoot", shown(self.overshoot_percent, 1, "%")),
            (f"settling to {self.band_percent:g} %", shown(self.settling_s, 3, "s")),
            ("steady-state error", f"{self.error:.3g} {self.loop.unit}"),
        )
        name = self.run.spec.aircraft.name
        return HtmlTable(rows, title=f"{name}: step of {self.size:g} {self.loop.unit} in {self.loop.title}")

    def _tables(self) -> list[HtmlTable]:
        return [self.table]

    def _figure(self) -> "Figure":
        return self.plot()

    def plot(self) -> "Figure":
        """Return a Matplotlib figure of the response."""
        from px4lockstep.experiments.step_figure import plot_steps

        return plot_steps([self])


@dataclass(frozen=True)
class StepTest:
    """A step that is to be flown."""

    excitation: Excitation
    size: float
    band_percent: float

    @classmethod
    def of(
        cls,
        spec: Spec,
        loop: str,
        size: float | None = None,
        watch_s: float | None = None,
        band_percent: float = BAND_PERCENT,
        disturbed: bool = False,
    ) -> "StepTest":
        """Return the step of a loop; None chooses the loop's default."""
        own = loop_of(loop)
        size = own.size if size is None else size
        watch_s = own.watched_s if watch_s is None else watch_s
        check_number("size", size, f"a number of {own.unit} other than 0", abs(size) > 0.0)
        check_size("size", size, own)
        check_number("watch_s", watch_s, "0.1 to 600 s", 0.1 <= watch_s <= 600.0)
        check_number("band_percent", band_percent, "above 0 and below 100", 0.0 < band_percent < 100.0)
        times, values = np.zeros(1), np.array([size])
        return cls(Excitation(spec, own, times, values, watch_s, not disturbed), size, band_percent)

    @property
    def flown(self) -> Spec:
        """The spec of the flight."""
        return self.excitation.flown

    def measure(self, run: Run) -> StepResponse:
        """Measure the response in the flight."""
        flight, loop = self.excitation, self.excitation.loop
        flight.check_flown(run)
        rows = flight.cut(run.log, -BEFORE_S, flight.watched_s)
        since_us = np.asarray(run.log["time_us"][rows], np.int64) - round(flight.start_s * 1e6)
        value = loop.response(run.log)[rows]
        before = value[since_us < 0].mean()
        return StepResponse(loop, self.size, self.band_percent, since_us / 1e6, value - before, run)


def shown(value: float, digits: int, unit: str) -> str:
    """Return a number with its unit, or words if it is NaN."""
    return "not reached" if np.isnan(value) else f"{value:.{digits}f}{'' if unit == '°' else ' '}{unit}"


def check_number(name: str, value: float, allowed: str, is_allowed: bool) -> None:
    """Raise if a number is not allowed."""
    if not (is_allowed and np.isfinite(value)):
        raise InputError(f"{name} = {value!r} is not allowed; it must be {allowed}")


def check_size(name: str, value: float, loop: Loop) -> None:
    """Raise if a setpoint of a loop is beyond the limits of setpoints, or tilts the vehicle by 90° or more."""
    limit = 90.0 if loop.kind == ATTITUDE and loop.axis < 2 else LARGEST[loop.key] * abs(loop.scale)
    allowed = f"less than {limit:.6g} {loop.unit} in magnitude"
    check_number(name, value, allowed, abs(value) < limit)


def step(
    spec: str | Path | Spec,
    loop: str,
    size: float | None = None,
    *,
    watch_s: float | None = None,
    band_percent: float = BAND_PERCENT,
    disturbed: bool = False,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    trust: bool = False,
) -> StepResponse:
    """Measure the step response of a control loop: take off, hover, and step the loop's setpoint.

        found = step("x500", loop="roll_rate", size=30.0)
        found.rise_s, found.overshoot_percent, found.settling_s
        found.plot().savefig("step.png")

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec.
        loop: `roll_rate`, `pitch_rate`, `yaw_rate`, `roll`, `pitch`, `yaw`, `vel_north`, `vel_east`, `vel_down`,
            `pos_north`, `pos_east` or `height`.
        size: Size of the step, in °/s, °, m/s or m. Default: a usual size for the loop.
        watch_s: How long the response is measured. Default: 1 to 10 s, by loop.
        band_percent: Settling band, in percent of the step.
        disturbed: Whether to keep wind, gusts, and the noise and bias of the estimate.
        overrides: Values by dotted key that replace the file's: `{"autopilot.params.MC_ROLLRATE_P": 0.2}`.
        seed: Random seed, short for the override of `aircraft.seed`.
        trust: Whether to run code that the file names, wherever the file is.

    Returns:
        The response, with its numbers, figure and flight.

    Raises:
        InputError: If the file, the overrides or an argument is invalid, the autopilot takes no setpoints, or the
            vehicle does not reach its hover.
        SimulationError: If the run can't continue, or the vehicle crashes, lands or leaves setpoint mode.
    """
    test = StepTest.of(loaded(spec, overrides, seed, trust=trust), loop, size, watch_s, band_percent, disturbed)
    return test.measure(fly(build(test.flown)))
