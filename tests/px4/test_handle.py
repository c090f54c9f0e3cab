"""A running PX4: parameters, mission, publishers, subscribers and time."""

import ctypes
import os

import numpy as np
import pytest
from px4_double import report
from px4_libraries import load_double

from px4lockstep.errors import InputError, LayoutError, Px4Error, TimeError

pytestmark = pytest.mark.process

MISSION = (
    "QGC WPL 110\n"
    "0\t1\t3\t22\t0\t0\t0\t0\t47.397742\t8.545594\t10\t1\n"
    "1\t0\t3\t21\t0\t0\t0\t0\t47.397742\t8.545594\t0\t1\n"
)


@pytest.fixture
def px4(tmp_path, monkeypatch):
    with load_double(tmp_path, monkeypatch, "unchecked").create() as running:
        yield running


def test_parameters_have_the_types_reported_by_the_library(px4):
    """An int32 accepts and returns ints; a float returns its float32 value."""
    assert (px4.param_kind("CA_ROTOR_COUNT"), px4.param_kind("MPC_XY_P")) == ("int32", "float")
    px4.param_set("CA_ROTOR_COUNT", 4.0)
    px4.param_set("MPC_XY_P", 1)
    assert repr(px4.param_get("CA_ROTOR_COUNT")) == "4"
    assert repr(px4.param_get("MPC_XY_P")) == "1.0"
    px4.param_set("MPC_XY_P", 0.95)
    assert px4.param_get("MPC_XY_P") == float(np.float32(0.95))
    px4.param_notify()
    px4.control_alloc_update_params()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MPC_XY_PP", 1.0, "this PX4 has no parameter 'MPC_XY_PP'; did you mean 'MPC_XY_P'?"),
        ("CA_ROTOR_COUNT", 4.5, "parameter CA_ROTOR_COUNT = 4.5 must be a 32-bit integer, PX4's type for it"),
        ("CA_ROTOR_COUNT", 2**31, "must be a 32-bit integer"),
        ("CA_ROTOR_COUNT", True, "must be a 32-bit integer"),
        ("CA_ROTOR_COUNT", float("nan"), "must be a 32-bit integer"),
        ("CA_ROTOR_COUNT", "four", "must be a 32-bit integer"),
        ("MPC_XY_P", float("inf"), "parameter MPC_XY_P = inf must be a finite number that fits a float32"),
        ("MPC_XY_P", float("nan"), "must be a finite number"),
        ("MPC_XY_P", 1e39, "must be a finite number"),
        ("MPC_XY_P", 10**400, "must be a finite number"),
        ("MPC_XY_P", "1.0", "must be a finite number"),
        ("MPC_XY_P", None, "must be a finite number"),
        ("", 1, "'' is not a valid parameter name"),
        ("MPC\0P", 1, "is not a valid parameter name"),
        ("MPC_XY_µ", 1, "is not a valid parameter name"),
    ],
)
def test_an_invalid_parameter_is_rejected_before_it_reaches_px4(px4, name, value, message):
    """The error has the value and what is allowed."""
    with pytest.raises(InputError) as caught:
        px4.param_set(name, value)
    assert message in str(caught.value)


def test_parameter_autosave_is_disabled_before_the_first_set(tmp_path, monkeypatch):
    """Otherwise setting a parameter could hang on Linux; the double detects it. The function is optional."""
    library = load_double(tmp_path, monkeypatch)
    with library.create() as px4:
        px4.param_set("MPC_XY_P", 1.0)
        assert report(library.path) == []
    (tmp_path / "saves").mkdir()
    saves = load_double(tmp_path / "saves", monkeypatch)
    with saves.create() as px4:
        px4.call("param_set_f32", "MPC_XY_P", b"MPC_XY_P", 1.0)  # bypasses the wrapper: the double detects it
        assert "param_control_autosave" in report(saves.path)[0]
    (tmp_path / "without").mkdir()
    with load_double(tmp_path / "without", monkeypatch, defines=("NO_AUTOSAVE",)).create() as px4:
        px4.param_set("MPC_XY_P", 1.0)
        assert px4.param_get("MPC_XY_P") == 1.0


