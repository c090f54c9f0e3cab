"""PX4's parameters: the table, float32 rounding, and errors in one report."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import px4lockstep.px4.parameters
from px4lockstep.errors import InputError
from px4lockstep.px4.parameters import as_float32, known_parameters, resolve

TABLE = Path(px4lockstep.px4.parameters.__file__).with_name("parameters.json")


def test_the_table_is_the_file_with_eleven_more_rotors_and_the_added():
    """The file has 196, nine of them for rotor 0, which eleven more rotors share; 15 are added in the code."""
    known = known_parameters()
    assert len(known) == len(json.loads(TABLE.read_text("utf-8"))) + 11 * 9 + 15
    assert all(name == parameter.name for name, parameter in known.items())
    assert known["COM_SPOOLUP_TIME"].default == 1.0
    rotor0, rotor11 = known["CA_ROTOR0_KM"], known["CA_ROTOR11_KM"]
    assert (rotor0.default, rotor0.minimum, rotor0.maximum) == (rotor11.default, rotor11.minimum, rotor11.maximum)
    assert "CA_ROTOR12_KM" not in known


def test_every_default_is_allowed():
    """So setting a parameter to its default is always valid, and changes nothing."""
    defaults = {name: parameter.default for name, parameter in known_parameters().items()}
    assert resolve(defaults) == resolve({})


def test_an_int32_resolves_to_an_int_and_a_float_to_a_float32():
    """By the type in the table, whatever type was given."""
    values = resolve({"CA_ROTOR_COUNT": 4.0, "MPC_XY_P": 1, "BAT_LOW_THR": np.float64(0.2)})
    assert (values["CA_ROTOR_COUNT"], values["MPC_XY_P"], values["BAT_LOW_THR"]) == (4, 1.0, float(np.float32(0.2)))
    for name, parameter in known_parameters().items():
        assert type(values[name]) is (int if parameter.kind == "int32" else float), name
        assert float(np.float32(values[name])) == values[name], name


@given(st.floats(width=64, min_value=-3.4e38, max_value=3.4e38))
def test_rounding_to_float32_is_to_nearest(value):
    """Compared with NumPy, an independent implementation."""
    assert as_float32(value) == float(np.float32(value))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MPC_XY_PP", 1.0, "parameter 'MPC_XY_PP' is unknown to the built-in autopilot; did you mean 'MPC_XY_P'?"),
        ("mpc_xy_p", 1.0, "parameter 'mpc_xy_p' is unknown to the built-in autopilot; did you mean 'MPC_XY_P'?"),
        ("SYS_AUTOSTART", 1, "parameter 'SYS_AUTOSTART' is unknown to the built-in autopilot; remove it, or fly"),
        ("EKF2_GPS_DELAY", 1.0, "parameter 'EKF2_GPS_DELAY' is unknown to the built-in autopilot; remove it, or fly"),
        ("CA_R_REV", 1.5, "CA_R_REV = 1.5 is not a whole number; it must be a whole number from 0 to 4095"),
        ("CA_ROTOR_COUNT", True, "CA_ROTOR_COUNT = True is not a number; it must be a whole number"),
        ("BAT_LOW_THR", "0.2", "BAT_LOW_THR = '0.2' is not a number; it must be a number from 0.12 to 0.5 [norm]"),
        ("BAT_LOW_THR", None, "BAT_LOW_THR = None is not a number"),
        ("BAT_LOW_THR", math.nan, "BAT_LOW_THR = nan is not finite"),
        ("BAT_LOW_THR", 0.51, "BAT_LOW_THR = 0.51 is out of range; it must be a number from 0.12 to 0.5 [norm]"),
        ("COM_SPOOLUP_TIME", -0.1, "COM_SPOOLUP_TIME = -0.1 is out of range; it must be a number from 0.0 to 30.0 [s]"),
        ("MIS_TAKEOFF_ALT", -1, "MIS_TAKEOFF_ALT = -1 is out of range; it must be a number, at least 0.0 [m]"),
        ("CA_METHOD", 2**31, "CA_METHOD = 2147483648 is too large; it must be a whole number"),
        ("COM_DISARM_LAND", 1e39, "COM_DISARM_LAND = 1e+39 is too large; it must be a number [s]"),
        ("COM_DISARM_LAND", 10**400, "is too large"),
    ],
)
def test_an_invalid_parameter_is_reported_with_what_is_allowed(name, value, message):
    """Names and values that PX4 would reject or misinterpret."""
    with pytest.raises(InputError) as caught:
        resolve({name: value})
    assert message in str(caught.value)


def test_all_invalid_parameters_are_in_one_report():
    """One line each, in the given order."""
    with pytest.raises(InputError) as caught:
        resolve({"NAV_RCL_ACT": 9, "MPC_XY_P": 1.0, "NO_SUCH": 1, "CA_R_REV": -1})
    assert [line.split()[1] for line in str(caught.value).splitlines()] == ["NAV_RCL_ACT", "'NO_SUCH'", "CA_R_REV"]


def test_the_package_is_usable_without_the_simulator(python):
    """It imports neither Numba nor NumPy, and only file reading and errors from px4lockstep."""
    shown = python(
        "-c",
        "import sys, px4lockstep.px4.missions, px4lockstep.px4.parameters as p; p.resolve({})\n"
        "print(sorted(m for m in sys.modules if m.startswith(('px4lockstep.', 'num', 'llvm')) and m != 'numbers'))",
    ).stdout
    parts = "commands complex_items fence mission_checks mission_items mission_report missions parameters plans"
    modules = ["errors", "px4", *(f"px4.{name}" for name in parts.split()), "reading"]
    assert shown.strip() == str([f"px4lockstep.{name}" for name in modules])
