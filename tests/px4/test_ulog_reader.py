"""Reading ULog files: values, damage, and formats that must not be trusted."""

import struct

import numpy as np
import pytest
from ulog_files import START_US, STEP_US, attitude, flight, old_flight, place

from px4lockstep.errors import InputError
from px4lockstep.px4 import ulog_reader
from px4lockstep.px4.ulog_formats import Formats
from px4lockstep.px4.ulog_reader import read_ulog

TOPICS = ("vehicle_attitude", "vehicle_local_position", "vehicle_status")


def read(data, folder, topics=TOPICS):
    path = folder / "flight.ulg"
    path.write_bytes(data)
    return read_ulog(path, topics)


def test_values_times_information_and_texts_are_those_in_the_file(tmp_path):
    """To the last bit of the float32 in which they were written; topics that are not wanted are not read."""
    log = read(flight(2.5), tmp_path)
    assert log.start_us == START_US
    assert sorted(name for name, _ in log.topics) == sorted(TOPICS)
    columns = log.topics["vehicle_attitude", 0]
    times = columns["timestamp"].astype(np.int64) - START_US
    assert times.tolist() == list(range(0, 2_500_001, STEP_US))
    assert columns["q[3]"].tolist() == [float(np.float32(attitude(time)[3])) for time in times.tolist()]
    assert log.topics["vehicle_local_position", 0]["z"][-1] == np.float32(place(2_500_000)[0][2])
    assert log.info["ver_hw"] == "PX4_SITL"
    assert log.parameters == {"MPC_XY_CRUISE": 5.0, "SYS_AUTOSTART": 10016}
    assert [(text.level, text.text) for text in log.texts] == [(4, "a warning")]
    assert log.problems == ()


def test_instances_of_a_topic_are_kept_apart(tmp_path):
    """Two batteries."""

    def second(log):
        log.topic("extra", [("float", 1, "value")])
        log.topic("extra", [], instance=1)
        log.start()
        for number in (0, 1):
            log.write("extra", START_US, (float(number),), instance=number)

    log = read(flight(0.1, changes=(second,)), tmp_path, ["extra"])
    assert [columns["value"].tolist() for columns in log.instances("extra")] == [[0.0], [1.0]]


@pytest.mark.parametrize("cut", [1, 2, 5, 40, 1_000])
def test_a_file_that_was_cut_is_read_up_to_there(tmp_path, cut):
    """Power was lost: all complete messages are there, and the rest is a problem that is told."""
    whole, data = read(flight(1.0), tmp_path), flight(1.0)[:-cut]
    log = read(data, tmp_path)
    before, after = (each.topics["vehicle_attitude", 0]["timestamp"] for each in (whole, log))
    assert 0 < len(after) <= len(before)
    assert (before[: len(after)] == after).all()
    assert len(before) - len(after) <= 1 + cut // 100
    lost = f"of its {len(data):,} bytes were skipped"
    assert bool(log.problems) == any(lost in problem for problem in log.problems)


def test_reading_goes_on_at_the_next_sync_message(tmp_path):
    """Garbage in the middle loses only what comes before that message."""

    def garbage(log):
        log.raw(b"\xff" * 100)
        log.sync()
        log.write("vehicle_attitude", START_US + 9_000_000, (1.0, 0.0, 0.0, 0.0))

    log = read(flight(0.1, changes=(garbage,)), tmp_path)
    assert log.topics["vehicle_attitude", 0]["timestamp"][-1] == START_US + 9_000_000
    assert log.problems == (f"the file is damaged or was cut: 111 of its {tmp_path.joinpath('flight.ulg').stat().st_size:,} bytes were skipped",)  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(("odd_us", "kept"), [(2**40, 11), (1, 11), (2**63, 11), (0, 11)])
