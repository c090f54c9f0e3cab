"""Classes of the user in a spec file: where they are found, who must trust them, and what is wrong with them."""

import sys

import pytest
from own_code import HOLD, WIND, write_own

from px4lockstep import InputError, load_spec, to_toml
from px4lockstep.spec.build import build
from px4lockstep.spec.load import parse_spec


def test_a_class_is_looked_up_beside_the_file_that_names_it(tmp_path):
    """Each of the files that a spec extends has its own folder."""
    write_own(tmp_path / "base", 'extends = ["x500"]\n[environment]\nwind = "python:my_wind:Steps"\n')
    file = tmp_path / "top.toml"
    file.write_text('extends = ["base/own.toml"]\n[autopilot]\nkind = "python:hold:Hold"\n')
    spec = load_spec(file)
    assert spec.autopilot.python_dir == str(tmp_path)
    assert spec.environment.wind_python_dir == str(tmp_path / "base")
    assert load_spec(file, {"autopilot.kind": "builtin"}).autopilot.capabilities.name == "the built-in autopilot"


def test_an_override_starts_in_the_working_directory(tmp_path, monkeypatch):
    """Like a path in an override; it counts as the user's choice."""
    write_own(tmp_path)
    monkeypatch.chdir(tmp_path)
    spec = load_spec("x500", settings=["autopilot.kind=python:hold:Hold", "autopilot.options.height_m=2.0"])
    assert spec.autopilot.python_dir == str(tmp_path)
    assert not spec.untrusted
    flight = build(spec)
    assert flight.own_parts["autopilot"].made.height_m == 2.0
    assert flight.own_parts["autopilot"].identity.startswith("hold:Hold sha256:")


def test_a_module_on_the_path_is_found_too(tmp_path, monkeypatch):
    """A package, for example."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "wind.py").write_text(WIND)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    flight = build(load_spec("x500", {"environment.wind": "python:lab.wind:Steps"}))
    assert type(flight.own_parts["wind"].made).__module__ == "lab.wind"


def test_a_file_that_names_a_class_needs_trust(tmp_path, untrusted, monkeypatch):
    """Nothing of it is executed before; a file can't change the folder of a class that the user chose either."""
    file = write_own(tmp_path)
    (tmp_path / "hold.py").write_text("raise SystemExit('executed')")
    spec = load_spec(file)
    assert build(spec, runs_code=False).own_parts == {}  # as `spec check` does
    with pytest.raises(InputError, match=r"has 3 errors[\s\S]*autopilot\.kind = 'python:hold:Hold' names code"):
        build(spec)
    folder = tmp_path / "folder.toml"
    folder.write_text(f'extends = ["x500"]\n[autopilot]\npython_dir = "{tmp_path}"\n')
    assert build(load_spec(folder)).own_parts == {}  # not used
    monkeypatch.chdir(HOLD.parent)
    chosen = load_spec(folder, {"autopilot.kind": "python:hold:Hold"})
    assert chosen.autopilot.python_dir == str(HOLD.parent)
    assert build(chosen).own_parts["autopilot"].made.height_m == 5.0


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("class Hald: pass", "", r"hold\.py has no class 'Hold'; did you mean 'Hald'\? Defined in it: Hald"),
        ("Hold = 3", "", r"Hold in hold\.py is 3; it must be a class"),
        ("class Hold:\n    pass", "", r"autopilot = <.*Hold object.* has no method step"),
        ("import numpyy", "", r"can't load hold\.py: hold\.py, line 1: ModuleNotFoundError: No module named 'numpyy'"),
        ("class Hold(:", "", r"can't load hold\.py: hold\.py, line 1: SyntaxError"),
        (
            "class Hold:\n    def __init__(self):\n        1 / 0",
            "",
            r"can't be created: hold\.py, line 3: ZeroDivision",
        ),
        ("class Hold:\n    def __init__(self, p):\n        pass", "", r"Hold\(\): missing a required argument: 'p'"),
        (
            "class Hold:\n    pass",
            "options = { p = 2.0 }",
            r"Hold\(p=2\.0\):.*'p'; Hold\(\) gets its arguments from autopilot\.options",
        ),
    ],
)
def test_a_class_that_can_not_be_created_is_an_error_with_its_line(tmp_path, source, options, message):
    """With the file and the key of the spec."""
    file = write_own(tmp_path, f'extends = ["x500"]\n[autopilot]\nkind = "python:hold:Hold"\n{options}\n')
    (tmp_path / "hold.py").write_text(source)
    with pytest.raises(InputError, match=rf"own\.toml: autopilot\.kind = 'python:hold:Hold': [\s\S]*{message}"):
        build(load_spec(file, trust=True))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("autopilot.kind", "python:hold", r"names no class; it must be python:MODULE:CLASS"),
        ("autopilot.kind", "python:a/b:C", r"names no class"),
        ("autopilot.kind", "bultin", r"did you mean 'builtin'\? Allowed: .*'python:MODULE:CLASS'"),
        ("environment.wind", 3, r"environment\.wind = 3 is not allowed"),
        ("autopilot.options", {"a-b": 1}, r"has the name 'a-b', which can't be an argument"),
        ("estimator.options", {"a": float("nan")}, r"a = nan is not allowed"),
    ],
)
def test_a_wrong_kind_or_option_is_an_error(key, value, message):
    """With what is allowed."""
    with pytest.raises(InputError, match=message):
        load_spec("x500", {key: value})


def test_spec_check_reports_a_module_that_is_not_there(tmp_path):
    """Without importing anything."""
    file = tmp_path / "own.toml"
    file.write_text('extends = ["x500"]\n[autopilot]\nkind = "python:nowhere:Hold"\n')
    with pytest.raises(InputError, match=rf"module 'nowhere' not found in {tmp_path} or on the Python path"):
        build(load_spec(file), runs_code=False)
    with pytest.raises(InputError, match="module 'nowhere' not found"):
        build(load_spec(file, trust=True))


def test_a_resolved_file_flies_the_same_class(tmp_path):
    """It has the folder; the spec of a result has none."""
    spec = load_spec(write_own(tmp_path), trust=True)
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / "copy.toml"
    copy.write_text(to_toml(spec))
    assert load_spec(copy) == spec
    with pytest.raises(InputError, match=r"autopilot\.python_dir.*is not allowed in the spec of a result"):
        parse_spec(to_toml(spec))


def test_an_object_in_a_file_can_only_be_replayed(tmp_path):
    """It names what flew, but no code."""
    spec = load_spec("x500", {"autopilot.kind": "object:hold:Hold"})
    assert not spec.untrusted
    with pytest.raises(InputError, match=r"is an object that was passed in Python.*pass it: autopilot=Hold\(\.\.\.\)"):
        build(spec)
