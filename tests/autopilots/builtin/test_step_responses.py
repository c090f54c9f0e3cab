"""Step responses of the built-in autopilot's loops, and their numbers in docs/explanation/autopilot.md."""

import re
from pathlib import Path

import numpy as np
import pytest
from step_responses import LOOPS, respond

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explanation" / "autopilot.md"
NAMES = [loop.name for loop in LOOPS]
ROW = re.compile(r"^\| ([a-z ]+) \| ([\d.]+) (\S+) \| ([\d.]+) s \| ([\d.]+) % \| ([\d.]+) s \|$", re.MULTILINE)


@pytest.mark.parametrize("loop", LOOPS, ids=NAMES)
def test_every_loop_settles_with_a_bounded_overshoot(loop):
    """Within 5 % of the step before the end, and never 20 % beyond it; the largest found is 15.6 %."""
    response = respond(loop)
    assert response.overshoot_percent < 20.0
    assert response.settling_s < loop.watched_s
    assert np.isfinite(response.value).all()


@pytest.mark.parametrize("loop", LOOPS, ids=NAMES)
def test_the_page_has_the_measured_numbers(loop):
    """To the printed digits."""
    rows = {row[0]: row[1:] for row in ROW.findall(PAGE.read_text("utf-8"))}
    response = respond(loop)
    size, unit, rise_s, overshoot, settling_s = rows[loop.name]
    assert (float(size), unit) == (loop.size, loop.unit)
    assert float(rise_s) == pytest.approx(response.rise_s, abs=0.0051)
    assert float(overshoot) == pytest.approx(response.overshoot_percent, abs=0.051)
    assert float(settling_s) == pytest.approx(response.settling_s, abs=0.0051)
