"""Compare flights computed in different ways: all variants are flown, and a difference is found."""

import json
import stat
import sys
from dataclasses import replace

import numpy as np
import pytest
import recorded_flights
from recorded_flights import record

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.flights.determinism import Variant, default_variants, determinism, where_they_part

pytestmark = pytest.mark.process
forked = pytest.mark.usefixtures("forked_interpreters")
"""For tests of what is reported; the others start interpreters."""

SHORT = {**recorded_flights.SHORT, "timeline.t_end_s": 1.0}
CHANGES_THE_SEED = """#!{python}
import os, pathlib, sys
*before, spec, folder, flights, parent = sys.argv[1:]
changed = pathlib.Path(folder) / "changed.toml"
text = pathlib.Path(spec).read_text("utf-8")
assert "seed = 5\\n" in text
changed.write_text(text.replace("seed = 5\\n", "seed = 6\\n"), "utf-8")
os.execv("{python}", ["{python}", *before, str(changed), folder, flights, parent])
"""
FAILS = "#!/bin/sh\necho a first line >&2\necho the last line >&2\nexit 3\n"
IS_KILLED = "#!/bin/sh\nkill -9 $$\n"
LEAVES_NOTHING = "#!/bin/sh\nexit 0\n"


def short(**overrides):
    """Return the recording of a second of flight."""
    return record("iris", {"timeline.t_end_s": 1.0, **overrides})


def interpreter(folder, text, name="python"):
    """Write a script that replaces the Python interpreter."""
    path = folder / name
    path.write_text(text.replace("{python}", sys.executable), "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.slow
def test_all_variants_are_bit_identical():
    """The octa in Dryden wind: fresh, interpreted, generic CPU, after and in parallel with another flight."""
    seen = []
    found = px4lockstep.determinism(
        "octa", runs=2, watch=seen.append, overrides=SHORT | {"environment.wind": "dryden", "aircraft.seed": 3}
    )
    assert [flown.name for flown in found.flights] == [
        "fresh process 1",
        "fresh process 2",
        "JIT off",
        "generic CPU",
        "one worker, flight 1",
        "one worker, flight 2",
        "two workers, flight 1",
        "two workers, flight 2",
    ]
    assert sorted(flown.name for flown in seen) == sorted(flown.name for flown in found.flights)
    here = record("octa", {"timeline.t_end_s": 1.0, "environment.wind": "dryden", "aircraft.seed": 3})
    assert [flown.error for flown in found.flights] == [None] * 8
    assert [flown.digest for flown in found.flights] == [here.digest] * 8
    assert [flown.live_digest for flown in found.flights] == [here.live_digest] * 8
    assert found.identical
    assert found.as_dict()["first_difference"] is None


def test_variants_are_bit_identical():
    """The same, without the generic CPU, for which everything is compiled again."""
    quick = [variant for variant in default_variants(1) if variant.name != "generic CPU"]
    found = determinism("octa", variants=quick, overrides=SHORT)
    assert len(found.flights) == 6
    assert [flown.error for flown in found.flights] == [None] * 6
    assert found.identical


@forked
def test_a_variant_that_differs_is_found_and_reported(tmp_path):
    """An interpreter that flies with another seed, between two that don't."""
    other = Variant("another seed", python=interpreter(tmp_path, CHANGES_THE_SEED))
    found = determinism("iris", variants=[Variant("first"), other, Variant("last")], overrides=SHORT)
    assert not found.identical
    assert found.parted == ("first", "another seed")
    expected = where_they_part(short(), short(**{"aircraft.seed": 6}))
    assert found.first_difference == expected
    told = json.loads(json.dumps(found.as_dict()))
    assert told["identical"] is False
    assert [sorted(variant) for variant in told["variants"]] == [["digest", "error", "live_digest", "name"]] * 3
    assert told["variants"][0]["digest"] == told["variants"][2]["digest"] != told["variants"][1]["digest"]
    assert told["first_difference"]["variants"] == ["first", "another seed"]
    assert told["first_difference"]["time_us"] == expected.time_us
    assert told["first_difference"]["field"] == expected.field


@forked
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FAILS, "the last line (exit code 3)"),
        (IS_KILLED, "ended by signal 9"),
        (LEAVES_NOTHING, "1.h5 can't be read: No such file or directory"),
    ],
    ids=["fails", "is killed", "leaves nothing"],
)
def test_a_variant_that_fails_is_reported(tmp_path, text, message):
    """With the last line that it wrote; the others are still flown, and the result is a failure."""
    bad = Variant("bad", python=interpreter(tmp_path, text), flights=2)
    found = determinism("iris", variants=[bad, Variant("good")], overrides=SHORT)
    first, second, good = found.flights
    assert (first.name, second.name, good.error) == ("bad, flight 1", "bad, flight 2", None)
    assert first.error.endswith(message)
    assert second.digest is None
    assert not found.identical
    assert found.parted is None


