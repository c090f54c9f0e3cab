"""The built-in aircraft and missions."""

import numpy as np
import pytest

from px4lockstep.px4.missions import load_mission
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.shipped import shipped_aircraft, shipped_missions
from px4lockstep.spec.toml_text import to_toml

FLYING = ("iris", "octa", "hex", "x500", "x500_hex", "x500_octa", "racer", "lifter")


def test_the_built_in_aircraft_and_missions_are_listed():
    """By name, in order."""
    names = ["hex", "iris", "iris_long", "lifter", "octa", "racer", "twin", "x500", "x500_hex", "x500_octa"]
    assert list(shipped_aircraft()) == names
    assert list(shipped_missions()) == ["long", "simple"]


@pytest.mark.parametrize("name", shipped_aircraft())
def test_the_resolved_file_resolves_to_itself(name, tmp_path):
    """It is complete."""
    spec = load_spec(name)
    path = tmp_path / "resolved.toml"
    path.write_text(to_toml(spec), "utf-8")
    again = load_spec(path)
    assert again == spec
    assert to_toml(again) == to_toml(spec)


@pytest.mark.parametrize("name", FLYING)
def test_a_mission_is_flown_to_its_end(name):
    """Landed within 0.3 m of home, the spread from wind and noise of the Iris; max altitude 12 m within 0.3 m."""
    flight = build(load_spec(name))
    assert flight.warnings == ()
    sim = flight.simulation.run()
    assert sim.bus.autopilot.mission_finished
    assert not sim.bus.autopilot.armed
    assert not sim.is_crashed
    assert np.hypot(*sim.log_state[-1, :2]) < 0.3
    assert -sim.log_state[:, 2].min() == pytest.approx(12.0, abs=0.3)


@pytest.mark.long
def test_the_long_mission_takes_twenty_minutes_and_lands():
    """Within half a minute, with a charge above the low-battery warning."""
    sim = build(load_spec("iris_long", {"timeline.dt_log_s": 0.1})).simulation.run()
    armed_s = sim.log["time_us"][sim.log["bus"]["autopilot"]["armed"] != 0] / 1e6
    assert sim.bus.autopilot.mission_finished
    assert armed_s[-1] - armed_s[0] == pytest.approx(1200.0, abs=30.0)
    assert sim.log["bus"]["battery"]["remaining"][-1, 0] > 0.2
    assert sim.log_state[-1, 2] == pytest.approx(0.0, abs=0.05)


def test_built_in_missions_are_complete_in_the_real_library():
    """They can be flown by either autopilot."""
    for path in shipped_missions().values():
        assert load_mission(path).lost_by_library() == ()


def test_the_twin_stands_on_its_tail():
    """It can be built; it is never armed."""
    sim = build(load_spec("twin", {"timeline.t_end_s": 1.0})).simulation.run()
    assert sim.log_state[-1, 6:10] == pytest.approx([0.5**0.5, 0.0, 0.5**0.5, 0.0], abs=1e-9)
