"""`px4lockstep verify --px4`: a PX4 library against the recorded flights of real PX4."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from px4_double import build_double
from px4_runs import run

from px4lockstep.cli import verify
from px4lockstep.errors import InputError
from px4lockstep.verification.px4_flights import (
    FLIGHTS,
    RECORDED,
    TOLERANCE_M,
    TOLERANCE_US,
    compare,
    recorded_tracks,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("px4_digest", ROOT / "tools" / "px4_digest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_digest_is_that_of_the_recorded_flights(tool):
    """The file in the package has what the tool makes of the recordings, in well under 200 kB."""
    with np.load(RECORDED) as data:
        kept = {name: data[name] for name in data.files}
    made = tool.arrays()
    assert kept.keys() == made.keys()
    for name, values in made.items():
        assert np.array_equal(kept[name], values), name
    assert RECORDED.stat().st_size < 100_000


@pytest.mark.parametrize("name", FLIGHTS)
def test_a_recorded_flight_agrees_with_itself(tool, name):
    """With all events at the same times; the known ones are among them."""
    compared = compare(name, recorded_tracks()[name], tool.recorded(name))
    assert (compared.passed, compared.max_distance_m, compared.first_s) == (True, 0.0, None)
    assert all(before == after for _, before, after in compared.events)
    times = {event: before for event, before, _ in compared.events}
    known = {"straight": ("waypoint 6", 58.608), "yaw": ("disarmed", 58.300), "return": ("landed", 95.076)}
    event, time_s = known[name]
    assert times[event] == time_s


@pytest.fixture
def track():
    return recorded_tracks()["straight"]


def test_a_flight_that_leaves_the_recorded_path_differs_from_there_on(track):
    """By more than a centimetre; less is allowed."""
    for apart_m, first_s in ((0.9 * TOLERANCE_M, None), (1.1 * TOLERANCE_M, 30.0)):
        moved = track.pos_ned + np.where(track.time_us >= 30_000_000, apart_m, 0.0)[:, None] * [0.0, 1.0, 0.0]
        compared = compare("straight", track, replace(track, pos_ned=moved))
        assert (compared.first_s, compared.passed) == (first_s, first_s is None)
        assert compared.max_distance_m == pytest.approx(apart_m, rel=1e-9)


def test_a_flight_with_other_times_differs(track):
    """From the first event that is too early, too late or missing; an earlier end counts, too."""
    row = track.event.index("waypoint 2")
    at_us = int(track.event_us[row])
    for shift_us, first_s in ((TOLERANCE_US, None), (TOLERANCE_US + 1, at_us / 1e6), (-40_000, (at_us - 40_000) / 1e6)):
        event_us = track.event_us.copy()
        event_us[row] += shift_us
        assert compare("straight", track, replace(track, event_us=event_us)).first_s == first_s
    less = replace(track, event=track.event[:-1], event_us=track.event_us[:-1])
    compared = compare("straight", track, less)
    assert compared.events[-1][2] is None
    assert compared.first_s == track.event_us[-1] / 1e6
    shorter = replace(track, time_us=track.time_us[:400], pos_ned=track.pos_ned[:400])
    assert compare("straight", track, shorter).first_s == 39.9


@pytest.mark.process
def test_another_autopilot_differs(tmp_path):
    """The double has controllers of its own: all flights are flown, and their distances and times are plausible."""
    finished = run("verify", "--px4", "--lib", build_double(), "--json", cwd=tmp_path)
    assert finished.returncode == 1, finished.stderr
    told = json.loads(finished.stdout)
    assert told["passed"] is False
    assert [flight["flight"] for flight in told["flights"]] == list(FLIGHTS)
    for flight in told["flights"]:
        assert flight["passed"] is False
        assert 1.0 < flight["first_s"] < 20.0
        assert 0.05 < flight["max_distance_m"] < 30.0
        times = {event["event"]: event for event in flight["events"]}
        assert times["armed"] == {"event": "armed", "recorded_s": 1.0, "flown_s": 1.0}
        assert times["landed"]["flown_s"] == pytest.approx(times["landed"]["recorded_s"], abs=15.0)


def test_verify_prints_times_and_distances(tmp_path, track, monkeypatch, capsys):
    """One table per flight, with the first time at which it differs; flights that agree have exit code 0."""
    (tmp_path / "libpx4_lockstep.so").touch()
    event_us = track.event_us.copy()
    event_us[track.event.index("waypoint 2")] += 24_000
    for straight in (replace(track, event_us=event_us), track):
        flown = recorded_tracks() | {"straight": straight}

        def compared(name, library, flown=flown):
            return compare(name, recorded_tracks()[name], flown[name]).as_dict()

        monkeypatch.setattr(verify, "_compared", compared)
        code = verify.run_verify(as_json=False, px4=True, lib=tmp_path)
        text = " ".join(re.sub("[│┃]", " ", capsys.readouterr().out).split())
        assert "event recorded [s] yours [s] difference [s]" in text
        assert "landed 95.076 95.076 +0.000" in text
        assert "yaw: agrees within 0.02 m and 0.02 s; max distance 0.00e+00 m" in text
        is_late = straight is not track
        assert code == int(is_late)
        assert ("waypoint 2 28.032 28.056 +0.024" in text) == is_late
        assert ("straight: differs by more than 0.02 m and 0.02 s from 28.032 s on" in text) == is_late


@pytest.mark.process
def test_a_library_that_crashes_is_reported(tmp_path):
    """With the flight and the signal."""
    crashed = run("verify", "--px4", "--lib", build_double(), cwd=tmp_path, double="signal=11@500")
    assert crashed.returncode == 1
    assert "error: flight 'straight' of " in crashed.stderr
    assert "PX4's library crashed: SIGSEGV" in crashed.stderr


def test_a_library_that_is_missing_or_not_used_is_bad_input(tmp_path):
    """Before anything is flown or checked."""
    with pytest.raises(InputError, match="PX4's library was not found"):
        verify.run_verify(as_json=False, px4=True, lib=tmp_path / "none.so")
    with pytest.raises(InputError, match="--lib names the library for --px4"):
        verify.run_verify(as_json=False, lib=tmp_path)
