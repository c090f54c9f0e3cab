"""Overrides of spec values."""

import re

import numpy as np
import pytest
from spec_files import MINIMAL, load_text, write

from px4lockstep.errors import InputError
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.overrides import parse_override, split_key

PARSED = {
    "environment.wind=ou": ("environment.wind", "ou"),
    'environment.wind = "ou"': ("environment.wind", "ou"),
    "timeline.t_end_s=20": ("timeline.t_end_s", 20),
    "timeline.t_end_s=2e1": ("timeline.t_end_s", 20.0),
    "px4.edge_trigger=true": ("px4.edge_trigger", True),
    "environment.wind_mean_ned=[1, 2.5, 0]": ("environment.wind_mean_ned", [1, 2.5, 0]),
    "px4.mission_path=../m/field.plan": ("px4.mission_path", "../m/field.plan"),
    "power.batteries[0].soc0=0.5": ("power.batteries[0].soc0", 0.5),
    "plant.contact={ kind = 'legs' }": ("plant.contact", {"kind": "legs"}),
}


@pytest.mark.parametrize("text", PARSED)
def test_a_value_is_parsed_as_toml(text):
    """A plain word stands for itself."""
    assert parse_override(text) == PARSED[text]


@pytest.mark.parametrize(
    "text", ["", "a", "=1", "a.b=", "a.b=[1", "a.b=1\nc=2", "a..b=1", "[0].a=1", "a b=1", "a.b=1 2"]
)
def test_an_invalid_override_is_an_error(text):
    """The message shows the expected form."""
    with pytest.raises(InputError, match=r"table\.key=value|is not a value|is not a key"):
        parse_override(text)


def test_both_notations_of_an_index_are_equivalent():
    """`[0]` and `.0`."""
    key = ("power", "batteries", 0, "soc0")
    assert split_key("power.batteries[0].soc0") == split_key("power.batteries.0.soc0") == key


def test_overrides_replace_values_of_files(tmp_path):
    """Scalars, arrays, items of arrays, tables, spellings, names."""
    spec = load_spec(
        "iris",
        {
            "environment.wind": "none",
            "power.batteries[0].soc0": 0.5,
            "plant.integrator.rtol_ω": 1e-8,
            "airframe.rotor_pos_body_m": [[0.2, 0.2, 0], [-0.2, -0.2, 0], [0.2, -0.2, 0], [-0.2, 0.2, 0]],
            "home": {"lat_deg": 0.5},
            "autopilot.params.MPC_XY_CRUISE": 3.0,
            "airframe.x0.euler_deg": (0, 0, 90),
        },
    )
    assert spec.environment.wind == "none"
    assert (spec.power.batteries[0].soc0, spec.power.batteries[0].c1) == (0.5, 2000.0)
    assert (spec.plant.integrator.kind, spec.plant.integrator.rtol_omega) == ("RK45", 1e-8)
    assert spec.airframe.rotor_pos_body_m[0] == (0.2, 0.2, 0.0)
    assert (spec.home.lat_deg, spec.home.lon_deg) == (0.5, 8.545594)
    assert spec.autopilot.params == {"MPC_XY_CRUISE": 3.0}
    assert spec.airframe.x0.euler_deg == (0.0, 0.0, 90.0)


def test_numpy_numbers_are_accepted():
    """As in a loop over an array."""
    changes = {"aircraft.seed": np.int64(7), "airframe.mass_kg": np.float32(1.5), "airframe.x0.pos_ned": np.zeros(3)}
    spec = load_spec("iris", changes)
    assert (spec.aircraft.seed, spec.airframe.mass_kg, spec.airframe.x0.pos_ned) == (7, 1.5, (0.0, 0.0, 0.0))


