"""Parameter files (`.params`): reading, writing, and errors with line numbers."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vehicle_files import HARDWARE, OTHERS, vehicle_text

from px4lockstep.errors import InputError
from px4lockstep.px4 import format_params, load_params
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.px4.params_files import MAX_PARAMETERS, parse_params, shortest

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


def test_a_file_of_a_vehicle_is_read_completely(tmp_path):
    """Known and unknown parameters, by type; comments and parameters of a camera are not among them."""
    text = vehicle_text(MPC_XY_CRUISE=7.3) + "1\t100\tCAM_MODE\t1\t6\n\n# the end\n"
    path = tmp_path / "vehicle.params"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())  # as an editor on Windows saves it
    found = load_params(path)
    assert set(found.values) == {*known_parameters(), *HARDWARE, *OTHERS}
    assert found.others == 1
    assert found.values["MPC_XY_CRUISE"] == 7.3
    assert found.values["SYS_AUTOSTART"] == 4001
    assert type(found.values["COM_HOME_EN"]) is int
    assert type(found.values["BAT1_V_DIV"]) is float
    line = text.splitlines()[found.lines["MPC_XY_CRUISE"] - 1]
    assert line.split("\t")[2] == "MPC_XY_CRUISE"


@given(FLOAT32)
def test_the_shortest_form_is_the_same_float32(value):
    """Compared with NumPy, an independent implementation."""
    assert np.float32(shortest(value)) == np.float32(value)
    assert len(repr(shortest(value))) <= len(repr(float(np.float32(value))))


@pytest.mark.long
@given(
    st.dictionaries(st.from_regex(r"\A[A-Z][A-Z0-9_]{0,15}\Z"), st.one_of(st.integers(-(2**31), 2**31 - 1), FLOAT32))
)
def test_what_is_written_is_read_again(values):
    """Types and float32 values are kept; parameters are sorted by name, one on each line."""
    values = {name: value for name, value in values.items() if name not in known_parameters()} | {"MPC_XY_P": 1}
    text = format_params(values, ["of a test"])
    found = parse_params(text, "test").values
    assert list(found) == sorted(values)
    assert {name: np.float32(value) for name, value in found.items()} == {n: np.float32(v) for n, v in values.items()}
    assert [type(found[name]) for name in values if name != "MPC_XY_P"] == [
        type(value) for name, value in values.items() if name != "MPC_XY_P"
    ]
    assert type(found["MPC_XY_P"]) is float  # PX4's type, whatever was given


def test_a_written_line_is_that_of_qgroundcontrol():
    """Tabs, vehicle and component 1, type 6 or 9."""
    text = format_params({"MPC_XY_CRUISE": 7.3, "CA_METHOD": 2})
    assert text.splitlines() == [
        "# Vehicle-Id Component-Id Name Value Type",
        "1\t1\tCA_METHOD\t2\t6",
        "1\t1\tMPC_XY_CRUISE\t7.3\t9",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1 MPC_XY_P 0.9", "4 columns; there must be 5: vehicle ID, component ID, name, value, type"),
        ("x", "1 column; there must be 5"),
        ("1 256 MPC_XY_P 0.9 9", "component ID 256 must be a whole number from 0 to 255"),
        ("-1 1 MPC_XY_P 0.9 9", "vehicle ID -1 must be a whole number from 0 to 255"),
        ("1 1 mpc_xy_p 0.9 9", "mpc_xy_p is not a parameter name"),
        ("1 1 MPC_XY_PMPC_XY_PMPC 0.9 9", "is not a parameter name: it must have 1 to 16 characters"),
        ("1 1 MPC_XY_P 0.9 2", "MPC_XY_P has type 2; PX4 has types 6 (int32) and 9 (float)"),
        ("1 1 MPC_XY_P 1 6", "MPC_XY_P has type 6 (int32), but in PX4 type 9 (float)"),
        ("1 1 CA_METHOD 1 9", "CA_METHOD has type 9 (float), but in PX4 type 6 (int32)"),
        ("1 1 MPC_XY_P fast 9", "MPC_XY_P = fast is not a number; it must be a number from 0.0 to 2.0"),
        ("1 1 MPC_XY_P nan 9", "MPC_XY_P = nan is not a number"),
        ("1 1 MPC_XY_P 9.5 9", "MPC_XY_P = 9.5 is out of range; it must be a number from 0.0 to 2.0"),
        ("1 1 CA_METHOD 1.5 6", "CA_METHOD = 1.5 is not a whole number"),
        ("1 1 ANY 1.5 6", "ANY = 1.5 is not a whole number; it must be a whole number"),
        ("1 1 ANY 1e39 9", "ANY = 1e39 is too large; it must be a number"),
        ("1 1 ANY 1e999 9", "ANY = 1e999 is too large"),
        ("1 1 ANY 2147483648 6", "ANY = 2147483648 is too large"),
        (f"1 1 ANY {'1' * 400} 9", "is not a number"),
        ("1 1 CA_METHOD 1 6\n1 1 CA_METHOD 2 6", "line 2: CA_METHOD = 2 differs from line 1, 1; remove one"),
        ("# nothing", "has no parameters of an autopilot (component 1)"),
    ],
)
def test_an_invalid_line_is_reported(line, message):
    """With what is allowed."""
    with pytest.raises(InputError, match=re.escape(message)):
        parse_params(line, "test.params")


def test_all_errors_are_in_one_report_with_their_lines():
    """Valid lines and repeated equal ones are none."""
    lines = ["# head", "1 1 MPC_XY_P 9 9", "1 1 CA_METHOD 1 6", "1 1 CA_METHOD 1 6", "1 1 CA_METHOD x 6", "1 2"]
    with pytest.raises(InputError) as caught:
        parse_params("\n".join(lines), "my.params")
    assert [text.partition(": ")[0] for text in str(caught.value).splitlines()] == [
        "my.params line 2",
        "my.params line 5",
        "my.params line 6",
    ]


def test_a_component_other_than_the_autopilot_is_not_checked():
    """A camera may use the name of a parameter of PX4 for something else, a gimbal other names, types and values."""
    others = "1 100 MPC_XY_P 1 6\n1 154 gimbal.mode idle 11"
    found = parse_params(f"1 1 CA_METHOD 1 6\n{others}", "test")
    assert found.values == {"CA_METHOD": 1}


def test_too_many_parameters_are_refused():
    """The limit protects against files that are none."""
    text = "\n".join(f"1 1 A{i} 1 6" for i in range(MAX_PARAMETERS + 1))
    with pytest.raises(InputError, match=r"more than 20,000 parameters"):
        parse_params(text, "test")
