"""The resolved file, the JSON schema and the generated reference."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
from spec_files import MINIMAL, load_text, write

from px4lockstep.errors import InputError
from px4lockstep.part import all_tables, keys_of, table_of
from px4lockstep.spec.json_schema import json_schema
from px4lockstep.spec.load import change_spec, load_spec, parse_spec
from px4lockstep.spec.shipped import shipped_aircraft
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import to_toml

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "spec.md"
reference = runpy.run_path(str(PAGE.parents[2] / "tools" / "spec_reference.py"))["reference"]


def test_the_resolved_file_loads_to_an_equal_spec(tmp_path):
    """Events, gusts, parameters, servos, infinity, odd strings, the largest seed, paths, selected columns."""
    text = r"""
[aircraft]
name = "a \"b\" \\ \u007f é"
seed = 18446744073709551615
[autopilot.params]
MPC_XY_CRUISE = 3
MPC_TKO_RAMP_T = 2.5
[actuation]
motor_actuators = "second_order"
servos = [{ id = "flap", channel = 3 }]
[[environment.gusts]]
start_s = 1.5
end_s = 2
vel_ned = [1, 0, 0]
[[scenario.events]]
at_s = 0.3
action = "wind_step"
vel_ned = [1, 2, 3]
[[scenario.events]]
when = { signal = "tilt_deg", above = 60 }
action = "disarm"
[[px4.params]]
name = "MC_AIRMODE"
value = 1
[[px4.uorb.pubs]]
key = "x"
type = "Y"
[[sensors]]
kind = "gps"
id = "g"
[run]
log_columns = ["pos_ned", "vel_ned"]
validate = "paranoid"
log_csv = "log.csv"
"""
    spec = load_text(tmp_path, MINIMAL + text)
    again = load_spec(write(tmp_path, to_toml(spec), "run/spec.toml"))
    assert again == spec
    assert again.aircraft.name == 'a "b" \\ \x7f é'
    assert isinstance(again.autopilot.params["MPC_XY_CRUISE"], int)
    assert again.run.log_csv == "log.csv"


def test_the_resolved_file_has_every_key():
    """Except keys without a value; empty arrays of tables are comments."""
    text = to_toml(load_spec("iris"))
    data = tomllib.loads(text)
    for name, model, is_array in all_tables(Spec):
        table = data
        for part in name.split(".") if name else []:
            inner = table.get(part, {})
            table = (inner or [{}])[0] if isinstance(inner, list) else inner
        is_optional = name in (
            "px4.sitl.sensors.airspeed",
            "plant.integrator.tableau",
            "scenario.setpoints",
            "airframe.propulsion.table",
            "airframe.propulsion.overrides.table",
        )
        if table or not ("events" in name or is_array or is_optional):  # none is omitted
            for key, field in keys_of(model).items():
                inner_name = f"{name}.{key}" if name else key
                if table_of(field)[1] and key not in table:
                    assert f"# [[{inner_name}]]: none\n" in text
                else:
                    assert field.default is None or key in table, inner_name


@pytest.mark.parametrize("name", shipped_aircraft())
def test_events_can_be_added_to_the_resolved_file(name, tmp_path):
    """And gusts, and all other arrays of tables that may be empty."""
    more = (
        '[[scenario.events]]\nat_s = 1.0\naction = "land"\n'
        "[[environment.gusts]]\nstart_s = 1\nend_s = 2\nvel_ned = [1, 0, 0]\n"
        '[[px4.params]]\nname = "MC_AIRMODE"\nvalue = 1\n[[px4.uorb.subs]]\nkey = "a"\ntype = "A"\n'
        '[[actuation.servos]]\nid = "flap"\nchannel = 8\n[[sensors]]\nkind = "gps"\nid = "g"\n'
    )
    spec = load_text(tmp_path, to_toml(load_spec(name)) + more)
    assert spec.scenario.events[-1].action == "land"
    assert spec.environment.gusts[0].end_s == 2.0
    assert spec.actuation.servos[-1].id == "flap"


def test_two_specs_differ_if_any_value_does():
    """Sources are ignored."""
    assert load_spec("iris") == load_spec("iris")
    assert load_spec("iris") != load_spec("iris", {"aircraft.seed": 2})


def test_the_schema_is_json_and_describes_every_key():
    """With titles, descriptions and aliases; unknown keys are rejected."""
    schema = json.loads(json.dumps(json_schema()))
    assert schema["title"] == "px4lockstep spec file"
    assert schema["properties"]["extends"]["items"] == {"type": "string"}
    assert "required" not in schema
    for _, model, _ in all_tables(Spec):
        table = schema["$defs"].get(model.__name__, schema)
        assert table["additionalProperties"] is False
        assert table["description"]
        for key in (*keys_of(model), *model.aliases):
            own = table["properties"][key]
            inner = schema["$defs"].get(own.get("$ref", "").rpartition("/")[2], {})
            assert own.get("description") or inner.get("description"), (model, key)
    assert schema["$defs"]["Event"]["properties"]["action"]["enum"][0] == "arm"
    plant = json.dumps(schema["$defs"]["Plant"]["properties"]["integrator"])
    assert "string" in plant
    assert "#/$defs/Integrator" in plant


def test_the_docs_contain_the_current_reference():
    """`tools/spec_reference.py` writes it."""
    text = PAGE.read_text("utf-8")
    assert reference() in text
    for name, model, is_array in all_tables(Spec):
        assert not name or (f"`[[{name}]]`" if is_array else f"`[{name}]`") in text
        for key, field in keys_of(model).items():
            assert re.search(rf"^\| `{re.escape(key)}` \| [^|]+ \|", text, re.MULTILINE), key
            assert field.description, key


@pytest.mark.parametrize("key", ["[airframe.propulsion]", "`mass_kg` | number, ≥ 1e-12, ≤ 10,000 | **required** | kg"])
def test_the_reference_gives_type_unit_and_default(key):
    """In a row for each key."""
    assert key in reference()


def test_the_example_in_the_docs_loads(tmp_path):
    """The first TOML block."""
    block = re.search(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]
    assert load_text(tmp_path, block).environment.gusts[0].end_s == 22.5


def test_help_does_not_load_specs(python):
    """Nor the pydantic models, so that the command line responds at once."""
    code = (
        "import sys\nsys.argv = ['px4lockstep', '--help']\nfrom px4lockstep.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert not [name for name in sys.modules if name.startswith(('px4lockstep.spec', 'numba'))]"
    )
    python("-c", code)


def test_a_spec_is_parsed_from_texts_only(tmp_path, monkeypatch):
    """From the texts of spec and mission; the mission path must be one of the given texts."""
    spec = load_spec("iris")
    text = to_toml(spec).replace('mission_path = "simple"', 'mission_path = "mine.waypoints"')
    monkeypatch.chdir(tmp_path)
    missions = {"mine.waypoints": spec.mission.text}
    again = parse_spec(text, missions=missions)
    assert again.px4.mission_path == "mine.waypoints"
    assert repr(again.mission.items) == repr(spec.mission.items)  # they have NaN, which differs from itself
    with pytest.raises(InputError, match=r"^the text: px4\.mission_path = .* is not allowed in the spec of a result"):
        parse_spec(text, "the text")
    with pytest.raises(InputError, match=r"^the text: px4\.mission_path: mine\.waypoints line 1: 'no' is not"):
        parse_spec(text, "the text", missions={"mine.waypoints": "no"})
    with pytest.raises(InputError, match=r"^the text: airframe\.mass_kg = -1"):
        parse_spec(
            text.replace("mass_kg = 1.5", "mass_kg = -1"), "the text", missions={"mine.waypoints": spec.mission.text}
        )


def test_a_changed_spec_is_validated_and_keeps_the_rest():
    """Also the sources of its values."""
    spec = load_spec("iris", {"aircraft.seed": 3})
    changed = change_spec(spec, {"environment.wind": "none"}, ["home.alt_msl_m=5"])
    assert changed == load_spec("iris", {"aircraft.seed": 3, "environment.wind": "none", "home.alt_msl_m": 5})
    assert spec == load_spec("iris", {"aircraft.seed": 3})
    assert spec.places.overrides == ["override aircraft.seed"]
    with pytest.raises(InputError, match=r"^override airframe\.mass_kg: airframe\.mass_kg = 0 is out of range"):
        change_spec(changed, {"airframe.mass_kg": 0})
