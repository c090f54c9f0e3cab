"""Own parts with a spec: objects and classes of the user replace autopilot, wind, estimator and scenario."""

import json
import time

import numpy as np
import pytest
from own_code import HOLD, write_own

import px4lockstep
from px4lockstep import InputError, Scenario, SimulationError, Wind, branch, replay, simulate
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.run import fly
from px4lockstep.spec.build import build
from px4lockstep.view.flown import viewed_flights

END = {"timeline.t_end_s": 4.0}


def hold(**options):
    """Return a controller of the documentation."""
    from hold import Hold

    return Hold(**options)


class Gale:
    """A wind in Python."""

    def step(self, time_us, inputs, outputs):
        outputs.vel_ned[0] = 6.0


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a flight with an autopilot and a wind as objects, and its run folder."""
    run = simulate("x500", autopilot=hold(), wind=Gale(), seed=7, overrides=END)
    return run, run.save(tmp_path_factory.mktemp("own") / "run", plots=False)


@pytest.fixture(scope="module")
def filed(tmp_path_factory):
    """Return a flight of a spec that names three classes, and its run folder."""
    file = write_own(tmp_path_factory.mktemp("filed"))
    run = simulate(file, trust=True)
    return run, run.save(file.parent / "run", plots=False)


@pytest.mark.parametrize("name", ["flown", "filed"])
def test_figures_and_views_of_a_flight_with_an_own_autopilot_have_no_limits(name, request):
    """PX4's parameters, such as the height of a fence, do not belong to it."""
    run, folder = request.getfixturevalue(name)
    assert run.plot().axes
    [viewed] = viewed_flights([px4lockstep.read_run(folder)])
    assert (viewed.area.height_m, viewed.area.radius_m) == (0.0, 0.0)


def test_the_controller_of_the_documentation_holds_a_real_x500():
    """In its own turbulent wind, with legs, battery and noisy estimate: within 1 m from 8 s on, for several seeds."""
    spec = px4lockstep.load_spec("x500", {"timeline.t_end_s": 20.0, "run.mode": "live"})
    for seed in (1, 2, 3):
        log = simulate(spec, autopilot=hold(), seed=seed).log
        away_m = np.linalg.norm(log["pos_ned"] - (0.0, 0.0, -5.0), axis=1)
        assert away_m[log["time_s"] > 8.0].max() < 1.0  # 0.56 m over 20 seeds
        assert np.abs(log["wind_ned"]).max() > 2.0


def test_readme_and_how_to_show_the_controller_that_is_tested():
    """The same text, from the constant to the last line of the class."""
    code = HOLD.read_text("utf-8")
    code = code[code.index("MIX = ") :]
    root = HOLD.parents[2]
    for page in (root / "README.md", root / "docs" / "howto" / "own_controller.md"):
        assert code in page.read_text("utf-8")


def test_objects_are_named_in_spec_summary_and_recording(flown):
    """With the hash of the file that defines them, so that a later difference can be explained."""
    run, folder = flown
    assert run.spec.autopilot.kind == "object:hold:Hold"
    assert run.spec.environment.wind == f"object:{__name__}:Gale"
    own = run.summary.own_parts
    assert own["autopilot"].startswith("hold:Hold sha256:")
    assert json.loads((folder / "summary.json").read_text())["own_parts"] == own
    source = read_recording(folder).source
    assert source.autopilot == f"object:{own['autopilot']}"
    assert source.versions["wind"] == own["wind"]
    assert (run.log["wind_ned"][1:, 0] == 6.0).all()


def test_a_replay_does_not_need_the_objects(flown):
    """The recording holds commands and wind."""
    assert replay(flown[1]).matches


def test_another_controller_replays_with_the_recorded_estimate(tmp_path):
    """Of the same class, the replay is the flight; with other gains, it is not."""
    changes = {"timeline.t_end_s": 1.5, "run.record_estimate": True}
    folder = simulate("x500", autopilot=hold(), overrides=changes).save(tmp_path / "run", plots=False)
    assert replay(folder, autopilot=hold()).matches
    assert not replay(folder, autopilot=hold(p=1.0)).matches
    with pytest.raises(InputError, match=r"pass it: autopilot=Hold\(\.\.\.\)"):
        replay(folder, autopilot=True)
    own = write_own(tmp_path / "filed", 'extends = ["x500"]\n[autopilot]\nkind = "python:hold:Hold"\n')
    folder = simulate(own, trust=True, overrides=changes).save(tmp_path / "own", plots=False)
    assert replay(folder, autopilot=True, trust=True).matches


