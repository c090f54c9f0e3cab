"""Frequency response of a control loop, from a chirp of its setpoint.

    found = chirp("x500", loop="roll_rate")
    found.bandwidth_hz, found.margins.phase_deg, found.margins.gain_db

The frequency rises exponentially from f_0 to f_1, so every octave gets the same time:

    f(t) = f_0 (f_1 / f_0)^(t / T),   φ(t) = 2π ∫ f dt

The setpoint is A w(t) sin φ with a taper w at both ends. For body rates it is the derivative of an angle
A w(t) sin φ / (2π f), so that the vehicle stays level on average.

The closed loop is the response from the setpoint to the true quantity. Where the open loop is broken:

    body rates    at the torque setpoint. L = C G, with the plant G from the torque setpoint to the estimated rate as
                  measured, and the feedback C of the rate controller (P, I and D with their filters) run over the
                  flight. `controller_error` compares the torque of this controller with that of the flight
    others        at the error of the loop, with the inner loops closed: L = T / (1 − T), with T from the setpoint to
                  the estimate

Stock PX4 does not report its estimate and torque setpoints, so it has a closed loop only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.experiments.excitation import ARM_S, HEIGHT_M, LEAD_S, Excitation
from px4lockstep.experiments.frequency import MIN_COHERENCE, Margins, Spectra, bandwidth_hz
from px4lockstep.experiments.linear_model import AxisModel, RateController
from px4lockstep.experiments.loops import ATTITUDE, RATE, Loop, loop_of
from px4lockstep.experiments.step import check_number, check_size, shown
from px4lockstep.flights.run import Run, fly, loaded
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.spec.build import build
from px4lockstep.spec.spec import Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

LINEAR_COHERENCE = 0.95
"""Lowest coherence of a calm flight whose response is linear; that of the X500 is 0.998."""
ROWS_PER_CYCLE = 40
"""Setpoints per cycle of the highest frequency, unless ticks are longer."""
TAPER_CYCLES = 1.0
"""Length of the taper at the start, in cycles of the lowest frequency; at the end it is 2 % of the chirp."""
END_TAPER = 0.02
HIDDEN = "the log has no estimate and no torque setpoints of {name}, so there are no open loop and no margins either"
RINGING_CYCLES = 2.0
"""Time after the chirp for the response to end, in cycles of the lowest frequency."""
MARGIN_ROWS = (
    ("phase margin", "phase_deg", 1, "°"),
    ("  at", "phase_hz", 2, "Hz"),
    ("gain margin", "gain_db", 2, "dB"),
    ("  at", "gain_hz", 2, "Hz"),
)
"""Rows of the table of a result: label, attribute of `Margins`, digits and unit."""


@dataclass(frozen=True)
class LinearLoop:
    """What the linear model predicts at the measured frequencies."""

    open_loop: Complex
    closed_loop: Complex
    margins: Margins
    bandwidth_hz: float


@dataclass(frozen=True, repr=False)
class FrequencyResponse(ShownInNotebook):
    """The frequency response of a loop."""

    loop: Loop
    amplitude: float
    frequency_hz: Array = field(compare=False)
    closed_loop: Complex = field(compare=False)  # setpoint to true response
    open_loop: Complex | None = field(compare=False)  # None if the autopilot does not report what it needs
    coherence: Array = field(compare=False)  # of setpoint and response
    controller_error: float | None
    """Largest relative difference of the torque setpoint of the flight from that of the known controller."""
    model: LinearLoop | None = field(compare=False)
    no_model: str | None  # why there is no linear model
    run: Run = field(compare=False)

    def __repr__(self) -> str:
        closed = (
            f"<FrequencyResponse {self.run.spec.aircraft.name} {self.loop.name}: bandwidth {self.bandwidth_hz:.2f} Hz"
        )
        if self.open_loop is None:
            return f"{closed}>"
        return (
            f"{closed}, phase margin {self.margins.phase_deg:.1f}° at {self.margins.phase_hz:.2f} Hz, gain margin "
            f"{self.margins.gain_db:.1f} dB at {self.margins.gain_hz:.2f} Hz>"
        )

    def _where_coherent(self, response: Complex) -> Complex:
        return np.where(self.coherence >= MIN_COHERENCE, response, np.nan)

    @cached_property
    def margins(self) -> Margins:
        """Phase and gain margin, where the coherence is at least 0.5; NaN without an open loop."""
        if self.open_loop is None:
            return Margins(*[float("nan")] * 4)
        return Margins.of(self.frequency_hz, self._where_coherent(self.open_loop))

    @cached_property
    def bandwidth_hz(self) -> float:
        """Frequency at which the closed loop falls below −3 dB; NaN if it does not in the band."""
        return bandwidth_hz(self.frequency_hz, self._where_coherent(self.closed_loop))

    @property
    def peak_db(self) -> float:
        """Largest gain of the closed loop."""
        return float(20.0 * np.log10(np.nanmax(np.abs(self._where_coherent(self.closed_loop)))))

    @property
    def warning(self) -> str | None:
        """A warning if the response is not linear, or noisy; None otherwise."""
        least = float(self.coherence.min())
        if least >= LINEAR_COHERENCE:
            return None
        cause = "motors that saturate, noise or wind reduce it; try another amplitude or a longer duration"
        return f"the coherence falls to {least:.2f}: {cause}"

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; what is not in the band is None."""
        model = self.model
        return {
            "aircraft": self.run.spec.aircraft.name,
            "loop": self.loop.name,
            "unit": self.loop.unit,
            "amplitude": self.amplitude,
            "bandwidth_hz": _none(self.bandwidth_hz),
            "peak_db": self.peak_db,
            **_margin_entries(self.margins),
            "min_coherence": float(self.coherence.min()),
            "controller_error": self.controller_error,
            "model": None
            if model is None
            else {"bandwidth_hz": _none(model.bandwidth_hz), **_margin_entries(model.margins)},
            "no_model": self.no_model,
            "warning": self.warning,
            "frequency_hz": self.frequency_hz.tolist(),
            "closed_loop_gain_db": _db(self.closed_loop),
            "closed_loop_phase_deg": _deg(self.closed_loop),
            "open_loop_gain_db": None if self.open_loop is None else _db(self.open_loop),
            "open_loop_phase_deg": None if self.open_loop is None else _deg(self.open_loop),
            "coherence": self.coherence.tolist(),
            "digest": self.run.digest,
        }

    @property
    def table(self) -> HtmlTable:
        """Bandwidth and margins as text, measured and, if there is one, of the linear model."""
        both: list[FrequencyResponse | LinearLoop] = [self, *([] if self.model is None else [self.model])]
        rows = [("bandwidth (-3 dB)", *(shown(own.bandwidth_hz, 2, "Hz") for own in both))]
        for label, name, digits, unit in MARGIN_ROWS if self.open_loop is not None else ():
            rows.append((label, *(shown(getattr(own.margins, name), digits, unit) for own in both)))
        rows.append(("lowest coherence", f"{self.coherence.min():.3f}"))
        title = f"{self.run.spec.aircraft.name}: frequency response of {self.loop.title}, {self.amplitude:g}"
        return HtmlTable(rows, ("", "measured", "linear model")[: 1 + len(both)], f"{title} {self.loop.unit}")

    def _tables(self) -> list[HtmlTable]:
        return [self.table]

    def _figure(self) -> "Figure":
        return self.plot()

    def plot(self) -> "Figure":
        """Return the Bode plot as a Matplotlib figure."""
        from px4lockstep.experiments.bode_figure import plot_bode

        return plot_bode(self)


