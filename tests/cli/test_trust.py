"""Untrusted files on the command line: nothing that they name runs until they are trusted; the exit code is 2."""

import json
import os
from dataclasses import replace

import pytest
from commands import run_command
from px4_libraries import compile_library
from recorded_flights import recorded
from spec_files import MINIMAL, write

from px4lockstep.flights.recording.file import write_recording

CONSTRUCTOR = '#include <stdio.h>\n__attribute__((constructor)) void f(void) {{ fclose(fopen("{}", "w")); }}\n'
SHORT = "timeline.t_end_s = 0.5\nscenario.arm_time_s = 0.1\nscenario.mission_time_s = 0.2\n"


@pytest.fixture
def ran(tmp_path):
    """Return the path of the file that the untrusted code would create."""
    return tmp_path / "ran"


@pytest.fixture
def strange(untrusted, tmp_path, ran):
    """Return an untrusted folder with code of each kind and files that name it."""
    folder = tmp_path / "downloads"
    flight = f"timeline.t_end_s = 0.5\n{MINIMAL}"
    write(folder, f"autopilot.kind = 'px4'\npx4.libpath = 'libpx4_lockstep.so'\n{flight}", "library.toml")
    write(folder, f"autopilot.kind = 'px4-sitl'\npx4.sitl.build_dir = 'build'\n{flight}", "program.toml")
    write(folder, f"autopilot.kind = 'px4'\n{flight}", "asks.toml")
    here = folder / "build" / "px4_sitl_lockstep" / "src" / "lib" / "px4_lockstep"
    here.mkdir(parents=True)
    for place in (folder, here):
        compile_library(place, CONSTRUCTOR.format(ran))
    write(folder, f"#!/bin/sh\ntouch {ran}\n", "build/bin/px4").chmod(0o755)
    (folder / "build" / "etc").mkdir()
    write(folder, f"open({str(ran)!r}, 'w').close()\ndef height(run):\n    return 1.0\n", "mine.py")
    about = f'[campaign]\nbase = "iris"\nruns = 1\n[set]\n{SHORT}[[metric]]\nname = "h"\nfunction = "mine.py:height"\n'
    write(folder, about, "campaign.toml")
    return folder


def run(*arguments, cwd, code=2):
    """Run the command line; return what it wrote."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PX4_", "PX4LOCKSTEP_T"))}
    finished = run_command(*map(str, arguments), cwd=cwd, env=environment | {"HOME": str(cwd.parent)})
    assert "Traceback" not in finished.stderr
    assert finished.returncode == code, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("command", "file"), [("run", "library.toml"), ("run", "program.toml"), ("determinism", "library.toml")]
)
def test_a_spec_file_runs_no_code_until_it_is_trusted(strange, ran, command, file):
    """No library is loaded and no program started; with --trust, they are."""
    said = run(command, file, cwd=strange)
    assert f"error: {file}: px4." in said
    assert "px4lockstep trust FOLDER" in said
    assert not ran.exists()
    run(command, file, "--trust", cwd=strange, code=1 if file == "program.toml" else 2)
    assert ran.exists()


@pytest.mark.parametrize("file", ["library.toml", "program.toml"])
def test_a_check_never_runs_code(strange, ran, file):
    """Not even of a trusted file; it prints where the code is, and that the flight would need trust."""
    said = run("spec", "check", file, cwd=strange, code=0)
    assert ", not loaded\n" in said
    assert f"warning: it can't be flown yet: {file}: px4." in said
    assert said.endswith(f"{file}: OK\n")
    run("trust", strange, cwd=strange, code=0)
    assert "warning" not in run("spec", "check", file, cwd=strange, code=0)
    assert not ran.exists()


def test_a_library_of_the_working_directory_is_not_found(strange, ran):
    """A file that asks for PX4, in a folder that looks like the PX4 sources."""
    assert "PX4's library was not found" in run("run", "asks.toml", cwd=strange)
    assert "px4_library      none: PX4's library was not found" in run("doctor", cwd=strange, code=0)
    assert not ran.exists()


def test_a_campaign_runs_no_code_until_its_folder_is_trusted(strange, ran):
    """The file, and then its results folder, which may be untrusted too; workers inherit the trust."""
    begin = ("campaign", "run", "campaign.toml", "--out", "out", "--no-plots", "--workers", 1)
    said = run(*begin, cwd=strange)
    assert "error: campaign.toml: metric 'h', function = 'mine.py:height' names code" in said
    assert not ran.exists()
    run(*begin, "--trust", cwd=strange, code=0)
    ran.unlink()
    (strange / "out" / "INCOMPLETE").touch()
    said = run("campaign", "run", "out", "--resume", "--no-plots", cwd=strange)
    assert "error: out/campaign.json: metric 'h', function = 'mine.py:height' names code" in said
    for command in (("show", "out"), ("plot", "out"), ("rerun", "out", 0, "--no-plots")):
        run("campaign", *command, cwd=strange, code=0)
    assert not ran.exists()
    run("trust", ".", cwd=strange, code=0)
    run("campaign", "run", "out", "--resume", "--no-plots", cwd=strange, code=0)
    assert ran.exists()


def test_an_untrusted_recording_writes_and_loads_nothing(strange, ran, tmp_path):
    """Its spec names files to write, a library and another file; `branch` refuses each."""
    recording = recorded()
    for number, line in enumerate(("[run]\nlog_csv", "[run]\nrecording_out", "[px4]\nlibpath", "extends")):
        table, _, key = line.rpartition("\n")
        value = f"['{ran}']" if key == "extends" else f"'{ran}'"
        text = recording.source.spec
        text = text.replace(table, f"{table}\n{key} = {value}", 1) if table else f"{key} = {value}\n{text}"
        path = strange / f"{number}.h5"
        write_recording(replace(recording, source=replace(recording.source, spec=text)), path)
        said = run("branch", path, "--at", 1.0, "--out", "out", "--no-plots", cwd=strange)
        assert "is not allowed in the spec of a result" in said
        assert not ran.exists()


def test_folders_are_trusted_listed_and_removed(untrusted, tmp_path):
    """One of the three at a time."""
    for name in ("mine", "here"):
        (tmp_path / name).mkdir()
    here = tmp_path / "here"
    assert run("trust", "../mine", cwd=here, code=0) == f"trusted: {tmp_path / 'mine'}\n"
    run("trust", ".", cwd=here, code=0)
    assert run("trust", "--list", cwd=here, code=0) == f"{here}\n{tmp_path / 'mine'}\n"
    assert run("trust", "--remove", "../mine", cwd=here, code=0) == f"no longer trusted: {tmp_path / 'mine'}\n"
    assert json.loads((untrusted / "px4lockstep" / "trusted.json").read_text("utf-8")) == [str(here)]
    for wrong in ((), ("--list", "."), ("--remove", ".", "."), ("gone",), ("--remove", "gone")):
        assert run("trust", *wrong, cwd=here).startswith("error: ")
