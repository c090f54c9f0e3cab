"""`autopilot.params_file`: its values become part of the spec, with precedence, one warning and errors with lines."""

import pytest
from spec_files import write
from vehicle_files import line_of, write_vehicle

from px4lockstep.autopilots.kinds import users_of
from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.errors import InputError
from px4lockstep.flights.parameters import parameters_of
from px4lockstep.flights.recorded import source_of
from px4lockstep.px4.parameters import description_of, known_parameters
from px4lockstep.spec.build import build
from px4lockstep.spec.load import change_spec, load_spec, parse_spec
from px4lockstep.spec.toml_text import to_toml

HOVER = "MPC_THR_HOVER"
X500_HOVER = 0.75


def flown(spec, *names):
    """Return the values that a spec's autopilot flies with."""
    values = parameters_of(spec)
    return tuple(values[name] for name in names)


def test_the_spec_holds_the_values_and_not_the_path(tmp_path):
    """So a run folder, a recording and a campaign do not depend on the file."""
    write_vehicle(tmp_path, MPC_XY_CRUISE=7.3)
    path = write(tmp_path, 'extends = ["x500"]\n[autopilot]\nparams_file = "vehicle.params"\n')
    spec = load_spec(path)
    (tmp_path / "vehicle.params").unlink()
    assert spec.autopilot.params_file is None
    assert spec.autopilot.file_params["MPC_XY_CRUISE"] == 7.3
    assert spec.autopilot.file_params["SYS_AUTOSTART"] == 4001
    assert len(spec.autopilot.file_params) > 900
    again = load_spec(write(tmp_path, to_toml(spec), "elsewhere/spec.toml"))
    assert again == spec
    assert flown(again, "MPC_XY_CRUISE") == (7.3,)


def test_a_recording_holds_the_values(tmp_path):
    """Its spec is read without any file."""
    path = write_vehicle(tmp_path, MPC_XY_CRUISE=7.3)
    spec = load_spec("iris", {"autopilot.params_file": str(path)})
    source = source_of(build(spec, record=True))
    assert "vehicle.params" not in source.spec
    path.unlink()
    missions = {str(source.mission_name): str(source.mission)}
    assert parse_spec(source.spec, missions=missions).autopilot == spec.autopilot


def test_a_campaign_holds_the_values(tmp_path):
    """It is sent to workers and stored as text; an input may override a value."""
    path = write_vehicle(tmp_path, MPC_XY_CRUISE=7.3)
    text = '[campaign]\nbase = "iris"\nruns = 2\n[set]\n"autopilot.params_file" = "vehicle.params"\n[[vary]]\n'
    text += 'key = "autopilot.params.MPC_Z_V_AUTO_UP"\ndistribution = "list"\nvalues = [1.0, 2.0]\n'
    campaign = load_campaign(write(tmp_path, text, "campaign.toml"))
    path.unlink()
    again = Campaign.of_json(campaign.to_json(), is_trusted=True)
    spec = again.spec(again.overrides(0, again.inputs(0)))
    assert flown(spec, "MPC_XY_CRUISE") == (7.3,)
    assert spec.autopilot.params.keys() == {"MPC_Z_V_AUTO_UP"}


def test_a_file_is_above_the_airframe_and_below_the_users_parameters(tmp_path):
    """A setting of the command line is above all."""
    path = write_vehicle(tmp_path, MPC_THR_HOVER=0.6)
    file = {"autopilot.params_file": str(path)}
    assert flown(load_spec("x500"), HOVER) == (X500_HOVER,)
    assert flown(load_spec("x500", file), HOVER) == (0.6,)
    own = write(tmp_path, 'extends = ["x500"]\n[autopilot.params]\nMPC_THR_HOVER = 0.65\n')
    assert flown(load_spec(own, file), HOVER) == (0.65,)
    assert flown(load_spec(own, file, ["autopilot.params.MPC_THR_HOVER=0.7"]), HOVER) == (0.7,)


def test_the_geometry_of_a_file_is_that_of_another_aircraft(tmp_path):
    """A file has the parameters of twelve rotors, mostly defaults, which would put all of them into the centre."""
    path = write_vehicle(tmp_path)
    plain, spec = load_spec("x500"), load_spec("x500", {"autopilot.params_file": str(path)})
    rotors = [name for name in parameters_of(plain) if name.startswith("CA_ROTOR")]
    assert len(rotors) == 1 + 4 * 7
    assert flown(spec, *rotors) == flown(plain, *rotors)


def test_one_warning_counts_what_has_no_effect(tmp_path):
    """All parameters of the file that the built-in autopilot does not use, and a few of their names."""
    path = write_vehicle(tmp_path)
    spec = load_spec("iris", {"autopilot.params_file": str(path)})
    (warning,) = build(spec).warnings
    used = [name for name in spec.autopilot.file_params if "builtin" in users_of(name)]
    off = [name for name in used if name.startswith(("CA_ROTOR", "HTE_", "LNDMC_"))]
    total = len(spec.autopilot.file_params)
    count = total - len(used) + len(off)
    start = (
        f"autopilot.params_file: {count} of {total} parameters have no effect on the built-in autopilot: BAT1_V_DIV, "
    )
    assert warning.startswith(start)
    assert len(warning) < 200
    (with_option,) = build(change_spec(spec, {"autopilot.hover_thrust_estimate": True})).warnings
    assert f" {count - 4} of {total} " in with_option  # HTE_ACC_GATE, HTE_HT_ERR_INIT, HTE_HT_NOISE, HTE_THR_RANGE