def _none(value: float) -> float | None:
    return None if np.isnan(value) else value


def _margin_entries(margins: Margins) -> dict[str, float | None]:
    names = {"phase_deg": "phase_margin_deg", "phase_hz": "phase_margin_hz"}
    names |= {"gain_db": "gain_margin_db", "gain_hz": "gain_margin_hz"}
    return {names[name]: value for name, value in margins.as_dict().items()}


def _db(response: Complex) -> list[float]:
    decibels: list[float] = (20.0 * np.log10(np.abs(response))).tolist()
    return decibels


def _deg(response: Complex) -> list[float]:
    degrees: list[float] = np.degrees(np.unwrap(np.angle(response))).tolist()
    return degrees


def chirp_signal(
    start_hz: float, end_hz: float, duration_s: float, period_s: float, *, is_rate: bool
) -> tuple[Array, Array]:
    """Return times and values of a chirp with amplitude 1; with `is_rate`, the mean of its integral is about zero."""
    count = round(duration_s / period_s)
    time_s: Array = np.arange(count + 1, dtype=np.float64) * period_s
    ratio = end_hz / start_hz
    hz = start_hz * ratio ** (time_s / duration_s)
    phase = 2.0 * np.pi * duration_s / np.log(ratio) * (hz - start_hz)
    rise_s, fall_s = TAPER_CYCLES / start_hz, END_TAPER * duration_s
    taper = np.minimum(_ramp(time_s / rise_s), _ramp((duration_s - time_s) / fall_s))
    if not is_rate:
        return time_s, taper * np.sin(phase)
    angle = taper * np.sin(phase) / (2.0 * np.pi * hz)
    rate = np.diff(angle, append=0.0) / period_s  # held for a period, it gives these angles exactly
    return time_s, rate