def test_each_flight_with_new_objects_is_identical(flown):
    """And the seed is that of `seed`."""
    again = simulate("x500", autopilot=hold(), wind=Gale(), seed=7, overrides=END)
    assert again.digest == flown[0].digest
    assert again.spec.aircraft.seed == 7
    assert simulate("x500", autopilot=hold(), wind=Gale(), seed=8, overrides=END).digest != again.digest


def test_a_branch_takes_objects_like_those_that_flew(flown):
    """It is re-flown from the start, compared with the recording, and replays from the branch time."""
    run, folder = flown
    parts = {"autopilot": hold(), "wind": Gale()}
    same = branch(folder, 2.0, **parts)[0].run
    assert same.digest == run.digest
    heavy = branch(folder, 2.0, **parts, overrides={"airframe.mass_kg": 2.3})[0].run
    row = int(np.searchsorted(heavy.log["time_s"], 2.0))
    assert (heavy.log["pos_ned"][:row] == run.log["pos_ned"][:row]).all()
    assert heavy.log["pos_ned"][-1, 2] > run.log["pos_ned"][-1, 2]  # lower
    assert replay(heavy.recording).matches
    with pytest.raises(InputError, match="branch of a flight with parts in Python"):
        branch(heavy.recording, 3.0, **parts)


def test_a_branch_without_the_objects_says_what_to_pass(flown):
    """All missing ones at once."""
    with pytest.raises(InputError, match=r"autopilot=Hold\(\.\.\.\)[\s\S]*wind=Gale\(\.\.\.\)"):
        branch(flown[1], 2.0)


def test_a_branch_with_another_controller_names_the_changed_file(flown):
    """The flight up to the branch time is not that of the recording."""
    source = HOLD.read_text().replace("6.5", "5.5")
    with pytest.raises(SimulationError, match="the file of the autopilot elsewhere:Hold has changed since"):
        branch(flown[1], 2.0, autopilot=_elsewhere(source), wind=Gale())


def _elsewhere(source):
    names = {"__name__": "elsewhere"}
    exec(source, names)
    return names["Hold"]()


def test_a_spec_names_classes_with_their_options(filed):
    """They are found beside the file."""
    run, _ = filed
    assert run.log["pos_ned"][-1, 2] == pytest.approx(-3.0, abs=0.5)
    assert run.log["wind_ned"][-1, 0] == 10.0
    assert (run.log["est_pos_ned"] == run.log["pos_ned"])[1:].all()
    assert {stage: text.split()[0] for stage, text in run.summary.own_parts.items()} == {
        "autopilot": "hold:Hold",
        "wind": "my_wind:Steps",
        "estimator": "my_estimator:Truth",
    }


def test_classes_and_objects_fly_alike(filed):
    """The digest does not depend on how a part was given."""
    run, folder = filed
    options = {"autopilot.kind": "none", "environment.wind": "none", "estimator.kind": "none"}
    spec = px4lockstep.load_spec(folder / "spec.toml", options)
    names = {}
    for file in ("my_wind.py", "my_estimator.py"):
        exec((folder.parent / file).read_text(), names)
    parts = {"wind": names["Steps"](5.0, (1.5, 2.5)), "estimator": names["Truth"]()}
    assert simulate(spec, autopilot=hold(height_m=3.0), **parts).digest == run.digest


def test_a_recording_of_classes_replays_without_them_and_branches_with_trust(filed, untrusted):
    """A run folder is a file like any other, which must be trusted before its code runs."""
    run, folder = filed
    recording = read_recording(folder)
    assert "python_dir" not in recording.source.spec  # no folder of this machine
    assert replay(recording).matches
    with pytest.raises(InputError, match=r"autopilot\.kind = 'python:hold:Hold' names code"):
        branch(folder, 2.0)
    assert branch(folder, 2.0, trust=True)[0].run.digest == run.digest
    with pytest.raises(InputError, match=r"autopilot\.options.*can't change in flight"):
        branch(folder, 2.0, trust=True, overrides={"autopilot.options.height_m": 4.0})