def test_a_file_without_idle_parameters_has_no_warning(tmp_path):
    """Every value has an effect."""
    path = write(tmp_path, line_of("MPC_XY_CRUISE", 4.0), "short.params")
    assert build(load_spec("iris", {"autopilot.params_file": str(path)})).warnings == ()


def test_a_file_with_the_parameters_of_the_aircraft_flies_the_same_flight(tmp_path):
    """To the bit: with all known parameters at the values that it flies with anyway."""
    plain = load_spec("iris", {"timeline.t_end_s": 4.0})
    path = write_vehicle(tmp_path, **parameters_of(plain))
    same = change_spec(plain, {"autopilot.params_file": str(path)})
    faster = change_spec(same, {"autopilot.params.MPC_TKO_SPEED": 3.0})
    digests = []
    for spec in (plain, same, faster):
        simulation = build(spec, record=False).simulation
        simulation.run()
        digests.append(simulation.digest())
    assert digests[0] == digests[1] != digests[2]


def test_errors_of_a_file_are_in_the_report_of_the_spec_with_their_lines(tmp_path):
    """Together with the other errors of the spec."""
    bad = "\n".join([line_of("MPC_XY_P", 9.0), line_of("MPC_Z_P", 1.0), line_of("CA_METHOD", 1.0)])
    write(tmp_path, bad, "bad.params")
    path = write(tmp_path, 'extends = ["iris"]\n[autopilot]\nparams_file = "bad.params"\n[plant]\nno = 1\n')
    with pytest.raises(InputError) as caught:
        load_spec(path)
    text = str(caught.value)
    assert "has 3 errors" in text
    assert "bad.params line 1: MPC_XY_P = 9.0" in text
    assert "bad.params line 3: CA_METHOD has type 9 (float), but in PX4 type 6 (int32)" in text
    assert "plant.no" in text


def test_a_value_that_the_built_in_autopilot_lacks_has_no_effect(tmp_path):
    """Real PX4 has it. The warning names it first, with its value."""
    lines = [line_of("UNUSED", 1), line_of("CA_METHOD", 0), line_of("RTL_TYPE", 5), line_of("MPC_Z_P", 0.9)]
    path = write(tmp_path, "\n".join(lines), "own.params")
    spec = load_spec("iris", {"autopilot.params_file": str(path)})
    assert flown(spec, "CA_METHOD", "RTL_TYPE") == (2, 5)
    (warning,) = build(spec).warnings
    assert warning.endswith("2 of 4 parameters have no effect on the built-in autopilot: CA_METHOD = 0, UNUSED")


def test_a_later_file_replaces_an_earlier_one(tmp_path):
    """Of an extended spec and of a resolved one; `none` removes it."""
    write(tmp_path, line_of("MPC_XY_CRUISE", 4.0), "one.params")
    write(tmp_path, line_of("MPC_Z_P", 0.9), "two.params")
    write(tmp_path, 'extends = ["iris"]\n[autopilot]\nparams_file = "one.params"\n', "base.toml")
    two = write(tmp_path, 'extends = ["base.toml"]\n[autopilot]\nparams_file = "two.params"\n', "two.toml")
    none = write(tmp_path, 'extends = ["base.toml"]\n[autopilot]\nparams_file = "none"\n', "none.toml")
    assert load_spec(two).autopilot.file_params == {"MPC_Z_P": 0.9}
    assert load_spec(none).autopilot.file_params == {}
    resolved = write(tmp_path, to_toml(load_spec(tmp_path / "base.toml")), "run/spec.toml")
    changed = load_spec(resolved, {"autopilot.params_file": str(tmp_path / "two.params")})
    assert changed.autopilot.file_params == {"MPC_Z_P": 0.9}


def test_a_file_and_its_values_together_are_an_error(tmp_path):
    """It would not be clear which one applies."""
    file = write(tmp_path, line_of("MPC_XY_CRUISE", 4.0), "one.params")
    both = f'params_file = "{file}"\nfile_params = {{ MPC_Z_P = 0.9 }}\n'
    path = write(tmp_path, f'extends = ["iris"]\n[autopilot]\n{both}')
    with pytest.raises(InputError, match=r"is given together with autopilot\.file_params; give one of them"):
        load_spec(path)


def test_a_missing_file_is_an_error_with_its_path(tmp_path):
    """Not a traceback."""
    with pytest.raises(InputError, match=r"autopilot\.params_file: file not found: .*/none\.params"):
        load_spec("iris", {"autopilot.params_file": str(tmp_path / "none.params")})


def test_the_spec_of_a_result_names_no_file():
    """It is read without any file."""
    with pytest.raises(InputError, match=r"autopilot\.params_file = .* is not allowed in the spec of a result"):
        parse_spec(to_toml(load_spec("iris")).replace("[autopilot]\n", '[autopilot]\nparams_file = "x.params"\n'))


def test_every_known_parameter_has_a_description():
    """Short, as a phrase without a full stop."""
    for name in known_parameters():
        text = description_of(name)
        assert 10 < len(text) < 115, name
        assert not text.endswith("."), name


def test_no_parameter_is_listed_for_an_autopilot_that_lacks_it():
    """The built-in autopilot uses some of those that PX4 has; stock PX4 has all."""
    assert users_of("MPC_XY_P") == ["builtin", "px4", "px4-sitl"]
    assert users_of("CA_ROTOR7_KM") == ["builtin", "px4", "px4-sitl"]
    assert users_of("MC_AIRMODE") == ["px4", "px4-sitl"]
