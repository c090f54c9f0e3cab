"""Files like those of PX4Lockstep.jl's tree load and fly, each as PX4Lockstep.jl would fly it with `compat`."""

from contextlib import closing

import numpy as np
import pytest
from mission_files import wpl
from px4_double import OPTIONS, build_double
from px4_runs import flight_of
from px4lockstep_jl import BASES, GENERIC, MISSIONS, SPECS, write_tree
from spec_files import write

from px4lockstep.errors import InputError
from px4lockstep.flights.run import fly
from px4lockstep.px4.missions import load_mission
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

THAT_FLY = [f"{SPECS}/{name}.toml" for name in ("iris_lockstep", *(f"iris_alt_{alt}m" for alt in ("0000", "3000")))]
TOO_SHORT = {
    f"{SPECS}/iris.toml": "20",
    f"{SPECS}/iris_compare.toml": "60",
    f"{BASES}/iris_default.toml": "20",
}
WITHOUT_TABLES = {f"{SPECS}/octa.toml": 10.0, f"{BASES}/octa_default.toml": 20.0, GENERIC: 20.0}
"""Files that leave out environment, scenario and estimator, with their end time."""
CALM = {"environment.wind": "none", "estimator.kind": "none"}
HOVER = "47.397742 8.545594 5"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The files, in the folders of its tree."""
    return write_tree(tmp_path_factory.mktemp("jl"))


def test_every_spec_file_loads(tree):
    """Except for the two lists of topics, which others extend; they have no airframe there, either."""
    loaded = []
    for path in sorted(tree.rglob("*.toml")):
        if path.name.endswith("_uorb.toml"):
            with pytest.raises(InputError, match=r"airframe\.mass_kg is missing"):
                load_spec(path)
        else:
            loaded.append(load_spec(path, compat=True).aircraft.name)
    assert len(loaded) == 12


@pytest.mark.parametrize("name", THAT_FLY)
def test_its_iris_files_fly(tree, name):
    """With the built-in autopilot and its defaults."""
    run = fly(build(load_spec(tree / name, compat=True)))
    assert run.is_flown, run.summary.reason


@pytest.mark.parametrize("name", TOO_SHORT)
def test_a_file_that_ends_before_its_mission_is_a_warning(tree, name):
    """The mission needs 67 s."""
    flight = build(load_spec(tree / name, compat=True))
    (warning,) = (text for text in flight.warnings if "t_end_s" in text)
    assert warning.startswith(
        f"timeline.t_end_s = {TOO_SHORT[name]} is probably too short: the mission needs about 67 s"
    )


@pytest.mark.parametrize("name", WITHOUT_TABLES)
def test_tables_left_out_have_its_defaults_with_compat(tree, name):
    """Ornstein-Uhlenbeck wind, noise and delay, arming at 1 s, its own end time."""
    run = fly(build(load_spec(tree / name, {"run.mode": "record"}, compat=True)))
    spec = run.spec
    assert (spec.environment.wind, spec.environment.wind_sigma_ned) == ("ou", (1.5, 1.5, 0.5))
    assert (spec.estimator.kind, spec.estimator.delay_s) == ("noisy_delayed", 0.008)
    assert (spec.scenario.arm_time_s, spec.timeline.t_end_s) == (1.0, WITHOUT_TABLES[name])
    armed = run.log["armed"]
    assert not armed[run.log["time_s"] < 1.0].any()
    assert armed[run.log["time_s"] > 1.1].all()
    assert run.log["wind_ned"].any()


@pytest.mark.parametrize("name", WITHOUT_TABLES)
def test_tables_left_out_are_a_warning_without_compat(tree, name):
    """They keep our defaults; the warning names what differs."""
    spec = load_spec(tree / name)
    (warning,) = spec.warnings
    assert (spec.environment.wind, spec.estimator.kind, spec.scenario.arm_time_s) == ("none", "none", None)
    for text in (
        "wind = 'none' (there 'ou')",
        "kind = 'none' (there 'noisy_delayed')",
        "arm_time_s = none (there 1.0)",
    ):
        assert text in warning


def test_the_weight_of_a_verdict_uses_the_gravity_of_the_file(tmp_path):
    """A still hover in weak gravity needs less than half the weight on Earth; nothing holds the vehicle up."""
    mission = write(tmp_path, wpl(f"0 1 3 22 0 0 0 0 {HOVER} 1", f"1 0 3 17 0 0 0 0 {HOVER} 1"), "hover.waypoints")
    given = {"environment.gravity_mps2": 3.71, "timeline.t_end_s": 30.0, "px4.mission_path": str(mission), **CALM}
    run = fly(build(load_spec("iris", given)))
    thrusts_n = run.log["rotor_thrust_n"].sum(axis=1)
    assert run.facts.weight_n == pytest.approx(1.5 * 3.71, rel=1e-15)
    assert thrusts_n[-1] == pytest.approx(run.facts.weight_n, rel=0.01)
    assert thrusts_n[-1] < 0.5 * 1.5 * 9.80665
    assert run.summary.ending == "in the air"


@pytest.mark.process
def test_its_octa_runs_with_px4(tree, tmp_path, monkeypatch):
    """`px4.uorb` has no publications, so PX4 runs and does not fly; a warning says so."""
    monkeypatch.setenv(OPTIONS, "unchecked")
    flight = flight_of(tmp_path, tree / SPECS / "octa.toml", {"timeline.t_end_s": 0.5})
    with closing(flight.simulation) as simulation:
        simulation.run()
        assert any("PX4 has no inputs" in warning for warning in simulation.warnings)


def test_its_tailsitter_runs_without_an_autopilot(tree):
    """Its motors are too weak for their calibration, which saturates with a warning."""
    path = tree / SPECS / "wingtra_ray_tailsitter.toml"
    run = fly(build(load_spec(path, {"autopilot.kind": "none", "timeline.t_end_s": 1.0}, compat=True)))
    assert sum("can't reach a thrust of 39.227 N per rotor" in text for text in run.flight.warnings) == 1
    assert np.isfinite(run.log["pos_ned"]).all()


def test_its_missions_load(tree):
    """The long one has p2 = 20 in LOITER_TIME, which is taken as true; it is flown with its hold of 220 s."""
    simple, long = (
        load_mission(tree / MISSIONS / f"{name}.waypoints") for name in ("simple_mission", "long_mission_20min")
    )
    assert simple.warnings == ()
    assert long.warnings[0].endswith("line 4: LOITER_TIME heading required (p2) = 20 is taken as 1 (true)")
    given = {"px4.mission_path": str(tree / MISSIONS / "long_mission_20min.waypoints"), "timeline.t_end_s": 280.0}
    run = fly(build(load_spec(tree / SPECS / "iris_lockstep.toml", CALM | given, compat=True)))
    assert run.is_flown, run.summary.reason
    assert np.diff(run.summary.waypoint_times_s)[1] == pytest.approx(220.0, abs=2.0)


@pytest.mark.process
def test_its_lockstep_flight_is_the_same_with_px4(tree, tmp_path, monkeypatch):
    """With the double: bit-identical to our Iris with its defaults written out, without a violation of the interface.

    Against real PX4, every waypoint time of this flight is that of the recorded one: docs/reference/verification.md.
    """
    monkeypatch.setenv(OPTIONS, "strict")
    written_out = {
        "autopilot.angular_acceleration": False,
        "px4.strict_lockstep_rates": True,
        "plant.integrator": {"kind": "RK45", "rtol_pos": 1e-7, "rtol_vel": 1e-7, "rtol_omega": 1e-7}
        | {"plant_error_control": False, "kink_tolerance": 1.0, "h_max": float("inf"), "max_substeps": 50_000},
        "timeline.t_end_s": 68.0,
        **CALM,
    }
    digests, theirs = [], tree / SPECS / "iris_lockstep.toml"
    for name, source, given in (("jl", theirs, CALM), ("ours", "iris", written_out), ("plain", theirs, CALM)):
        (tmp_path / name).mkdir()
        library = {"autopilot.kind": "px4", "px4.libpath": str(build_double(tmp_path / name))}
        run = fly(build(load_spec(source, given | library, compat=name == "jl")))
        assert run.is_flown, run.summary.reason
        digests.append(run.digest)
    assert digests[0] == digests[1] != digests[2]  # the last one without compat