def test_an_item_of_a_default_array_can_be_changed(tmp_path):
    """The default battery."""
    assert load_text(tmp_path, MINIMAL, {"power.batteries[0].soc0": 0.4}).power.batteries[0].soc0 == 0.4


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    """At the beginning of a path; a shell does not expand it inside table.key=value."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_spec("iris", settings=["px4.libpath=~/PX4/lib.so"]).px4.libpath == str(tmp_path / "PX4" / "lib.so")


def test_paths_in_overrides_are_relative_to_the_working_directory(tmp_path, monkeypatch):
    """Not to the file."""
    mission = load_spec("iris").px4.mission_path
    assert mission == "simple"
    path = write(tmp_path, MINIMAL, "a/field.toml")
    monkeypatch.chdir(tmp_path)
    assert load_spec(path, {"px4.libpath": "lib.so"}).px4.libpath == str(tmp_path / "lib.so")


BAD = {
    "environment.wnd": ("ou", "environment.wnd = 'ou': unknown key; did you mean 'wind'?"),
    "power.batteries[3].soc0": (0.5, "power.batteries[3].soc0 = 0.5 is out of range: power.batteries has 1 item,"),
    "aircraft.name.first": (1, "aircraft.name.first = 1 is unknown: aircraft.name = 'iris' is not a table"),
    "bogus.key": (1, "bogus = { key = 1 }: unknown key"),
    "timeline.t_end_s": ("20", "timeline.t_end_s = '20' is not allowed; it must be a number"),
    "extends": (["x"], "extends can't be overridden; set it in a file"),
    "a b": (1, "'a b' is not a key"),
}


@pytest.mark.parametrize("key", BAD)
def test_an_error_names_the_override(key):
    """With the key as written in the file."""
    value, expected = BAD[key]
    with pytest.raises(InputError) as caught:
        load_spec("iris", {key: value})
    assert str(caught.value).startswith(f"override {key}: {expected}")


def test_an_error_names_the_setting_as_written():
    """In the form of the command line, all errors in one report."""
    settings = ["environment.wind=drydn", "timeline.t_end_s", "home.lat_deg=91", "a\nb=1", "home.lon_deg=[" + "1," * 99]
    with pytest.raises(InputError) as caught:
        load_spec("iris", settings=settings)
    lines = [line.strip() for line in str(caught.value).splitlines()]
    assert lines[0].endswith("iris.toml has 5 errors:")
    assert "--set environment.wind=drydn: environment.wind = 'drydn' is unknown; did you mean" in str(caught.value)
    assert any(line.startswith("--set timeline.t_end_s: 'timeline.t_end_s' is not an override") for line in lines)
    assert any(line.startswith("--set home.lat_deg=91: home.lat_deg = 91 is out of range") for line in lines)
    assert any(line.startswith("--set a\\nb=1: ") for line in lines)
    assert any(line.startswith("--set home.lon_deg=[1,") and "…: " in line for line in lines)


def test_settings_apply_in_order_after_overrides():
    """The last one wins."""
    spec = load_spec("iris", {"aircraft.seed": 1}, ["aircraft.seed=2", "aircraft.seed=3"])
    assert spec.aircraft.seed == 3


PLACES = {
    "a check across tables": ("timeline.dt_phys_s=0.0003", "timeline.dt_autopilot_s = 0.004 is neither a whole"),
    "a motor that can't lift it": ("airframe.mass_kg=60", "airframe.propulsion can't reach a thrust"),
    "a mission elsewhere": ("home.lat_deg=-33", "the mission starts"),
    "rotors that can't steer": ("airframe.propulsion.rotor_dir=[1, 1, 1, 1]", "the built-in autopilot can't fly iris"),
    "a rotor that does not exist": (
        "autopilot.params.CA_ROTOR9_PX=1",
        "autopilot.params.CA_ROTOR9_PX = 1 names a rotor that does not exist",
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_error_that_an_override_causes_names_it(name):
    """Whether loading or building finds it."""
    text, expected = PLACES[name]
    key, value = parse_override(text)
    for place, changes in (
        (f"--set {text}", {"settings": [text]}),
        (f"override {key}", {"overrides": {key: value}}),
    ):
        with pytest.raises(InputError) as caught:
            build(load_spec("iris", **changes))
        before, _, after = str(caught.value).partition(expected)
        assert f"{place}: " in before or f", {place})" in after


def test_overrides_of_other_tables_are_not_blamed():
    """Whether loading or building finds the error."""
    for wrong in ("timeline.dt_phys_s=0.0003", "airframe.mass_kg=60"):
        with pytest.raises(InputError) as caught:
            build(load_spec("iris", settings=["aircraft.seed=3", "home.alt_msl_m=7", wrong]))
        assert re.search(rf"\(values from \S+iris\.toml, --set {re.escape(wrong)}\)$", str(caught.value))
        assert "seed" not in str(caught.value)
        assert "alt_msl_m" not in str(caught.value)
