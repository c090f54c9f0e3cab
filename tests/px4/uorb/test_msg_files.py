"""PX4's `.msg` files: their syntax, and folders of them."""

import pytest
from msg_folders import write_messages

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb import LayoutSources, shipped_layouts
from px4lockstep.px4.uorb.definitions import Field
from px4lockstep.px4.uorb.msg_files import parse_msg, read_msg_folder

TEXT = """# What the sensor says
uint32 MESSAGE_VERSION = 1

uint64 timestamp\t\t# time since system start
float32[3] field # [gauss] in = out
uint8 STATE_BAD=0\t# a constant
uint8   STATE_GOOD   =   0x10
float32 LIMIT = 2.5
uint8 state
px4/Report[2] reports

# TOPICS magnet magnet_second
# TOPICS MagnetThird
# TOPICSnot one
"""


def test_fields_constants_comments_and_topics_are_parsed():
    """With the spacing found in PX4's files."""
    found = parse_msg("Magnet", TEXT)
    assert found.fields == (
        Field("uint64", "timestamp"),
        Field("float32", "field", 3),
        Field("uint8", "state"),
        Field("Report", "reports", 2),
    )
    assert found.constants == {"MESSAGE_VERSION": 1, "STATE_BAD": 0, "STATE_GOOD": 16, "LIMIT": 2.5}
    assert found.topics == ("magnet", "magnet_second", "magnet_third")
    assert parse_msg("VehicleImu", "uint64 timestamp").topics == ("vehicle_imu",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("uint64 timestamp\nfloat x[3]\n", "A line 2: 'float x[3]' is not a valid field"),
        ("uint64 timestamp\n\n  what is this\n", "A line 3: 'what is this' is not a valid field"),
        ("uint32 timestamp\n", "A has no field 'uint64 timestamp', which every PX4 message needs"),
        ("", "A has no field 'uint64 timestamp'"),
    ],
)
def test_an_invalid_line_is_an_error_with_its_number(text, message):
    """Skipping it would change the layout."""
    with pytest.raises(LayoutError) as caught:
        parse_msg("A", text)
    assert message in str(caught.value)


def test_a_folder_gives_the_same_layouts_as_the_built_in_messages(tmp_path):
    """Written and read again: the same dtype and hash, versioned or not."""
    sources = LayoutSources(write_messages(tmp_path / "msg"))
    assert sources.topics() == sorted(shipped_layouts())
    for topic, shipped in shipped_layouts().items():
        found = sources.layout(topic)
        assert (found, found.constants) == (shipped, shipped.constants)


def test_a_folder_without_messages_is_an_error(tmp_path):
    """With the folder to use instead."""
    with pytest.raises(LayoutError, match="is not a folder; use the folder msg of PX4's sources"):
        read_msg_folder(tmp_path / "nowhere")
    with pytest.raises(LayoutError, match=r"has no \.msg files; use the folder msg of PX4's sources$"):
        read_msg_folder(tmp_path)
    write_messages(tmp_path / "msg")
    with pytest.raises(LayoutError, match=r"has no \.msg files; use the folder msg of PX4's sources, .*msg$"):
        read_msg_folder(tmp_path)
    (tmp_path / "msg" / "VehicleStatus.msg").write_text("uint64 timestamp")
    with pytest.raises(
        LayoutError, match=r"VehicleStatus is defined twice, in .* and .*versioned.*; remove one of them"
    ):
        read_msg_folder(tmp_path / "msg")


def test_files_that_are_not_text_are_errors(tmp_path):
    """Bytes that are not UTF-8, and files that are too large."""
    (tmp_path / "A.msg").write_bytes(b"uint64 timestamp\n\xff\n")
    with pytest.raises(LayoutError, match=r"A\.msg is not text: byte 17 is not UTF-8"):
        read_msg_folder(tmp_path)
    (tmp_path / "A.msg").write_bytes(b"uint64 timestamp\n" + b"#" * 1_000_000)
    with pytest.raises(LayoutError, match=r"A\.msg is larger than 1,000,000 bytes"):
        read_msg_folder(tmp_path)


def test_the_error_for_an_unknown_topic_names_the_folder(tmp_path):
    """So does the error for a missing nested message."""
    folder = write_messages(tmp_path / "msg")
    with pytest.raises(
        LayoutError, match=r"there is no topic 'vehicle_stat' in .*msg; list all topics with px4lockstep uorb list"
    ):
        LayoutSources(folder).layout("vehicle_stat")
    (folder / "PositionSetpoint.msg").unlink()
    with pytest.raises(
        LayoutError, match="msg: PositionSetpointTriplet: field 'previous' has the type PositionSetpoint"
    ):
        LayoutSources(folder).layout("position_setpoint_triplet")
