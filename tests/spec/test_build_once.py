"""A flight is validated once and built once."""

import sys
from collections import Counter

import pytest
from mission_files import wpl

from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

MISSION = wpl("0 1 3 22 0 0 0 0 47.397742 8.545594 7 1", "1 0 3 21 0 0 0 0 47.397742 8.545594 0 1")

SPEC = """
extends = ["iris"]
[px4]
mission_path = "mission.waypoints"
[timeline]
t_end_s = 1.0
[environment]
wind = "ou"
gusts = [{ start_s = 0.1, end_s = 0.2, vel_ned = [1.0, 0.0, 0.0] }]
[estimator]
kind = "noisy_delayed"
[plant.integrator]
kind = "RK4"
[scenario]
events = [{ at_s = 0.5, action = "land" }]
[autopilot.params]
MPC_XY_CRUISE = 4.0
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Return how often each function is called from file to flight; parts are counted by class."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "mission.waypoints").write_text(MISSION, "utf-8")
    (folder / "spec.toml").write_text(SPEC, "utf-8")
    build(load_spec(folder / "spec.toml"))  # imports, defaults and caches of the process
    found: Counter[str] = Counter()

    def count(frame, event, _):
        if event == "call":
            name = frame.f_code.co_qualname
            found[type(frame.f_locals["self"]).__name__ if name == "Part._checked" else name] += 1

    sys.setprofile(count)
    try:
        build(load_spec(folder / "spec.toml"))
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "name",
    ["AutopilotOptions", "Environment", "Gust", "Estimator", "Integrator", "Timing", "Scenario", "Airframe", "Power"],
)
def test_a_table_becomes_a_part_once(calls, name):
    """It is validated when the file is loaded, and used unchanged."""
    assert calls[name] == 1


@pytest.mark.parametrize("name", ["Aircraft.__post_init__", "Builtin.__post_init__", "load_mission"])
def test_each_object_is_built_once(calls, name):
    """Aircraft, autopilot and mission."""
    assert calls[name] == 1


@pytest.mark.parametrize("name", ["Wind", "Estimator", "Integrator", "Aircraft", "Builtin"])
def test_a_record_is_written_once(calls, name):
    """By the part that it belongs to."""
    assert calls[f"{name}.write"] == 1