def test_the_latest_run_branches_with_the_folder_of_its_classes(filed, tmp_path, monkeypatch):
    """The word `latest` stands for the run folder, whose spec names the folder of the modules."""
    run, folder = filed
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "own").symlink_to(folder, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    assert branch("latest", 2.0, trust=True)[0].run.digest == run.digest


def test_a_spec_in_the_run_folder_flies_again(filed):
    """It names the folder of the modules."""
    run, folder = filed
    assert simulate(folder / "spec.toml", trust=True).digest == run.digest


def test_models_of_the_package_become_part_of_the_spec():
    """A `Wind`, an `Estimator` or a `Scenario` is recorded like a table of the file."""
    orders = Scenario().arm(at_s=0.5).at(3.0).land()
    wind = Wind("constant", wind_mean_ned=(2.0, 0.0, 0.0))
    run = simulate("x500", autopilot=hold(), wind=wind, scenario=orders, overrides=END)
    assert run.spec.environment.wind == "constant"
    assert [event.action for event in run.spec.scenario.events] == ["arm", "land"]
    assert run.log["request_land"][-1] == 1
    assert replay(run.recording).matches


def test_a_scenario_in_python_is_recorded_and_replayed():
    """A branch needs it again."""

    class Orders:
        def step(self, time_us, inputs, outputs):
            outputs.arm = int(time_us >= 500_000)

    run = simulate("x500", autopilot=hold(), scenario=Orders(), overrides=END)
    assert run.log["request_arm"].max() == 1
    assert run.summary.own_parts["scenario"].startswith(f"{__name__}:Orders ")
    assert replay(run.recording).matches
    with pytest.raises(InputError, match="Orders in Python; pass it: scenario="):
        branch(run.recording, 2.0, autopilot=hold())
    assert branch(run.recording, 2.0, autopilot=hold(), scenario=Orders())[0].run.digest == run.digest


class Broken:
    """A controller with a mistake."""

    def step(self, time_us, inputs, outputs):
        if time_us >= 1_000_000:
            outputs.motors[0] = 1 / (time_us - time_us)


def test_an_exception_names_file_line_and_time_and_keeps_the_log():
    """The traceback of the cause begins in the user's file."""
    flight = build(px4lockstep.load_spec("x500", END), autopilot=Broken())
    with pytest.raises(SimulationError) as caught:
        fly(flight)
    line = Broken.step.__code__.co_firstlineno + 2
    where = f"t = 1.000000 s: test_own_parts.py, line {line}"
    said = f"the autopilot failed at {where}: ZeroDivisionError: division by zero. The log up to then is intact"
    assert str(caught.value) == said
    assert caught.value.__cause__.__traceback__.tb_frame.f_code.co_filename == __file__
    assert flight.simulation.log["time_us"][-1] == 980_000
    run = px4lockstep.Run(flight, caught.value)
    assert run.summary.outcome == "failed"


class NoOutputs:
    """Its method has too few arguments."""

    def step(self, time_us, inputs):
        pass


class OneSided:
    """It can be copied, but not restored."""

    def step(self, time_us, inputs, outputs):
        pass

    def snapshot(self):
        pass


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Broken, r"autopilot = Broken is a class; pass an object: autopilot=Broken\(\)"),
        (object(), r"has no method step\(time_us, inputs, outputs\)"),
        (NoOutputs(), r"step\(time_us, inputs\) of NoOutputs can't be called as step\(time_us, inputs, outputs\)"),
        (OneSided(), r"only one of the methods snapshot\(\) and restore\(saved\)"),
        ("python:hold:Hold", "it must be an object"),
        (px4lockstep.Builtin(None), r"are chosen by autopilot\.kind"),
    ],
)
def test_an_object_that_can_not_fly_is_an_error_before_the_flight(part, message):
    """Which says what is missing."""
    with pytest.raises(InputError, match=message):
        simulate("x500", autopilot=part, overrides=END)


