"""Values from outside."""

import pytest
from spec_files import MINIMAL, load_text, write

from px4lockstep.errors import InputError
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
def test_a_value_is_read_as_toml(text):
    """And a plain word as itself."""
    assert parse_override(text) == PARSED[text]


@pytest.mark.parametrize(
    "text", ["", "a", "=1", "a.b=", "a.b=[1", "a.b=1\nc=2", "a..b=1", "[0].a=1", "a b=1", "a.b=1 2"]
)
def test_what_is_no_override_is_an_error(text):
    """With what it should have been."""
    with pytest.raises(InputError, match=r"table\.key=value|is not a value|is no key"):
        parse_override(text)


def test_both_ways_to_write_an_index_are_the_same():
    """`[0]` and `.0`."""
    key = ("power", "batteries", 0, "soc0")
    assert split_key("power.batteries[0].soc0") == split_key("power.batteries.0.soc0") == key


def test_overrides_replace_what_files_say(tmp_path):
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


def test_an_item_of_a_default_array_can_be_changed(tmp_path):
    """The battery that nobody gave."""
    assert load_text(tmp_path, MINIMAL, {"power.batteries[0].soc0": 0.4}).power.batteries[0].soc0 == 0.4


def test_paths_from_outside_are_relative_to_where_we_are(tmp_path, monkeypatch):
    """Not to the file."""
    mission = load_spec("iris").px4.mission_path
    assert mission == "simple"
    path = write(tmp_path, MINIMAL, "a/field.toml")
    monkeypatch.chdir(tmp_path)
    assert load_spec(path, {"px4.libpath": "lib.so"}).px4.libpath == str(tmp_path / "lib.so")


BAD = {
    "environment.wnd": ("ou", "override: environment.wnd = 'ou' is unknown; did you mean 'wind'?"),
    "power.batteries[3].soc0": (0.5, "override: power.batteries[3] = 0.5 is not there: power.batteries has 1"),
    "aircraft.name.first": (1, "override: aircraft.name.first = 1 is unknown: aircraft.name = 'iris' is no table"),
    "bogus.key": (1, "override: bogus = { key = 1 } is unknown"),
    "timeline.t_end_s": ("20", "override: timeline.t_end_s = '20' is not allowed; it must be a number"),
    "extends": (["x"], "override: extends can't be changed from outside"),
    "a b": (1, "override: 'a b' is no key"),
}


@pytest.mark.parametrize("key", BAD)
def test_a_bad_override_is_named_as_one(key):
    """With the key as it stands in the file."""
    value, expected = BAD[key]
    with pytest.raises(InputError) as caught:
        load_spec("iris", {key: value})
    assert expected in str(caught.value)