def test_a_wrong_time_loses_only_its_own_message(tmp_path, odd_us, kept):
    """A time far ahead does not hide all that follow, nor one far back all before."""
    data = flight(0.1)
    body = struct.pack("<Q", START_US + 50_000)
    index = data.index(body, data.index(b"unheard_of:") + 1)  # the first message at that time, of the attitude
    log = read(data[:index] + struct.pack("<Q", odd_us) + data[index + 8 :], tmp_path)
    times = log.topics["vehicle_attitude", 0]["timestamp"]
    assert len(times) == kept - 1
    assert (np.diff(times.astype(np.int64)) > 0).all()
    assert "topic vehicle_attitude: 1 message skipped: times that do not increase" in log.problems


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not a ULog file"),
        (b"ULog\x01\x12\x35", "is not a ULog file"),
        (b"PK\x03\x04" + bytes(100), "is not a ULog file"),
        (flight(0.1)[:7] + b"\x07" + flight(0.1)[8:], "version 7"),
    ],
)
def test_other_files_are_refused(tmp_path, data, said):
    """With the reason."""
    with pytest.raises(InputError, match=said):
        read(data, tmp_path)


def test_unknown_features_are_refused(tmp_path):
    """The format's flags say that such a file can't be read by a reader that does not know them."""
    data = bytearray(flight(0.1))
    data[16 + 3 + 8] = 2
    with pytest.raises(InputError, match="incompatible flags 02"):
        read(bytes(data), tmp_path)


def test_appended_data_are_read(tmp_path):
    """PX4 appends what was in memory at a crash; the log before it may end in the middle of a message."""
    data = bytearray(flight(0.1))
    extra = flight(0.2)[len(data) :]
    data += b"\xff\x00D\x01"  # cut short
    struct.pack_into("<Q", data, 16 + 3 + 16, len(data))
    data[16 + 3 + 8] = 1
    log = read(bytes(data) + extra, tmp_path)
    assert len(log.topics["vehicle_attitude", 0]["timestamp"]) == 21


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    """As for all files."""
    with pytest.raises(InputError, match="file not found"):
        read_ulog(tmp_path / "nosuch.ulg", TOPICS)
    with pytest.raises(InputError, match="is a folder"):
        read_ulog(tmp_path, TOPICS)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a:uint64_t timestamp;a[4] a;"], "nested"),
        (["a:uint64_t timestamp;float[99999] x;"], "4,096 numbers"),
        (["a:uint64_t timestamp;b[999] b;", "b:c[999] c;", "c:float x;"], "4,096 numbers"),
        (["a:uint64_t timestamp;b[9999] b;", "b:"], "empty part"),
        (["a:uint64_t timestamp;nosuch x;"], "missing or invalid"),
        (["a:uint64_t timestamp;float x;float x;"], "two fields"),
        (["a:float x;"], "no timestamp"),
        (["a:uint32_t timestamp;"], "no timestamp"),
        (["a:uint64_t timestamp;float[0] x;"], "empty part"),
        (["a:uint64_t timestamp;float x[4];"], "missing or invalid"),
    ],
)
def test_formats_that_would_take_unlimited_time_or_memory_are_refused(lines, said):
    """Before pyulog sees them."""
    formats = Formats()
    for line in lines:
        formats.add(line.encode())
    with pytest.raises(InputError, match=said):
        formats.size("a")


def test_the_size_of_a_message_is_without_trailing_padding():
    """PX4 does not log it."""
    formats = Formats()
    formats.add(b"b:float x;uint8_t y;uint8_t[3] _padding0;")
    formats.add(b"a:uint64_t timestamp;b[2] b;uint8_t z;uint8_t[7] _padding0;")
    assert formats.size("a") == 8 + 2 * 8 + 1


def test_a_file_is_read_without_pyulog_only_with_a_remedy(tmp_path, monkeypatch):
    """The distribution of `px4lockstep.px4` alone does not have it."""
    import sys

    monkeypatch.setitem(sys.modules, "pyulog", None)
    with pytest.raises(InputError, match="pip install pyulog"):
        read(old_flight(0.1), tmp_path)


def test_a_file_above_the_limit_is_refused(tmp_path, monkeypatch):
    """Instead of filling the memory."""
    monkeypatch.setattr(ulog_reader, "MAX_BYTES", 1_000)
    with pytest.raises(InputError, match="larger than 1,000 bytes"):
        read(flight(0.1), tmp_path)