def test_the_verdict_is_never_better_than_the_flight():
    """A controller that reports a finished mission must have landed; one that tumbles is out of control."""

    class Boaster:
        def attach(self, status, plant, period_us, seed):
            self.status = status
            self.own = hold()

        def step(self, time_us, inputs, outputs):
            self.own.step(time_us, inputs, outputs)
            self.status.armed = self.status.mission_count = 1
            self.status.mission_finished = int(time_us > 3_000_000)

    class Tumbler:
        def __init__(self):
            self.own = hold()

        def step(self, time_us, inputs, outputs):
            self.own.step(time_us, inputs, outputs)
            if time_us > 3_700_000:
                outputs.motors[:4] = (1.0, 0.0, 0.0, 1.0)

    boasted = simulate("x500", autopilot=Boaster(), overrides=END).outcome
    assert boasted.word == "out of time"
    assert "the vehicle had not landed" in boasted.reason
    lost = simulate("x500", autopilot=Tumbler(), overrides=END).outcome
    assert lost.word == "out of control"
    idle = simulate("x500", autopilot=hold(), overrides=END)
    assert idle.outcome.word == "nothing asked"
    assert any("has no method attach, so it can't report a mission" in text for text in idle.summary.warnings)


@pytest.mark.parametrize("is_armed", [False, True], ids=["silent", "armed"])
@pytest.mark.parametrize("lands", [False, True], ids=["in the air", "lands"])
def test_a_mission_that_a_controller_reports_as_finished_in_the_air(lands, is_armed):
    """It reports no setpoints, which then are 0, holds above the ground, and may land itself where the mission does."""

    class Reporter:
        def attach(self, status, plant, period_us, seed):
            self.status = status
            self.own = hold()

        def step(self, time_us, inputs, outputs):
            self.own.height_m = 5.0 if time_us < 20_000_000 or not lands else max(0.0, 5.0 - (time_us - 2e7) / 1e7)
            self.own.step(time_us, inputs, outputs)
            if time_us > 32_000_000 and lands and inputs.estimate.pos_ned[2] > -0.4:
                outputs.motors[:4] = 0.0
            self.status.mission_count = 1
            self.status.armed = int(is_armed)
            self.status.mission_finished = int(time_us > 12_000_000)

    changes = {"environment.wind": "none", "timeline.t_end_s": 80.0}
    outcome = simulate("x500", autopilot=Reporter(), overrides=changes).outcome
    assert outcome.word == ("flown" if lands else "out of time"), outcome


def test_a_status_survives_a_branch():
    """The view of the status belongs to the simulation; other attributes are copied."""

    class Reporter:
        def attach(self, status, plant, period_us, seed):
            self.status, self.ticks = status, 0
            self.own = hold()

        def step(self, time_us, inputs, outputs):
            self.own.step(time_us, inputs, outputs)
            self.ticks += 1
            self.status.mission_item = self.ticks

    run = simulate("x500", autopilot=Reporter(), overrides=END)
    again = branch(run.recording, 2.0, autopilot=Reporter())[0].run
    assert again.digest == run.digest
    assert again.log["mission_item"][-1] == run.log["mission_item"][-1] == 1_001


def test_a_controller_in_python_costs_little_beside_its_own_step():
    """In CPU time of the same process, a flight with an empty controller takes at most 4 times that of the built-in.

    It is 1.3 times that here. With the controller of the documentation it is 5 times; the limit of 12 is 100 times real
    time where the built-in autopilot flies at 1,200 times.
    """

    class Empty:
        def step(self, time_us, inputs, outputs):
            pass

    spec = px4lockstep.load_spec("x500", {"timeline.t_end_s": 10.0, "run.mode": "live"})
    taken = {"builtin": [], "empty": [], "hold": []}
    for _ in range(5):
        for name, parts in (("builtin", {}), ("empty", {"autopilot": Empty()}), ("hold", {"autopilot": hold()})):
            simulation = build(spec, **parts).simulation
            start_s = time.process_time()
            simulation.run()
            taken[name].append(time.process_time() - start_s)
    least = {name: min(times) for name, times in taken.items()}
    assert least["empty"] < 4.0 * least["builtin"]
    assert least["hold"] < 12.0 * least["builtin"]