def test_a_missing_interpreter_is_reported(tmp_path):
    """By its name."""
    found = determinism("iris", variants=[Variant("gone", python=str(tmp_path / "gone"))], overrides=SHORT)
    assert found.flights[0].error == f"{tmp_path / 'gone'} can't be started: No such file or directory"
    assert not found.identical


@forked
def test_a_flight_that_fails_is_reported():
    """With its error: one attempt per boundary is not enough."""
    found = determinism("iris", variants=[Variant("only")], overrides=SHORT | {"plant.integrator.max_substeps": 1})
    assert not found.identical
    missed = "RK45 at t = 0.000000 s: the next event boundary was not reached within max_substeps = 1 attempts"
    assert found.flights[0].error.startswith(missed)
    assert found.flights[0].error.endswith("(exit code 1)")


def test_bad_input_is_an_error_before_anything_is_flown(tmp_path):
    """Including errors that only the build finds."""
    with pytest.raises(InputError, match="runs = 0"):
        determinism("iris", runs=0)
    with pytest.raises(InputError, match="gale"):
        determinism("iris", overrides={"environment.wind": "gale"})
    with pytest.raises(InputError, match="both set the seed"):
        determinism("iris", overrides={"aircraft.seed": 3}, seed=4)
    with pytest.raises(InputError, match="'replay' can't be checked"):
        determinism("iris", overrides={"run.mode": "replay", "run.recording_in": str(tmp_path / "x.h5")})
    assert [variant.name for variant in default_variants(1)] == [
        "fresh process 1",
        "JIT off",
        "generic CPU",
        "one worker",
        "two workers",
    ]


def test_the_users_environment_does_not_change_the_variants(tmp_path, monkeypatch):
    """JIT and CPU target are those of the variant, and only the generic one may use a wheel's code."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    monkeypatch.setenv("PX4LOCKSTEP_NATIVE", "background")
    tells = '#!/bin/sh\necho "jit $NUMBA_DISABLE_JIT cpu $NUMBA_CPU_NAME $PX4LOCKSTEP_NATIVE" >&2\nexit 1\n'
    python = interpreter(tmp_path, tells)
    ways = [replace(variant, python=python) for variant in default_variants(1)]
    found = determinism("iris", variants=ways, overrides=SHORT)
    told = [flown.error.removesuffix(" (exit code 1)") for flown in found.flights]
    assert told == ["jit  cpu  now", "jit 1 cpu  now", "jit  cpu generic off", *["jit  cpu  now"] * 4]


def test_the_first_difference_is_of_the_flight_or_the_estimate():
    """Whichever is first, bit for bit."""
    first = short()
    assert where_they_part(first, short()) is None
    log, state = first.log.copy(), first.log_state.copy()
    log["bus"]["estimate"]["pos_ned"][40, 1] = np.nextafter(log["bus"]["estimate"]["pos_ned"][40, 1], 1.0)
    found = where_they_part(first, replace(first, log=log))
    assert (found.time_us, found.field) == (400_000, "estimate.pos_ned[1]")
    state[30, 5] = np.nextafter(state[30, 5], 1.0)
    found = where_they_part(first, replace(first, log=log, log_state=state))
    assert (found.time_us, found.field) == (300_000, "vel[2]")
    log["bus"]["autopilot"]["armed"][20] = 7
    found = where_they_part(first, replace(first, log=log, log_state=state))
    assert (found.time_us, found.field, found.second) == (200_000, "autopilot.armed", 7)