def test_a_mission_is_loaded_from_a_file_of_any_name(px4, tmp_path):
    """A missing file is reported before PX4 is called."""
    path = tmp_path / "größe mission.waypoints"
    path.write_text(MISSION)
    px4.load_mission(path)
    px4.load_mission(os.fspath(path))
    with pytest.raises(InputError, match=r"mission file not found: .*gone\.waypoints; correct px4\.mission_path"):
        px4.load_mission(tmp_path / "gone.waypoints")
    path.write_text("")
    with pytest.raises(
        Px4Error, match=r"px4_lockstep_load_mission_qgc_wpl\(.*größe mission\.waypoints\) returned -3: the"
    ):
        px4.load_mission(path)


def test_a_message_arrives_unchanged(px4):
    """Through PX4's queue, byte by byte; published as a record, an array or bytes."""
    publisher, subscriber = px4.publisher("vehicle_status"), px4.subscriber("vehicle_status")
    message = publisher.layout.zeros()
    message["nav_state"] = 3
    message["armed_time"] = 2**40
    message["failsafe"] = True
    for i, form in enumerate((message, np.array(message), np.array([message]), message.tobytes(), bytearray(message))):
        publisher.publish(form)
        assert not subscriber.updated()
        px4.step(4000 * (i + 1))
        assert subscriber.updated()
        assert subscriber.copy() == message
        assert not subscriber.updated()


def test_a_second_message_before_a_step_replaces_the_first(px4):
    """The queue has a length of one here."""
    publisher, subscriber = px4.publisher("home_position"), px4.subscriber("home_position")
    for count in (1, 2):
        message = publisher.layout.zeros()
        message["update_count"] = count
        publisher.publish(message)
    px4.step(4000)
    assert subscriber.copy()["update_count"] == 2


def test_instances_are_requested_or_assigned(px4):
    """With any instance requested, it is -1 until the first message."""
    first, second = px4.publisher("battery_status"), px4.publisher("battery_status", instance=1)
    assert first.instance == -1
    for publisher in (first, second):
        message = publisher.layout.zeros()
        message["id"] = publisher.id + 1
        publisher.publish(message)
    px4.step(4000)
    assert (first.instance, second.instance) == (0, 1)
    assert [px4.subscriber("battery_status", i).copy()["id"] for i in (0, 1)] == [first.id + 1, second.id + 1]


def test_messages_with_a_wrong_shape_are_rejected(px4):
    """A record of another message, two records, too few bytes."""
    publisher = px4.publisher("vehicle_status")
    other = px4.layout("vehicle_attitude").zeros()
    with pytest.raises(
        InputError, match=r"a message for vehicle_status must be one record .* create it with publisher\.layout"
    ):
        publisher.publish(other)
    with pytest.raises(InputError, match="not 2 of"):
        publisher.publish(np.zeros(2, publisher.layout.dtype))
    with pytest.raises(InputError, match="a message for vehicle_status must have 80 bytes, not 79"):
        publisher.publish(bytes(79))


def test_copying_a_message_that_was_never_published_is_an_error(px4):
    """The remedy is to call `updated()` first."""
    subscriber = px4.subscriber("actuator_motors")
    with pytest.raises(Px4Error) as caught:
        subscriber.copy()
    assert str(caught.value) == (
        "px4_lockstep_orb_copy(actuator_motors, instance 0) returned -1: it has never been published; call copy() only "
        "after updated() returns True"
    )


def test_a_closed_subscriber_is_an_error(px4):
    """The library returns a code for it."""
    subscriber = px4.subscriber("actuator_motors")
    subscriber.close()
    with pytest.raises(
        Px4Error, match=r"orb_check\(actuator_motors, instance 0\) returned -3: it is closed; create a new one"
    ):
        subscriber.updated()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda px4: px4.publisher("vehicle_statu"), "vehicle_statu: this PX4 has no such topic"),
        (lambda px4: px4.subscriber("vehicle statüs"), "'vehicle statüs' is not a valid topic name"),
        (lambda px4: px4.publisher("mission", instance=10), "instance = 10 must be a whole number from -1 to 9"),
        (lambda px4: px4.publisher("mission", instance=1.0), "instance = 1.0 must be a whole number"),
        (lambda px4: px4.subscriber("mission", instance=-1), "instance = -1 must be a whole number from 0 to 9"),
        (lambda px4: px4.publisher("mission", queue=256), "queue = 256 must be a whole number from 0 to 255"),
        (lambda px4: px4.publisher("mission", priority=1), "priority = 1 must be 0"),
    ],
)
def test_invalid_topics_instances_and_queues_are_rejected(px4, make, message):
    """Before the library is called."""
    with pytest.raises(InputError) as caught:
        make(px4)
    assert message in str(caught.value)


