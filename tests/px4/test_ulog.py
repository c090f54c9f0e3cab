"""The ULog writer, against pyulog: formats, padding, arrays, nested messages, instances, texts, parameters, order."""

import io
import struct

import numpy as np
import pytest
from pyulog import ULog

from px4lockstep.errors import LayoutError, StateError
from px4lockstep.px4.ulog import CRITICAL, DEBUG, INFO, UlogWriter
from px4lockstep.px4.uorb import shipped_layouts
from px4lockstep.px4.uorb.logged import SHARED, logged_layouts

EVERY_TYPE = {
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
}


def start():
    """Return a file in memory and its writer."""
    file = io.BytesIO()
    return file, UlogWriter(file)


def read(file):
    """Return what pyulog reads; nothing may be corrupt or left over."""
    log = ULog(io.BytesIO(file.getvalue()))
    assert not log.file_corruption
    assert log.dropouts == []
    return log


def topic(writer, name, dtype, values, instance=0, **options):
    """Subscribe to a topic and return its messages with some values by field."""
    subscription = writer.subscribe(name, np.dtype(dtype), instance, **options)
    messages = subscription.messages(len(values["timestamp"]))
    for field, value in values.items():
        messages["message"][field] = value
    return messages


@pytest.mark.parametrize(("kind", "name"), EVERY_TYPE.items())
def test_every_type_keeps_its_extremes(kind, name):
    """Smallest and largest number of each type, as a scalar and in an array."""
    file, writer = start()
    dtype = np.dtype(kind)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype) if dtype.kind == "f" else None
    extremes = [False, True] if limits is None else [limits.min, limits.max]
    fields = [("timestamp", "u8"), ("one", kind), ("two", kind, 2)]
    writer.write([topic(writer, "odd", fields, {"timestamp": [5, 6], "one": extremes, "two": [extremes, extremes]})])
    found = read(file)
    assert found.message_formats["odd"].fields == [("uint64_t", 0, "timestamp"), (name, 0, "one"), (name, 2, "two")]
    data = found.get_dataset("odd").data
    assert data["one"].tolist() == extremes
    assert [data["two[0]"][0], data["two[1]"][1]] == extremes


def test_gaps_become_padding_and_padding_at_the_end_is_not_written():
    """As PX4 does: the format has all padding, the data has none at its end."""
    file, writer = start()
    dtype = np.dtype(
        {"names": ["timestamp", "a", "b"], "formats": ["u8", "u1", "f4"], "offsets": [0, 8, 12], "itemsize": 24}
    )
    messages = topic(writer, "odd", dtype, {"timestamp": [1, 2], "a": [3, 4], "b": [0.5, 1.5]})
    assert messages.itemsize == 5 + 16
    writer.write([messages])
    found = read(file)
    kinds = [(kind, count, name) for kind, count, name in found.message_formats["odd"].fields]
    assert kinds[2] == ("uint8_t", 3, "_padding0")
    assert kinds[-1] == ("uint8_t", 8, "_padding1")
    assert found.get_dataset("odd").data["b"].tolist() == [0.5, 1.5]
    assert file.getvalue().endswith(struct.pack("<f", 1.5))


def test_nested_messages_and_arrays_of_them_are_read_back():
    """PX4's position_setpoint_triplet, and an array of nested messages with padding of its own."""
    file, writer = start()
    layout = shipped_layouts()["position_setpoint_triplet"]
    nested = dict.fromkeys(("previous", "current", "next"), "position_setpoint")
    triplet = writer.subscribe(layout.topic, layout.dtype, nested=nested).messages(3)
    triplet["message"]["timestamp"] = [1, 2, 3]
    triplet["message"]["current"]["lat"] = [47.1, 47.2, 47.3]
    triplet["message"]["next"]["type"] = 3
    inner = np.dtype({"names": ["x", "y"], "formats": ["f8", "u1"], "offsets": [0, 8], "itemsize": 16})
    many = {"timestamp": [1, 2, 3]}
    cells = topic(writer, "cells", [("timestamp", "u8"), ("cell", inner, 2)], many, nested={"cell": "one_cell"})
    cells["message"]["cell"]["x"] = [[1, 2], [3, 4], [5, 6]]
    cells["message"]["cell"]["y"] = 7
    writer.write([triplet, cells])
    found = read(file)
    data = found.get_dataset("position_setpoint_triplet").data
    assert data["current.lat"].tolist() == [47.1, 47.2, 47.3]
    assert data["next.type"].tolist() == [3, 3, 3]
    data = found.get_dataset("cells").data
    assert data["cell[1].x"].tolist() == [2, 4, 6]
    assert data["cell[0].y"].tolist() == data["cell[1].y"].tolist() == [7, 7, 7]


def test_instances_share_a_format():
    """Two batteries: one format, two datasets."""
    file, writer = start()
    layout = shipped_layouts()["battery_status"]
    batches = [
        topic(writer, "battery_status", layout.dtype, {"timestamp": [1, 2], "voltage_v": [v, v]}, instance)
        for instance, v in enumerate((12.5, 16.0))
    ]
    writer.write(batches)
    found = read(file)
    assert file.getvalue().count(b"battery_status:") == 1
    assert [found.get_dataset("battery_status", i).data["voltage_v"][0] for i in (0, 1)] == [12.5, 16.0]


