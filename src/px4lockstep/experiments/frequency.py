"""Frequency responses from a flight, and the margins of a loop.

With an excitation r that is independent of noise, and cross spectra S, the response from a signal x to a signal y is

    H = S_ry / S_rx

also in a closed loop, where S_xy / S_xx would be biased by noise that is fed back. The coherence of r and y is
γ² = |S_ry|² / (S_rr S_yy). Spectra are those of the whole record, averaged over neighbouring frequencies (Daniell): the
record starts and ends at rest, so nothing leaks.

Margins of an open loop L (negative feedback, closed loop stable if L does not encircle −1):

    phase margin    180° + arg L where |L| = 1, the smallest of all such frequencies
    gain margin     1 / |L| where arg L = −180° and |L| < 1, the smallest

Reference:
    L. Ljung, System Identification, 2nd ed., 1999, sections 6.4 and 13.5: spectral estimates, closed-loop data.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import signal

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

POINTS = 300
WIDTH = 0.02
"""Half width of the average over neighbouring frequencies, relative to the frequency."""
MIN_BINS = 1
"""Half width in bins, at least."""
MIN_COHERENCE = 0.5
"""Coherence below which a point has no meaning, and does not count for margins and bandwidth."""
MINUS_3_DB = 10.0 ** (-3.0 / 20.0)


@dataclass(frozen=True)
class Spectra:
    """Averaged cross spectra of an excitation with itself and with signals, at about logarithmic frequencies."""

    frequency_hz: Array
    excitation: Array  # S_rr
    crossed: dict[str, Complex]  # S_ry
    powers: dict[str, Array]  # S_yy

    @classmethod
    def of(
        cls, excitation: Array, signals: dict[str, Array], tick_s: float, taper_s: float, band_hz: tuple[float, float]
    ) -> "Spectra":
        """Return the spectra of a record in a band; its ends are at rest for `taper_s`, where it is tapered."""
        window = signal.windows.tukey(len(excitation), 2.0 * taper_s / (len(excitation) * tick_s))
        options = {"fs": 1.0 / tick_s, "window": window, "nperseg": len(window), "detrend": "constant"}
        bins = np.fft.rfftfreq(len(window), tick_s)
        grid = np.geomspace(*band_hz, POINTS)
        half = np.maximum(WIDTH * grid, MIN_BINS * bins[1])
        edges = np.column_stack([np.searchsorted(bins, grid - half), np.searchsorted(bins, grid + half, side="right")])
        first, last = np.unique(edges, axis=0).T  # neighbours may have the same bins

        def mean(values: Complex) -> Complex:
            total = np.concatenate([[0.0], np.cumsum(values)])
            average: Complex = (total[last] - total[first]) / (last - first)
            return average

        def averaged(x: Array, y: Array) -> Complex:
            return mean(signal.csd(x, y, **options)[1])

        crossed = {name: averaged(excitation, values) for name, values in signals.items()}
        powers = {name: averaged(values, values).real for name, values in signals.items()}
        return cls(mean(bins.astype(np.complex128)).real, averaged(excitation, excitation).real, crossed, powers)

    def response(self, x: str | None, y: str) -> Complex:
        """Return the response from a signal, or from the excitation, to another signal."""
        below: Array | Complex = self.excitation if x is None else self.crossed[x]
        ratio: Complex = self.crossed[y] / below
        return ratio

    def coherence(self, y: str) -> Array:
        """Return the coherence of the excitation and a signal."""
        return np.abs(self.crossed[y]) ** 2 / (self.excitation * self.powers[y])


@dataclass(frozen=True)
class Margins:
    """Margins of a loop and their frequencies; NaN if the loop has no such crossing in the measured band."""

    phase_deg: float
    phase_hz: float
    gain_db: float
    gain_hz: float

    @classmethod
    def of(cls, frequency_hz: Array, open_loop: Complex) -> "Margins":
        """Return the margins of an open loop; points that are NaN do not count."""
        nothing = (float("nan"), float("nan"))
        return cls(
            *min(_phase_margins(frequency_hz, open_loop), default=nothing),
            *min(_gain_margins(frequency_hz, open_loop), default=nothing),
        )

    def as_dict(self) -> dict[str, float | None]:
        """Return the margins for JSON; None if there is no such crossing."""
        return {name: None if np.isnan(value) else value for name, value in vars(self).items()}


def _crossings(values: Array) -> list[tuple[int, float]]:
    """Return where a sequence changes sign: the index before, and the fraction of the interval to the zero."""
    before, after = values[:-1], values[1:]
    found = np.flatnonzero((before < 0.0) != (after < 0.0))
    return [(int(i), float(before[i] / (before[i] - after[i]))) for i in found if np.isfinite(before[i] - after[i])]


def _between(values: Array, i: int, fraction: float) -> float:
    return float(values[i] + fraction * (values[i + 1] - values[i]))


def _phase_margins(frequency_hz: Array, open_loop: Complex) -> list[tuple[float, float]]:
    """Return the phase margin [deg] and the frequency of each gain crossover."""
    log_gain, log_hz, found = np.log(np.abs(open_loop)), np.log(frequency_hz), []
    for i, fraction in _crossings(log_gain):
        turn = np.angle(open_loop[i + 1] / open_loop[i])
        phase = np.degrees(np.angle(open_loop[i]) + fraction * turn)
        margin = (phase + 360.0) % 360.0 - 180.0  # -180 < margin <= 180
        found.append((margin, float(np.exp(_between(log_hz, i, fraction)))))
    return found


def _gain_margins(frequency_hz: Array, open_loop: Complex) -> list[tuple[float, float]]:
    """Return the gain margin [dB] and the frequency of each phase crossover with a gain below 1."""
    log_gain, log_hz, found = np.log(np.abs(open_loop)), np.log(frequency_hz), []
    opposite = np.angle(-open_loop)  # 0 where the phase is -180°
    for i, fraction in _crossings(opposite):
        gain_db = 20.0 / np.log(10.0) * _between(log_gain, i, fraction)
        if abs(opposite[i]) < 0.5 * np.pi and gain_db < 0.0:  # not where the angle wraps
            found.append((-gain_db, float(np.exp(_between(log_hz, i, fraction)))))
    return found


def bandwidth_hz(frequency_hz: Array, closed_loop: Complex) -> float:
    """Return the first frequency at which a closed loop falls below −3 dB; NaN if it does not, or is below before."""
    gain = np.log(np.abs(closed_loop)) - np.log(MINUS_3_DB)
    if not gain[np.isfinite(gain)][:1] > 0.0:
        return float("nan")
    for i, fraction in _crossings(gain):
        return float(np.exp(_between(np.log(frequency_hz), i, fraction)))
    return float("nan")
