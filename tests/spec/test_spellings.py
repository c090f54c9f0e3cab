"""Spellings that PX4Lockstep.jl's loader accepts: kinds in any case and by other names, infinite tolerances."""

import math
import tomllib

import numpy as np
import pytest
from spec_files import write

from px4lockstep.errors import InputError
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml

QUAD = """
[airframe]
mass_kg = 1.5
inertia_diag_kgm2 = [0.029125, 0.029125, 0.055225]
rotor_pos_body_m = [[0.1515, 0.245, 0.0], [-0.1515, -0.1875, 0.0], [0.1515, -0.245, 0.0], [-0.1515, 0.1875, 0.0]]
"""

KINDS = {
    "plant.integrator": {
        "RK45": ("rk45", "RK45", "Rk45"),
        "Euler": ("euler", "EULER"),
        "RK4": ("rk4",),
        "RK23": ("rk23",),
    },
    "plant.contact": {
        "no_contact": ("none", "no", "off", "nocontact", "NONE", "No_Contact"),
        "flat_ground": ("flat", "ground", "FLAT_GROUND", "Flat"),
    },
    "environment.wind": {
        "none": ("no", "off", "no_wind", "NONE"),
        "ou": ("ou_wind", "turbulence", "OU"),
        "constant": ("const", "Constant"),
    },
    "environment.atmosphere": {"isa1976": ("isa", "ISA1976")},
    "environment.gravity": {"uniform": ("Uniform",), "spherical": ("SPHERICAL",)},
    "estimator.kind": {"none": ("no", "off", "None"), "noisy_delayed": ("NOISY_DELAYED",)},
    "actuation.motor_actuators": {
        "direct": ("algebraic", "DIRECT"),
        "first_order": ("firstorder", "First_Order"),
        "second_order": ("secondorder",),
    },
    "actuation.servo_actuators": {"direct": ("Algebraic",), "first_order": ("FirstOrder",)},
    "power.share_mode": {"equal": ("EQUAL",), "inv_r0": ("INV_R0",)},
    "run.mode": {"live": ("LIVE",), "record": ("Record",)},
}
"""Spellings by key and canonical name."""
ALL = [(key, name, other) for key, names in KINDS.items() for name, others in names.items() for other in others]
TABLES = {"plant.integrator", "plant.contact", "actuation.motor_actuators", "actuation.servo_actuators"}


def value_at(tables, key):
    """Return the value of a dotted key; the kind of a table that a name stands for."""
    for name in key.split("."):
        tables = tables[name]
    return tables["kind"] if isinstance(tables, dict) else tables


@pytest.mark.parametrize(("key", "name", "other"), ALL, ids=lambda value: str(value))
def test_a_kind_has_its_spellings_and_is_printed_by_its_name(tmp_path, key, name, other):
    """As a plain string, and as `kind` of a table; the resolved spec has the canonical name."""
    table, _, own = key.rpartition(".")
    forms = [f"{own} = '{other}'", *([f"{own} = {{ kind = '{other}' }}"] if key in TABLES else [])]
    for form in forms:
        spec = load_spec(write(tmp_path, f"{QUAD}[{table}]\n{form}\n"))
        assert value_at(tomllib.loads(to_toml(spec)), key) == name


@pytest.mark.parametrize("key", KINDS)
def test_an_unknown_kind_is_quoted_as_it_was_written(tmp_path, key):
    """With the canonical names."""
    table, _, own = key.rpartition(".")
    with pytest.raises(InputError, match=rf"{key}(\.kind)? = 'Whirl' is unknown; allowed: '\w+'"):
        load_spec(write(tmp_path, f"{QUAD}[{table}]\n{own} = 'Whirl'\n"))


def test_infinite_tolerances_and_step_sizes_have_no_effect(tmp_path):
    """They are PX4Lockstep.jl's own defaults. A group with an infinite tolerance does not limit the step."""
    text = f"{QUAD}[plant.integrator]\nkind = 'RK45'\natol_rotor = inf\nh_max = inf\n"
    spec = load_spec(write(tmp_path, text))
    assert load_spec(write(tmp_path, to_toml(spec), "resolved.toml")) == spec
    flight = build(spec.model_copy(update={"timeline": spec.timeline.model_copy(update={"t_end_s": 0.1})}))
    core = flight.simulation.run()._core[0]
    assert math.isinf(core["solver"]["h_max_us"])
    assert core["solver"]["is_controlled"].tolist() == [1, 1, 1, 1, 1, 1, 0, 1, 1]


def test_a_relative_tolerance_is_finite(tmp_path):
    """An infinite one would hide every error."""
    with pytest.raises(InputError, match=r"rtol_pos = inf is not allowed; it must be a finite number"):
        load_spec(write(tmp_path, f"{QUAD}[plant.integrator]\nkind = 'RK45'\nrtol_pos = inf\n"))


@pytest.mark.parametrize("length", [2.0, 1.0, 0.5])
def test_a_quaternion_may_have_any_length(tmp_path, length):
    """The flight starts with the unit quaternion; exact for these lengths."""
    spec = load_spec(write(tmp_path, f"{QUAD}[airframe.x0]\nq_bn = [0.0, 0.0, {length}, 0.0]\n"))
    assert spec.airframe.x0.attitude().tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("name", ["pos_sigma_m", "vel_sigma_mps", "rate_sigma_rad_s", "rate_bias_sigma_rad_s"])
@pytest.mark.parametrize("value", ["0.03", "[0.02, 0.02, 0.05]"])
def test_a_standard_deviation_is_one_number_or_one_per_axis(tmp_path, name, value):
    """One number applies to all axes."""
    spec = load_spec(write(tmp_path, f"{QUAD}[estimator]\nkind = 'noisy_delayed'\n{name} = {value}\n"))
    assert getattr(spec.estimator, name) == ((0.02, 0.02, 0.05) if "[" in value else (0.03,) * 3)


def test_the_physics_step_may_be_longer_than_other_periods(tmp_path):
    """It is the maximum: the boundaries of the wind, every 1 ms, limit the steps further."""
    spec = load_spec(write(tmp_path, f"{QUAD}[timeline]\nt_end_s = 0.02\ndt_phys_s = 0.002\ndt_wind_s = 0.001\n"))
    assert np.diff(build(spec).simulation.timeline.time_us).tolist() == [1_000] * 20
