"""Code that a spec file names runs only if the user chose it."""

import os
import pickle
import platform
from types import SimpleNamespace

import pytest
from spec_files import MINIMAL, write

from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.errors import InputError
from px4lockstep.px4.binary import ELF_MACHINES
from px4lockstep.spec.build import build
from px4lockstep.spec.code import class_keys, code_keys
from px4lockstep.spec.load import change_spec, load_spec
from px4lockstep.trust import trust_folder

KINDS_OF_CODE = {"px4": "libpath = 'lib.so'", "px4-sitl": "sitl.build_dir = 'build'"}
LOADED = "lib.so can't be loaded: so far"


@pytest.fixture(autouse=True)
def folder(untrusted, tmp_path, monkeypatch):
    """Return an untrusted working directory with a spec of each kind, a file that looks like a library, and a build."""

    def load(path):
        raise OSError("so far")

    monkeypatch.setattr("px4lockstep.px4.library.ctypes", SimpleNamespace(CDLL=load))
    for name in ("PX4_LOCKSTEP_LIB", "PX4_SITL_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "downloads"
    for kind, text in KINDS_OF_CODE.items():
        write(folder, f"autopilot.kind = '{kind}'\npx4.{text}\n{MINIMAL}", f"{kind}.toml")
    machine = next(number for number, name in ELF_MACHINES.items() if name == platform.machine())
    (folder / "lib.so").write_bytes(b"\x7fELF".ljust(18, b"\0") + machine.to_bytes(2, "little"))
    (folder / "build" / "etc").mkdir(parents=True)
    write(folder, "", "build/bin/px4")
    monkeypatch.chdir(folder)
    return folder


def error_of(spec):
    """Return the error of building a flight."""
    with pytest.raises(InputError) as caught:
        build(spec)
    return str(caught.value)


def test_the_keys_that_name_code_are_known():
    """Each is run by one kind of autopilot, or names a class. A new key must be added to the page about trust."""
    classes = {("autopilot", "kind"): ("autopilot", "python_dir")}
    classes |= {("environment", "wind"): ("environment", "wind_python_dir")}
    classes |= {("estimator", "kind"): ("estimator", "python_dir")}
    assert class_keys() == classes
    files = {("px4", "libpath"): "px4", ("px4", "sitl", "build_dir"): "px4-sitl"}
    assert code_keys() == files | dict.fromkeys((*classes, *classes.values()), "python")
    assert set(files.values()) <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS_OF_CODE)
def test_an_untrusted_file_runs_no_code(kind):
    """The error names the file, the key, the code and the remedies."""
    text = error_of(load_spec(f"{kind}.toml"))
    key = {"px4": "px4.libpath", "px4-sitl": "px4.sitl.build_dir"}[kind]
    assert text.startswith(f"{kind}.toml: {key} = '{os.getcwd()}")
    for remedy in ("px4lockstep trust FOLDER", "--trust", "trust=True", f"--set {key}=PATH"):
        assert remedy in text


WAYS = {
    "trust": lambda folder, _: load_spec("px4.toml", trust=True),
    "override": lambda folder, _: load_spec("px4.toml", {"px4.libpath": "lib.so"}),
    "table": lambda folder, _: load_spec("px4.toml", {"px4": {"libpath": folder / "lib.so"}}),
    "setting": lambda folder, _: load_spec("px4.toml", settings=["px4.libpath=lib.so"]),
    "later setting": lambda folder, _: change_spec(load_spec("px4.toml"), settings=["px4.libpath=lib.so"]),
    "folder": lambda folder, _: trust_folder(folder) and load_spec("px4.toml"),
    "environment": lambda folder, patch: patch.setenv("PX4LOCKSTEP_TRUST", str(folder)) or load_spec("px4.toml"),
}


@pytest.mark.parametrize("way", WAYS)
def test_code_that_the_user_chose_is_loaded(folder, monkeypatch, way):
    """By each way of choosing."""
    assert LOADED in error_of(WAYS[way](folder, monkeypatch))


def test_a_library_in_the_environment_is_chosen(folder, monkeypatch):
    """Also for a file that requests PX4 without a path."""
    monkeypatch.setenv("PX4_LOCKSTEP_LIB", str(folder / "lib.so"))
    write(folder, f"autopilot.kind = 'px4'\n{MINIMAL}", "asks.toml")
    assert LOADED in error_of(load_spec("asks.toml"))


def test_trust_is_that_of_the_file_that_names_the_code(folder, tmp_path):
    """With `extends`, a trusted base is trusted, and a trusted file does not make its base trusted."""
    mine = tmp_path / "mine"
    write(mine, f"px4.libpath = '{folder}/lib.so'\n{MINIMAL}", "base.toml")
    write(mine, f"extends = ['{folder}/px4.toml']\n", "over.toml")
    write(mine, f"extends = ['{folder}/px4.toml']\npx4.libpath = '{folder}/lib.so'\n", "names.toml")
    write(folder, f"extends = ['{mine}/base.toml']\nautopilot.kind = 'px4'\npx4.edge_trigger = true\n", "asks.toml")
    trust_folder(mine)
    assert LOADED in error_of(load_spec("asks.toml"))
    assert LOADED in error_of(load_spec(mine / "names.toml"))
    assert error_of(load_spec(mine / "over.toml")).startswith(f"{folder}/px4.toml: px4.libpath = ")


def test_a_file_named_like_an_override_is_a_file(folder):
    """The name of a source in errors does not affect trust."""
    write(folder, (folder / "px4.toml").read_text(), "override environment.wind")
    write(folder, "extends = ['override environment.wind']\n", "field.toml")
    assert "names code" in error_of(load_spec("field.toml", {"environment.wind": "none"}))
    write(folder, f"run.log_csv = '/x/out.csv'\n{MINIMAL}", "override environment.wind")
    assert load_spec("field.toml", {"environment.wind": "none"}).run.log_csv == "out.csv"


def test_code_that_does_not_run_needs_no_trust(folder):
    """The built-in autopilot flies a file that names a PX4 library."""
    write(folder, f"px4.libpath = 'lib.so'\n{MINIMAL}", "field.toml")
    build(load_spec("field.toml"))


def test_parts_created_in_python_need_no_trust(folder, tmp_path):
    """Also if other values change later; a value from an untrusted file stays untrusted."""
    spec = load_spec("px4.toml")
    mine = spec.model_copy(update={"px4": Px4Options(libpath=f"{folder}/../downloads/lib.so")})
    assert LOADED in error_of(mine)
    assert LOADED in error_of(change_spec(mine, {"aircraft.seed": 3}))
    for other in (spec.model_copy(), change_spec(spec, {"aircraft.seed": 3}), pickle.loads(pickle.dumps(spec))):
        assert "names code" in error_of(other)


def test_trust_is_decided_when_the_file_is_loaded(folder, monkeypatch, tmp_path):
    """Later changes of trust, working directory or process have no effect."""
    before = load_spec("px4.toml")
    trust_folder(folder)
    trusted = load_spec("px4.toml")
    assert "names code" in error_of(before)
    (tmp_path / "config" / "px4lockstep" / "trusted.json").unlink()
    monkeypatch.chdir("/")
    for spec in (trusted, change_spec(trusted, {"aircraft.seed": 3}), pickle.loads(pickle.dumps(trusted))):
        assert LOADED in error_of(spec)


@pytest.mark.parametrize("kind", KINDS_OF_CODE)
def test_a_flight_can_be_inspected_without_its_code(kind):
    """It is built without an error about trust, and no code is loaded or started."""
    build(load_spec(f"{kind}.toml"), runs_code=False).simulation.close()