def _ramp(fraction: Array) -> Array:
    smooth: Array = 0.5 - 0.5 * np.cos(np.pi * np.clip(fraction, 0.0, 1.0))
    return smooth


@dataclass(frozen=True)
class ChirpTest:
    """A chirp that is to be flown."""

    excitation: Excitation
    amplitude: float
    start_hz: float
    end_hz: float

    @classmethod
    def of(
        cls,
        spec: Spec,
        loop: str,
        amplitude: float | None = None,
        start_hz: float | None = None,
        end_hz: float | None = None,
        duration_s: float | None = None,
        disturbed: bool = False,
    ) -> "ChirpTest":
        """Return the chirp of a loop; None chooses the loop's default."""
        own = loop_of(loop)
        amplitude = own.chirp.amplitude if amplitude is None else amplitude
        start_hz = own.chirp.start_hz if start_hz is None else start_hz
        end_hz = own.chirp.end_hz if end_hz is None else end_hz
        duration_s = own.chirp.duration_s if duration_s is None else duration_s
        tick_s = spec.timeline.tick_us / 1e6
        half_hz = 0.5 / tick_s
        check_number("amplitude", amplitude, f"a number of {own.unit} above 0", amplitude > 0.0)
        check_size("amplitude", amplitude, own)
        check_number("start_hz", start_hz, "above 0 and below end_hz", 0.0 < start_hz < end_hz)
        limit = f"at most {half_hz:g}, half the rate of the autopilot"
        check_number("end_hz", end_hz, limit, end_hz <= half_hz)
        least_s = 3.0 / start_hz
        check_number("duration_s", duration_s, f"{least_s:g} (3 / start_hz) to 3600 s", least_s <= duration_s <= 3600.0)
        ticks = max(1, int(1.0 / (ROWS_PER_CYCLE * end_hz * tick_s)))
        times, values = chirp_signal(start_hz, end_hz, duration_s, ticks * tick_s, is_rate=own.kind == RATE)
        watched_s = duration_s + RINGING_CYCLES / start_hz + LEAD_S
        return cls(
            Excitation(spec, own, times, amplitude * values, watched_s, not disturbed), amplitude, start_hz, end_hz
        )

    @property
    def flown(self) -> Spec:
        """The spec of the flight."""
        return self.excitation.flown

    def measure(self, run: Run) -> FrequencyResponse:
        """Measure the responses in the flight."""
        flight, loop = self.excitation, self.excitation.loop
        flight.check_flown(run)
        rows = flight.cut(run.log, -LEAD_S, flight.watched_s)
        time_us = np.asarray(run.log["time_us"][rows])
        signals, error = {"response": loop.response(run.log)[rows], "feedback": loop.feedback(run.log)[rows]}, None
        has_torque = loop.kind == RATE and not flight.is_hidden
        if has_torque:
            signals["torque"] = np.asarray(run.log["torque_sp_body"], np.float64)[rows, loop.axis] * loop.scale
        signals = {name: values - values[0] for name, values in signals.items()}
        given = self._given(time_us)
        if has_torque:
            controller = RateController.of(flight.spec, flight.params, loop.axis)
            forward, signals["returned"] = controller.torques(given, signals["feedback"])
            torque = signals["torque"]
            error = float(np.abs(torque - forward - signals["returned"]).max() / np.abs(torque).max())
        spectra = Spectra.of(given, signals, flight.tick_us / 1e6, LEAD_S, (self.start_hz, self.end_hz))
        hz = spectra.frequency_hz
        model, no_model = self._model()
        open_loop: Complex | None = None
        if has_torque:
            open_loop = -spectra.response("torque", "returned")
        elif not flight.is_hidden:
            fed_back = spectra.response(None, "feedback")
            open_loop = fed_back / (1.0 - fed_back)
        return FrequencyResponse(
            loop,
            self.amplitude,
            hz,
            spectra.response(None, "response"),
            open_loop,
            spectra.coherence("response"),
            error,
            None if model is None else _predicted(model, loop, hz),
            no_model,
            run,
        )

    def _given(self, time_us: npt.NDArray[np.uint64]) -> Array:
        """Return the excitation at the rows of the log: that of the last setpoint, 0 before the first."""
        flight = self.excitation
        row_us = np.rint((flight.start_s + flight.time_s) * 1e6).astype(np.int64)
        index = np.searchsorted(row_us, time_us.astype(np.int64), side="right") - 1
        return np.where(index >= 0, flight.value[index.clip(min=0)], 0.0)

    def _model(self) -> tuple[AxisModel | None, str | None]:
        """Return the linear model of the loop's axis in the middle of the chirp, or why there is none."""
        flight = self.excitation
        if flight.is_hidden:
            return None, HIDDEN.format(name=flight.spec.autopilot.capabilities.name)
        if flight.loop.kind not in (RATE, ATTITUDE):
            return None, f"the linear model has rate and attitude loops, not {flight.loop.kind} loops"
        after_s = flight.start_s + 0.5 * float(flight.time_s[-1]) - ARM_S
        try:
            return AxisModel.of(flight.spec, flight.params, flight.loop.axis, HEIGHT_M, after_s), None
        except InputError as error:
            return None, str(error)


