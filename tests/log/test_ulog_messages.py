"""Logged uORB messages of a run folder in its exported ULog file: PX4's own messages, with all their fields."""

import numpy as np
import pytest
from exported_ulogs import read_ulog

from px4lockstep.autopilots.messages import MessageLog, TopicLog
from px4lockstep.errors import InputError
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.log import Log
from px4lockstep.log.messages import write_messages
from px4lockstep.log.ulog import export_ulog
from px4lockstep.px4.uorb import shipped_layouts

CELL = np.dtype([("x", "f8"), ("y", "u1", 2)])
ODD = np.dtype([("timestamp", "u8"), ("cell", CELL, 2), ("one", CELL), ("flag", "?"), ("text", "S9"), ("q", "f4", 4)])


def logged(*topics):
    """Return a log of messages: (topic, instance, messages)."""
    found = []
    for name, instance, messages in topics:
        topic = TopicLog.empty(name, instance, 7, messages.dtype, 1)
        topic.rows = np.zeros(len(messages), topic.rows.dtype)
        topic.rows["time_us"] = messages["timestamp"]
        topic.rows["message"] = messages
        found.append(topic)
    log = MessageLog(found)
    log.counts[:] = [len(messages) for *_, messages in topics]
    return log


def flown(rows=300):
    """Return a log of a few columns."""
    time_us = np.arange(rows, dtype=np.uint64) * np.uint64(10_000)
    return Log({"time_us": time_us, "q_bn": np.ones((rows, 4)), "motors": np.full((rows, 4), 0.5)})


def export(folder, log=None):
    export_ulog(ExportSource(log or flown(), folder=folder), folder / "x.ulg", ExportOptions())
    return read_ulog(folder / "x.ulg")


def test_every_kind_of_field_is_read_back(tmp_path):
    """Arrays, nested messages, arrays of them, flags and texts, over several chunks of rows."""
    rng = np.random.default_rng(5)
    messages = np.zeros(500, ODD)
    messages["timestamp"] = np.sort(rng.integers(0, 3_000_000, 500))
    messages["cell"]["x"] = rng.normal(size=(500, 2))
    messages["cell"]["y"] = rng.integers(0, 256, (500, 2, 2))
    messages["one"]["x"] = rng.normal(size=500)
    messages["flag"] = rng.integers(0, 2, 500)
    messages["text"] = [f"text {i}".encode() for i in range(500)]
    messages["q"] = rng.normal(size=(500, 4))
    write_messages(logged(("odd", 1, messages)), tmp_path / "uorb")
    data = export(tmp_path).get_dataset("odd", 1).data
    assert np.array_equal(data["timestamp"], messages["timestamp"])
    assert np.array_equal(data["cell[1].x"], messages["cell"]["x"][:, 1])
    assert np.array_equal(data["cell[0].y[1]"], messages["cell"]["y"][:, 0, 1])
    assert np.array_equal(data["one.x"], messages["one"]["x"])
    assert np.array_equal(data["flag"], messages["flag"])
    assert np.array_equal(data["q[3]"], messages["q"][:, 3])
    letters = [data[f"text[{i}]"] for i in range(8)]
    assert bytes(letter[499] for letter in letters) == b"text 499"


def test_px4s_messages_replace_those_from_the_log(tmp_path, monkeypatch):
    """The motors of every tick instead of every row; other topics stay, and a topic without messages is omitted."""
    monkeypatch.setattr("px4lockstep.log.ulog.ROWS_PER_CHUNK", 64)
    layouts = shipped_layouts()
    motors = np.zeros(750, layouts["actuator_motors"].dtype)
    motors["timestamp"] = np.arange(750) * 4_000
    motors["control"] = 0.25
    hover = np.zeros(3, layouts["hover_thrust_estimate"].dtype)
    hover["timestamp"] = [3_000_000, 1_000_000, 2_000_000]
    hover["hover_thrust"] = [0.3, 0.1, 0.2]
    empty = np.zeros(0, layouts["takeoff_status"].dtype)
    topics = (("actuator_motors", 0, motors), ("hover_thrust_estimate", 0, hover), ("takeoff_status", 0, empty))
    write_messages(logged(*topics), tmp_path / "uorb")
    found = export(tmp_path)
    data = found.get_dataset("actuator_motors").data
    assert np.array_equal(data["timestamp"], motors["timestamp"])
    assert set(data["control[0]"]) == {0.25}
    assert found.get_dataset("hover_thrust_estimate").data["hover_thrust"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert len(found.get_dataset("vehicle_attitude").data["timestamp"]) == 300
    assert len(found.data_list) == len({(data.name, data.multi_id) for data in found.data_list})
    assert "takeoff_status" not in {data.name for data in found.data_list}


def test_an_instance_beside_one_from_the_log_has_the_same_format(tmp_path):
    """The log has instance 0, PX4 logged instance 1, also of a version with other fields."""
    shipped = shipped_layouts()["actuator_motors"].dtype
    other = np.dtype([("timestamp", "u8"), ("control", "f4", 12), ("new", "f4")])
    for dtype in (shipped, other):
        messages = np.zeros(5, dtype)
        messages["timestamp"], messages["control"] = np.arange(5) * 1_000, 0.25
        write_messages(logged(("actuator_motors", 1, messages)), tmp_path / "uorb")
        found = export(tmp_path)
        assert found.get_dataset("actuator_motors", 1).data["control[3]"].tolist() == [0.25] * 5
        ours = found.get_dataset("actuator_motors", 0).data
        assert len(ours["timestamp"]) == 300
        assert set(ours["control[3]"]) == {0.5}


def test_an_instance_from_the_log_is_omitted_if_its_fields_have_other_types(tmp_path):
    """A version of PX4 with eight motors: a topic has one format, and PX4's own messages have priority."""
    messages = np.zeros(5, np.dtype([("timestamp", "u8"), ("control", "f4", 8)]))
    messages["timestamp"] = np.arange(5) * 1_000
    write_messages(logged(("actuator_motors", 1, messages)), tmp_path / "uorb")
    found = export(tmp_path)
    assert [data.multi_id for data in found.data_list if data.name == "actuator_motors"] == [1]


def test_instances_with_texts_of_different_lengths_have_one_format(tmp_path):
    """The files have texts without the lengths of their fields."""
    kind = np.dtype([("timestamp", "u8"), ("text", "S9"), ("inner", [("name", "S5")])])
    one, two = (np.array([(1_000, text, (name,))], kind) for text, name in ((b"short", b"long!"), (b"longer", b"x")))
    write_messages(logged(("said", 0, one), ("said", 1, two)), tmp_path / "uorb")
    found = export(tmp_path)
    for instance, text, name in ((0, b"short\0", b"long!"), (1, b"longer", b"x\0\0\0\0")):
        data = found.get_dataset("said", instance).data
        assert bytes(data[f"text[{i}]"][0] for i in range(6)) == text
        assert bytes(data[f"inner.name[{i}]"][0] for i in range(5)) == name


def test_a_damaged_file_of_messages_is_an_error_that_names_it(tmp_path):
    """No partial export is left."""
    (tmp_path / "uorb").mkdir()
    (tmp_path / "uorb" / "odd_0.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"odd_0\.parquet can't be read as logged uORB messages"):
        export(tmp_path)
    assert not (tmp_path / "x.ulg").exists()
