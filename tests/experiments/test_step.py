"""Step responses: definitions on known signals, flights of every loop, the numbers in docs/explanation/autopilot.md."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from px4lockstep import InputError, SimulationError, StepResponse, step
from px4lockstep.experiments.loops import LOOPS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "autopilot.md"
ROW = re.compile(
    r"^\| ([a-z ]+) \| ([\d.]+) (\S+) \| ([\d.]+) s \| ([\d.]+) s \| ([\d.]+) % \| ([\d.]+) s \|$", re.MULTILINE
)


@cache
def flown(loop):
    """Return the default step of a loop of the X500; the flights are shared by the tests."""
    return step("x500", loop)


def response_of(value, size=2.0, band_percent=5.0):
    """Return a step response with given values every millisecond from the step on."""
    time_s = np.arange(-100, len(value)) * 1e-3
    return StepResponse(LOOPS["roll"], size, band_percent, time_s, np.concatenate([np.zeros(100), value]), None)


def test_numbers_of_a_first_order_lag_are_those_of_the_closed_form():
    """1 − exp(−t/τ): delay τ ln 2, rise τ ln 9, settling to 5 % in τ ln 20, no overshoot; to the sample of 1 ms."""
    tau_s = 0.3
    found = response_of(2.0 * (1.0 - np.exp(-np.arange(5000) * 1e-3 / tau_s)))
    assert found.delay_s == pytest.approx(tau_s * np.log(2.0), abs=1e-5)
    assert found.rise_s == pytest.approx(tau_s * np.log(9.0), abs=1e-5)
    assert found.settling_s == pytest.approx(tau_s * np.log(20.0), abs=1e-5)
    assert found.overshoot_percent == 0.0
    assert found.error == pytest.approx(0.0, abs=1e-6)


def test_numbers_of_a_second_order_system_are_those_of_the_closed_form():
    """Overshoot exp(−π ζ / √(1 − ζ²)), whatever the sign of the step."""
    zeta, omega = 0.5, 10.0
    damped, t = omega * np.sqrt(1.0 - zeta**2), np.arange(5000) * 1e-3
    unit = 1.0 - np.exp(-zeta * omega * t) * (np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t))
    for size in (2.0, -2.0):
        found = response_of(size * unit, size)
        assert found.overshoot_percent == pytest.approx(100.0 * np.exp(-np.pi * zeta / np.sqrt(0.75)), abs=1e-3)
    narrow = response_of(2.0 * unit, band_percent=2.0)
    outside = t[np.abs(unit - 1.0) > 0.02][-1]
    assert outside < narrow.settling_s < outside + 1e-3


def test_what_is_not_reached_is_nan_and_none_in_json():
    """A response of half the step: no rise or settling, and half of it as the error."""
    found = response_of(np.full(1000, 0.98))
    assert np.isnan(found.rise_s)
    assert np.isnan(found.settling_s)
    assert found.error == pytest.approx(1.02)


@pytest.mark.parametrize("name", LOOPS)
def test_every_loop_settles_with_a_bounded_overshoot(name):
    """Within 5 % of the step before the end, and never 20 % beyond it; the largest found is 13.0 %."""
    found = flown(name)
    assert found.overshoot_percent < 20.0
    assert found.settling_s < found.loop.watched_s
    assert abs(found.error) < 0.05 * found.size


@pytest.mark.parametrize("name", LOOPS)
def test_the_page_has_the_measured_numbers(name):
    """To the printed digits."""
    rows = {row[0]: row[1:] for row in ROW.findall(PAGE.read_text("utf-8"))}
    found = flown(name)
    size, unit, delay_s, rise_s, overshoot, settling_s = rows[found.loop.title]
    assert (float(size), unit) == (found.size, found.loop.unit)
    assert float(delay_s) == pytest.approx(found.delay_s, abs=0.00051)
    assert float(rise_s) == pytest.approx(found.rise_s, abs=0.00051)
    assert float(overshoot) == pytest.approx(found.overshoot_percent, abs=0.051)
    assert float(settling_s) == pytest.approx(found.settling_s, abs=0.0051)


def test_a_larger_gain_makes_the_response_faster():
    """The yaw rate loop of the X500 is slow; twice its gain halves its rise time, within 30 %."""
    fast = step("x500", "yaw_rate", overrides={"autopilot.params.MC_YAWRATE_P": 0.4})
    assert fast.rise_s == pytest.approx(0.5 * flown("yaw_rate").rise_s, rel=0.3)


def test_a_negative_step_mirrors_a_positive_one():
    """Roll is symmetric, to the rounding of the thrust and the turn of the air."""
    down = step("x500", "roll", -10.0)
    assert down.size == -10.0
    assert down.rise_s == pytest.approx(flown("roll").rise_s, rel=1e-3)


def test_a_disturbed_flight_depends_on_the_seed_and_a_calm_one_does_not():
    """Only with wind and noise is there anything random."""
    calm, windy, other = (
        step("x500", "yaw", seed=2),
        step("x500", "yaw", disturbed=True, seed=2),
        step("x500", "yaw", disturbed=True, seed=3),
    )
    assert calm.numbers == flown("yaw").numbers
    assert windy.numbers != other.numbers
    assert windy.rise_s == pytest.approx(calm.rise_s, rel=0.3)


@pytest.mark.long
def test_a_step_has_a_short_repr_numbers_and_a_figure():
    """The figure has one panel with setpoint, response and numbers."""
    found = flown("roll_rate")
    assert repr(found).startswith("<StepResponse x500 roll_rate, 30 °/s: rise 0.0")
    assert len(repr(found)) < 200
    html = found._repr_html_()
    assert "<table>" in html
    assert "<img" in html
    assert found.as_dict()["settling_s"] == found.settling_s
    figure = found.plot()
    [axes] = figure.axes
    assert len(axes.get_lines()) == 3
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert key == ["response", "setpoint", "±5 %", "settled"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loop": "rol"}, "unknown loop 'rol'; did you mean 'roll'"),
        ({"loop": "roll", "size": 0.0}, "size = 0.0 is not allowed; it must be a number of ° other than 0"),
        ({"loop": "roll", "size": float("nan")}, "size = nan is not allowed"),
        ({"loop": "roll", "size": -90.0}, "size = -90.0 is not allowed; it must be less than 90 ° in magnitude"),
        ({"loop": "height", "size": 1e7}, "size = 10000000.0 is not allowed; it must be less than 1e[+]06 m"),
        ({"loop": "roll", "watch_s": -1.0}, "watch_s = -1.0 is not allowed; it must be 0.1 to 600 s"),
        ({"loop": "roll", "band_percent": 0.0}, "band_percent = 0.0 is not allowed"),
        ({"loop": "roll", "overrides": {"autopilot.kind": "none"}}, "takes no setpoints"),
        ({"loop": "roll", "overrides": {"autopilot.kind": "px4"}}, "PX4's own modules publish its setpoint topics"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    """What is wrong, the value and what is allowed."""
    with pytest.raises(InputError, match=message):
        step("x500", **arguments)


def test_an_aircraft_that_does_not_hover_is_an_error():
    """Too heavy to take off: nothing is measured on the ground."""
    with pytest.raises(SimulationError, match=r"does not hover|ended before"):
        step("x500", "height", overrides={"airframe.mass_kg": 6.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"loop": "roll_rate", "size": 200.0, "watch_s": 8.0},
            r"crashed at 3\d\.\d\d s, .*measurement at 39 s \(hit the",
        ),
        (
            {"loop": "height", "size": -22.0, "watch_s": 60.0},
            r"was on the ground at \d\d\.\d\d s, .*smaller excitation",
        ),
        (
            {"loop": "yaw", "overrides": {"scenario.events": [{"at_s": 32.0, "action": "return"}]}},
            r"left setpoint mode at 32\.00 s",
        ),
    ],
)
def test_a_flight_that_does_not_follow_the_step_is_not_measured(arguments, message):
    """Numbers of a crash, of a landing or of another mode would look like those of the loop."""
    with pytest.raises(SimulationError, match=message):
        step("x500", **arguments)
