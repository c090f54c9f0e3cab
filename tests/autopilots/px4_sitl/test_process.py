"""The process of stock PX4, with a program that records how it was started, and waits."""

import json
import os
import sys
import time

import pytest

from px4lockstep.autopilots.px4_sitl.process import Px4Process

pytestmark = pytest.mark.process

PROGRAM = f"""#!{sys.executable}
import json, os, sys, time
with open("part", "w") as file:
    json.dump([sys.argv[1:], dict(os.environ), os.getcwd()], file)
os.rename("part", "started")
time.sleep(600)
"""
PATIENCE_S = 20.0


@pytest.fixture
def build(tmp_path):
    folder = tmp_path / "build"
    (folder / "bin").mkdir(parents=True)
    (folder / "etc").mkdir()
    (folder / "bin" / "px4").write_text(PROGRAM)
    (folder / "bin" / "px4").chmod(0o755)
    return folder


@pytest.fixture
def start(build, tmp_path):
    """Start it as instance 3 with airframe 10016; return it with its arguments, environment and folder."""
    begun = []

    def begin(parameters):
        folder = tmp_path / "kept"
        folder.mkdir()
        process = Px4Process(build, 3, 10016, parameters, folder, tmp_path / "px4.log")
        begun.append(process)
        end_s = time.monotonic() + PATIENCE_S
        while not (folder / "started").exists():
            assert process.is_running, process.last_lines
            assert time.monotonic() < end_s
            time.sleep(0.01)
        return process, *json.loads((folder / "started").read_text())

    yield begin
    for process in begun:
        process.close()


def test_it_is_started_with_its_instance_folder_and_scripts(start, build, tmp_path):
    """As a daemon without a shell, in a fresh folder."""
    _, arguments, _, folder = start({})
    assert arguments == ["-d", "-i", "3", "-w", str(tmp_path / "kept"), str(build / "etc")]
    assert os.path.samefile(folder, tmp_path / "kept")


def test_airframe_and_parameters_are_in_its_environment(start, monkeypatch):
    """Along with the caller's environment."""
    monkeypatch.setenv("PX4_SYS_AUTOSTART", "4001")
    monkeypatch.setenv("OF_THE_CALLER", "kept")
    _, _, environment, _ = start({"MPC_XY_P": "0.5", "SDLOG_BACKEND": "0"})
    assert environment["PX4_SYS_AUTOSTART"] == "10016"
    assert environment["OF_THE_CALLER"] == "kept"
    told = {name: value for name, value in environment.items() if name.startswith("PX4_PARAM_")}
    assert told == {"PX4_PARAM_MPC_XY_P": "0.5", "PX4_PARAM_SDLOG_BACKEND": "0"}


@pytest.mark.parametrize("name", ["PX4_SIM_MODEL", "PX4_SIMULATOR", "PX4_SIM_SPEED_FACTOR"])
def test_another_simulators_variables_do_not_reach_it(start, monkeypatch, name):
    """A shell used with Gazebo may have set them."""
    monkeypatch.setenv(name, "gz_x500")
    _, _, environment, _ = start({})
    assert name not in environment


def test_parameters_of_the_callers_environment_do_not_reach_it(start, monkeypatch):
    """Otherwise a flight would depend on the shell."""
    monkeypatch.setenv("PX4_PARAM_MPC_Z_P", "9.0")
    monkeypatch.setenv("PX4_PARAM_MPC_XY_P", "9.0")
    _, _, environment, _ = start({"MPC_XY_P": "0.5"})
    assert "PX4_PARAM_MPC_Z_P" not in environment
    assert environment["PX4_PARAM_MPC_XY_P"] == "0.5"


def test_it_is_gone_after_close(start):
    """By SIGTERM, which it does not ignore."""
    process, *_ = start({})
    os.kill(process.id, 0)
    process.close()
    assert not process.is_running
    assert process.end == "PX4 was killed by SIGTERM"
    with pytest.raises(ProcessLookupError):
        os.kill(process.id, 0)