def _predicted(model: AxisModel, loop: Loop, hz: Array) -> LinearLoop:
    if loop.kind == RATE:
        open_loop, closed_loop = model.rate_open_loop(hz), model.rate_closed_loop(hz)
    else:
        open_loop, closed_loop = model.attitude_open_loop(hz), model.attitude_closed_loop(hz)
    return LinearLoop(open_loop, closed_loop, Margins.of(hz, open_loop), bandwidth_hz(hz, closed_loop))


def chirp(
    spec: str | Path | Spec,
    loop: str,
    *,
    amplitude: float | None = None,
    start_hz: float | None = None,
    end_hz: float | None = None,
    duration_s: float | None = None,
    disturbed: bool = False,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    trust: bool = False,
) -> FrequencyResponse:
    """Measure the frequency response of a control loop: take off, hover, and add a chirp to the loop's setpoint.

        found = chirp("x500", loop="roll_rate")
        found.bandwidth_hz, found.margins.phase_deg, found.margins.gain_db
        found.plot().savefig("bode.png")

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec.
        loop: A loop, with the names of `step`.
        amplitude: Amplitude of the setpoint, in °/s, °, m/s or m. Default: a usual one for the loop.
        start_hz: Lowest frequency. Default: by loop.
        end_hz: Highest frequency. Default: by loop.
        duration_s: Duration of the chirp. Default: by loop.
        disturbed: Whether to keep wind, gusts, and the noise and bias of the estimate.
        overrides: Values by dotted key that replace the file's: `{"autopilot.params.MC_ROLLRATE_P": 0.2}`.
        seed: Random seed, short for the override of `aircraft.seed`.
        trust: Whether to run code that the file names, wherever the file is.

    Returns:
        The response, with bandwidth, margins, Bode plot, linear model and flight.

    Raises:
        InputError: If the file, the overrides or an argument is invalid, the autopilot takes no setpoints, or the
            vehicle does not reach its hover.
        SimulationError: If the run can't continue, or the vehicle crashes, lands or leaves setpoint mode.
    """
    given = loaded(spec, overrides, seed, trust=trust)
    test = ChirpTest.of(given, loop, amplitude, start_hz, end_hz, duration_s, disturbed)
    return test.measure(fly(build(test.flown)))
