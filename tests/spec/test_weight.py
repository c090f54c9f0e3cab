"""Warnings about weight and thrust, of a spec and of a campaign; a flight with payload and offset."""

import re

import pytest
from campaign_files import FILE, write_campaign
from spec_files import write

import px4lockstep
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.cli.spec import check_spec
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.weight import weight_warnings

HEAVY = {"airframe.mass_kg": 8.0, "airframe.propulsion.calibration_mass_kg": 1.5}


def test_an_aircraft_that_cannot_lift_itself_is_a_warning():
    """8 kg on motors for 1.5 kg: with the ratio and the remedy. Without an autopilot, nothing flies."""
    (warning,) = build(load_spec("iris", HEAVY)).warnings
    assert re.match(
        r"the aircraft can't lift its weight: full thrust at V_nom is 0\.3\d of it \(8 kg\); reduce airframe\.mass_kg",
        warning,
    )
    assert build(load_spec("iris", HEAVY | {"autopilot.kind": "none"})).warnings == ()
    (loaded,) = build(load_spec("iris", {"airframe.payload_kg": 6.5})).warnings
    assert loaded == warning


@pytest.mark.parametrize("name", ["iris", "octa", "hex", "twin", "x500"])
def test_built_in_aircraft_have_no_such_warning(name):
    """The twin's rotors push forward, but no autopilot flies it."""
    flight = build(load_spec(name), runs_code=False)
    assert weight_warnings(flight.spec, flight.aircraft) == ()


def test_spec_check_prints_both_and_counts_them(tmp_path, capsys):
    """An aircraft that is too heavy, with a mission that needs longer than the file allows."""
    text = 'extends = ["iris"]\n[airframe]\npayload_kg = 6.5\n[timeline]\nt_end_s = 60\n'
    assert check_spec(str(write(tmp_path, text))) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("warning: timeline.t_end_s = 60 is probably too short: the mission needs about 67 s")
    assert said[1].startswith("warning: the aircraft can't lift its weight: full thrust at V_nom is 0.3")
    assert said[2].endswith("field.toml: OK, 2 warnings")


@pytest.mark.parametrize("where", ["set", "vary"])
def test_a_campaign_that_changes_the_mass_has_a_warning(tmp_path, where):
    """As a setting for all runs or as an input; a payload has none."""
    wind = '"environment.wind_mean_ned[0]"\ndistribution = "uniform"\nlow = -3.0'
    old, new = {
        "set": ('"plant.integrator" = "RK4"', '"plant.integrator" = "RK4"\n"airframe.mass_kg" = 1.6'),
        "vary": (wind, '"airframe.mass_kg"\ndistribution = "uniform"\nlow = 1.4'),
    }[where]
    assert old in FILE
    (warning,) = load_campaign(write_campaign(tmp_path, FILE.replace(old, new))).warnings
    assert warning.startswith("airframe.mass_kg changes the motors, too: ")
    payload = load_campaign(write_campaign(tmp_path, FILE.replace(old, new.replace("mass_kg", "payload_kg"))))
    assert payload.warnings == ()
    assert payload.spec({"airframe.payload_kg": 0.3}).airframe.payload_kg == 0.3


def test_payload_and_offset_are_flown():
    """A landing of the X500 with 0.5 kg below and an offset of 1 cm: more current, and a lean against the offset."""
    settings = {"scenario.events": [{"at_s": 8.0, "action": "land"}], "timeline.t_end_s": 20.0}
    loads = {"airframe.payload_kg": 0.5, "airframe.payload_pos_body_m": [0.0, 0.0, 0.05]}
    runs = [
        px4lockstep.simulate("x500", overrides=settings | own)
        for own in ({}, loads, {"airframe.cg_offset_body_m": [0.01, 0.0, 0.0]})
    ]
    assert [run.outcome.word for run in runs] == ["flown"] * 3
    plain, loaded, offset = (run.log["motors"][600:650].mean(axis=0) for run in runs)
    assert (loaded > 1.05 * plain).all()
    front, rear = offset[[0, 2]].mean(), offset[[1, 3]].mean()
    assert front > 1.02 * rear
    assert plain[[0, 2]].mean() < 1.02 * plain[[1, 3]].mean()
