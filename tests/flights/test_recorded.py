"""The spec in a recording is data: it names no file of a machine to read, write or run."""

from types import SimpleNamespace

import pytest

from px4lockstep.errors import InputError
from px4lockstep.flights.recorded import recorded_spec
from px4lockstep.flights.recording.recording import FlightSource
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml

STRANGE = {
    "run.log_csv": "[run]\nlog_csv = '/x'",
    "run.recording_out": "[run]\nrecording_out = '/x'",
    "run.recording_in": "[run]\nrecording_in = '/x'",
    "px4.libpath": "[px4]\nlibpath = '/x'",
    "px4.msg_dir": "[px4]\nmsg_dir = '/x'",
    "px4.sitl.build_dir": "[px4.sitl]\nbuild_dir = '/x'",
    "px4.sitl.instance": "[px4.sitl]\ninstance = 3",
    "px4.mission_path": "[px4]\nmission_path = '/x.waypoints'",
    "extends": "extends = ['/x']",
}


@pytest.fixture(scope="module")
def spec():
    """Return the spec of a flight without a mission."""
    return to_toml(load_spec("twin"))


def read(text):
    """Return the spec of a recording that has this text."""
    return recorded_spec(SimpleNamespace(source=FlightSource(text), name="recording.h5", commands=""))


def test_a_recorded_spec_is_read_back(spec):
    """The text alone is complete."""
    assert read(spec) == load_spec("twin")


@pytest.mark.parametrize("key", STRANGE)
def test_a_spec_that_names_a_local_file_is_refused(spec, key):
    """With the key and its value; no recording written by this package has one."""
    table, _, line = STRANGE[key].rpartition("\n")
    text = spec.replace(f"{table}\n", f"{table}\n{line}\n", 1) if f"{table}\n" in spec else f"{spec}\n{STRANGE[key]}\n"
    if not table:
        text = f"{line}\n{spec}"
    with pytest.raises(
        InputError, match=rf"^the recording's spec file: {key} = .* is not allowed in the spec of a result"
    ):
        read(text)
