"""Every negative code of every function raises an error with the call, the code, its meaning and a remedy."""

import pytest
from px4_libraries import load_double

from px4lockstep.errors import LayoutError, Px4Error
from px4lockstep.px4.abi import FUNCTIONS
from px4lockstep.px4.codes import CODES, refused

pytestmark = pytest.mark.process

CALLS = {
    "load_mission_qgc_wpl": lambda px4, path: px4.load_mission(path),
    "step_uorb": lambda px4, path: px4.step(4000),
    "param_set_i32": lambda px4, path: px4.param_set("CA_ROTOR_COUNT", 4),
    "param_set_f32": lambda px4, path: px4.param_set("MPC_XY_P", 1.0),
    "param_get_f32": lambda px4, path: px4.param_get("MPC_XY_P"),
    "param_notify": lambda px4, path: px4.param_notify(),
    "control_alloc_update_params": lambda px4, path: px4.control_alloc_update_params(),
    "orb_create_publisher_ex": lambda px4, path: px4.publisher("mission"),
    "orb_queue_publish": lambda px4, path: px4.publisher("mission").publish(bytes(40)),
    "orb_publisher_instance": lambda px4, path: px4.publisher("mission").instance,
    "orb_create_subscriber": lambda px4, path: px4.subscriber("mission"),
    "orb_check": lambda px4, path: px4.subscriber("mission").updated(),
    "orb_copy": lambda px4, path: px4.subscriber("mission").copy(),
    "orb_unsubscribe": lambda px4, path: px4.subscriber("mission").close(),
}
CASES = [(function, code) for function in CALLS for code in CODES[function]]


def test_every_function_that_returns_a_code_has_a_table():
    """The first four functions return none."""
    without = ("abi_version", "sizes", "create", "destroy")
    assert sorted(CODES) == sorted(name for name in FUNCTIONS if name not in without)


@pytest.mark.parametrize(("function", "code"), [*CASES, ("step_uorb", -77)])
def test_every_code_is_an_error(tmp_path, monkeypatch, function, code):
    """The error has the topic, parameter, file or time, too; PX4 can still be closed afterwards."""
    path = tmp_path / "mission.waypoints"
    path.touch()
    library = load_double(tmp_path, monkeypatch, f"code.{function}={code},unchecked")
    with library.create() as px4, pytest.raises(Px4Error) as caught:
        CALLS[function](px4, path)
    meaning, remedy = CODES[function].get(code, ("a code that interface version 3 does not define", "check"))
    text = str(caught.value)
    assert text.startswith(f"px4_lockstep_{function}(")
    assert f") returned {code}: {meaning}; {remedy}" in text
    about = text.partition("(")[2].partition(")")[0]
    assert about or function in ("param_notify", "control_alloc_update_params")


@pytest.mark.parametrize("code", [-1, -4])
def test_codes_of_the_type_query_are_errors(tmp_path, monkeypatch, code):
    """Except -2 (unknown parameter) and -3 (a float)."""
    with (
        load_double(tmp_path, monkeypatch, f"code.param_get_i32={code}").create() as px4,
        pytest.raises(Px4Error, match=rf"px4_lockstep_param_get_i32\(MPC_XY_P\) returned {code}"),
    ):
        px4.param_get("MPC_XY_P")


def test_a_parameter_of_neither_type_is_an_error(tmp_path, monkeypatch):
    """Both type queries return -3."""
    with (
        load_double(tmp_path, monkeypatch, "code.param_get_i32=-3,code.param_get_f32=-3").create() as px4,
        pytest.raises(Px4Error, match=r"param_get_f32\(MPC_XY_P\) returned -3: the parameter has a different type"),
    ):
        px4.param_get("MPC_XY_P")


def test_metadata_without_a_field_string_is_valid(tmp_path, monkeypatch):
    """-3 only means that there is no field string; -1 is an error, and -2 an unknown topic."""
    with load_double(tmp_path, monkeypatch).create() as px4:
        told = px4.metadata("vehicle_status")
        assert (told.size, told.message_hash, told.fields) == (80, 0xF779FA65, None)
        assert told.size_no_padding <= told.size
    for code, error in ((-1, Px4Error), (-2, LayoutError)):
        folder = tmp_path / str(-code)
        folder.mkdir()
        with load_double(folder, monkeypatch, f"code.orb_topic_metadata={code}").create() as px4, pytest.raises(error):
            px4.metadata("vehicle_status")


def test_an_error_message_reads_as_a_sentence():
    """One complete message."""
    assert str(refused("param_set_i32", "CA_METHOD, 2", -4)) == (
        "px4_lockstep_param_set_i32(CA_METHOD, 2) returned -4: the call failed inside PX4; check its output"
    )
