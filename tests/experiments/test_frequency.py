"""Frequency responses and margins, against systems whose answers are known in closed form."""

import numpy as np
import pytest
from scipy import signal

from px4lockstep.experiments.chirp import chirp_signal
from px4lockstep.experiments.frequency import Margins, Spectra, bandwidth_hz

HZ = np.geomspace(0.01, 10.0, 4000)
S = 2j * np.pi * HZ
TICK_S = 0.004


def test_margins_of_a_third_order_loop_are_those_of_the_closed_form():
    """K / (s (s + 1) (s + 2)): phase crossover at √2 rad/s, gain margin 6 / K (Ogata, example 7-13)."""
    margins = Margins.of(HZ, 1.5 / (S * (S + 1.0) * (S + 2.0)))
    assert margins.gain_hz == pytest.approx(np.sqrt(2.0) / (2.0 * np.pi), rel=1e-5)
    assert margins.gain_db == pytest.approx(20.0 * np.log10(4.0), abs=1e-3)


def test_phase_margin_of_an_integrator_with_delay():
    """ω_c exp(−s d) / s: 90° minus ω_c d, at ω_c."""
    crossover, delay_s = 3.0, 0.2
    margins = Margins.of(HZ, crossover * np.exp(-S * delay_s) / S)
    assert margins.phase_hz == pytest.approx(crossover / (2.0 * np.pi), rel=1e-5)
    assert margins.phase_deg == pytest.approx(90.0 - np.degrees(crossover * delay_s), abs=1e-3)
    assert margins.gain_db == pytest.approx(20.0 * np.log10(0.5 * np.pi / delay_s / crossover), abs=1e-3)


def test_an_unstable_loop_has_a_negative_phase_margin():
    """The same loop with too much delay: 90° minus 172°."""
    assert Margins.of(HZ, 3.0 * np.exp(-S) / S).phase_deg == pytest.approx(90.0 - np.degrees(3.0), abs=1e-3)


def test_margins_without_crossings_are_nan():
    """A first-order lag with gain 0.5 never reaches 1 or −180°."""
    assert all(np.isnan(value) for value in vars(Margins.of(HZ, 0.5 / (S + 1.0))).values())


def test_bandwidth_of_a_lag_is_its_corner_frequency():
    """|1 / (τ s + 1)| = 10^(−3/20) at 0.99763 / τ."""
    assert bandwidth_hz(HZ, 1.0 / (0.5 * S + 1.0)) == pytest.approx(0.99763 / np.pi, rel=1e-4)


def test_bandwidth_outside_the_band_is_nan():
    """A gain of 1 never falls; a gain of 0.1 is below from the start."""
    assert np.isnan(bandwidth_hz(HZ, np.ones_like(S)))
    assert np.isnan(bandwidth_hz(HZ, 0.1 / (S + 1.0)))


@pytest.fixture(scope="module")
def record():
    """Return a closed loop with noise in its feedback, excited by a chirp: y = G u, u = 4 (r − y − n)."""
    values = chirp_signal(0.2, 20.0, 40.0, TICK_S, is_rate=False)[1]
    r = np.concatenate([np.zeros(250), values, np.zeros(3000)])
    noise = 0.3 * np.random.default_rng(1).standard_normal(len(r))
    lag = np.exp(-TICK_S / 0.1)
    y, u, now = np.zeros_like(r), np.zeros_like(r), 0.0
    for k in range(len(r)):
        y[k] = now
        u[k] = 4.0 * (r[k] - y[k] - noise[k])
        now = lag * now + (1.0 - lag) * u[k]
    return r, {"u": u, "y": y, "fed": y + noise}, lag


def test_a_plant_in_a_noisy_closed_loop_is_measured_without_bias(record):
    """Noise that is fed back biases S_uy / S_uu, not S_ry / S_ru.

    Over 12 seeds, the mean errors from 5 to 15 Hz are 10 to 15 % and 0.7 to 3.5 %, the latter by chance.
    """
    r, signals, lag = record
    spectra = Spectra.of(r, signals, TICK_S, 1.0, (5.0, 15.0))
    z = np.exp(2j * np.pi * spectra.frequency_hz * TICK_S)
    expected = (1.0 - lag) / (z - lag)
    direct = Spectra.of(signals["u"], {"fed": signals["fed"]}, TICK_S, 1.0, (5.0, 15.0)).response(None, "fed")
    assert abs(np.mean(spectra.response("u", "fed") / expected - 1.0)) < 0.05
    assert abs(np.mean(direct / expected - 1.0)) > 0.09


def test_coherence_is_one_without_noise_and_falls_with_it(record):
    """The coherence of the noisy response is below 1, and that of a filtered excitation is 1."""
    r, signals, _ = record
    filtered = signal.lfilter([0.2], [1.0, -0.8], r)
    spectra = Spectra.of(r, {**signals, "filtered": filtered}, TICK_S, 1.0, (0.3, 15.0))
    assert spectra.coherence("filtered").min() > 0.999
    assert spectra.coherence("y").min() < 0.999
    assert (spectra.coherence("y") <= 1.0 + 1e-12).all()


def test_the_integral_of_a_rate_chirp_stays_around_zero():
    """A vehicle that follows it stays level: it ends at 0, and its largest angle is that of the lowest frequency."""
    time_s, rate = chirp_signal(0.5, 50.0, 20.0, TICK_S, is_rate=True)
    angle = np.concatenate([[0.0], np.cumsum(rate) * TICK_S])
    assert angle[-1] == pytest.approx(0.0, abs=1e-12)
    assert abs(angle.mean()) < 0.01 / (2.0 * np.pi * 0.5)
    assert np.abs(angle).max() <= 1.0 / (2.0 * np.pi * 0.5)
    assert len(time_s) == len(rate) == 5001