def test_messages_are_in_order_of_time_and_topics_keep_their_order():
    """Interleaved by time; at the same time in the order of the arguments; over several calls."""
    file, writer = start()
    rng = np.random.default_rng(3)
    subscriptions = [writer.subscribe(f"t{i}", np.dtype([("timestamp", "u8"), ("x", "u1", 1 + i)])) for i in range(5)]
    times, start_us = [], 0
    for _ in range(4):
        batches = []
        for subscription in subscriptions:
            batch = subscription.messages(int(rng.integers(0, 40)))
            batch["message"]["timestamp"] = np.sort(rng.integers(start_us, start_us + 30, len(batch)))
            batches.append(batch)
            times += [(int(time), subscription.id) for time in batch["message"]["timestamp"]]
        start_us += 30
        writer.write(batches)
    assert list(data_messages(file.getvalue())) == sorted(times)
    read(file)


def data_messages(content):
    """Yield time and subscription of each data message, in the order of the file."""
    at = 16
    while at < len(content):
        size, kind = struct.unpack_from("<HB", content, at)
        if kind == ord("D"):
            number, time_us = struct.unpack_from("<HQ", content, at + 3)
            yield time_us, number
        at += 3 + size
    assert at == len(content)


def test_a_message_out_of_order_is_an_error():
    """Between two calls: a reader needs times that increase."""
    _, writer = start()
    subscription = writer.subscribe("odd", np.dtype([("timestamp", "u8")]))
    for time_us in (10, 9):
        messages = subscription.messages(1)
        messages["message"]["timestamp"] = time_us
        if time_us == 10:
            writer.write([messages])
    with pytest.raises(StateError, match="9 us comes after 10 us"):
        writer.write([messages])
    with pytest.raises(StateError, match="before the first message"):
        writer.info("late", "x")


def test_texts_parameters_and_information_are_read_back():
    """Levels, times, UTF-8; int32 and float; defaults only where they differ."""
    file = io.BytesIO()
    writer = UlogWriter(file, 7, has_defaults=True)
    writer.info("sys_name", "PX4")
    writer.info("ver_sw_release", 0x010203FF, "uint32_t")
    writer.info("gain", 0.5)
    writer.parameter("MPC_XY_CRUISE", 5.5, 5.0)
    writer.parameter("COM_LOW_BAT_ACT", 3, 3)
    writer.parameter("RTL_TYPE", -1, 0)
    odd = topic(writer, "odd", [("timestamp", "u8")], {"timestamp": [10, 20, 30]})
    writer.write([odd], [(20, CRITICAL, "motor 2 failed, 3 °"), (9, INFO, "start"), (31, DEBUG, "end")])
    found = read(file)
    assert found.start_timestamp == 7
    assert found.msg_info_dict == {"sys_name": "PX4", "ver_sw_release": 0x010203FF, "gain": 0.5}
    assert found.initial_parameters == {"MPC_XY_CRUISE": 5.5, "COM_LOW_BAT_ACT": 3, "RTL_TYPE": -1}
    assert isinstance(found.initial_parameters["COM_LOW_BAT_ACT"], int)
    assert found.has_default_parameters
    assert found.get_default_parameters(0) == {"MPC_XY_CRUISE": 5.0, "RTL_TYPE": 0}
    texts = [(text.timestamp, text.log_level_str(), text.message) for text in found.logged_messages]
    assert texts == [(9, "INFO", "start"), (20, "CRITICAL", "motor 2 failed, 3 °"), (31, "DEBUG", "end")]


def test_a_file_without_messages_is_valid():
    """A run that was stopped before its first row."""
    file, writer = start()
    writer.subscribe("odd", np.dtype([("timestamp", "u8")]))
    writer.close()
    assert read(file).data_list == []


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        ([("x", "f4")], "no field 'timestamp'"),
        ([("timestamp", "u8"), ("x", "f2")], "odd.x has the type float16"),
        ([("timestamp", "u8"), ("x", "f4", (2, 2))], "odd.x has the type"),
        ([("timestamp", "u8"), ("x", "u1", 70_000)], "at most 65,533"),
    ],
)
def test_messages_that_ulog_does_not_have_are_errors(dtype, text):
    """They name topic and field."""
    _, writer = start()
    with pytest.raises(LayoutError, match=text):
        writer.subscribe("odd", np.dtype(dtype))


def test_a_second_format_with_other_fields_is_an_error():
    """Two nested messages with the same name."""
    _, writer = start()
    for kind, is_wrong in (("f4", False), ("f4", False), ("f8", True)):
        dtype = np.dtype([("timestamp", "u8"), ("cell", [("x", kind)])])
        if is_wrong:
            with pytest.raises(LayoutError, match="cell is defined twice"):
                writer.subscribe("other", dtype)
        else:
            writer.subscribe("odd", dtype)


def test_every_layout_can_be_written():
    """All topics that the package knows, with one message each."""
    file, writer = start()
    batches = []
    for name, layout in logged_layouts().items():
        if not any(inner.base.names for inner, *_ in layout.dtype.fields.values()):
            batches.append(topic(writer, name, layout.dtype, {"timestamp": [1]}))
    writer.write(batches)
    found = read(file)
    assert {data.name for data in found.data_list} >= {
        *SHARED,
        "actuator_outputs",
        "estimator_status",
        "vehicle_status",
    }
    for data in found.data_list:
        fields = logged_layouts()[data.name].fields()
        assert [name.partition("[")[0] for name in data.data] != []
        assert {name.partition("[")[0] for name in data.data} == {name.partition("[")[0] for name in fields}