def test_the_library_rejects_a_wrong_queue_length(px4):
    """Only if the length is checked."""
    assert px4.publisher("vehicle_status", queue=px4.metadata("vehicle_status").queue).id >= 0
    with pytest.raises(Px4Error, match="returned -6: the topic's queue has a different length; remove queue_size"):
        px4.publisher("vehicle_status", queue=7)


def test_time_must_increase(px4):
    """In whole microseconds; rejected times never reach PX4."""
    assert px4.time_us is None
    px4.step(0)
    px4.step(np.uint64(4000))
    for time_us, message in [
        (4000, "time_us = 4000 must be later than the previous step, 4000"),
        (3999, "must be later"),
        (-1, "time_us = -1 is out of range"),
        (2**64, "is out of range"),
        (8000.0, "time_us = 8000.0 must be a whole number of microseconds"),
        (True, "must be a whole number"),
    ]:
        with pytest.raises(TimeError) as caught:
            px4.step(time_us)
        assert message in str(caught.value)
    assert px4.time_us == 4000
    px4.step(4001)


def test_a_failed_step_does_not_advance_the_time(tmp_path, monkeypatch):
    """No module has run, so the same time can be tried again."""
    with load_double(tmp_path, monkeypatch, "code.step_uorb=-2@2,unchecked").create() as px4:
        px4.step(4000)
        with pytest.raises(
            Px4Error, match=r"px4_lockstep_step_uorb\(time_us = 8000\) returned -2: a topic could not be adv"
        ):
            px4.step(8000)
        assert px4.time_us == 4000


def test_after_a_fork_both_processes_continue(px4):
    """With the same bytes, and with the publishers and subscribers created before."""
    publisher, subscriber = px4.publisher("vehicle_attitude"), px4.subscriber("vehicle_attitude")
    message = publisher.layout.zeros()
    message["q"] = 1.0, 0.0, 0.0, 0.0
    publisher.publish(message)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        px4.step(4000)
        os.write(writer, subscriber.copy().tobytes())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    px4.step(4000)
    assert os.read(reader, 1000) == subscriber.copy().tobytes() == message.tobytes()
    os.close(reader)
    os.close(writer)


def test_calls_by_address_see_the_same_px4(tmp_path, monkeypatch):
    """As compiled code calls it."""
    library = load_double(tmp_path, monkeypatch, "unchecked")
    with library.create() as px4:
        publisher, subscriber = px4.publisher("vehicle_attitude"), px4.subscriber("vehicle_attitude")
        message = np.zeros(1, publisher.layout.dtype)
        message["q"] = 0.5
        kinds = ctypes.c_int, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32
        publish = ctypes.CFUNCTYPE(*kinds)(library.addresses["orb_queue_publish"])
        step = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64)(library.addresses["step_uorb"])
        assert publish(px4.handle, publisher.id, message.ctypes.data, publisher.layout.size) == 0
        assert step(px4.handle, 4000) == 0
        assert subscriber.copy()["q"].tolist() == [0.5] * 4


def test_sizes_that_change_after_the_layout_check_are_detected(px4, monkeypatch):
    """The sizes returned for a new publisher and subscriber are compared, too."""
    function = px4._functions["orb_create_subscriber"]

    def smaller(*arguments):
        code = function(*arguments)
        arguments[-1]._obj.value -= 8
        return code

    monkeypatch.setitem(px4._functions, "orb_create_subscriber", smaller)
    with pytest.raises(
        LayoutError, match="mission: orb_create_subscriber reports 32 bytes, but its layout has 40; rebuild"
    ):
        px4.subscriber("mission")
