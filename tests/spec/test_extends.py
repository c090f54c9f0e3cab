"""`extends`: merging, replacing, and the source of errors."""

import pytest
from spec_files import MINIMAL, write

from px4lockstep.errors import InputError
from px4lockstep.spec.load import load_spec


def test_tables_merge_and_arrays_and_scalars_replace(tmp_path):
    """In the order of the list, then the file itself."""
    write(tmp_path, MINIMAL + "[[power.batteries]]\ncapacity_ah = 7\n[[power.batteries]]\n", "base.toml")
    write(tmp_path, "[home]\nlat_deg = 1\nlon_deg = 2\n[aircraft]\nname = 'second'\n", "second.toml")
    path = write(
        tmp_path,
        "extends = ['base.toml', 'second.toml']\n[home]\nlon_deg = 3\n[[power.batteries]]\nsoc0 = 0.5\n",
    )
    spec = load_spec(path)
    assert (spec.home.lat_deg, spec.home.lon_deg, spec.aircraft.name) == (1.0, 3.0, "second")
    assert len(spec.power.batteries) == 1
    assert (spec.power.batteries[0].capacity_ah, spec.power.batteries[0].soc0) == (5.0, 0.5)


def test_a_built_in_aircraft_can_be_extended(tmp_path):
    """By name."""
    spec = load_spec(write(tmp_path, "extends = ['iris']\n[aircraft]\nseed = 9\n"))
    assert (spec.aircraft.name, spec.aircraft.seed, spec.airframe.mass_kg) == ("iris", 9, 1.5)


def test_paths_are_relative_to_the_file_that_names_them(tmp_path):
    """Independently of the working directory."""
    write(tmp_path, MINIMAL + "[px4]\nlibpath = 'lib.so'\n", "a/base.toml")
    write(tmp_path, "extends = ['../a/base.toml']\n[run]\nlog_csv = 'log.csv'\n", "b/middle.toml")
    spec = load_spec(write(tmp_path, "extends = ['b/middle.toml']\n"))
    assert spec.px4.libpath == str(tmp_path / "a" / "lib.so")
    assert spec.run.log_csv == "log.csv"  # except outputs, which go into the run folder


def test_a_name_is_replaced_by_a_table_and_a_table_by_a_name(tmp_path):
    """A table after a name adds to it."""
    write(tmp_path, MINIMAL + "[plant]\nintegrator = 'RK23'\n[plant.contact]\nmu = 0.1\n", "base.toml")
    text = "extends = ['base.toml']\n[plant]\ncontact = 'no_contact'\n[plant.integrator]\nrtol_pos = 1e-9\n"
    spec = load_spec(write(tmp_path, text))
    assert (spec.plant.integrator.kind, spec.plant.integrator.rtol_pos) == ("RK23", 1e-9)
    assert (spec.plant.contact.kind, spec.plant.contact.mu) == ("no_contact", 0.8)


def test_a_later_form_replaces_an_earlier_one(tmp_path):
    """For attitude and inertia."""
    write(tmp_path, MINIMAL + "[airframe.x0]\nq_bn = [1, 0, 0, 0]\n", "base.toml")
    text = "extends = ['base.toml']\n[airframe]\ninertia_kgm2 = [1, 0, 0, 0, 1, 0, 0, 0, 1]\nx0.euler_deg = [0, 5, 0]\n"
    spec = load_spec(write(tmp_path, text))
    assert spec.airframe.x0.q_bn is None
    assert spec.airframe.inertia_diag_kgm2 is None


def test_a_greek_key_is_replaced_by_its_plain_one(tmp_path):
    """Spellings are normalized in each file before merging."""
    write(tmp_path, MINIMAL + '[plant.contact]\n"μ" = 0.1\n', "base.toml")
    assert load_spec(write(tmp_path, "extends = ['base.toml']\n[plant.contact]\nmu = 0.2\n")).plant.contact.mu == 0.2


def test_an_error_names_the_file_that_it_is_in(tmp_path):
    """Not the file that extends it."""
    write(tmp_path, MINIMAL + "[home]\nlat_deg = 95\nlon_deg = 2\n", "base.toml")
    path = write(tmp_path, "extends = ['base.toml']\n[home]\nlon_deg = 500\n")
    with pytest.raises(InputError) as caught:
        load_spec(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{path} has 2 errors:"
    assert lines[1].startswith(f"  {tmp_path / 'base.toml'}: home.lat_deg = 95 is out of range")
    assert lines[2].startswith(f"  {path}: home.lon_deg = 500 is out of range")


def test_a_file_may_be_extended_twice(tmp_path):
    """By two files that are both extended: this is not a cycle."""
    write(tmp_path, MINIMAL, "base.toml")
    write(tmp_path, "extends = ['base.toml']\n", "left.toml")
    write(tmp_path, "extends = ['base.toml']\n", "right.toml")
    assert load_spec(write(tmp_path, "extends = ['left.toml', 'right.toml']\n")).airframe.mass_kg == 1.5
